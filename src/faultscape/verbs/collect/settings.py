"""What `collect` does with the study's settings: classes, working size, shards, and the store of its parts.

Conventions: it reports what a change makes stale, and removes nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from faultscape.classes.names import read_classes
from faultscape.corpus import id_lists
from faultscape.corpus.sources import LISTS, in_list
from faultscape.errors import ClassesError, CorpusError, OptionError, StudyError, counted
from faultscape.nouns import Classes
from faultscape.reading.boxes.evidence import box_answers
from faultscape.reading.study import Study
from faultscape.selection.renamed_classes import with_renamed_classes
from faultscape.study import settings as toml
from faultscape.study.part_folders import claim, held
from faultscape.study.settings import Settings
from faultscape.study.tables import selections
from faultscape.study.tables.corpus import Corpus
from faultscape.study.tables.stress_sets import rename_held_classes
from faultscape.verbs.options import CollectOptions

_TABLES = (".npz", ".npy", ".tsv", ".tsv.gz", ".csv.gz")


def task_of(study: Study, asked: str | None, size: str | None, only: str | None) -> str:
    """Return the task of a study: the one asked for, or its own; OptionError if the two differ, or if other
    options do not fit the task.
    """
    if asked not in (None, "segmentation", toml.CLASSIFICATION):
        raise OptionError(f"task {asked!r} is not known; use segmentation or {toml.CLASSIFICATION}")
    now = study.settings.task if study.exists else None
    if asked and now and asked != now:
        raise StudyError(
            f"{study.root} is a {now} study, and the task cannot change; create a new study for {asked}"
        )
    task = now or asked or "segmentation"
    if task == toml.CLASSIFICATION and size is not None:
        raise OptionError("--size applies to label maps only; for classifiers use `predict --input-size`")
    if task != toml.CLASSIFICATION and only is not None:
        raise OptionError("--only-classes applies to classifiers only; add --task classification")
    return task


def refuse_tables(images: tuple[str, ...], task: str, *, new: bool) -> None:
    """Raise CorpusError for sources without images: arrays and tables of answers and, in segmentation
    studies, lists of ids.
    """
    for file in images:
        if str(file).lower().endswith(_TABLES) and Path(file).is_file():
            also = (
                "; for classifiers also a .csv file that names images, in a column image"
                if task == toml.CLASSIFICATION
                else ""
            )
            raise CorpusError(
                f"{file}: contains no images; pass it to `faultscape predict` as NAME={file}; collect accepts"
                f" images{also}"
            )
        if task != toml.CLASSIFICATION and id_lists.is_id_list(str(file)):
            how = "add --task classification" if new else "create a new study with --task classification"
            raise CorpusError(
                f"{file}: lists images, but none of these files exist next to it; lists of ids without files"
                f" are for classifiers: {how}, or give paths of files"
            )


def asked_settings(study: Study, options: CollectOptions, classes: Classes | None) -> Settings:
    """Return the study's settings with the given options, whose task is set, and print what becomes stale."""
    task = options.task
    size = options.size
    shard_size = options.storage.shard_size
    only = options.only_classes
    assert task is not None
    if not study.exists:
        assert classes is not None
        return toml.Settings(
            task=task,  # type: ignore[arg-type]
            classes=toml.class_settings(classes, task),
            synonyms=toml.synonym_settings(classes),
            glosses=toml.gloss_settings(classes, task),
            only=list(read_classes(only, classes)) if only else [],
            size=size or "own",
            shard=shard_size or 1024,
        )
    settings = study.settings.model_copy(deep=True)
    if shard_size not in (None, settings.shard):
        raise StudyError(
            f"{study.root} has shards of {settings.shard} images, and the size cannot change; remove"
            " --shard-size, or create a new study"
        )
    if classes is not None:
        settings.synonyms = toml.synonym_settings(classes)
        settings.glosses = toml.gloss_settings(classes, task)
    if classes is not None:
        _take_classes(study, settings, toml.class_settings(classes, task), options)
    if only is not None:
        settings.only = list(read_classes(only, settings.class_list))
    if size is not None and size != settings.size:
        print(
            "the working size changes: networks' maps and all pairs are stale; run predict and compare to"
            " remake them"
        )
        settings.size = size
    return settings


