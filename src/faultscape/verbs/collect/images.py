"""Collect images into a study: the sources that a command names become rows of the corpus, with shards,
near-duplicate groups and failures.

Conventions: an image is identified by its id within its set; its shard, role and group stay the same whenever
it is collected again.
"""

from __future__ import annotations

import glob
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pyarrow as pa

from faultscape.corpus import id_lists, photos
from faultscape.corpus.mixtures import Part as MixturePart
from faultscape.corpus.sources import Found, absolute, files_of, holds_images
from faultscape.errors import CorpusError, OptionError, StudyError, counted
from faultscape.nouns import Classes
from faultscape.reading.sets import descendants, follow, returning
from faultscape.reading.study import Study
from faultscape.study import settings as toml
from faultscape.study.folder import check_name, local
from faultscape.study.store import is_address
from faultscape.study.tables.corpus import Image, images_of, put_tables, table_of, write_corpus
from faultscape.study.tables.logs import log, read_failures, replace_failures
from faultscape.study.tables.moved_images import CORPUS
from faultscape.study.tables.removed_images import note_removed, read_removed, whole_sizes
from faultscape.verbs.collect import groups, settings, web
from faultscape.verbs.collect.changes import Gathered, Gathering, Named
from faultscape.verbs.collect.groups import group_images
from faultscape.verbs.collect.known_data import Found as KnownFrames
from faultscape.verbs.collect.known_data import enter_truths, find_known, parts_of_mixture
from faultscape.verbs.collect.new_corpus import RowsAside, rows_of_corpus
from faultscape.verbs.collect.no_images import change_groups, change_settings, described, given_classes
from faultscape.verbs.collect.pictures import Notes
from faultscape.verbs.collect.removal import remove_images
from faultscape.verbs.collect.result import Collected, Downloaded, Queries
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
    sets = study.stress.sets
    if set_name in sets:
        raise CorpusError(f"the set {set_name!r} was made by `faultscape stress`; give another --set")
    total = _count(named, sets)
    if options.grouping.asked:
        groups.check([f.id for f in named], options.grouping)
    photos.forget()
    with study.writing():
        return _collect(study, options, set_name, classes, named, total, data)


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


def _named(options: CollectOptions, set_name: str, *, classifies: bool) -> Named:
    lists = [file for file in options.images if classifies and id_lists.is_id_list(file)]
    ids = frozenset(f"{_prefix(set_name)}{id_}" for file in lists for id_ in id_lists.read_ids(file))
    files = [image for image in options.images if image not in lists]
    found = files_of(files, pattern=options.pattern, stores=True) if files else []
    return Named(found, ids, files, lists, _prefix(set_name))


def _named_by(data: KnownFrames, set_name: str) -> Named:
    """Return the images of a data set's frames, with the data set's ids."""
    prefix = _prefix(set_name)
    found = [Found(frame.id, data.source_of(frame)) for frame in sorted(data.frames, key=attrgetter("id"))]
    frames = {f"{prefix}{frame.id}": frame for frame in data.frames}
    return Named(found, frozenset(), [data.path], [], prefix, frames)


def _prefix(set_name: str) -> str:
    """Return the prefix of a set's ids; '' for the set main."""
    return "" if set_name == "main" else f"{set_name}/"


def _count(named: Named, sets: Collection[str]) -> int:
    """Return how many files a command names. Errors: CorpusError for two with one id, or one with the prefix
    of a made set, of which one would be lost.
    """
    total = 0
    for f in named:
        if (set_name := f.id.partition("/")[0]) in sets:
            raise CorpusError(
                f"the id {f.id!r} would belong to the set {set_name!r}, which was made by"
                " `faultscape stress`; collect these images with another --set NAME"
            )
        total += bool(f.path)
    return total


