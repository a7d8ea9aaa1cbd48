"""The segments of models and of a truth in one shard of a study, at working size.

Conventions: where an image of a model or a truth was stored with instances, these are its segments; else they
are the connected regions of its label map.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.maps import instances
from faultscape.metrics.instances.segments import Segments, of_instances, of_regions
from faultscape.reading.maps import ShardMaps
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name

if TYPE_CHECKING:
    from faultscape.reading.study import Study


def models_with_instances(study: Study) -> list[str]:
    """Return the models of which at least one image was stored with instances."""
    found = list[str]()
    for model in study.models:
        folder = label_maps.predictions(study.root, model)
        parts = study.manifest(folder)
        if any(label_maps.read_instances(folder, int(name), part) for name, part in parts.items()):
            found.append(model)
    return found


class ShardSegments:
    """The segments of some images of one shard; a model has none of images that trained it."""

    def __init__(self, study: Study, models: Sequence[str], truth: str, images: Sequence[Image]) -> None:
        self._classes = study.classes
        self._maps = ShardMaps(study, models, truth, images)
        self._shard = images[0].shard
        root, settings = study.root, study.settings
        self._of = {
            model: (
                self._codes(study, label_maps.predictions(root, model)),
                table(study.classes, settings.models[model].labels),
            )
            for model in models
        }
        of_truth = self._codes(study, label_maps.truth(root, truth)) if truth else {}
        self._of_truth = of_truth, table(study.classes)

    def of(self, model: str, image: str) -> Segments | None:
        """Return the segments of a model's answer to an image, or None."""
        return self._segments(self._maps.of(model, image), self._of[model], image)

    def truth(self, image: str) -> Segments | None:
        """Return the true segments of an image, or None."""
        return self._segments(self._maps.truth(image), self._of_truth, image)

    def _codes(self, study: Study, folder: Path) -> dict[str, bytes]:
        part = study.manifest(folder).get(part_name(self._shard))
        return label_maps.read_instances(folder, self._shard, part) if part else {}

    def _segments(
        self, labels: np.ndarray | None, of: tuple[dict[str, bytes], np.ndarray], image: str
    ) -> Segments | None:
        if labels is None:
            return None
        codes, places = of
        if image not in codes:
            return of_regions(labels, self._classes)
        height, width = labels.shape
        held = instances.decode(codes[image]).at_size((height, width))
        return of_instances(held, labels, places, self._classes)
