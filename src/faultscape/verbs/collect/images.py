"""Collect images into a study: the sources that a command names become rows of the corpus, with shards,
near-duplicate groups and failures.

Conventions: an image is identified by its id within its set; its shard, role and group stay the same whenever
it is collected again.
"""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from faultscape.choices import Role
from faultscape.corpus import id_lists, photos
from faultscape.corpus.layouts.layout import Frame
from faultscape.corpus.mixtures import Part as MixturePart
from faultscape.corpus.sources import Found, absolute, find, holds_images, named_as_models
from faultscape.errors import CorpusError, OptionError, StudyError, counted
from faultscape.formats.packed.places import file_of
from faultscape.formats.pictures import Picture
from faultscape.nouns import Classes
from faultscape.reading.sets import collected, descendants, follow, returning
from faultscape.reading.study import Study
from faultscape.study import settings as toml
from faultscape.study.folder import check_name, local
from faultscape.study.store import is_address
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name, write_corpus
from faultscape.study.tables.logs import Failure, log, read_failures, replace_failures
from faultscape.study.tables.removed_images import note_removed, read_removed, whole_sizes
from faultscape.verbs.collect import groups, pictures, settings, web
from faultscape.verbs.collect.known_data import Found as KnownFrames
from faultscape.verbs.collect.known_data import enter_truths, find_known, parts_of_mixture
from faultscape.verbs.collect.no_images import change_groups, change_settings, described, given_classes
from faultscape.verbs.collect.removal import remove_images
from faultscape.verbs.collect.result import Collected, Downloaded, Queries
from faultscape.verbs.collect.shards import grouped, sharded
from faultscape.verbs.options import CollectOptions
from faultscape.verbs.status.change_result import Changed


def collect_images(options: CollectOptions) -> Collected | Queries | Downloaded | Changed:
    """Do what a `collect` command asks; CorpusError, OptionError or StudyError if that is not possible."""
    if options.remove:
        return remove_images(options)
    if options.known.mixture is not None:
        return [_collect_images(line, part) for line, part in parts_of_mixture(options)][-1]
    return _collect_images(options)


def _collect_images(
    options: CollectOptions, part: MixturePart | None = None
) -> Collected | Queries | Downloaded | Changed:
    if options.dry_run:
        raise OptionError("--dry-run needs --remove: it reports what --remove would make stale")
    if options.replace_classes and options.classes is None:
        raise OptionError("--replace-classes needs --classes, with the new class list")
    study = Study(local(options.study), options.study)
    if study.root.exists() and not study.root.is_dir():
        raise StudyError(f"{study.root} is a file; give a folder for the study")
    _refuse_swapped(study, options.images)
    is_new = not study.exists
    data = find_known(options, part)
    if data is not None and is_new and options.classes is None and data.layout.classes:
        options = replace(options, classes=data.layout.classes)
    task = settings.task_of(study, options.task, options.size, options.only_classes)
    settings.refuse_tables(options.images, task, new=is_new)
    step = web.step_of(options.images, options.web)
    if _changes_groups_alone(options) and step is None and options.web.accept is None and not is_new:
        return change_groups(study, options)
    if _changes_settings_alone(options) and step is None and options.web.accept is None and not is_new:
        return change_settings(study, replace(options, task=task))
    if not options.images and step is None and options.web.accept is None:
        raise CorpusError("no images given; name a folder, a glob in quotes, or a list file")
    set_name = options.set_ or ("web" if options.web.accept is not None else "main")
    check_name(set_name, "set")
    classes = given_classes(options, task, is_new=is_new)
    toml.parse_size(options.size or "own")
    options = replace(options, task=task, set_=set_name)
    if step is not None:
        with study.writing():
            settings.enter_settings(study, settings.asked_settings(study, options, classes))
            return step(study.reread())
    if options.web.accept is not None:
        options = replace(options, images=web.accept(study, Path(options.web.accept)))
    if data is not None and task == toml.CLASSIFICATION:
        raise OptionError("--layout applies to segmentation data sets only; this is a study of classifiers")
    named = (
        _named(options, set_name, classifies=task == toml.CLASSIFICATION)
        if data is None
        else _named_by(data, set_name)
    )
    groups.check(named.everything, options.grouping)
    photos.forget()
    with study.writing():
        return _collect(study, options, set_name, classes, named, data)


