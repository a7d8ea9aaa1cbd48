"""Data sets to measure: truth and the models' maps and scores, found as files, matched by id, and cut into
shards.

Conventions: ids are the truth's, sorted; a shard is 64 of them in that order. In a study, shards are its own,
with the images that have a truth.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from faultscape import plug
from faultscape.arguments import place_text
from faultscape.classes.class_lists import palette
from faultscape.classes.mapping import of_file, pairs_of
from faultscape.classes.mask_folders import ask_about_void, not_meant, of_label_ids
from faultscape.classes.palettes import coded_by_palette
from faultscape.corpus import matches, sources
from faultscape.corpus.groups import assign_groups
from faultscape.errors import (
    CorpusError,
    LabelMapError,
    ModelError,
    OptionError,
    StudyError,
    closest,
    counted,
    shortened,
)
from faultscape.formats.scores import SCORE_ENDINGS
from faultscape.metrics.definitions import Definitions
from faultscape.nouns import Classes
from faultscape.prediction.sources.folder import fingerprint
from faultscape.stages.evidence import labels_gone
from faultscape.stages.made_sets import SetLabels, collected, held_out, labels_of_set, refuse_unfinished
from faultscape.stages.measure.jobs import Images, Place, ShardJob, Source
from faultscape.stages.measure.options import FileRules, Reading
from faultscape.stages.measure.scores import kept as kept_scores
from faultscape.stages.statistics import WITH_CONFIDENCE, basis, state_of_stored
from faultscape.study.folder import check_name
from faultscape.study.parts import key_of, read_manifest
from faultscape.study.settings import ModelSettings, class_settings, read_settings
from faultscape.study.tables import label_maps, outputs, pixel_counts
from faultscape.study.tables.corpus import Image, part_name, read_corpus, shards

SHARD = 64
MASKS = Classes(("known", "anomaly"), (0, 1), palette(2), (255,))  # what values of masks mean
SCORES = ("confidence", "doubt", "probabilities", "anomaly")
Say = Callable[[str], None]
SetPart = tuple[str, str]  # a set and a holdout of a study, '' for none


@dataclass(frozen=True)
class DataSet:
    """A data set to measure: ``truth`` and ``models`` {NAME: source}, the ids in corpus order, and the range
    of ids in each shard.

    ``with_classes`` is false if the truth is anomaly masks, or regions without classes. ``images`` {id: path}
    are images to show. ``sizes`` (width, height) are the sizes at which maps are compared, if not the truth's
    own. ``together`` holds the group of each image, '' for a single one; empty without groups. ``tie_keys``
    identify each image of a study independently of its name; for folders, `stages.measure.image_order` reads
    the files.
    """

    name: str
    ids: tuple[str, ...]
    shards: dict[int, tuple[int, int]]
    truth: Source
    models: dict[str, Source]
    classes: Classes
    with_classes: bool
    images: dict[str, str] = field(default_factory=dict)
    sizes: tuple[tuple[int, int], ...] = ()
    keys: dict[tuple[str, int], str] = field(default_factory=dict)
    together: tuple[str, ...] = ()
    tie_keys: tuple[str, ...] = ()
    part: SetPart = ("", "")
    labels: tuple[tuple[int, str], ...] = ()  # (shard, id) of each image's label, for a made set
    absent: tuple[str, ...] = ()  # models of the study without a map of the set
    line: str = ""  # the command that makes maps of the set for those of them that are not folders
    earlier: bool = False  # named by an earlier command, not by this one
    notes: tuple[str, ...] = ()  # about its files

    @property
    def study(self) -> Path | None:
        """The study that the data set belongs to; None for folders."""
        return Path(self.truth.study) if self.truth.study else None

    def images_of(self, *shards: int) -> Images:
        """Return the images of some shards, as a job takes them; by default of all."""
        spans = [(number, self.shards[number]) for number in shards or self.shards]
        ids = [id_ for _, (low, high) in spans for id_ in self.ids[low:high]]
        sizes = [list(size) for _, (low, high) in spans for size in self.sizes[low:high]]
        labels = [label for _, (low, high) in spans for label in self.labels[low:high]]
        return Images(ids, sizes, [number for number, (low, high) in spans for _ in range(low, high)], labels)


def of_files(
    name: str,
    truth: str,
    models: Mapping[str, str],
    scores: Mapping[str, Mapping[str, str]],
    classes: Classes | None,
    *,
    rules: FileRules,
    regions: str,
    say: Say,
) -> DataSet:
    """Return the data set of a folder of truth and folders of maps and scores; ``scores`` is {kind: {NAME:
    folder}}. Without maps, the truth is masks, whose ``classes`` are `MASKS`.

    Errors: CorpusError if no files are found or match, ModelError if scores are given for a model without
    maps, LabelMapError for maps whose values may mean two things.
    """
    folders = _folders(models, scores)
    images = place_text(rules.images)
    others = [*folders.values(), *([images] if images else [])]
    files, readings = _true_files(truth, others, rules.pattern, say)
    ids = tuple(sorted(files))

    def match(folder: str, endings: frozenset[str]) -> tuple[list[sources.Found], dict[str, str]]:
        return _matched(folder, endings, ids, readings, [*files.values()], say)

    notes: list[str] = []
    matched: dict[tuple[str, str], dict[str, str]] = {}
    for (kind, model), folder in folders.items():
        found, matched[kind, model] = match(folder, SCORE_ENDINGS if kind else sources.MAP_ENDINGS)
        notes += _without_truth(model, folder, found, matched[kind, model])
    held = {truth: [*files.values()]}
    held |= {f"{model}={source}": [*matched["", model].values()] for model, source in models.items()}
    given = of_file(place_text(rules.labels), classes, None) if classes else {}
    asking = bool(models) and regions != "given"  # values of masks and region ids are no classes' ids
    meanings = _meanings_of_values(held, classes, given, rules, say, asking=asking) if classes else {}
    out: dict[str, Source] = {}
    for (kind, model), found in matched.items():
        places = [found.get(i) for i in ids]
        if kind:
            known = out.get(model, Source(scores[kind][model]))
            out[model] = replace(known, scores={**known.scores, kind: places})
        else:
            labels = meanings.get(f"{model}={models[model]}", {})
            out[model] = Source(models[model], labels, places, given=bool(given))
    of_group = assign_groups(ids, rules.group, rules.block)
    ignore = tuple(rules.ignore or ())
    return DataSet(
        check_name(name, "data set"),
        ids,
        {place // SHARD: (place, min(place + SHARD, len(ids))) for place in range(0, len(ids), SHARD)},
        Source(truth, meanings.get(truth, {}), [files[i] for i in ids], given=bool(given)),
        out,
        classes
        or Classes(("region",), (next(i for i in range(65535) if i not in ignore),), ((128, 0, 0),), ignore),
        bool(models) and classes is not None,
        match(images, sources.IMAGE_ENDINGS)[1] if images else {},
        together=_if_any([of_group.get(i, "") for i in ids]),
        notes=tuple(notes),
    )


def _folders(
    models: Mapping[str, str], scores: Mapping[str, Mapping[str, str]]
) -> dict[tuple[str, str], str]:
    """Return {(kind, NAME): folder} of maps, whose kind is '', and scores; ModelError and OptionError for
    folders that are not there or do not go together.
    """
    out: dict[tuple[str, str], str] = {}
    for model, source in models.items():
        path = Path(source)
        if path.suffix.lower() == ".onnx":
            raise ModelError(
                f"{model}={source}: measure takes folders of label maps; run the network with "
                "`faultscape predict` first"
            )
        out["", check_name(model)] = str(inner) if (inner := path / "labels").is_dir() else source
        if not path.exists():
            raise ModelError(f"{model}={source}: there is no such folder")
    for kind, named in scores.items():
        for model, source in named.items():
            out[kind, check_name(model)] = source
            if kind != "anomaly" and model not in models:
                known = ", ".join(models) or "none"
                raise ModelError(
                    f"--{kind} {model}={source}: no model has this name; models with maps are {known}"
                )
            if not Path(source).exists():
                raise ModelError(f"--{kind} {model}={source}: there is no such folder")
    if models and scores.get("anomaly"):
        raise OptionError(
            "--anomaly scores need masks of 0, 1 and 255, maps need classes; measure them separately, or "
            "as two data sets"
        )
    return out


def _true_files(
    truth: str, others: Sequence[str], pattern: str | None, say: Say
) -> tuple[dict[str, str], list[str | None]]:
    """Return {image id: file} of the truth, and in which order the files of other folders are read: by the
    names as they are (None), or by the pattern, which comes first if it is not meant for the truth.

    CorpusError if the pattern fits no file of any folder.
    """

    def find(place: str, pattern: str | None, *, some_or_none: bool = False) -> list[sources.Found]:
        all_kinds = sources.MAP_ENDINGS | SCORE_ENDINGS | sources.IMAGE_ENDINGS
        endings = sources.MAP_ENDINGS if place == truth else all_kinds
        return sources.find(
            [place], endings=endings, strip=False, pattern=pattern, some_or_none=some_or_none, say=say
        )

    found = find(truth, pattern, some_or_none=bool(pattern))
    by_pattern = bool(pattern and found)
    if not by_pattern:
        elsewhere = pattern and any(find(place, pattern, some_or_none=True) for place in others)
        found = find(truth, None if elsewhere else pattern)
    found = matches.one_kind(found, say)
    suffix = "" if by_pattern else sources.common_suffix([f.id for f in found])
    files = {f.id.removesuffix(suffix): f.path for f in found}
    return files, [None] if pattern is None else [None, pattern] if by_pattern else [pattern, None]


def _matched(
    folder: str,
    endings: frozenset[str],
    ids: Sequence[str],
    readings: Sequence[str | None],
    truths: Sequence[str],
    say: Say,
) -> tuple[list[sources.Found], dict[str, str]]:
    """Return the files of a folder, and {image id: file}, by the first reading of their names, a pattern or
    None, by which some are images'; ``truths`` are the files of the images' truth.
    """

    def by(pattern: str | None) -> tuple[list[sources.Found], dict[str, str]]:
        found = sources.find([folder], endings=endings, strip=False, pattern=pattern, say=say)
        return found, matches.fit(folder, found, ids, pattern=pattern, others=truths, say=say)

    for reading in readings:
        with suppress(CorpusError):
            return by(reading)
    return by(None)  # says what is wrong


def _without_truth(
    model: str, folder: str, found: list[sources.Found], matched: Mapping[str, str]
) -> list[str]:
    """Return a note about a model's files of maps or scores that no truth belongs to, if there are any."""
    kind, used = matches.one_kind(found, lambda _: None), {*matched.values()}
    names = {f.id for f in kind}
    alone = sorted(names - {f.id for f in kind if f.path in used})
    what = counted(len(alone), "file has", "files have")
    are = "is" if len(alone) == 1 else "are"
    note = (
        f"{model}: {what} no truth, of {len(names)} in {folder}, and {are} not measured:"
        f" {shortened(alone, most=3)}"
    )
    return [note] if alone else []