def _collect(
    study: Study,
    options: CollectOptions,
    set_name: str,
    classes: Classes | None,
    named: Named,
    total: int,
    data: KnownFrames | None = None,
) -> Collected:
    """Enter what a command names, ``total`` files, into a study that is locked for writing."""
    root = study.root
    if study.corpus.is_earlier:
        write_corpus(root, study.corpus.images())
        study.reread()
    corpus = study.corpus
    wanted = settings.asked_settings(study, options, classes)
    settings.enter_store(study, wanted, options.storage.store)
    if wanted.classifies and settings.in_own_order(corpus, named.files, named.lists, named.prefix):
        wanted.own_order = True
    sets = study.stress.sets
    removed = {image.id: image for image in read_removed(corpus) if not image.parent or image.set in sets}
    named = _joined(study, removed, named)
    old = {f.image: f for f in read_failures(root) if f.stage == "collect" and f.name == set_name}
    with Notes(root) as notes, RowsAside(root) as aside:
        gathered = Gathering(study, options, set_name, named, removed, notes, aside).gather(total)
        came = len(gathered.changed.keys() & removed.keys())
        new = len(gathered.new) + came
        _follow_parents(study, gathered, removed)
        _refuse_nothing(study, gathered, total, new, notes)
        if came:
            print(
                f"{counted(came, 'image that was', 'images that were')} removed"
                f" {'is' if came == 1 else 'are'} back, with labels and answers"
            )
        if gathered.left:
            note_removed(root, [gathered.left[id_] for id_ in sorted(gathered.left)])
        put_tables(root / CORPUS, _rows(study, options, gathered, wanted.shard))
        settings.enter_settings(study, wanted)
        study.reread()
        failed = {f.image for f in gathered.failures}
        usable = study.corpus.ids_of_sources({absolute(path) for path in old})
        still = [f for path, f in old.items() if absolute(path) not in usable and path not in failed]
        replace_failures(root, "collect", set_name, gathered.failures + still)
        notes.forget()
    asked = list(options.images) if options.web.accept is None else [options.web.accept]
    log(root, "collect", images=asked, set=set_name, size=wanted.size)
    truths = enter_truths(study, wanted, data, named.frames, set_name) if data is not None else {}
    found = described(study, options.study, new, len(gathered.failures))
    return replace(
        found, truths=", ".join(f"{name} ({counted(number, 'image')})" for name, number in truths.items())
    )


def _rows(study: Study, options: CollectOptions, gathered: Gathered, size: int) -> Iterable[pa.Table]:
    """Return the rows of the corpus as it is now. Groups, and images that were made from others, are seen to
    with all rows in memory.
    """
    root = study.root
    start = 1 + max(whole_sizes(study.corpus), default=-1) if study.image_count else 0
    rows = rows_of_corpus(study.corpus, gathered, start, size)
    if not (options.grouping.asked or study.stress.sets):
        return rows
    images = follow([image for table in rows for image in images_of(table, root)])
    return [table_of(follow(group_images(images, gathered.ids, options.grouping)), root)]


def _follow_parents(study: Study, gathered: Gathered, removed: Mapping[str, Image]) -> None:
    """Let images that were made from others leave, and come back, with these."""
    if not study.stress.sets:
        return
    held = study.image_rows
    gathered.left |= {id_: held[id_] for id_ in descendants(held.values(), gathered.left) if id_ in held}
    back = returning(removed, gathered.changed.keys() & removed.keys())
    gathered.changed |= {image.id: image for image in back}
    gathered.again |= {image.id for image in back}


def _refuse_nothing(study: Study, gathered: Gathered, total: int, new: int, notes: Notes) -> None:
    """Raise CorpusError if the study would have no image."""
    if study.image_count + new > len(gathered.left):
        return
    notes.forget()
    what = (
        f"none of the {total} files can be used; the first" if total > 1 else "the only file cannot be used"
    )
    raise CorpusError(f"{what}: {gathered.failures[0].image}: {gathered.failures[0].reason}")


def _joined(study: Study, removed: Mapping[str, Image], named: Named) -> Named:
    """Return the named images with ids replaced by the study's own if these differ only in the extension, and
    report it.
    """
    if not named.ids:
        return named
    if other := id_lists.held_names(sorted(named.ids), removed.keys() | study.ids):
        first = min(other)
        print(
            f"{counted(len(other), 'name matches an image', 'names match images')} of the study with or"
            f" without an extension: {first} is {other[first]}"
        )
    return replace(named, ids=frozenset(other.get(id_, id_) for id_ in named.ids))