def _changes_settings_alone(options: CollectOptions) -> bool:
    given = options.given().keys()
    of_study = {"classes", "only_classes", "size", "shard_size"}
    of_images = {"not_in", "set_", "role", "pattern", "store", "probe"}
    return bool(given & of_study) and not options.images and not given & of_images


def _changes_groups_alone(options: CollectOptions) -> bool:
    given = options.given().keys()
    others = given - {"group", "block", "task", "remove"}
    return options.grouping.asked and not options.images and not given & others


def _refuse_swapped(study: Study, images: Sequence[str]) -> None:
    """Raise StudyError if the folder of images is given where the study should be."""
    root = study.root
    if not images or study.exists or not holds_images(root):
        return
    first = Path(images[0])
    what = "is a study" if (first / "study.toml").is_file() else "does not exist"
    if what == "is a study" or not (first.exists() or glob.has_magic(images[0]) or is_address(images[0])):
        raise StudyError(
            f"{root} contains images, and {first} {what}; the study comes first, then its images: did you"
            f" mean {shlex.quote(str(first))} {shlex.quote(str(root))}?"
        )


@dataclass(frozen=True)
class _Named:
    """What a command names: the files that were found, the ids from lists of ids, and the arguments
    for both.
    """

    found: list[Found]
    ids: set[str]
    pictures: list[str]
    lists: list[str]
    frames: dict[str, Frame] = field(default_factory=dict)

    @property
    def everything(self) -> list[str]:
        return [*self.ids, *(f.id for f in self.found)]


@dataclass(frozen=True)
class _Gathered:
    """How a command changes the corpus: images that are new or changed, ids that leave it, and failures."""

    fresh: list[Image]
    dropped: set[str]
    failures: list[Failure]


def _named(options: CollectOptions, set_name: str, *, classifies: bool) -> _Named:
    lists = [file for file in options.images if classifies and id_lists.is_id_list(file)]
    ids = {f"{_prefix(set_name)}{id_}" for file in lists for id_ in id_lists.read_ids(file)}
    files = [image for image in options.images if image not in lists]
    found = find(files, pattern=options.pattern, stores=True) if files else []
    if prefix := _prefix(set_name):
        found = [replace(f, id=f"{prefix}{f.id}") for f in found]
    return _Named(found, ids, files, lists)


def _named_by(data: KnownFrames, set_name: str) -> _Named:
    """Return the images of a data set's frames, with the data set's ids."""
    frames = {f"{_prefix(set_name)}{frame.id}": frame for frame in data.frames}
    return _Named(
        [Found(id_, data.source_of(frame)) for id_, frame in frames.items()], set(), [data.path], [], frames
    )


def _prefix(set_name: str) -> str:
    """Return the prefix of a set's ids; '' for the set main."""
    return "" if set_name == "main" else f"{set_name}/"


