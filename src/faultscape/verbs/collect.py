"""collect: add images to a study, with their classes and near-duplicates."""

from __future__ import annotations

from typing import get_args

from faultscape.arguments import ClassList, Place, needed_text, place_text, several
from faultscape.choices import Role, Task
from faultscape.errors import CorpusError
from faultscape.stages.change_result import Changed
from faultscape.stages.collect.options import CollectOptions, Grouping, KnownData, Storage, WebImages
from faultscape.stages.collect.result import Collected, Downloaded, Queries

_ROLES = get_args(Role)


def collect(
    study: Place,
    *images: Place,
    task: Task | None = None,
    classes: ClassList | None = None,
    only_classes: Place | None = None,
    size: str | None = None,
    not_in: list[str] | None = None,
    set_: str | None = None,
    role: Role | None = None,
    pattern: str | None = None,
    remove: list[str] | None = None,
    replace_classes: bool = False,
    dry_run: bool = False,
    web: WebImages = WebImages(),
    grouping: Grouping = Grouping(),
    storage: Storage = Storage(),
    known: KnownData = KnownData(),
) -> Collected | Queries | Downloaded | Changed:
    """Collect images into a study: folders, globs in quotes, list files, prefixes of a store, or Parquet
    files; run it again to add more.

    Every image gets an id (its path without extension, relative to the folder given), a size, a digest and a
    near-duplicate group; shards are cut once and never again. What cannot be read goes to failures.csv. From
    the web in four steps: --queries, --urls or --api, a look at STUDY/web/review.html, --accept.

    Parameters
    ----------
    study
        The study folder; it is made when it is not there.
    images
        Folders, globs (in quotes), list files ending in .txt, or single files; s3://BUCKET/PREFIX or
        gs://BUCKET/PREFIX; Parquet files whose rows are images. For classifiers also a .csv file that names
        images (a column image) of which there are no pictures here.
    task
        segmentation (models draw label maps; the default) or classification (they give a picture one class);
        fixed when the study is made.
    classes
        A class file (JSON, TOML, or .txt with a name a line) or a built-in name: ade20k, camvid, cityscapes,
        voc; for classifiers imagenet1k. In Python also a Classes, or a number of classes.
    only_classes
        Of classifiers: a file that names some of the classes. Search terms are made for these, and images are
        chosen only where both models say one of them (S2 3.1 has 200 of 1,000).
    size
        WIDTHxHEIGHT at which maps are compared (aspect ratio ignored, as S0 does with 512x512), or own: each
        image keeps its size.
    not_in
        Folders of training or benchmark images; near-duplicates of these are left out.
    set_
        Name of the set these images belong to (default main; with --accept web); the ids of any set but main
        begin with its name.
    role
        What the images are for: pool (drawn from; the default), train, validation, test or reference.
    pattern
        How file names make ids, for example {id}_photo.png.
    remove
        Take images out of the study: an id, a pattern of ids in quotes ("night/*"), or a list of ids (.txt or
        .csv); repeat it for more. Labels, answers and maps of them are kept, count nowhere, and come back
        when the images are collected again.
    replace_classes
        With --classes: take a list that shares few names with the study's (less than half of the shorter), or
        under which labels of classifiers would mean others; both are refused otherwise.
    dry_run
        With --remove: say what becomes stale, and change nothing.
    web
        Images from the web: `WebImages(urls=...)`.
    grouping
        Which images belong together: `Grouping(group=...)`.
    storage
        Where results lie: `Storage(store=...)`.
    known
        A data set of a known layout: `KnownData(layout=...)`.
    """
    from faultscape.stages.collect.images import collect_images

    study, sources = needed_text(study, "study"), tuple(needed_text(image, "images") for image in images)
    options = CollectOptions(
        study=study,
        images=sources,
        task=task,
        classes=classes,
        only_classes=place_text(only_classes, "only_classes"),
        size="x".join(map(str, size)) if isinstance(size, list | tuple) else size,
        not_in=several(not_in),
        set_=set_,
        role=role,
        pattern=pattern,
        grouping=grouping,
        web=web,
        storage=storage,
        known=known,
        remove=several(remove),
        replace_classes=replace_classes,
        dry_run=dry_run,
    )
    if storage.shard_size is not None and storage.shard_size < 1:
        raise CorpusError(f"a shard holds 1 image or more; got --shard-size {storage.shard_size}")
    if role not in (None, *_ROLES):
        raise CorpusError(f"role {role!r} is not known; use {', '.join(_ROLES[:-1])} or {_ROLES[-1]}")
    return collect_images(options)