def _take_classes(study: Study, settings: Settings, new: toml.ClassSettings, options: CollectOptions) -> None:
    """Replace the class list in settings, and print what becomes stale; ClassesError for one that looks like
    a different study's, unless --replace-classes is given.
    """
    old = settings.classes
    labelled = bool(study.label_folders)
    shared = len({*old.names} & {*new.names})
    fewer = min(len(old.names), len(new.names))
    same = counts_the_same(old, new)
    # unrelated data sets share a class or two, such as car and person; a list with only new names keeps its
    # meaning if colours or WordNet ids confirm it
    vouched = same and (bool(new.colours) or (bool(old.wnids) and old.wnids == new.wnids))
    foreign = (2 * shared < fewer and not vouched) or (not shared and not (vouched and new.wnids))
    if (settings.models or labelled) and not options.replace_classes and foreign:
        held = f"{', '.join(old.names[:3])}{' ...' if len(old.names) > 3 else ''}"
        listed = str(options.classes) if isinstance(options.classes, str | Path) else "FILE"
        line = f"faultscape collect {shlex.quote(options.study)} --classes {shlex.quote(listed)}"
        raise ClassesError(
            f"the class list shares {f'{shared} of {fewer} names' if shared else 'no name'} with the study's"
            f" ({held}), so its models and labels would change meaning; check that this is the right list, or"
            f" use it anyway: `{line} --replace-classes`"
        )
    if not (settings.models or labelled or selections.names(study.root) or study.answers.there):
        # nothing depends on the list yet
        settings.classes = new
        settings.only = [word for word in settings.only if word in new.names]
        return
    before = dict(zip(old.names, old.ids, strict=True))
    now_is = dict(zip(new.names, new.ids, strict=True))
    moved = [name for name, id_ in now_is.items() if before.get(name, id_) != id_]
    if moved and labelled and settings.classifies and not options.replace_classes:
        raise ClassesError(
            f"{moved[0]!r} has the id {now_is[moved[0]]} in this list but {before[moved[0]]} in the study, so"
            " stored labels would change meaning; give each class its present `id` (JSON), or add"
            " --replace-classes and import the labels again"
        )
    renamed = _renamed(old, new)
    for name, now in renamed.items():
        print(f"class {name!r} is now called {now!r}; label mappings follow")
    if renamed and settings.classifies and not new.wnids:
        print(
            "note: classes with the same id count as the same class; give a different class its own id (JSON)"
        )
    if same:
        first = old.first_names or old.names
        new.first_names = first if first != new.names else []
    if new == old:
        return
    if same:
        print("only names, colours or groups of classes change: no counts become stale")
    elif settings.classifies:
        print(
            "the class list changes: everything computed from it is stale; run predict, select and rank again"
        )
    else:
        print(
            "the class list changes: pairs and everything computed from them are stale; run compare to"
            " remake them"
        )
    if old.wnids and not new.wnids:
        print(
            "note: the new list lacks the WordNet ids of the old one, so tables that use them and WordNet"
            " distances no longer work; give each class its `wnid` (JSON)"
        )
    if moved and labelled:
        which = (
            "labels still have the old id"
            if settings.classifies
            else "labels imported from LabelMe files or class colours still have the old id"
        )
        print(f"{moved[0]!r} has a new id: {which}; import them again")
    for model in settings.models.values():
        model.labels = {label: renamed.get(name, name) for label, name in model.labels.items()}
        if isinstance(said := model.options.get("labels"), dict):
            model.options["labels"] = {word: renamed.get(name, name) for word, name in said.items()}
    for truth in settings.truths.values():
        truth.labels = {value: renamed.get(name, name) for value, name in truth.labels.items()}
    settings.classes = new
    settings.only = [name for word in settings.only if (name := renamed.get(word, word)) in new.names]


