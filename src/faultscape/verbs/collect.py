"""collect: which images are there, what they show, and how they are cut into shards."""

from __future__ import annotations

from typing import Any

from faultscape.errors import CorpusError
from faultscape.stages.collect.result import Collected, Downloaded, Queries

_ROLES = ("pool", "train", "validation", "test", "reference")


def collect(
    study: str,
    *images: str,
    task: str | None = None,
    classes: Any = None,
    only_classes: str | None = None,
    size: str | None = None,
    not_in: list[str] | None = None,
    shard_size: int | None = None,
    set_: str | None = None,
    role: str | None = None,
    pattern: str | None = None,
    queries: bool = False,
    wordnet: str | None = None,
    hyponyms: bool = False,
    urls: str | None = None,
    api: str | None = None,
    accept: str | None = None,
    contact: str | None = None,
    rate: float | None = None,
    per_query: int | None = None,
    after: str | None = None,
    before: str | None = None,
    min_size: str | None = None,
    transparent: bool = False,
    licence: str | None = None,
    store: str | None = None,
    probe: bool | None = None,
    group: Any = None,
    block: int | None = None,
) -> Collected | Queries | Downloaded:
    """Collect images into a study: folders, globs in quotes, list files, prefixes of a store, or Parquet files; run it again to add more.

    Every image gets an id (its path without extension, relative to the folder given), a size, a digest and a near-duplicate group; shards are cut once
    and never again. What cannot be read goes to failures.csv. From the web in four steps: --queries, --urls or --api, a look at STUDY/web/review.html, --accept.

    Parameters
    ----------
    study
        The study folder; it is made when it is not there.
    images
        Folders, globs (in quotes), list files ending in .txt, or single files; s3://BUCKET/PREFIX or gs://BUCKET/PREFIX; Parquet files whose rows are images. For
        classifiers also a .csv file that names images (a column image) of which there are no pictures here.
    task
        segmentation (models draw label maps; the default) or classification (they give a picture one class); fixed when the study is made.
    classes
        A class file (JSON, TOML, or .txt with a name a line) or a built-in name: ade20k, camvid, cityscapes, voc; for classifiers imagenet1k. In Python also a
        Classes, or a number of classes.
    only_classes
        Of classifiers: a file that names some of the classes. Search terms are made for these, and images are chosen only where both models say one of them (S2 3.1
        has 200 of 1,000).
    size
        WIDTHxHEIGHT at which maps are compared (aspect ratio ignored, as S0 does with 512x512), or own: each image keeps its size.
    not_in
        Folders of training or benchmark images; near-duplicates of these are left out.
    shard_size
        Images a shard; fixed when the study is made (default 1024).
    set_
        Name of the set these images belong to (default main; with --accept web); the ids of any set but main begin with its name.
    role
        What the images are for: pool (drawn from; the default), train, validation, test or reference.
    pattern
        How file names make ids, for example {id}_photo.png.
    queries
        Write search terms to STUDY/queries.csv: class names, their synonyms, pairs of classes. Lines that you edit, add or strike out stay so.
    wordnet
        With --queries: a folder of WordNet files (index.noun, data.noun), for synonyms.
    hyponyms
        With --wordnet: narrower words too, one step down.
    urls
        Download what a list names into STUDY/web: .txt with a URL a line, or .csv with url and what is known of each picture.
    api
        Search openverse, flickr or wikimedia for the terms of queries.csv, and download into STUDY/web.
    accept
        Collect the pictures that an accept.csv, saved by STUDY/web/review.html, accepts.
    contact
        An e-mail address or web page, told to every server that is asked; --api needs it.
    rate
        Requests a second to one host (default 1).
    per_query
        With --api: pictures for review a search term (default 50).
    after
        Pictures of this day or later, for example 2024-03-01.
    before
        Pictures of days before this one.
    min_size
        WIDTHxHEIGHT that a picture must have at least.
    transparent
        Only pictures with transparent parts: cut-out objects.
    licence
        With --api: open (default), commercial, modification, public (public domain) or any.
    store
        s3://BUCKET/PREFIX or gs://BUCKET/PREFIX where predictions, truth, pairs and measures are to lie; fixed when the study is made.
    probe
        Read each picture whole and look for near-duplicates; the default for files of this machine, and not for those of a store.
    group
        Which images belong together (one drive, sequence, city or patient), so that intervals draw them together: a pattern over the ids such as "{group}_*", or a
        .csv file with columns id and group. Of the images named here, or of all where none is. In Python also a dict.
    block
        Cut each group, of --group or those that the images have, into runs of about this many consecutive images; without any group the order of the ids.
    """
    from faultscape.stages.collect.images import collect_images
    from faultscape.stages.collect.options import CollectOptions, Grouping, WebOptions

    if not str(study).strip() or not all(str(image).strip() for image in images):
        raise CorpusError("the study and every source of images need a name; got an empty one")
    if shard_size is not None and shard_size < 1:
        raise CorpusError(f"a shard holds 1 image or more; got --shard-size {shard_size}")
    if role not in (None, *_ROLES):
        raise CorpusError(f"role {role!r} is not known; use {', '.join(_ROLES[:-1])} or {_ROLES[-1]}")
    web = WebOptions(
        queries=queries, wordnet=wordnet, hyponyms=hyponyms, urls=urls, api=api, accept=accept, contact=contact, rate=rate,
        per_query=per_query, after=after, before=before, min_size=min_size, transparent=transparent, licence=licence,
    )  # fmt: skip
    return collect_images(
        CollectOptions(
            study=study, images=images, task=task, classes=classes, only_classes=only_classes,
            size=size if isinstance(size, str | None) else "x".join(map(str, size)), not_in=tuple(not_in or ()), shard_size=shard_size,
            set_name=set_, role=role, pattern=pattern, store=store, probe=probe, grouping=Grouping(group, block), web=web,
        )
    )  # fmt: skip
