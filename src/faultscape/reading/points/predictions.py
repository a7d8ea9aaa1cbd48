"""Which classes models predict at single pixels of images, and what masks show there; which model predicts
which class is not kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faultscape.nouns import Point
from faultscape.reading.maps import ShardMaps
from faultscape.reading.points.truths import Pixel
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

    def of(self, study: Study, points: Sequence[Point], truth: str) -> dict[Pixel, PixelLabels]:
        """Return {(image, row, column): what models, and masks of a truth, say there}."""
        rows = study.image_rows
        by_shard: dict[int, list[Point]] = {}
        for point in points:
            by_shard.setdefault(rows[point.image].shard, []).append(point)
        folders = {m: label_maps.predictions(study.root, m) for m in study.models}
        manifests = {m: study.manifest(folder) for m, folder in folders.items()}
        shown = study.manifest(label_maps.truth(study.root, truth))
        out: dict[Pixel, PixelLabels] = {}
        for shard, mine in sorted(by_shard.items()):
            name = part_name(shard)
            parts = {m: manifest.get(name) for m, manifest in manifests.items()}
            mask = shown.get(name)
            key = (
                {m: part and part.sha256 for m, part in parts.items()},
                mask and mask.sha256,
                study.classes.names,
                tuple(mine),
            )
            before, found = self._held.get(shard, (None, {}))
            if before != key:
                found = _labels(study, mine, truth, rows)
                self._held[shard] = key, found
            out |= found
        return out


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
            votes = {names[place]: said.count(place) for place in sorted(set(said)) if place < len(names)}
            shows = len(names) if mask is None else int(mask.flat[point.pixel])
            pixel = point.image, point.row, point.column
            out[pixel] = PixelLabels(votes, names[shows] if shows < len(names) else "")
    return out
