"""collect: add images to a study, with their classes and near-duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from faultscape.arguments import ClassList, Place, Size
from faultscape.choices import Role, Task
from faultscape.errors import CorpusError
from faultscape.verbs.collect.options import Grouping, KnownData, Storage, WebImages
from faultscape.verbs.collect.result import Collected, Downloaded, Queries
from faultscape.verbs.status.change_result import Changed
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import CollectOptions

_ROLES = get_args(Role)


def _check(options: CollectOptions) -> None:
    shard_size = options.storage.shard_size
    if shard_size is not None and shard_size < 1:
        raise CorpusError(f"a shard needs at least 1 image; got --shard-size {shard_size}")
    if options.role not in (None, *_ROLES):
        raise CorpusError(f"role {options.role!r} is not known; use {', '.join(_ROLES[:-1])} or {_ROLES[-1]}")


@verb("faultscape.verbs.collect.images:collect_images", check=_check)
def collect(
    study: Place,
    *images: Place,
    task: Task | None = None,
    classes: ClassList | None = None,
    only_classes: Place | None = None,
    size: Size | None = None,
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
    """Collect images into a study from folders, quoted globs, list files, cloud storage prefixes, or Parquet
    files; run it again to add more.

    Every image gets an id (its path without extension, relative to the folder given), a size, a digest and a
    near-duplicate group. Shards never change once they are made. Files that cannot be read are listed in
    failures.csv. To collect from the web, run four steps: --queries, then --urls or --api, then review
    STUDY/web/review.html, then --accept.

    Parameters
    ----------
    study
        The study folder; collect creates it if it does not exist.
    images
        Folders, globs (in quotes), list files ending in .txt, or single files; s3://BUCKET/PREFIX or
        gs://BUCKET/PREFIX; Parquet files with one image per row. For classifiers also a .csv file (a column
        image) that names images whose files are not here.
    task
        segmentation (models predict label maps; the default) or classification (models predict one class per
        image); fixed when the study is created.
    classes
        A class file (JSON, TOML, or .txt with one name per line) or a built-in name: ade20k, camvid,
        camvid32, cityscapes, coco-stuff, lost-and-found, mapillary-1.2, mapillary-2.0, streethazards, voc;
        for classifiers imagenet1k. In Python also a Classes, or a number of classes.
    only_classes
        For classifiers: a file that names some of the classes. Search terms are made for these, and only
        images on which both models predict one of them are selected (Wang et al. 2020 use 200 of 1,000).
    size
        WIDTHxHEIGHT at which maps are compared (the aspect ratio is ignored), or own: each image keeps its
        size.
    not_in
        Folders of training or benchmark images; near-duplicates of these are left out.
    set_
        Name of the set that these images belong to (default main; with --accept web). The ids of every set
        except main begin with its name.
    role
        What the images are for: pool (images to select from; the default), train, validation, test or
        reference.
    pattern
        How file names become ids, for example {id}_photo.png.
    remove
        Remove images from the study: an id, a pattern of ids in quotes ("night/*"), or a list of ids (.txt or
        .csv). Repeatable. Their labels, answers and maps are kept but not counted, and come back when the
        images are collected again.
    replace_classes
        With --classes: accept a list that shares fewer than half of its names with the study's, or that
        changes the meaning of classifier labels. Without this option both are errors.
    dry_run
        With --remove: report what would become stale, and change nothing.
    web
        Images from the web: `WebImages(urls=...)`.
    grouping
        Which images belong together: `Grouping(group=...)`.
    storage
        Where results are stored: `Storage(store=...)`.
    known
        A data set in a known layout: `KnownData(layout=...)`.

    >>> fs.collect("new", "images/", classes="classes.json").images
    12
    """
    ...
