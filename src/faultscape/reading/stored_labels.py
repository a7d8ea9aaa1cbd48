"""What a model or a truth says about each image: nothing is read before it is asked for, and then only what
was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.maps import class_answers, runs
from faultscape.nouns import Classes
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name

if TYPE_CHECKING:
    from faultscape.reading.study import Study


class StoredLabels(Mapping[str, Any]):
    """{image: its label}, in corpus order; an image without one is not in it."""

    def __init__(self, study: Study, folder: Path, decode: Callable[[bytes], Any]) -> None:
        self._study, self._folder, self._decode = study, folder, decode

    @classmethod
    def of_model(cls, study: Study, model: str) -> StoredLabels:
        """Return what a model says: maps, or the name of a class, '' for none of them."""
        places = table(study.classes, study.settings.models[model].labels)
        decode = partial(_class_name, study.classes, places) if study.classifies else partial(_map, places)
        return cls(study, label_maps.predictions(study.root, model), decode)

    @classmethod
    def of_truth(cls, study: Study, truth: str) -> StoredLabels:
        """Return the labels of a truth: maps, or the names of the classes that an image shows."""
        places = table(study.classes)
        decode = partial(_class_names, study.classes, places) if study.classifies else partial(_map, places)
        return cls(study, label_maps.truth(study.root, truth), decode)

    @cached_property
    def _shards(self) -> dict[str, int]:
        """{image: the shard of its label}."""
        found = dict[str, int]()
        for name, part in sorted(self._study.manifest(self._folder).items()):
            found |= dict.fromkeys(label_maps.read_ids(self._folder, int(name), part), int(name))
        return {image: found[image] for image in self._study.images if image in found}

    def __getitem__(self, image: str) -> Any:
        shard = self._shards[image]
        part = self._study.manifest(self._folder)[part_name(shard)]
        code = label_maps.read_map(self._folder, shard, part, image)
        if code is None:
            raise KeyError(image)
        return self._decode(code)

    def __iter__(self) -> Iterator[str]:
        return iter(self._shards)

    def __len__(self) -> int:
        return len(self._shards)

    def __repr__(self) -> str:
        return f"<labels of {self._folder.name}: {len(self):,} of {len(self._study.images):,} images>"


def _map(places: np.ndarray, code: bytes) -> np.ndarray:
    return runs.decode(code, narrow(places))


def _class_names(classes: Classes, places: np.ndarray, code: bytes) -> frozenset[str]:
    labels = class_answers.decode([code])[0][0].tolist()
    found = [int(places[label]) for label in labels if 0 <= label < len(places)]
    return frozenset(classes.names[place] for place in found if place < len(classes))


def _class_name(classes: Classes, places: np.ndarray, code: bytes) -> str:
    label = class_answers.first(code)
    place = int(places[label]) if 0 <= label < len(places) else len(classes)
    return classes.names[place] if place < len(classes) else ""
