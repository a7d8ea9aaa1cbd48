"""Kinds of failure that can be measured, proposed to who tags an image: its light and sharpness against the pool, the size and place of objects, its group.

Conventions: what is dark, bright or blurred is measured against some images of the corpus, once, when the first image is asked about. Objects are those of a label where there is one, else those that the model in question sees. Nothing is a tag
until a person gives it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.corpus.photos import read_photo
from faultscape.errors import FaultscapeError
from faultscape.labelling.tags.proposals import (
    Light,
    Proposal,
    Thresholds,
    light_of,
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

_POOL = 100  # images that light and sharpness are measured on


class MeasuredTags:
    """Proposes kinds of failure for the images of a study, in the order of the corpus. May be asked by several threads."""

    def __init__(self, root: Path, settings: Settings, images: Mapping[str, Image]) -> None:
        self._root, self._settings, self._images = root, settings, images
        self._ends: Thresholds | None = None
        self._lock = threading.Lock()

    def of(self, image: Image, model: str = "", names: Collection[str] = ()) -> list[tuple[str, str]]:
        """Return (kind of failure, why) of what can be measured of an image, and of a model's map of it where one is named; of objects of the classes of these ``names`` alone, where there are some."""
        found: list[Proposal] = []
        light = _light(image)
        if light is not None:
            found += propose_light(light, self._thresholds())
        if (label_map := self._map(image, model)) is not None:
            classes = self._settings.class_list
            if (scale := self._scale()) is not None:
                found += propose_scale(label_map, classes, scale, names or None).values()
            found += propose_cut(label_map, classes, names or None).values()
        members = sum(one.group == image.group for one in self._images.values()) if image.group else 0
        found += propose_group(image.group, members)
        return [(one.tag, one.reason) for one in found]

    def _thresholds(self) -> Thresholds:
        with self._lock:
            if self._ends is None:
                held: Sequence[Image] = list(self._images.values())
                chosen = [held[k] for k in np.unique(np.linspace(0, len(held) - 1, min(_POOL, len(held))).astype(int))]
                self._ends = thresholds([light for one in chosen if (light := _light(one)) is not None])
            return self._ends

    def _scale(self) -> Scale | None:
        path = self._root / "scale.json"
        try:
            return read_scale(path, self._settings.class_list) if path.exists() else None
        except FaultscapeError:
            return None

    def _map(self, image: Image, model: str) -> np.ndarray | None:
        """Return the label of an image as places, else the map of a model; None where there is neither."""
        if self._settings.classifies:
            return None
        folders = [(label_maps.truth(self._root, truth), None) for truth in label_maps.truths(self._root)]
        folders += (
            [(label_maps.predictions(self._root, model), self._settings.models[model].labels)]
            if model in self._settings.models
            else []
        )
        for folder, labels in folders:
            part = read_manifest(folder).get(part_name(image.shard))
            code = None if part is None else label_maps.read_map(folder, image.shard, part, image.id)
            if code is not None:
                return runs.decode(code, narrow(table(self._settings.class_list, labels)))
        return None


def _light(image: Image) -> Light | None:
    try:
        return light_of(read_photo(image)[0])
    except FaultscapeError:
        return None