def _meanings_of_values(
    folders: Mapping[str, Sequence[str]],
    classes: Classes,
    given: dict[str, str],
    rules: FileRules,
    say: Say,
    *,
    asking: bool,
) -> dict[str, dict[str, str]]:
    """Return {folder: label mapping} of folders of maps, the one ``given`` or what their values show, and
    report how they are read. If ``asking``, LabelMapError for those whose values may mean two things.
    """
    pairs = pairs_of(place_text(rules.labels) or "")
    elsewhere = not_meant(folders, classes, given, pairs) if asking else {}
    known = {*map(int, given), *(rules.ignore or ())}
    out: dict[str, dict[str, str]] = {}
    noted: dict[str, list[str]] = {}
    asked: dict[str, str] = {}
    for where, files in folders.items():
        labels, note = (given, "") if given else of_label_ids(where, classes, files)
        if note:
            noted.setdefault(note, []).append(where)
        for value, class_ in elsewhere.get(where, {}).items():
            note = (
                f"--labels {value}={class_} is not used, because these maps hold {class_!r} as its own value"
            )
            noted.setdefault(f"{note} beside {value}", []).append(where)
        # void of the class list stays void in a mapping that lacks it
        out[where] = {v: name for v, name in labels.items() if v not in elsewhere.get(where, {})}
        if not asking:
            continue
        if not given:
            coded_by_palette(files, classes, out[where])
        try:
            ask_about_void(where, files, classes, out[where], known=known, if_void="--ignore {}")
        except LabelMapError as question:
            asked[where] = str(question)
    if asked:
        first, *others = asked
        also = f" (likewise {', '.join(others)}, for which the answer counts too)" if others else ""
        raise LabelMapError(f"{first}{also}: {asked[first].removeprefix(f'{first}: ')}")
    for note, places in noted.items():
        say(f"note: {', '.join(places)}: {note}")
    return out


