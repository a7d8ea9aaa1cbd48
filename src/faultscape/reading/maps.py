"""The maps of one model or truth of a study: one shard at a time, as places at working size, or one image
at a time (`StoredLabels`).

Conventions: an image is named by its id; a map is scaled to the working size by nearest neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.errors import LabelMapError, StudyError
from faultscape.maps import class_answers, runs
from faultscape.maps.instances import Instances
from faultscape.maps.instances import decode as decode_instances
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes
from faultscape.study.parts import Part
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name, shards

if TYPE_CHECKING:
    from faultscape.reading.study import Study


class StoredMaps:
    """The maps of one model or truth in one shard, as places at working size."""

    def __init__(self, folder: Path, shard: int, places: np.ndarray, known: str, sha256: str = "") -> None:
        # a known checksum avoids reading a manifest of thousands of parts
        self._name = folder.name
        self._allowed = known
        self._maps = label_maps.read_maps(folder, shard, Part(sha256, 0, "") if sha256 else None)
        self._table = narrow(places)
        self._drawn: np.ndarray | None = None

    def read(self, image: str, size: tuple[int, int]) -> np.ndarray | None:
        """Return an image's map, or None without one; it overwrites the buffer of the previous one."""
        code = self._maps.get(image)
        if code is None:
            return None
        try:
            self._drawn = runs.decode(code, self._table, self._drawn)
        except LabelMapError as error:
            raise StudyError(
                f"{self._name}, image {image}: {error}; the study's classes allow {self._allowed}; restore"
                " the class, or map it with `predict --labels FILE`"
            ) from None
        return nearest(self._drawn, size)


def differing(root: Path, settings: Settings, images: Sequence[Image]) -> list[tuple[str, str, str]]:
    """Return (image, model, other model) for images of one shard that two networks read with different bytes;
    only images in stores can differ so.
    """
    if not any(image.tagged for image in images):
        return []
    seen: dict[str, tuple[str, str]] = {}
    out = []
    for name in settings.models:
        for image, photo in label_maps.read_photos(
            label_maps.predictions(root, name), images[0].shard
        ).items():
            first, bytes_of = seen.setdefault(image, (name, photo))
            if bytes_of != photo:
                out.append((image, first, name))
    return out


class ShardMaps:
    """The maps of some images of one shard, as places at working size; a model has none of images that
    trained it.
    """

    def __init__(self, study: Study, models: Sequence[str], truth: str, images: Sequence[Image]) -> None:
        root = study.root
        settings = study.settings
        classes = study.classes
        wanted = {image.id for image in images}
        void = {model: study.trained_on(model) for model in models}
        shard = images[0].shard
        folders = {model: label_maps.predictions(root, model) for model in models}
        self._tables = {m: narrow(table(classes, settings.models[m].labels)) for m in models}
        self._runs: dict[str | None, dict[str, bytes]] = {}
        self._truth_table = narrow(table(classes))
        self._sizes = {i.id: settings.working_size or (i.width, i.height) for i in images}
        for name, folder in [*folders.items(), *([(None, label_maps.truth(root, truth))] if truth else [])]:
            part = study.manifest(folder).get(part_name(shard))
            held = label_maps.read_maps(folder, shard, part) if part else {}
            mine = wanted - (void[name] if name else frozenset())
            self._runs[name] = {id_: code for id_, code in held.items() if id_ in mine}

    def of(self, model: str, image: str) -> np.ndarray | None:
        """Return a model's map of an image, or None."""
        return self._read(self._runs[model].get(image), self._tables[model], image)

    def truth(self, image: str) -> np.ndarray | None:
        """Return the truth of an image, or None."""
        return self._read(self._runs.get(None, {}).get(image), self._truth_table, image)

    def _read(self, code: bytes | None, places: np.ndarray, image: str) -> np.ndarray | None:
        return None if code is None else nearest(runs.decode(code, places), self._sizes[image])


def maps_of_all(
    study: Study, images: Iterable[str], truth: str = ""
) -> Iterator[tuple[str, np.ndarray | None, np.ndarray | None]]:
    """Yield each image, its maps (J, H, W) by all models, None if one lacks it, and its map (H, W) of a
    ``truth``, None without one.
    """
    for rows in shards([study.image_rows[image] for image in images]).values():
        maps = ShardMaps(study, study.models, truth, rows)
        for row in rows:
            found = [maps.of(model, row.id) for model in study.models]
            there = [one for one in found if one is not None]
            whole = np.stack(there) if len(there) == len(found) else None
            yield row.id, whole, maps.truth(row.id)


class StoredLabels(Mapping[str, Any]):
    """{image: its label}, in corpus order; an image without one is not in it."""

    def __init__(self, study: Study, folder: Path, decode: Callable[[bytes], Any]) -> None:
        self.study = study
        self.folder = folder
        self.decode = decode

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
        for name, part in sorted(self.study.manifest(self.folder).items()):
            found |= dict.fromkeys(label_maps.read_ids(self.folder, int(name), part), int(name))
        return {image: found[image] for image in self.study.images if image in found}

    def of(self, image: Image) -> Any | None:
        """Return the label of an image of which the row is known, without the ids of all others, or None."""
        return self._read(image.shard, image.id)

    def instances(self, image: str) -> Instances | None:
        """Return the instances that the label of an image was stored with, as they came, with the labels of
        their source as classes; None without any.
        """
        shard = self._shards[image]
        part = self.study.manifest(self.folder)[part_name(shard)]
        code = label_maps.read_instances(self.folder, shard, part).get(image)
        return None if code is None else decode_instances(code)

    def __getitem__(self, image: str) -> Any:
        if (found := self._read(self._shards[image], image)) is None:
            raise KeyError(image)
        return found

    def _read(self, shard: int, image: str) -> Any | None:
        part = self.study.manifest(self.folder).get(part_name(shard))
        code = None if part is None else label_maps.read_map(self.folder, shard, part, image)
        return None if code is None else self.decode(code)

    def __iter__(self) -> Iterator[str]:
        return iter(self._shards)

    def __len__(self) -> int:
        return len(self._shards)

    def __repr__(self) -> str:
        return f"<labels of {self.folder.name}: {len(self):,} of {len(self.study.images):,} images>"


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