def _collect(
    study: Study,
    options: CollectOptions,
    set_name: str,
    classes: Classes | None,
    named: _Named,
    data: KnownFrames | None = None,
) -> Collected:
    """Enter what a command names into a study that is locked for writing."""
    root = study.root
    wanted = settings.asked_settings(study, options, classes)
    settings.enter_store(study, wanted, options.storage.store)
    held = study.image_rows
    sets = study.stress.sets
    if set_name in sets:
        raise CorpusError(f"the set {set_name!r} was made by `faultscape stress`; give another --set")
    if wanted.classifies and settings.in_own_order(
        held.values(), named.pictures, named.lists, _prefix(set_name)
    ):
        wanted.own_order = True
    _refuse_made_ids(named, sets)
    removed = {
        image.id: image for image in read_removed(study.corpus) if not image.parent or image.set in sets
    }
    known = removed | held
    named = _joined(known, named)
    found = _with_held_ids(known, named.found, set_name)
    old = {(f.name, f.image): f for f in read_failures(root) if f.stage == "collect" and f.name == set_name}
    gathered = _gather(study, options, set_name, held, removed, found)
    alone = sorted(named.ids - {f.id for f in found} - held.keys())
    fresh = gathered.fresh + [
        removed.get(id_)
        or Image(id_, "", set_name, options.role or "pool", "clean", "", 0, 0, "", None, "", -1)
        for id_ in alone
    ]
    dropped = gathered.dropped | descendants(held.values(), gathered.dropped)
    if named.frames:
        fresh = [
            _of_frame(image, named.frames.get(image.id), options, new=image.id not in known)
            for image in fresh
        ]
    stay = [image for image in held.values() if image.id not in dropped]
    back = {image.id for image in fresh if image.id in removed}
    fresh += returning(removed, back)
    last = max(whole_sizes(study.corpus), default=-1) if held else -1
    images = follow(grouped(sharded(stay, fresh, wanted.shard, last), held))
    if back:
        print(
            f"{counted(len(back), 'image that was', 'images that were')} removed"
            f" {'is' if len(back) == 1 else 'are'} back, with labels and answers"
        )
    if not images:
        pictures.forget_notes(root)
        what = (
            f"none of the {len(found)} files can be used; the first"
            if len(found) > 1
            else "the only file cannot be used"
        )
        raise CorpusError(f"{what}: {gathered.failures[0].image}: {gathered.failures[0].reason}")
    images = follow(groups.group_images(images, {f.id for f in found} | named.ids, options.grouping))
    if dropped & held.keys():
        note_removed(root, [held[id_] for id_ in sorted(dropped & held.keys())])
    write_corpus(root, images)
    settings.enter_settings(study, wanted)
    study.reread()
    usable = {image.source for image in images}
    failed = {f.image for f in gathered.failures}
    still = [f for (_, path), f in old.items() if absolute(path) not in usable and path not in failed]
    replace_failures(root, "collect", set_name, gathered.failures + still)
    pictures.forget_notes(root)
    asked = list(options.images) if options.web.accept is None else [options.web.accept]
    log(root, "collect", images=asked, set=set_name, size=wanted.size)
    truths = enter_truths(study, wanted, data, named.frames, set_name) if data is not None else {}
    if blind := sum(image.dhash is None and bool(image.source) for image in collected(images)):
        print(
            f"{counted(blind, 'image')} not searched for near-duplicates; add --probe to read each one"
            " completely"
        )
    found = described(
        options.study,
        images,
        sum(i.id not in held and not i.parent for i in fresh),
        len(gathered.failures),
        wanted,
    )
    return replace(
        found, truths=", ".join(f"{name} ({counted(number, 'image')})" for name, number in truths.items())
    )


def _refuse_made_ids(named: _Named, sets: Collection[str]) -> None:
    """Raise CorpusError for an id with the prefix of a made set: one of the two images would be lost."""
    if taken := next((id_ for id_ in named.everything if id_.partition("/")[0] in sets), None):
        raise CorpusError(
            f"the id {taken!r} would belong to the set {taken.partition('/')[0]!r}, which was made by"
            " `faultscape stress`; collect these images with another --set NAME"
        )


def _of_frame(image: Image, frame: Frame | None, options: CollectOptions, *, new: bool) -> Image:
    """Return an image's row with its data set's role (if it is new), condition and group."""
    if frame is None:
        return image
    role = cast("Role", frame.role) if new and options.role is None else image.role
    return replace(
        image,
        role=role,
        condition=frame.condition,
        group=image.group if options.grouping.group is not None else frame.group,
    )


def _joined(held: Mapping[str, Image], named: _Named) -> _Named:
    """Return the named images with ids replaced by the study's own if these differ only in the extension, and
    report it.
    """
    if other := id_lists.held_names(sorted(named.ids), held):
        first = min(other)
        print(
            f"{counted(len(other), 'name matches an image', 'names match images')} of the study with or"
            f" without an extension: {first} is {other[first]}"
        )
    return replace(named, ids={other.get(id_, id_) for id_ in named.ids})


def _with_held_ids(held: Mapping[str, Image], found: Sequence[Found], set_name: str) -> list[Found]:
    """Return the files with the ids that the study already has for them, and report differences."""
    known = {image.source: image.id for image in held.values() if image.set == set_name}
    if other := [f for f in found if known.get(absolute(f.path), f.id) != f.id]:
        words = (
            "file is in the study already and keeps its id",
            "files are in the study already and keep their ids",
        )
        print(f"{counted(len(other), *words)}: {other[0].path} is {known[absolute(other[0].path)]}")
        found = [replace(f, id=known.get(absolute(f.path), f.id)) for f in found]
    return list(found)


