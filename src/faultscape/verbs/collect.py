"""collect: which images are there, what they show, and how they are cut into shards."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from faultscape.errors import CorpusError, StudyError, counted
from faultscape.stages.collect import groups as collect_groups
from faultscape.stages.collect import settings as collect_settings
from faultscape.stages.collect import web as collect_web


@dataclass(frozen=True)
class Collected:
    """What `collect` found and fixed."""

    study: str
    images: int
    new: int
    shards: int
    near_duplicates: int
    failures: int
    classes: str
    size: str
    groups: str = ""

    def __repr__(self) -> str:
        return (
            f"{self.study}: {counted(self.images, 'image')} ({self.new} new) in {counted(self.shards, 'shard')}, "
            f"{counted(self.near_duplicates, 'near-duplicate of another', 'near-duplicates of others')}, "
            f"{self.failures} not usable (failures.csv)\nclasses  {self.classes}\nsize     {self.size}"
            + (f"\ngroups   {self.groups}" if self.groups else "")
        )


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
) -> Any:
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
    from faultscape.classes.class_lists import resolve
    from faultscape.corpus import id_lists, photos
    from faultscape.corpus.sources import absolute, find
    from faultscape.stages.collect import pictures as looking
    from faultscape.stages.collect.shards import grouped, sharded
    from faultscape.study import settings as toml
    from faultscape.study.folder import check_name, local
    from faultscape.study.lock import writing
    from faultscape.study.tables.corpus import Image, read_corpus, write_corpus
    from faultscape.study.tables.logs import Failure, log, read_failures, replace_failures

    if not str(study).strip() or not all(str(image).strip() for image in images):
        raise CorpusError("the study and every source of images need a name; got an empty one")
    if shard_size is not None and shard_size < 1:
        raise CorpusError(f"a shard holds 1 image or more; got --shard-size {shard_size}")
    if not isinstance(size, str | None):
        size = "x".join(map(str, size))
    root = local(study)
    if root.exists() and not root.is_dir():
        raise StudyError(f"{root} is a file; a study is a folder")
    task = collect_settings.task_of(root, task, size, only_classes)
    collect_settings.refuse_tables(images, task, new=not (root / "study.toml").exists())
    web = collect_web.task(
        images, queries=queries, wordnet=wordnet, hyponyms=hyponyms, urls=urls, api=api, accept=accept, contact=contact, rate=rate,
        per_query=per_query, after=after, before=before, min_size=min_size, transparent=transparent, licence=licence,
    )  # fmt: skip
    others = (classes, only_classes, size, not_in, shard_size, set_, role, pattern, store, probe)
    regroup = (group is not None or block is not None) and all(value is None for value in others)
    if regroup and not images and web is None and (root / "study.toml").exists():
        everything, said = collect_groups.group_again(root, group, block)
        if said:
            print(said)
        settings, failures = toml.read_settings(root), [f for f in read_failures(root) if f.stage == "collect"]
        return _collected(study, everything, 0, len(failures), settings)
    if not images and web is None:
        raise CorpusError("no images given; name a folder, a glob in quotes, or a list file")
    if role not in (None, "pool", "train", "validation", "test", "reference"):
        raise CorpusError(f"role {role!r} is not known; use pool, train, validation, test or reference")
    set_ = set_ or ("web" if accept is not None else "main")
    check_name(set_, "set")
    resolved = resolve(classes) if classes is not None else None
    if resolved is None and not (root / "study.toml").exists():
        more = ", imagenet1k" if task == toml.CLASSIFICATION else ""
        raise CorpusError(f"a new study needs --classes FILE or a built-in name: ade20k, camvid, cityscapes, voc{more}")
    if resolved is not None and task != toml.CLASSIFICATION and not resolved.colours:
        raise CorpusError(
            f"classes {classes} are to be recognised and not drawn: they have no colours; give --task {toml.CLASSIFICATION}"
        )
    toml.parse_size(size or "own")
    if web is not None and accept is None:
        with writing(root):
            toml.write_settings(root, collect_settings.asked(root, task, resolved, size, shard_size, only_classes))
            return web(root)
    if web is not None:
        images = web(root)
    lists = [file for file in images if task == toml.CLASSIFICATION and id_lists.is_id_list(file)]
    before = "" if set_ == "main" else f"{set_}/"
    names = {before + id_ for file in lists for id_ in id_lists.read_ids(file)}
    pictures = [image for image in images if image not in lists]
    found = [replace_id(f, set_) for f in find(pictures, pattern=pattern, stores=True)] if pictures else []
    collect_groups.assign_groups(
        [*names, *(f.id for f in found)], group, block
    )  # what does not fit is said before pictures are read
    photos.forget()
    with writing(root):
        settings = collect_settings.asked(root, task, resolved, size, shard_size, only_classes)
        collect_settings.enter_store(root, settings, store)
        held = {image.id: image for image in read_corpus(root)}
        if task == toml.CLASSIFICATION and collect_settings.in_own_order(held.values(), pictures, lists, before):
            settings.own_order = True
        known = {image.source: image.id for image in held.values() if image.set == set_}
        if other := [f for f in found if known.get(absolute(f.path), f.id) != f.id]:
            print(
                f"{counted(len(other), 'file is in the study already and keeps its id', 'files are in the study already and keep their ids')}: {other[0].path} is {known[absolute(other[0].path)]}"
            )
            found = [replace(f, id=known.get(absolute(f.path), f.id)) for f in found]
        same = looking.unchanged(held, found, probe)
        probed, failed = looking.probe(root, [f for f in found if f.id not in same], probe)
        if not_in and (blind := next((f for f, picture in probed if picture.dhash is None), None)):
            raise CorpusError(f"{blind.path}: --not-in needs to look at each picture; add --probe, which reads all of them whole")
        banned = looking.banned(not_in or [])
        fresh: list[Image] = []
        dropped: set[str] = set()
        failures = [Failure("collect", set_, f.path, reason) for f, reason in failed]
        old = {(f.name, f.image): f for f in read_failures(root) if f.stage == "collect" and f.name == set_}
        for image in [held[id_] for id_ in sorted(same)]:
            if (near := banned.get(image.dhash)) is not None:
                failures.append(Failure("collect", set_, image.source, f"near-duplicate of {near}, which --not-in keeps out"))
                dropped.add(image.id)
            elif role not in (None, image.role):
                fresh.append(replace(image, role=role))
        if dropped:
            print(
                f"{counted(len(dropped), 'image leaves', 'images leave')} the study: near-duplicates of what --not-in keeps out (failures.csv)"
            )
        if fresh:
            print(f"{counted(len(fresh), 'image that the study had is', 'images that the study had are')} of role {role} now")
        _tell(root, looking.other_now(held, probed), looking.gone(held, found, set_))
        for f, picture in probed:
            _same_photo(held.get(f.id), f, picture)
            if (near := banned.get(picture.dhash)) is not None:
                failures.append(Failure("collect", set_, f.path, f"near-duplicate of {near}, which --not-in keeps out"))
                dropped.add(f.id)
                continue
            earlier = held.get(f.id)
            fresh.append(
                Image(
                    id=f.id, source=absolute(f.path), set=set_, role=role or (earlier.role if earlier else "pool"), condition="clean", parent="",
                    width=picture.width, height=picture.height, digest=picture.digest, dhash=picture.dhash,
                    near_duplicate_of="", shard=earlier.shard if earlier else -1, group=earlier.group if earlier else "",
                )
            )  # fmt: skip
        alone = sorted(names - {f.id for f in found} - held.keys())
        fresh += [Image(id_, "", set_, role or "pool", "clean", "", 0, 0, "", None, "", -1) for id_ in alone]
        everything = grouped(sharded([i for i in held.values() if i.id not in dropped], fresh, settings.shard), held)
        if not everything:
            what = (
                f"not one of the {len(found)} files can be used; the first" if len(found) > 1 else "the only file cannot be used"
            )
            raise CorpusError(f"{what}: {failures[0].image}: {failures[0].reason}")
        everything = collect_groups.group_images(everything, {f.id for f in found} | names, group, block)
        write_corpus(root, everything)
        toml.write_settings(root, settings)
        usable = {image.source for image in everything}
        kept = [f for (_, path), f in old.items() if absolute(path) not in usable and path not in {x.image for x in failures}]
        replace_failures(root, "collect", set_, failures + kept)
        (root / ".collecting.jsonl").unlink(missing_ok=True)
        log(root, "collect", images=list(images) if accept is None else [accept], set=set_, size=settings.size)
    if blind := sum(image.dhash is None and bool(image.source) for image in everything):
        print(f"near-duplicates were not looked for among {counted(blind, 'image')}; --probe reads each of them whole, and looks")
    return _collected(study, everything, sum(i.id not in held for i in fresh), len(failures), settings)


def _collected(study: str, images: list[Any], new: int, failures: int, settings: Any) -> Collected:
    """Return what the study holds now."""
    from faultscape.corpus.groups import describe_groups
    from faultscape.metrics.intervals.units import LEAST, units_of
    from faultscape.study.tables.corpus import shards

    duplicates = sum(image.near_duplicate_of != image.id for image in images)
    about, size_words = collect_settings.told(settings, sum(not image.source for image in images))
    groups = describe_groups(image.group for image in images)
    if groups and units_of([image.group for image in images]).count < LEAST:
        cut = f"`faultscape collect {study} --block N` cuts groups into runs of N consecutive images"
        print(f"{groups}: fewer than {LEAST} carry no interval; {cut}")
    return Collected(study, len(images), new, len(shards(images)), duplicates, failures, about, size_words, groups)


def replace_id(found: Any, set_: str) -> Any:
    """Return a found file with its set in front of the id; the set main has no prefix."""
    return found if set_ == "main" else replace(found, id=f"{set_}/{found.id}")


def _tell(root: Path, other: list[Any], gone: list[Any]) -> None:
    """Say which images of the study are others now, and what was made of the earlier ones, and which are gone."""
    from faultscape.study.parts import read_manifest, read_small
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.corpus import part_name

    if other:
        labelled: set[str] = set()
        for folder in (label_maps.truth(root, name) for name in label_maps.truths(root)):
            parts = read_manifest(folder)
            for number in sorted({image.shard for image in other}):
                if part := parts.get(part_name(number)):
                    labelled |= set(read_small(folder, part_name(number), part, ["id"])["id"].to_pylist())
        old = sum(image.id in labelled for image in other)
        print(
            f"{counted(len(other), 'picture')} changed since collected, {other[0].source} the first: maps that networks made of them are stale"
            + (f", and {old} of them have labels of the earlier picture: look at these again" if old else "")
        )
    if gone:
        print(
            f"{counted(len(gone), 'image of the study is', 'images of the study are')} no longer there, {gone[0].source} the first: what was made before stays in the study, and a "
            "network that is added now has no map there (failures.csv)"
        )


def _same_photo(held: Any, found: Any, picture: Any) -> None:
    """CorpusError when an id of the corpus is taken by another file while the first is still there."""
    from faultscape.corpus.parquet_rows import row_of
    from faultscape.corpus.sources import absolute
    from faultscape.study.store import is_address

    if held is None or held.source == absolute(found.path) or held.digest == picture.digest:
        return
    if os.path.isfile((row_of(held.source) or (held.source, 0))[0]) or is_address(held.source):
        raise CorpusError(
            f"two files have the id {found.id!r}: {held.source}, which the study has, and {found.path}; rename one, or collect it as another --set"
        )