def of_study(root: Path, truth: str, set_: str = "", holdout: str = "") -> DataSet:
    """Return the data set of a study's images with a map of this truth, with every model of the study: the
    collected images, or those of one ``set_``.

    With a ``holdout``, only its kept classes are classes, and withheld pixels are void. Errors: CorpusError
    if no image has a label, StudyError for an unknown set or holdout.
    """
    settings = read_settings(root)
    kept_classes = held_out(root, settings, holdout) if holdout else settings.class_list
    if holdout:
        settings = settings.model_copy(update={"classes": class_settings(kept_classes)})
    images = {image.id: image for image in read_corpus(root)}
    places = _places(root, images, set_, truth)
    parts, gone = read_manifest(places.folder), {} if set_ else labels_gone(root, truth)
    of_part: dict[int, set[str]] = {}
    ids: list[str] = []
    spans: dict[int, tuple[int, int]] = {}
    sizes: list[tuple[int, int]] = []
    pictures, together, tie_keys, labels = {}, [], [], []
    keys: dict[tuple[str, int], str] = {}
    sure: dict[str, list[Place | None]] = {name: [] for name in settings.models}
    maps = {name: read_manifest(label_maps.predictions(root, name)) for name in settings.models}
    kept = {name: outputs.parts_by_shard(root, name, "confidence") for name in settings.models}

    def is_labelled(place: tuple[int, str]) -> bool:
        number, id_ = place
        if number not in of_part:
            part = parts.get(part_name(number))
            of_part[number] = set(label_maps.read_ids(places.folder, number, part)) if part else set()
        return id_ in of_part[number]

    for number, rows in shards([*images.values()]).items():
        mine = [image for image in rows if image.id in places.places and is_labelled(places.places[image.id])]
        if not mine and not (not set_ and part_name(number) in parts):
            continue
        spans[number] = (len(ids), len(ids) + len(mine))
        ids += [image.id for image in mine]
        together += [image.group for image in mine]
        tie_keys += [image.key for image in mine]
        labels += [places.places[image.id] for image in mine]
        sizes += [settings.working_size or (image.width, image.height) for image in mine]
        pictures |= {image.id: image.source for image in mine}
        made_from = [
            parts[part_name(shard)].sha256
            for shard in sorted({shard for shard, _ in labels[spans[number][0] :]} or {number})
        ]
        for name, model in settings.models.items():
            of_shard = kept[name].get(number, ())
            sure[name] += kept_scores.tokens(
                root, name, "confidence", number, [image.id for image in mine], of_shard
            )
            made = maps[name].get(part_name(number))
            keys[name, number] = state_of_stored(
                settings,
                " ".join(made_from),
                made.sha256 if made else None,
                _meanings(model.labels, kept_classes),
                gone.get(number, ()),
            )
    if not ids:
        what = f"set {set_}" if set_ else "study"
        raise CorpusError(f"{root}: no image of the {what} has a map in truth {truth!r}")
    models: dict[str, Source] = {}
    lacking = {
        name
        for name, parts in maps.items()
        if not any(parts[p].rows for p in map(part_name, spans) if p in parts)
    }
    absent = tuple(sorted(lacking)) if set_ else ()
    dropped = [name for name in absent if pixel_counts.dropped(root, name, spans)]
    line = _line_of_maps(root, settings.models, set_, absent, dropped) if absent else ""
    if absent and len(absent) == len(maps):
        why = (
            f"maps of {', '.join(dropped)} were counted and not kept (predict --measure)"
            if dropped
            else "no model has maps of it yet"
        )
        how = f"run `{line}`" if line else "add maps to the folder of a model"
        raise ModelError(f"--set {set_}: {why}; {how} (a folder of maps needs SET/ID.png)")
    for name, model in settings.models.items():
        if name in absent:
            continue
        scores = {"confidence": sure[name]} if any(sure[name]) else {}
        state = kept_scores.state(root, name, "confidence") if scores else ""
        meanings = _meanings(model.labels, kept_classes)
        models[name] = Source(
            model.source, meanings, study=str(root), kind="model", name=name, scores=scores, state=state
        )
    if not models:
        raise ModelError(
            f"{root}: the study has no model; add one with `faultscape predict {root} NAME=SOURCE`"
        )
    own = set_ if places.folder != label_maps.truth(root, truth) else ""
    of_truth = Source(
        truth, {}, study=str(root), kind="truth", name=truth, set=places.folder.name if own else ""
    )
    return DataSet(
        name_part(set_ or truth, holdout),
        tuple(ids),
        spans,
        of_truth,
        models,
        kept_classes,
        True,
        pictures,
        tuple(sizes),
        keys,
        _if_any(together),
        tuple(tie_keys),
        part=(set_, holdout),
        labels=tuple(labels) if set_ else (),
        absent=absent,
        line=line,
    )