def _gather(
    study: Study,
    options: CollectOptions,
    set_name: str,
    held: Mapping[str, Image],
    removed: Mapping[str, Image],
    found: Sequence[Found],
) -> _Gathered:
    """Probe the images, return how they change the corpus, and report which changed, are gone, or are
    excluded. An image that was ``removed`` comes back with its former row.
    """
    same = pictures.unchanged(held, found, options.storage.probe)
    probed, failed = pictures.probe(study.root, [f for f in found if f.id not in same], options.storage.probe)
    if options.not_in and (blind := next((f for f, picture in probed if picture.dhash is None), None)):
        raise CorpusError(
            f"{blind.path}: --not-in must decode each image; add --probe to read all of them completely"
        )
    banned = pictures.Banned(options.not_in)
    failures = [Failure("collect", set_name, f.path, reason) for f, reason in failed]
    fresh: list[Image] = []
    dropped: set[str] = set()
    for image in [held[id_] for id_ in sorted(same)]:
        if (near := banned.near(image.dhash)) is not None:
            failures.append(
                Failure(
                    "collect", set_name, image.source, f"near-duplicate of {near}, which --not-in excludes"
                )
            )
            dropped.add(image.id)
        elif options.role not in (None, image.role):
            fresh.append(replace(image, role=options.role))
    if dropped:
        print(
            f"{counted(len(dropped), 'image leaves', 'images leave')} the study: near-duplicates of images in"
            " --not-in (failures.csv)"
        )
    if fresh:
        print(
            f"{counted(len(fresh), 'existing image now has', 'existing images now have')} the role"
            f" {options.role}"
        )
    known = {**removed, **held}
    _print_changed(study, pictures.changed(known, probed))
    _print_gone(pictures.gone(held, found, set_name))
    for f, picture in probed:
        earlier = known.get(f.id)
        _refuse_another_file(earlier, f, picture, options.images)
        if (near := banned.near(picture.dhash)) is not None:
            failures.append(
                Failure("collect", set_name, f.path, f"near-duplicate of {near}, which --not-in excludes")
            )
            dropped.add(f.id)
        else:
            fresh.append(_image(f, picture, set_name, options.role, earlier))
    return _Gathered(fresh, dropped, failures)


def _image(found: Found, picture: Picture, set_name: str, role: str | None, earlier: Image | None) -> Image:
    """Return the row of an image, with values of the ``earlier`` image of this id, if any."""
    return Image(
        id=found.id,
        source=absolute(found.path),
        set=set_name,
        role=role or (earlier.role if earlier else "pool"),
        condition="clean",
        parent="",
        width=picture.width,
        height=picture.height,
        digest=picture.digest,
        dhash=picture.dhash,
        near_duplicate_of="",
        shard=earlier.shard if earlier else -1,
        group=earlier.group if earlier else "",
    )


def _print_changed(study: Study, images: Sequence[Image]) -> None:
    """Report the images whose file is new or changed, and what was made from the earlier file."""
    if came := [image for image in images if not image.source]:
        print(
            f"{counted(len(came), 'id now has its image file', 'ids now have their image files')}, the first:"
            f" {came[0].id}"
        )
    if not (images := [image for image in images if image.source]):
        return
    labelled: set[str] = set()
    for folder in (label_maps.truth(study.root, name) for name in study.label_folders):
        parts = study.manifest(folder)
        for number in sorted({image.shard for image in images}):
            if part := parts.get(part_name(number)):
                labelled |= set(label_maps.read_ids(folder, number, part))
    old = sum(image.id in labelled for image in images)
    print(
        f"{counted(len(images), 'image')} changed since collection, the first: {images[0].source};"
        " maps that networks made from them are stale"
        + (f", and {old} of them have labels of the earlier file: check these again" if old else "")
    )


def _print_gone(images: Sequence[Image]) -> None:
    """Report the images of the study whose files are gone."""
    if images:
        print(
            f"{counted(len(images), 'image file of the study is', 'image files of the study are')} missing,"
            f" the first: {images[0].source}; existing maps and labels stay, but new networks cannot predict"
            " these images (failures.csv)"
        )


def _refuse_another_file(held: Image | None, found: Found, picture: Picture, given: Sequence[str]) -> None:
    """Raise CorpusError if a different file has the id of an image whose own file still exists."""
    if held is None or held.source == absolute(found.path) or held.digest == picture.digest:
        return
    if os.path.isfile(file_of(held.source)) or is_address(held.source):
        raise CorpusError(
            f"two files have the id {found.id!r}: {held.source}, which is in the study, and {found.path};"
            " rename one, or collect it into another --set"
            f"{named_as_models([place for place in given if _lies_in(found.path, place)])}"
        )


def _lies_in(path: str, place: str) -> bool:
    """Whether a file is in a folder, or below it.

    >>> _lies_in("maps/unet/a.png", "maps/unet/"), _lies_in("maps/unet2/a.png", "maps/unet")
    (True, False)
    """
    return path.startswith(os.path.join(place, ""))
