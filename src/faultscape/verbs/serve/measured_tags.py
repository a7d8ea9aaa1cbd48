"""Measurable kinds of failure, proposed to the person who tags an image: its light and sharpness against the
pool, the size and position of objects, its group.

Conventions: darkness, brightness and blur are measured against a sample of the corpus, once, when the first
image is requested. Objects come from a label if there is one, else from the model in question. A class that
the border cuts on half or more of its images, of up to 100 labels or maps of that model, is not proposed as
cut. Nothing is a tag until a person gives it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import FaultscapeError
from faultscape.labelling.tags.proposals import (
    Light,
    Proposal,
    Thresholds,
    light_of,
    often_cut,
    propose_cut,
    propose_group,
    propose_light,
    propose_scale,
    thresholds,
)
from faultscape.nouns import Scale
from faultscape.reading.maps import StoredLabels
from faultscape.reading.study import Study
from faultscape.selection.quartiles import read_scale
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name

_POOL = 100  # images for measuring light and sharpness, and how often a class is cut
_PARTS = 10  # that maps are read from

_T = TypeVar("_T")


class MeasuredTags:
    """Proposes kinds of failure for the images of a study, in corpus order. Safe for several threads."""

    def __init__(self, images: Mapping[str, Image]) -> None:
        self._images = images
        self._ends: Thresholds | None = None
        self._often = dict[Path, frozenset[str]]()  # {folder of maps: the classes that are often cut there}
        self._lock = threading.Lock()

    def of(
        self, study: Study, image: Image, model: str = "", names: Collection[str] = ()
    ) -> list[tuple[str, str]]:
        """Return (kind of failure, why) for an image of the study as it is now, and for a model's map of it
        if one is named; only for objects of the classes in ``names``, if given.
        """
        found: list[Proposal] = []
        light = _light(image)
        if light is not None:
            found += propose_light(light, self._thresholds())
        if (seen := _label_or_map(study, image, model)) is not None:
            label_map, stored = seen
            classes = study.classes
            if (scale := _scale(study)) is not None:
                found += propose_scale(label_map, classes, scale, names or None).values()
            often = self._often_cut(stored)
            cut = propose_cut(label_map, classes, names or None)
            found += [one for name, one in cut.items() if name not in often]
        members = sum(one.group == image.group for one in self._images.values()) if image.group else 0
        found += propose_group(image.group, members)
        return [(one.tag, one.reason) for one in found]

    def _thresholds(self) -> Thresholds:
        with self._lock:
            if self._ends is None:
                held: Sequence[Image] = list(self._images.values())
                self._ends = thresholds(
                    [light for one in _spread(held, _POOL) if (light := _light(one)) is not None]
                )
            return self._ends

    def _often_cut(self, stored: StoredLabels) -> frozenset[str]:
        with self._lock:
            if stored.folder not in self._often:
                self._often[stored.folder] = often_cut(self._some(stored), stored.study.classes)
            return self._often[stored.folder]

    def _some(self, stored: StoredLabels) -> Iterator[np.ndarray]:
        """Yield some maps of a model or labels of a truth, from some of its parts."""
        parts = stored.study.manifest(stored.folder)
        shards = sorted({image.shard for image in self._images.values() if part_name(image.shard) in parts})
        chosen = _spread(shards, _PARTS)
        for shard in chosen:
            codes = [*label_maps.read_maps(stored.folder, shard, parts[part_name(shard)]).values()]
            for code in _spread(codes, _POOL // len(chosen)):
                yield stored.decode(code)


def _label_or_map(study: Study, image: Image, model: str) -> tuple[np.ndarray, StoredLabels] | None:
    """Return the label of an image, else the map of a model, and where it is stored, or None."""
    if study.classifies:
        return None
    places = [StoredLabels.of_truth(study, truth) for truth in study.label_folders]
    places += [study.maps(model)] if model in study.models else []
    for stored in places:
        if (found := stored.of(image)) is not None:
            return found, stored
    return None


def _scale(study: Study) -> Scale | None:
    path = study.root / "scale.json"
    try:
        return read_scale(path, study.classes) if path.exists() else None
    except FaultscapeError:
        return None


def _spread(items: Sequence[_T], number: int) -> list[_T]:
    """Return some items, evenly spread."""
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, min(number, len(items))).astype(int))]


def _light(image: Image) -> Light | None:
    try:
        return light_of(read_photo(image)[0])
    except FaultscapeError:
        return None
