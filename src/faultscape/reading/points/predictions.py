"""Which classes models predict at single pixels of images, and what masks show there; which model predicts
which class is not kept.

Planted pixels have a known answer: they lie in images with a mask, at places where models differ, as most
points do that are drawn. They measure people, and no estimate ever uses them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.nouns import Point
from faultscape.reading.maps import ShardMaps
from faultscape.reading.points.places import place_in_image
from faultscape.reading.points.truths import Pixel, with_maps
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name


@dataclass(frozen=True)
class PixelLabels:
    """What models predict at a pixel, ``votes`` {class: how many models} in the order of the class list,
    without those that predict no class, and which class a mask of the image ``shows``, '' without one and
    where it is void.
    """

    votes: dict[str, int]
    shows: str = ""


class PointPredictions:
    """The labels at points of a study; unchanged parts of maps are not read twice."""

    def __init__(self) -> None:
        self._held = dict[int, tuple[object, dict[Pixel, PixelLabels]]]()
        self._planted: tuple[object, dict[Pixel, PixelLabels]] = (None, {})

    def of(self, study: Study, points: Sequence[Point], truth: str) -> dict[Pixel, PixelLabels]:
        """Return {(image, row, column): what models, and masks of a truth, say there}."""
        rows = study.image_rows
        by_shard: dict[int, list[Point]] = {}
        for point in points:
            by_shard.setdefault(rows[point.image].shard, []).append(point)
        out: dict[Pixel, PixelLabels] = {}
        for shard, mine in sorted(by_shard.items()):
            key = _state(study, truth, [shard]), tuple(mine)
            before, found = self._held.get(shard, (None, {}))
            if before != key:
                found = _labels(study, mine, truth, rows)
                self._held[shard] = key, found
            out |= found
        return out

    def planted(
        self, study: Study, images: Sequence[str], truth: str, number: int
    ) -> dict[Pixel, PixelLabels]:
        """Return about ``number`` pixels of the first ``images`` that have a map of a truth, and what is
        known there.
        """
        mapped = with_maps(study, images, truth)
        chosen = [image for image in images if image in mapped][:number]
        if not chosen:
            return {}
        rows = study.image_rows
        shards = sorted({rows[image].shard for image in chosen})
        key = _state(study, truth, shards), tuple(chosen), number
        if self._planted[0] != key:
            each = -(-number // len(chosen))
            found: dict[Pixel, PixelLabels] = {}
            for shard in shards:
                mine = [image for image in chosen if rows[image].shard == shard]
                found |= _planted(study, mine, truth, rows, each)
            order = {image: place for place, image in enumerate(chosen)}
            self._planted = key, dict(sorted(found.items(), key=lambda one: order[one[0][0]]))
        return self._planted[1]


def _state(study: Study, truth: str, shards: Sequence[int]) -> object:
    """Return what changes when the maps of some shards, or the classes, do."""
    folders = {m: label_maps.predictions(study.root, m) for m in study.models}
    folders[""] = label_maps.truth(study.root, truth)
    parts = [
        (name, (part := study.manifest(folder).get(part_name(shard))) and part.sha256)
        for name, folder in folders.items()
        for shard in shards
    ]
    return tuple(parts), study.classes.names


def _planted(
    study: Study, images: Sequence[str], truth: str, rows: Mapping[str, Image], each: int
) -> dict[Pixel, PixelLabels]:
    """Return up to ``each`` pixels of images of one shard at which models differ and a mask shows a class."""
    names = study.classes.names
    maps = ShardMaps(study, study.models, truth, [rows[image] for image in images])
    out: dict[Pixel, PixelLabels] = {}
    for image in images:
        mask = maps.truth(image)
        predicted = [found for model in study.models if (found := maps.of(model, image)) is not None]
        if mask is None or not predicted:
            continue
        differ = np.any([found != predicted[0] for found in predicted], axis=0)
        there = np.flatnonzero((differ if len(predicted) > 1 else True) & (mask < len(names)))
        digest = hashlib.blake2b(rows[image].digest.encode(), digest_size=8).digest()
        rng = np.random.default_rng(int.from_bytes(digest))
        for pixel in rng.permutation(there)[:each].tolist():
            at = (image, *place_in_image(rows[image], study.settings.working_size, pixel))
            out[at] = _labels_at(
                [int(found.flat[pixel]) for found in predicted], int(mask.flat[pixel]), names
            )
    return out


def _labels_at(said: Sequence[int], shows: int, names: Sequence[str]) -> PixelLabels:
    """Return what is known of a pixel from the places of the classes that models and a mask say there."""
    votes = {names[place]: said.count(place) for place in sorted(set(said)) if place < len(names)}
    return PixelLabels(votes, names[shows] if shows < len(names) else "")


def _labels(
    study: Study, points: Sequence[Point], truth: str, rows: dict[str, Image]
) -> dict[Pixel, PixelLabels]:
    """Return the labels at points of one shard."""
    names = study.classes.names
    images = list(dict.fromkeys(point.image for point in points))
    maps = ShardMaps(study, study.models, truth, [rows[image] for image in images])
    by_image: dict[str, list[Point]] = {image: [] for image in images}
    for point in points:
        by_image[point.image].append(point)
    out: dict[Pixel, PixelLabels] = {}
    for image, mine in by_image.items():
        predicted = [found for model in study.models if (found := maps.of(model, image)) is not None]
        mask = maps.truth(image)
        for point in mine:
            said = [int(found.flat[point.pixel]) for found in predicted]
            shows = len(names) if mask is None else int(mask.flat[point.pixel])
            out[point.image, point.row, point.column] = _labels_at(said, shows, names)
    return out
