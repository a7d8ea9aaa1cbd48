"""Data sets to measure, truth and the models' maps and scores cut into shards, and those that are a study's;
`folders` makes those of files.

Conventions: ids are in corpus order. The shards of a study are its own, with the images that have a truth.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from faultscape import plug
from faultscape.errors import CorpusError, ModelError, StudyError, closest
from faultscape.metrics.definitions import Definitions
from faultscape.nouns import Classes
from faultscape.prediction.sources.folder import fingerprint
from faultscape.reading.evidence import truth_words
from faultscape.reading.sets import SetLabels, collected, held_out, labels_of_set, refuse_unfinished
from faultscape.reading.study import Study
from faultscape.study.parts import key_of, read_manifest
from faultscape.study.settings import ModelSettings, class_settings, read_settings
from faultscape.study.tables import label_maps, outputs, pixel_counts
from faultscape.study.tables.corpus import Image, part_name, read_corpus, shards
from faultscape.verbs.measure.jobs import Images, Place, ShardJob, Source
from faultscape.verbs.measure.options import Reading
from faultscape.verbs.measure.scores import kept as kept_scores
from faultscape.verbs.predict.statistics import WITH_CONFIDENCE, basis, state_of_stored

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
    identify each image of a study independently of its name; for folders, `verbs.measure.image_order` reads
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
    parts = read_manifest(places.folder)
    gone = {} if set_ else Study(root).labels_gone(truth)
    of_part: dict[int, set[str]] = {}
    ids: list[str] = []
    spans: dict[int, tuple[int, int]] = {}
    sizes: list[tuple[int, int]] = []
    pictures = {}
    together = []
    tie_keys = []
    labels = []
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
    line = _line_of_maps(root, settings.models, set_, absent, dropped, truth) if absent else ""
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
        if_any(together),
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
    truth: str,
) -> str:
    """Return the command that makes the maps of a set for models without; where maps were ``dropped``, it
    keeps them beside what is kept already, and counts again, against ``truth``. '' for folders, whose files
    only you can add.
    """
    runs = [name for name in absent if name in dropped or models[name].kind != "folder"]
    if not runs:
        return ""
    kept = [word for name in runs for word in models[name].options.get("keep", [])]
    keep = dict.fromkeys([*kept, "labels"] if dropped else [])
    named = [shlex.quote(f"{name}={models[name].source}") for name in runs]
    words = [*named, f"--set {shlex.quote(set_)}", *(f"--keep {shlex.quote(word)}" for word in keep)]
    words += ["--measure", *truth_words(Study(root), truth)] if dropped else []
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


def if_any(groups: list[str]) -> tuple[str, ...]:
    """Return the groups of images; () if none has one."""
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
        wanted = {}
        keys = {}
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
