"""The truth for each image of a study: its labels, its anomaly labels, and the image whose map a made image
should keep.

Conventions: a made set without labels of its own uses those of its parents (`reading.sets`). Anomaly labels
are those of a blended set, or of the truth ``anomaly`` of a data set; under a holdout, withheld pixels are
the anomaly (stressors.holdout) of collected images, and void in made ones; if other labels define the
anomaly, they are void, because models did not learn them. If a corruption leaves each pixel in place, the
model's own map of the parent is the expected map.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.errors import FaultscapeError
from faultscape.nouns import UNKNOWN, Classes
from faultscape.reading.maps import StoredMaps
from faultscape.reading.sets import labels_of_set
from faultscape.stressors.anomaly_labels import KNOWN, VOID
from faultscape.stressors.holdout import Holdout, hold_out, open_labels
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.stress_sets import StressSets, labels_folder

if TYPE_CHECKING:
    from faultscape.reading.study import Study

ANOMALY = "anomaly"  # the truth of anomaly labels, and their folder in a blended set
PASTED = "pasted"  # folder in a blended set: where known objects were pasted
Place = tuple[str, int, str]  # a folder below the study, a shard, an image id


@dataclass(frozen=True)
class Judged:
    """The truth for one image, None for what does not exist: its labels, its anomaly labels, where known
    objects were pasted, and the image whose map it should keep.
    """

    semantic: Place | None = None
    anomaly: Place | None = None
    pasted: Place | None = None
    parent: tuple[int, str] | None = None
    made: bool = False


def find_judged(study: Study, images: Mapping[str, Image], truth: str) -> dict[str, Judged]:
    """Return {image id: its truth} of some images of a study, with the labels of a truth ('' for none)."""
    out: dict[str, Judged] = {}
    for name in dict.fromkeys(image.set for image in images.values()):
        out |= _of_set(study, images, name, truth)
    return out


def _of_set(study: Study, images: Mapping[str, Image], name: str, truth: str) -> dict[str, Judged]:
    root = study.root
    stress = study.stress
    mine = [image for image in images.values() if image.set == name]
    semantic = labels_of_set(study, images, name, truth) if truth else None
    base = _base(name, stress)
    blended = stress.sets[base].kind == "blend" if base in stress.sets else False
    about = stress.sets.get(name)
    keeps = about is not None and about.labels == "parents"
    folder = labels_folder(root, base) / ANOMALY if blended else label_maps.truth(root, ANOMALY)
    there = study.manifest(folder)
    out = {}
    beside = labels_folder(root, base) / PASTED if blended else None
    pasted = study.manifest(beside) if beside is not None else {}
    for image in mine:
        of = image
        labels = None
        while of.set != base and of.parent in images:
            of = images[of.parent]
        if semantic is not None and image.id in semantic.places:
            labels = (semantic.folder.relative_to(root).as_posix(), *semantic.places[image.id])
        anomaly = (
            (folder.relative_to(root).as_posix(), of.shard, of.id) if part_name(of.shard) in there else None
        )
        known = None
        if beside is not None and part_name(of.shard) in pasted:
            known = (beside.relative_to(root).as_posix(), of.shard, of.id)
        parent = images.get(image.parent) if keeps else None
        out[image.id] = Judged(
            labels, anomaly, known, None if parent is None else (parent.shard, parent.id), bool(image.parent)
        )
    return out


def with_labels(study: Study, judged: Mapping[str, Judged]) -> dict[str, Judged]:
    """Return the truths of images without those whose label is missing; `collect` and `label import` may have
    brought different images.
    """
    held: dict[tuple[str, int], set[str]] = {}

    def there(place: Place | None) -> bool:
        if place is None:
            return False
        folder, shard, id_ = place
        if (folder, shard) not in held:
            where = study.root / folder
            part = study.manifest(where).get(part_name(shard))
            held[folder, shard] = set(label_maps.read_ids(where, shard, part)) if part is not None else set()
        return id_ in held[folder, shard]

    return {
        id_: replace(
            about,
            semantic=about.semantic if there(about.semantic) else None,
            anomaly=about.anomaly if there(about.anomaly) else None,
        )
        for id_, about in judged.items()
    }


def validation_views(study: Study, judged: Mapping[str, Judged]) -> list[tuple[str, str]]:
    """Return the (image, holdout) from which thresholds are learnt: the collected images of role validation
    that have labels, without the classes of the first holdout.
    """
    holdouts = study.stress.holdouts.items()
    first = next((name for name, words in holdouts if _held(study.classes, words) is not None), "")
    return [
        (image.id, "" if judged[image.id].anomaly else first)
        for image in study.image_rows.values()
        if image.role == "validation"
        and not image.parent
        and (judged[image.id].semantic or judged[image.id].anomaly)
    ]


def _base(name: str, stress: StressSets) -> str:
    """Return the set whose labels a set uses: itself, or the first ancestor with its own labels."""
    while (about := stress.sets.get(name)) is not None and about.labels == "parents":
        name = about.of
    return name


@dataclass(frozen=True, eq=False)
class View:
    """One way to evaluate the pixels of an image: the holdout ('' for none), the labels, places (H, W) with C
    for void, the anomaly labels (0, 1, 255), and where known objects were pasted (1).
    """

    holdout: str
    semantic: np.ndarray | None
    anomaly: np.ndarray | None
    pasted: np.ndarray | None = None


class Judge:
    """Reads the truth for the images of a shard; safe for several threads."""

    def __init__(
        self,
        study: Study,
        judged: Mapping[str, Judged],
        holdouts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._study = study
        self._classes = study.classes
        self._judged = judged
        self._holdouts = {
            name: hold
            for name, words in (study.stress.holdouts if holdouts is None else holdouts).items()
            if (hold := _held(study.classes, words)) is not None
        }
        self._withheld = (
            np.any([hold.is_withheld for hold in self._holdouts.values()], axis=0) if self._holdouts else None
        )
        self._lock = threading.Lock()
        self._maps = lru_cache(maxsize=8)(self._open)

    @classmethod
    def of_truth(cls, study: Study, truth: str) -> Judge:
        """Return a reader for all images of a study, with the labels of a truth ('' for none)."""
        return cls(study, find_judged(study, study.image_rows, truth))

    def views(self, id_: str, size: tuple[int, int]) -> list[View]:
        """Return the ways to evaluate an image, at a size (width, height): plainly, if it has labels, and
        under each holdout, if no other labels define its anomalies.
        """
        about = self._judged.get(id_, Judged())
        with self._lock:
            semantic = self._read(about.semantic, size, plain=False)
            anomaly = self._read(about.anomaly, size, plain=True)
            pasted = self._read(about.pasted, size, plain=True)
        if semantic is not None and anomaly is not None and self._withheld is not None:
            anomaly[(anomaly == KNOWN) & self._withheld[semantic]] = VOID
        out = [View("", semantic, anomaly, pasted)] if semantic is not None or anomaly is not None else []
        if semantic is not None and anomaly is None:
            out += [
                View(name, np.where(hold.is_withheld[semantic], len(self._classes), semantic), None)
                if about.made
                else View(name, semantic, open_labels(semantic, hold))
                for name, hold in self._holdouts.items()
            ]
        return out

    def _read(self, place: Place | None, size: tuple[int, int], *, plain: bool) -> np.ndarray | None:
        if place is None:
            return None
        folder, shard, id_ = place
        found = self._maps(folder, shard, plain)
        held = None if found is None else found.read(id_, size)
        return None if held is None else held.copy()

    def _open(self, folder: str, shard: int, plain: bool) -> StoredMaps | None:
        where = self._study.root / folder
        part = self._study.manifest(where).get(part_name(shard))
        if part is None:
            return None
        places = np.arange(UNKNOWN + 1, dtype=np.uint16) if plain else table(self._classes)
        known = "0, 1 and 255" if plain else allowed(self._classes)
        return StoredMaps(where, shard, places, known, part.sha256)


def _held(classes: Classes, words: Sequence[str]) -> Holdout | None:
    """Return a holdout with the current classes; None if its classes no longer exist, which `measure`
    reports.
    """
    try:
        return hold_out(classes, list(words))
    except FaultscapeError:
        return None


def made_from(study: Study, judged: Iterable[Judged]) -> Iterator[tuple[str, str, str]]:
    """Yield (folder, part, checksum) of the labels of some images, sorted."""
    folders: dict[str, set[str]] = {}
    for about in judged:
        for place in (about.semantic, about.anomaly, about.pasted):
            if place is not None:
                folders.setdefault(place[0], set()).add(part_name(place[1]))
    for folder, parts in sorted(folders.items()):
        held = study.manifest(study.root / folder)
        yield from ((folder, part, held[part].sha256) for part in sorted(parts) if part in held)