def _line_of_maps(
    root: Path,
    models: Mapping[str, ModelSettings],
    set_: str,
    absent: Sequence[str],
    dropped: Sequence[str],
) -> str:
    """Return the command that makes the maps of a set for models without; where maps were ``dropped``, it
    keeps them beside what is kept already, and counts again. '' for folders, whose files only you can add.
    """
    runs = [name for name in absent if name in dropped or models[name].kind != "folder"]
    if not runs:
        return ""
    kept = [word for name in runs for word in models[name].options.get("keep", [])]
    keep = dict.fromkeys([*kept, "labels"] if dropped else [])
    named = [shlex.quote(f"{name}={models[name].source}") for name in runs]
    words = [*named, f"--set {shlex.quote(set_)}", *(f"--keep {shlex.quote(word)}" for word in keep)]
    words += ["--measure"] if dropped else []
    return f"faultscape predict {shlex.quote(str(root))} {' '.join(words)}"


def name_part(set_: str, holdout: str) -> str:
    """Return the name of a part of a study in measure.json: the set, or the truth for all collected images,
    and the holdout.

    >>> name_part("fog-3", "chairs")
    'fog-3.chairs'
    """
    return f"{set_}.{holdout}" if holdout else set_


def _places(root: Path, images: Mapping[str, Image], set_: str, truth: str) -> SetLabels:
    """Return where the labels of the measured images are stored; StudyError for an unknown set, or one
    without labels under a truth.
    """
    if not set_:
        return SetLabels(
            label_maps.truth(root, truth),
            {image.id: (image.shard, image.id) for image in collected(images.values())},
        )
    names = list(dict.fromkeys(image.set for image in images.values()))
    if set_ not in names:
        raise StudyError(
            f"--set {set_}: the study has no such set; it has"
            f" {', '.join(names[:8])}{', ...' if len(names) > 8 else '.'}{closest(set_, names)}"
        )
    refuse_unfinished(root, set_)
    if (found := labels_of_set(root, images, set_, truth)) is None:
        raise StudyError(
            f"--set {set_}: its labels were made from another truth than {truth!r}; name that with "
            f"--truth, or run its line of `faultscape stress` with --truth {truth}"
        )
    return found


