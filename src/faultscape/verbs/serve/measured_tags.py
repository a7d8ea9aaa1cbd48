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
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from faultscape.classes.class_lists import narrow, table
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
from faultscape.maps import runs
from faultscape.nouns import Scale
from faultscape.selection.quartiles import read_scale
from faultscape.study.parts import read_manifest
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name

_POOL, _PARTS = (
    100,
    10,
    # numbers of images for measuring light and sharpness, and how often a class is cut; number of parts that
    # maps are read from
)

_T = TypeVar("_T")


@dataclass(frozen=True)
class _Maps:
    """Where maps are, and which model they belong to; '' for labels."""

    folder: Path
    model: str = ""


class MeasuredTags:
    """Proposes kinds of failure for the images of a study, in corpus order. Safe for several threads."""

    def __init__(self, root: Path, settings: Settings, images: Mapping[str, Image]) -> None:
        self._root = root
        self._settings = settings
        self._images = images
        self._ends: Thresholds | None = None
        self._often: dict[_Maps, frozenset[str]] = {}
        self._lock = threading.Lock()

    def of(self, image: Image, model: str = "", names: Collection[str] = ()) -> list[tuple[str, str]]:
        """Return (kind of failure, why) for an image, and for a model's map of it if one is named; only for
        objects of the classes in ``names``, if given.
        """
        found: list[Proposal] = []
        light = _light(image)
        if light is not None:
            found += propose_light(light, self._thresholds())
        if (seen := self._map(image, model)) is not None:
            (label_map, where), classes = seen, self._settings.class_list
            if (scale := self._scale()) is not None:
                found += propose_scale(label_map, classes, scale, names or None).values()
            often = self._often_cut(where)
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

    def _often_cut(self, where: _Maps) -> frozenset[str]:
        with self._lock:
            if where not in self._often:
                self._often[where] = often_cut(self._some(where), self._settings.class_list)
            return self._often[where]

    def _some(self, where: _Maps) -> Iterator[np.ndarray]:
        """Yield some maps of a model or labels of a truth, from some of its parts."""
        parts = read_manifest(where.folder)
        shards = sorted({image.shard for image in self._images.values() if part_name(image.shard) in parts})
        chosen = _spread(shards, _PARTS)
        for shard in chosen:
            codes = [*label_maps.read_maps(where.folder, shard, parts[part_name(shard)]).values()]
            for code in _spread(codes, _POOL // len(chosen)):
                yield self._decoded(code, where)

    def _decoded(self, code: bytes, where: _Maps) -> np.ndarray:
        labels = self._settings.models[where.model].labels if where.model else None
        return runs.decode(code, narrow(table(self._settings.class_list, labels)))

    def _scale(self) -> Scale | None:
        path = self._root / "scale.json"
        try:
            return read_scale(path, self._settings.class_list) if path.exists() else None
        except FaultscapeError:
            return None

    def _map(self, image: Image, model: str) -> tuple[np.ndarray, _Maps] | None:
        """Return the label of an image as places, else the map of a model, and where it is, or None."""
        if self._settings.classifies:
            return None
        places = [_Maps(label_maps.truth(self._root, truth)) for truth in label_maps.truths(self._root)]
        places += (
            [_Maps(label_maps.predictions(self._root, model), model)]
            if model in self._settings.models
            else []
        )
        for where in places:
            part = read_manifest(where.folder).get(part_name(image.shard))
            code = None if part is None else label_maps.read_map(where.folder, image.shard, part, image.id)
            if code is not None:
                return self._decoded(code, where), where
        return None


def _spread(items: Sequence[_T], number: int) -> list[_T]:
    """Return some items, evenly spread."""
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, min(number, len(items))).astype(int))]


def _light(image: Image) -> Light | None:
    try:
        return light_of(read_photo(image)[0])
    except FaultscapeError:
        return None
