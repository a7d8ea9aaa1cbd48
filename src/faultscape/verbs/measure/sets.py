"""Data sets to measure, truth and the models' maps and scores cut into shards, and those that are a study's;
`folders` makes those of files.

Conventions: ids are in corpus order. The shards of a study are its own, with the images that have a truth.
Ties between images are broken independently of their names: an image of a study has its own key
(``tie_keys``); in folders the key is the SHA-256 of the image file if images are given, else of the true map.
Images with the same key follow the sorted digests of their predictions, whichever model they come from. If
the file is gone, the id is used.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from faultscape import plug
from faultscape.errors import CorpusError, ModelError, StudyError, closest
from faultscape.nouns import Classes
from faultscape.prediction.sources.folder import fingerprint
from faultscape.reading.evidence import truth_words
from faultscape.reading.sets import SetLabels, collected, held_out, labels_of_set, refuse_unfinished
from faultscape.reading.study import Study
from faultscape.study.parts import Part, key_of
from faultscape.study.settings import class_settings
from faultscape.study.tables import label_maps, outputs, pixel_counts
from faultscape.study.tables.corpus import Image, part_name, shards
from faultscape.ties import tie_ranks
from faultscape.verbs.measure.jobs import Images, Place, ShardJob, Source
from faultscape.verbs.measure.measurement import Measurement
from faultscape.verbs.predict.statistics import WITH_CONFIDENCE, basis, state_of_stored, trained_by_shard

SCORES = ("confidence", "doubt", "probabilities", "anomaly")
Say = Callable[[str], None]
SetPart = tuple[str, str]  # a set and a holdout of a study, '' for none


@dataclass(frozen=True)
class DataSet:
    """A data set to measure: ``truth`` and ``models`` {NAME: source}, the ids in corpus order, and the range
    of ids in each shard; ``study`` is the one that it is a part of, None for folders.

    ``with_classes`` is false if the truth is anomaly masks, or regions without classes. ``images`` {id: path}
    are images to show. ``sizes`` (width, height) are the sizes at which maps are compared, if not the truth's
    own. ``together`` holds the group of each image, '' for a single one; empty without groups. ``tie_keys``
    identify each image of a study independently of its name; for folders, `ranks_of` reads the files.
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
    study: Study | None = None
    part: SetPart = ("", "")
    labels: tuple[tuple[int, str], ...] = ()  # (shard, id) of each image's label, for a made set
    absent: tuple[str, ...] = ()  # models of the study without a map of the set
    line: str = ""  # the command that makes maps of the set for those of them that are not folders
    earlier: bool = False  # named by an earlier command, not by this one
    notes: tuple[str, ...] = ()  # about its files

    def images_of(self, *shards: int) -> Images:
        """Return the images of some shards, as a job takes them; by default of all."""
        spans = [(number, self.shards[number]) for number in shards or self.shards]
        ids = [id_ for _, (low, high) in spans for id_ in self.ids[low:high]]
        sizes = [list(size) for _, (low, high) in spans for size in self.sizes[low:high]]
        labels = [label for _, (low, high) in spans for label in self.labels[low:high]]
        return Images(ids, sizes, [number for number, (low, high) in spans for _ in range(low, high)], labels)

    def source_in(self, number: int, source: Source) -> Source:
        """Return what a job reads of the truth, or of a model, for one shard."""
        low, high = self.shards[number]
        elsewhere = {shard for shard, _ in self.labels[low:high]} if source.kind == "truth" else ()
        return source.part(low, high, elsewhere or {number})