def _meanings(labels: Mapping[str, str], classes: Classes) -> dict[str, str]:
    """Return a model's label mapping with labels of unknown classes mapped to void: a held-out class is not
    an answer.
    """
    return {value: name if name in classes.names else "void" for value, name in labels.items()}


def _if_any(groups: list[str]) -> tuple[str, ...]:
    return tuple(groups) if any(groups) else ()


def inputs(data: DataSet) -> str:
    """Return a digest of the inputs of a study's measures, or of a folder's ids; `status` uses it to detect
    stale measures.
    """
    made_from = [f"{name} {shard} {key}" for (name, shard), key in sorted(data.keys.items())] or list(
        data.ids
    )
    return key_of([*made_from, list(data.together)] if data.together else made_from)


def shard_jobs(
    out: Path,
    data: DataSet,
    definitions: Definitions,
    reading: Reading,
    metrics: Sequence[str] = (),
    *,
    done: Callable[[str, int], str | None],
) -> list[ShardJob]:
    """Return jobs for the shards in which a model's part is missing or stale; ``done(NAME, shard)`` returns
    the key of the existing part.
    """
    written = class_settings(data.classes)
    common = basis(definitions, data.classes, asdict(reading), with_classes=data.with_classes)
    common += [[word.rpartition(":")[2], plug.digest(word)] for word in metrics]
    todo = []
    for number, (low, high) in data.shards.items():
        wanted, keys = {}, {}
        for name, source in data.models.items():
            if not source.has_maps:
                continue
            key = key_of(common, data.keys.get((name, number)) or _state(data, source, low, high))
            if source.study and any(source.scores.get("confidence", ())[low:high]):
                key += WITH_CONFIDENCE
            # keep parts that predict --measure made with confidence
            fresh = (key, key + WITH_CONFIDENCE * bool(source.study))
            if done(name, number) not in fresh:
                wanted[name], keys[name] = source.part(low, high), key
        if wanted:
            common_of = (
                data.truth.part(low, high),
                wanted,
                keys,
                written,
                data.with_classes,
                definitions,
                list(metrics),
            )
            todo.append(
                ShardJob(str(out), data.name, number, data.images_of(number), *common_of, **asdict(reading))
            )
    return todo


def _state(data: DataSet, source: Source, low: int, high: int) -> list[Any]:
    """Return fingerprints of the files of a shard: their ids, sizes and times."""
    stamps = [
        fingerprint("/", [str(path or "") for path in s[low:high]])
        for s in (data.truth.paths, source.paths, source.scores.get("confidence", ()))
    ]
    return [list(data.ids[low:high]), *stamps, data.truth.labels, source.labels]
