"""Which classes models predict at single pixels of images, without saying which model predicts which."""

from __future__ import annotations

from collections.abc import Sequence

from faultscape.nouns import Point
from faultscape.reading.maps import ShardMaps
from faultscape.reading.points.truths import Pixel
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name


class PointPredictions:
    """The classes predicted at points of a study; unchanged parts of maps are not read twice."""

    def __init__(self) -> None:
        self._held = dict[int, tuple[object, dict[Pixel, tuple[str, ...]]]]()

    def of(self, study: Study, points: Sequence[Point]) -> dict[Pixel, tuple[str, ...]]:
        """Return {(image, row, column): the classes that any model predicts there}, in the order of the
        class list.
        """
        rows = study.image_rows
        by_shard: dict[int, list[Point]] = {}
        for point in points:
            by_shard.setdefault(rows[point.image].shard, []).append(point)
        manifests = {m: study.manifest(label_maps.predictions(study.root, m)) for m in study.models}
        out: dict[Pixel, tuple[str, ...]] = {}
        for shard, mine in sorted(by_shard.items()):
            parts = {m: manifest.get(part_name(shard)) for m, manifest in manifests.items()}
            key = {m: part and part.sha256 for m, part in parts.items()}, study.classes.names, tuple(mine)
            before, found = self._held.get(shard, (None, {}))
            if before != key:
                found = _predicted(study, mine, rows)
                self._held[shard] = key, found
            out |= found
        return out


def _predicted(study: Study, points: Sequence[Point], rows: dict[str, Image]) -> dict[Pixel, tuple[str, ...]]:
    """Return the classes predicted at points of one shard."""
    names = study.classes.names
    images = list(dict.fromkeys(point.image for point in points))
    maps = ShardMaps(study, study.models, "", [rows[image] for image in images])
    by_image: dict[str, list[Point]] = {image: [] for image in images}
    for point in points:
        by_image[point.image].append(point)
    said: dict[Pixel, set[int]] = {}
    for image, mine in by_image.items():
        for model in study.models:
            found = maps.of(model, image)
            if found is None:
                continue
            for point in mine:
                places = said.setdefault((image, point.row, point.column), set())
                places.add(int(found.flat[point.pixel]))
    return {
        pixel: tuple(names[place] for place in sorted(places) if place < len(names))
        for pixel, places in said.items()
    }
