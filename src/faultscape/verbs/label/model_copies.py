"""Labels that are exactly a model's maps, pixel by pixel: pre-filled labels that came back, perhaps without
corrections.

Conventions: maps are compared at the image's size, in the study's ids, as `label export --prefill` writes
them.
"""

from __future__ import annotations

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.errors import FaultscapeError, counted
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.reading.study import Study
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name

_FIRST = 8  # labels after which a model without any match is dropped


def map_at_photo_size(code: bytes, settings: Settings, model: str, image: Image) -> np.ndarray:
    """Return the runs of a model's map as (H, W) ids of the study, at the image's size; LabelMapError for
    values that are not classes.
    """
    classes = settings.class_list
    ids = np.array([*classes.ids, classes.void[0] if classes.void else 0], np.uint16)
    places = narrow(table(classes, settings.models[model].labels))
    return ids[nearest(runs.decode(code, places), (image.width, image.height))]


class Copies:
    """Counts how many of ``total`` labels equal the maps of one model; a model is dropped once it cannot
    match more than half of them.
    """

    def __init__(self, study: Study, total: int) -> None:
        self._study = study
        self._total = total
        self._equal = dict.fromkeys(study.models, 0)
        self._looked = 0
        self._shard = -1
        self._maps: dict[str, dict[str, bytes]] = {}

    def look(self, image: Image, ids: np.ndarray) -> None:
        """Compare the label (H, W) of an image; images come shard by shard."""
        self._looked += 1
        if image.shard != self._shard:
            self._shard = image.shard
            self._maps = {model: self._held(model, image.shard) for model in self._equal}
        for model in [*self._equal]:
            self._equal[model] += self._is_copy(model, image, ids)
            missed = self._looked - self._equal[model]
            if 2 * missed >= self._total or missed == self._looked >= _FIRST:
                del self._equal[model]

    def said(self) -> str:
        """Return which model's maps more than half of the labels equal, or ''."""
        model = max(self._equal, key=lambda name: self._equal[name], default="")
        if not model or 2 * self._equal[model] <= self._looked:
            return ""
        labels = counted(self._looked, "label is", "labels are")
        return f"{self._equal[model]} of {labels} exactly {model}'s maps: were they corrected?"

    def _held(self, model: str, shard: int) -> dict[str, bytes]:
        folder = label_maps.predictions(self._study.root, model)
        try:
            part = self._study.manifest(folder).get(part_name(shard))
            return label_maps.read_maps(folder, shard, part) if part else {}
        except FaultscapeError:
            return {}  # unreadable maps of a model do not make labels worse

    def _is_copy(self, model: str, image: Image, ids: np.ndarray) -> bool:
        code = self._maps[model].get(image.id)
        try:
            return code is not None and np.array_equal(
                map_at_photo_size(code, self._study.settings, model, image), ids
            )
        except FaultscapeError:
            return False