def _renamed(old: toml.ClassSettings, new: toml.ClassSettings) -> dict[str, str]:
    """Return {old name: new name} of classes that kept id and colour, so that mappings to them stay valid.

    Classes of classifiers have no colours: one is renamed if all ids are unchanged, and its WordNet id too if
    both lists have them.
    """
    if new.colours:
        marks = old.colours
        now_marks = new.colours
    elif old.ids == new.ids and all(
        a == b or (a not in new.names and b not in old.names)
        for a, b in zip(old.names, new.names, strict=True)
    ):
        both = bool(old.wnids and new.wnids)
        marks, now_marks = (old.wnids, new.wnids) if both else ([""] * len(old.ids), [""] * len(new.ids))
    else:
        return {}
    now = dict(zip(zip(new.ids, now_marks, strict=False), new.names, strict=False))
    out: dict[str, str] = {}
    for id_, mark, name in zip(old.ids, marks, old.names, strict=False):
        called = now.get((id_, mark))
        if name not in new.names and called is not None and called not in old.names:
            out[name] = called
    return out


def counts_the_same(old: toml.ClassSettings, new: toml.ClassSettings) -> bool:
    """Whether two class lists differ only in colours, groups and the names of classes that kept id and
    colour, which do not affect counts.
    """
    renamed = _renamed(old, new)
    names = [renamed.get(name, name) for name in old.names]
    return (names, old.ids, old.void, old.background) == (new.names, new.ids, new.void, new.background)


def enter_settings(study: Study, wanted: Settings) -> None:
    """Write study.toml, and rename renamed classes in answers and, if counts stay the same, in selections,
    which remain valid.
    """
    root = study.root
    held = study.settings.classes if study.exists else wanted.classes
    renamed = _renamed(held, wanted.classes)
    if wanted.classes != held:
        study.answers.rename(renamed)
        study.point_answers.rename(renamed)
        box_answers(study).rename(renamed)
        rename_held_classes(root, renamed)
    renamed = renamed if counts_the_same(held, wanted.classes) else {}
    for name in selections.names(root) if renamed else ():
        made = study.selection(name)
        selections.write_selection(root, with_renamed_classes(made.slots, renamed), made.drawn_from, name)
    toml.write_settings(root, wanted)


def in_own_order(corpus: Corpus, files: Sequence[str], lists: Sequence[str], before: str) -> bool:
    """Whether lists give images in an order other than natural counting order, alone or appended to the
    study's images.
    """
    named = [before + id_ for file in lists for id_ in id_lists.read_ids(file)]
    alone = (id_ for id_, source in corpus.each_row("id", "source") if not source) if named else ()
    there = sorted(alone, key=id_lists.counting)
    behind = list(dict.fromkeys([*there, *named]))
    written = [
        in_list(Path(file)) for file in files if Path(file).suffix.lower() in LISTS and Path(file).is_file()
    ]
    return any(map(id_lists.in_own_order, [named, behind if named else [], *written]))


def enter_store(study: Study, settings: Settings, store: str | None) -> None:
    """Enter where parts are stored, when the study is created; StudyError if parts would be left behind, or
    the place cannot be written to or belongs to another study.
    """
    if store is None:
        return
    root = study.root
    if store != settings.store and study.exists and held(root):
        where = settings.store or str(root)
        raise StudyError(
            f"the parts of {root} are stored in {where}, and --store does not move them; copy predictions,"
            " truth, pairs, measures/statistics and reliability/counts to the new place and write "
            f'store = "{store}" into study.toml, or create a new study'
        )
    if store:
        claim(root, store)
    settings.store = store


def describe(settings: Settings, alone: int) -> tuple[str, str]:
    """Return what `collect` prints about the classes and the working size; ``alone`` images have no file
    here.
    """
    names = settings.classes.names
    classes = f"{len(names)}: {', '.join(names[:6])}{' ...' if len(names) > 6 else ''}"
    if settings.classifies:
        asked = f"{len(settings.only)} of them" if settings.only else "all of them"
        without = (
            f"; {counted(alone, 'image')} without {'a file' if alone == 1 else 'files'} here" if alone else ""
        )
        return f"{classes}; the study asks about {asked}", f"one class per image{without}"
    void = settings.classes.void
    background = settings.classes.background
    more = [f"void {void}" if void else "", "" if background is None else f"background {background}"]
    size = (
        f"{settings.size} (every map is compared at this size)"
        if settings.working_size
        else "own (each image keeps its size)"
    )
    return "; ".join([classes, *filter(None, more)]), size