def of_study(study: Study, truth: str, set_: str = "", holdout: str = "") -> DataSet:
    """Return the data set of a study's images with a map of this truth, with every model of the study: the
    collected images, or those of one ``set_``.

    With a ``holdout``, only its kept classes are classes, and withheld pixels are void. Errors: CorpusError
    if no image has a label, StudyError for an unknown set or holdout.
    """
    root = study.root
    settings = study.settings
    classes = held_out(study, holdout) if holdout else study.classes
    if holdout:
        settings = settings.model_copy(update={"classes": class_settings(classes)})
    where = _places(study, set_, truth)
    parts = study.manifest(where.folder)
    labelled = _labelled(study, where, parts, whole=not set_)
    images = [image for mine in labelled.values() for image in mine]
    if not images:
        what = f"set {set_}" if set_ else "study"
        instead = "" if set_ else _points_instead(study)
        raise CorpusError(f"{root}: no image of the {what} has a map in truth {truth!r}{instead}")
    spans: dict[int, tuple[int, int]] = {}
    truths: dict[int, str] = {}
    first = 0
    for number, mine in labelled.items():
        spans[number] = (first, first + len(mine))
        first += len(mine)
        there = {where.places[image.id][0] for image in mine} or {number}
        truths[number] = " ".join(parts[part_name(shard)].sha256 for shard in sorted(there))
    absent, line = _without_maps(study, spans, set_, truth)
    gone = {} if set_ else study.labels_gone(truth)
    keys: dict[tuple[str, int], str] = {}
    models: dict[str, Source] = {}
    told = list[str]()
    ids = [image.id for image in images]
    for name, model in settings.models.items():
        void = study.trained_on(name)
        trained = [id_ for id_ in ids if id_ in void]
        own = trained_by_shard(study, name)
        maps = {int(part): entry.sha256 for part, entry in study.manifest(_maps(study, name)).items()}
        meanings = _meanings(model.labels, classes)
        for number in spans:
            keys[name, number] = state_of_stored(
                settings,
                truths[number],
                maps.get(number),
                meanings,
                gone.get(number, ()),
                own.get(number, ()),
            )
        if name in absent:
            continue
        if len(trained) == len(ids):
            told.append(f"{name}: all {len(ids)} images trained it or resemble images that did; left out")
            continue
        sure = _with_confidence(study, name, labelled)
        models[name] = Source(
            model.source,
            meanings,
            study=str(root),
            kind="model",
            name=name,
            maps=maps,
            scores={"confidence": sure} if any(sure) else {},
            state=_state_of(study, name, "confidence") if any(sure) else "",
            trained=trained,
        )
    if not models and told:
        raise ModelError(f"{root}: no image judges a model; {told[0]}: label other images, of other groups")
    if not models:
        raise ModelError(
            f"{root}: the study has no model; add one with `faultscape predict {root} NAME=SOURCE`"
        )
    own = where.folder.name if where.folder != label_maps.truth(root, truth) else ""
    checksums = {int(part): entry.sha256 for part, entry in parts.items()}
    size = settings.working_size
    return DataSet(
        name_part(set_ or truth, holdout),
        tuple(ids),
        spans,
        Source(truth, {}, study=str(root), kind="truth", name=truth, set=own, maps=checksums),
        models,
        classes,
        True,
        {image.id: image.source for image in images},
        tuple(size or (image.width, image.height) for image in images),
        keys,
        if_any([image.group for image in images]),
        tuple(image.key for image in images),
        study,
        part=(set_, holdout),
        labels=tuple(where.places[image.id] for image in images) if set_ else (),
        absent=absent,
        line=line,
        notes=tuple(told),
    )


def _points_instead(study: Study) -> str:
    """Return the command that measures from points, as the end of a sentence; '' where none are drawn."""
    name = next((name for name, made in study.selections.items() if made.slots.points), "")
    line = f"`faultscape measure {study.place} --selection {shlex.quote(name)}`"
    return f"; to measure from answers to points: {line}" if name else ""


def _maps(study: Study, name: str) -> Path:
    return label_maps.predictions(study.root, name)


def _labelled(
    study: Study, where: SetLabels, parts: Mapping[str, Part], *, whole: bool
) -> dict[int, list[Image]]:
    """Return {shard: its images with a label}, of shards that have some; of the ``whole`` study, also of
    those whose labelled images all left.
    """
    held: dict[int, set[str]] = {}

    def is_labelled(place: tuple[int, str]) -> bool:
        number, id_ = place
        if number not in held:
            part = parts.get(part_name(number))
            held[number] = set(label_maps.read_ids(where.folder, number, part)) if part else set()
        return id_ in held[number]

    out = dict[int, list[Image]]()
    for number, rows in shards([*study.image_rows.values()]).items():
        mine = [image for image in rows if image.id in where.places and is_labelled(where.places[image.id])]
        if mine or (whole and part_name(number) in parts):
            out[number] = mine
    return out


def _with_confidence(study: Study, name: str, labelled: Mapping[int, Sequence[Image]]) -> list[Place | None]:
    """Return (shard, id) of each labelled image for which a model has confidence, else None."""
    parts = outputs.parts_by_shard(study.root, name, "confidence", study.manifest)
    out: list[Place | None] = []
    for number, images in labelled.items():
        there = set(outputs.ids(study.root, name, "confidence", parts.get(number, ())))
        there -= study.trained_on(name)
        out += [(number, image.id) if image.id in there else None for image in images]
    return out


def _state_of(study: Study, name: str, kind: str) -> str:
    """Return a digest of all parts of a kind of a model's outputs."""
    parts = study.manifest(_maps(study, name) / kind).items()
    return key_of(sorted((part, entry.sha256, entry.key) for part, entry in parts))


