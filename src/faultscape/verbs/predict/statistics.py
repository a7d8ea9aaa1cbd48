"""The statistics of a study's maps against a truth: the keys of their parts, and how they are made during
prediction.

Conventions: `predict --measure` makes what `measure` makes under the default definitions, from the stored
form of labels and confidence (steps of 1/255). The bytes are those of ``predict --keep confidence`` followed
by ``measure``, but the large confidence maps never reach the disk. DESIGN, end of section 2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.classes.class_lists import allowed, meaning, narrow, table
from faultscape.errors import FaultscapeError
from faultscape.maps import array_codes, runs
from faultscape.maps.resize import nearest
from faultscape.metrics import image_statistics
from faultscape.metrics.definitions import Definitions, define
from faultscape.nouns import Classes, Json
from faultscape.reading.maps import StoredMaps
from faultscape.reading.study import Study
from faultscape.study.parts import Part, key_of, read_manifest, there, write_manifest
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps, measures
from faultscape.study.tables.corpus import Image, part_name

VERSION = 7  # of the statistics: a new number makes every part stale
WITH_CONFIDENCE = "+confidence"
NO_MAP = "no map was found"
TRAINED = "it trained this model, or stands for an image that did"
# the definitions that affect statistics; the others affect only their summary
_CHOICES = ("regions", "connectivity", "void", "absent", "scale", "match", "tolerance", "band")


@dataclass(frozen=True)
class Reading:
    """Other options that affect statistics: boundary metrics, the divisor of region ids, the scale of score
    images, maps of a different size; by default those of `measure`.
    """

    boundaries: bool = True
    divisor: int | None = None
    score_scale: float | None = None
    resize_maps: bool = False


def state_of_stored(
    settings: Settings,
    truth: str,
    maps: str | None,
    labels: Mapping[str, str],
    gone: Sequence[str] = (),
    trained: Collection[str] = (),
) -> str:
    """Return a key of a shard's stored maps, from the checksums of its truth and of a model's part, the
    model's label mapping, its labelled images that are ``gone``, and the images that ``trained`` the model.
    """
    about = [settings.classes.counted, settings.size]
    also = [[list(gone)] if gone else [], [["trained", *sorted(trained)]] if trained else []]
    return key_of(about, truth, maps, meaning(settings.class_list, labels), *also[0], *also[1])


def trained_by_shard(study: Study, name: str) -> dict[int, list[str]]:
    """Return {shard: its images that trained a model, or resemble images that did}."""
    found = dict[int, list[str]]()
    for image, shard in study.corpus.shards_of(study.trained_on(name)).items():
        found.setdefault(shard, []).append(image)
    return found


def basis(definitions: Definitions, classes: Classes, reading: Reading, *, with_classes: bool) -> list[Json]:
    """Return the inputs that all statistics of a data set depend on, apart from its files."""
    named = {name: getattr(definitions, name) for name in _CHOICES}
    if definitions.all_unknown != "zero":  # not in the keys of earlier versions
        named["all_unknown"] = definitions.all_unknown
    return [
        named,
        [list(classes.ids), list(classes.void), classes.background],
        with_classes,
        asdict(reading),
        VERSION,
    ]


@dataclass(frozen=True)
class MadeStatistics:
    """A written part of a shard's statistics that is not entered yet."""

    sha256: str
    rows: int
    failures: tuple[tuple[str, str], ...]


class AtOnce:
    """Computes the statistics of one shard from its results, image by image in corpus order."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        truth: str,
        name: str,
        images: Sequence[Image],
        labels: dict[str, str],
    ) -> None:
        self._classes = settings.class_list
        self._definitions = define(None)
        self._shard = images[0].shard
        self._where = measures.folder(root / "measures", truth, name)
        self._sizes = {image.id: settings.working_size or (image.width, image.height) for image in images}
        self._order = [image.id for image in images]
        places = table(self._classes)
        known = allowed(self._classes)
        self._truth = StoredMaps(label_maps.truth(root, truth), self._shard, places, known)
        self._trained = Study(root).trained_on(name)
        self._places = narrow(table(self._classes, labels))
        self._rows: dict[str, Any] = {}
        self._failures: dict[str, str] = {}
        self._cells = np.zeros((len(self._classes) + 1,) * 2, np.int64)

    def take(self, id_: str, code: bytes | None, confidence: bytes | None) -> None:
        """Measure one image, whose map may be None; an image that left the corpus is skipped."""
        wanted = self._truth.read(id_, self._sizes[id_]) if id_ in self._sizes else None
        if wanted is None:
            return
        if code is None or id_ in self._trained:
            self._failures[id_] = NO_MAP if code is None else TRAINED
            return
        try:
            label_map = nearest(runs.decode(code, self._places), self._sizes[id_])
            sure = None if confidence is None else array_codes.decode(confidence).astype(np.float32) / 255
            stats, cells = image_statistics.of_maps(
                wanted, label_map, self._classes, self._definitions, confidence=sure, boundaries=True
            )
            stats["with_confidence"] = np.array(int(sure is not None))
        except FaultscapeError as error:
            self._failures[id_] = str(error)
            return
        self._rows[id_], self._cells = stats, self._cells + cells

    def finish(self) -> MadeStatistics:
        """Write the shard's part and return its entry."""
        ids = [id_ for id_ in self._order if id_ in self._rows]
        sha = measures.put_statistics(
            self._where, self._shard, ids, [self._rows[id_] for id_ in ids], self._cells
        )
        failures = tuple((id_, self._failures[id_]) for id_ in self._order if id_ in self._failures)
        return MadeStatistics(sha, len(ids), failures)


class Statistics:
    """The statistics of a study against a truth: checks which shards have them, and enters new ones."""

    def __init__(self, study: Study, settings: Settings, truth: str) -> None:
        self._root = study.root
        self._settings = settings
        self._truth = truth
        self._trained = partial(trained_by_shard, study)
        self._truths = study.manifest(label_maps.truth(study.root, truth))
        self._gone = study.labels_gone(truth)
        self._held: dict[str, dict[str, Part]] = {}

    def has(self, name: str, shard: int, maps: str) -> bool:
        """Whether the statistics of a model's maps with this checksum exist, or are not needed because no
        image of the shard has a truth.
        """
        if name not in self._held:
            self._held[name] = there(self.folder(name))
        part = self._held[name].get(part_name(shard))
        return part_name(shard) not in self._truths or (
            part is not None and part.key == self._key(name, shard, maps)
        )

    def folder(self, name: str) -> Path:
        """Return the folder of a model's statistics."""
        return measures.folder(self._root / "measures", self._truth, name)

    def enter(self, name: str, made: Iterable[tuple[int, str, MadeStatistics]]) -> None:
        """Enter statistics of (shard, checksum of its maps, statistics) that were made with these maps, in
        one write.
        """
        entries = {
            part_name(shard): Part(of.sha256, of.rows, self._key(name, shard, maps), of.failures)
            for shard, maps, of in made
            if part_name(shard) in self._truths
        }
        if entries:
            write_manifest(self.folder(name), read_manifest(self.folder(name)) | entries)

    def _key(self, name: str, shard: int, maps: str) -> str:
        settings = self._settings
        truth = self._truths[part_name(shard)]
        state = state_of_stored(
            settings,
            truth.sha256,
            maps,
            settings.models[name].labels,
            self._gone.get(shard, ()),
            self._trained(name).get(shard, ()),
        )
        follows_from = basis(Definitions(), settings.class_list, Reading(), with_classes=True)
        return key_of(follows_from, state) + WITH_CONFIDENCE