def _without_maps(
    study: Study, numbers: Collection[int], set_: str, truth: str
) -> tuple[tuple[str, ...], str]:
    """Return the models without a map of a made set, and the command that makes these maps: where maps were
    counted and dropped, it keeps them beside what is kept already, and counts again, against ``truth``; ''
    for folders, whose files only you can add. ModelError if no model has any.
    """
    models = study.settings.models
    maps = {name: study.manifest(_maps(study, name)) for name in models if set_}
    names = {*map(part_name, numbers)}
    absent = sorted(
        name for name, parts in maps.items() if not any(parts[part].rows for part in names & parts.keys())
    )
    if not absent:
        return (), ""
    dropped = [name for name in absent if pixel_counts.dropped(study.root, name, numbers, study.manifest)]
    line = ""
    if runs := [name for name in absent if name in dropped or models[name].kind != "folder"]:
        kept = [word for name in runs for word in models[name].options.get("keep", [])]
        keep = dict.fromkeys([*kept, "labels"] if dropped else [])
        named = [shlex.quote(f"{name}={models[name].source}") for name in runs]
        words = [*named, f"--set {shlex.quote(set_)}", *(f"--keep {shlex.quote(word)}" for word in keep)]
        words += ["--measure", *truth_words(study, truth)] if dropped else []
        line = f"faultscape predict {shlex.quote(str(study.root))} {' '.join(words)}"
    if len(absent) == len(maps):
        why = (
            f"maps of {', '.join(dropped)} were counted and not kept (predict --measure)"
            if dropped
            else "no model has maps of it yet"
        )
        how = f"run `{line}`" if line else "add maps to the folder of a model"
        raise ModelError(f"--set {set_}: {why}; {how} (a folder of maps needs SET/ID.png)")
    return tuple(absent), line


def name_part(set_: str, holdout: str) -> str:
    """Return the name of a part of a study in measure.json: the set, or the truth for all collected images,
    and the holdout.

    >>> name_part("fog-3", "chairs")
    'fog-3.chairs'
    """
    return f"{set_}.{holdout}" if holdout else set_


def _places(study: Study, set_: str, truth: str) -> SetLabels:
    """Return where the labels of the measured images are stored; StudyError for an unknown set, or one
    without labels under a truth.
    """
    images = study.image_rows
    if not set_:
        return SetLabels(
            label_maps.truth(study.root, truth),
            {image.id: (image.shard, image.id) for image in collected(images.values())},
        )
    names = [*study.sets]
    if set_ not in names:
        raise StudyError(
            f"--set {set_}: the study has no such set; it has"
            f" {', '.join(names[:8])}{', ...' if len(names) > 8 else '.'}{closest(set_, names)}"
        )
    refuse_unfinished(study, set_)
    if (found := labels_of_set(study, images, set_, truth)) is None:
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


def shard_jobs(asked: Measurement, data: DataSet) -> list[ShardJob]:
    """Return jobs for the shards in which a model's part is missing or stale."""
    metrics = asked.metrics_of_maps
    written = class_settings(data.classes)
    common = basis(asked.definitions, data.classes, asked.reading, with_classes=data.with_classes)
    common += [[word.rpartition(":")[2], plug.digest(word)] for word in metrics]
    done = {name: asked.existing(data.name, name) for name in data.models}
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
            part = done[name].get(part_name(number))
            if part is None or part.key not in fresh:
                wanted[name] = data.source_in(number, source)
                keys[name] = key
        if wanted:
            todo.append(
                ShardJob(
                    str(asked.out),
                    data.name,
                    number,
                    data.images_of(number),
                    data.source_in(number, data.truth),
                    wanted,
                    keys,
                    written,
                    data.with_classes,
                    asked.definitions,
                    list(metrics),
                    asked.reading,
                )
            )
    return todo


def _state(data: DataSet, source: Source, low: int, high: int) -> list[Any]:
    """Return fingerprints of the files of a shard: their ids, sizes and times."""
    stamps = [
        fingerprint("/", [str(path or "") for path in s[low:high]])
        for s in (data.truth.paths, source.paths, source.scores.get("confidence", ()))
    ]
    return [list(data.ids[low:high]), *stamps, data.truth.labels, source.labels]


def ranks_of(data: DataSet, places: np.ndarray) -> np.ndarray:
    """Return (K,) the tie-breaking rank of each image, given by index in the data set; for folders, this
    reads their files.
    """
    wanted = places.tolist()
    if data.tie_keys:
        return tie_ranks([data.tie_keys[k] for k in wanted], ids=[data.ids[k] for k in wanted])
    keys = [
        _digest(data.images.get(data.ids[k]))
        or _digest(data.truth.paths[k] if data.truth.files else None)
        or data.ids[k]
        for k in wanted
    ]
    several = {key for key, times in Counter(keys).items() if times > 1}
    said = [_said(data, k) if key in several else "" for key, k in zip(keys, wanted, strict=True)]
    return tie_ranks(keys, ids=[f"{what} {data.ids[k]}" for what, k in zip(said, wanted, strict=True)])


def _said(data: DataSet, k: int) -> str:
    """Return the sorted digests of all models' files for an image."""
    lists = [of for source in data.models.values() for of in (source.files, *map(source.scores.get, SCORES))]
    files = [of[k] for of in lists if of is not None]
    return " ".join(sorted(_digest(path) for path in files))


def _digest(path: Place | None) -> str:
    """Return the SHA-256 of a file; '' if it cannot be read."""
    try:
        if not isinstance(path, str) or not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
