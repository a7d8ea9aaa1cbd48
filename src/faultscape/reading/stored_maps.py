"""The maps of one model or truth of a study, one shard at a time, as places at working size.

Conventions: an image is named by its id; a map is scaled to the working size by nearest neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import narrow
from faultscape.errors import LabelMapError, StudyError
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.study.parts import Part
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image


class StoredMaps:
    """The maps of one model or truth in one shard, as places at working size."""

    def __init__(self, folder: Path, shard: int, places: np.ndarray, known: str, sha256: str = "") -> None:
        # a known checksum avoids reading a manifest of thousands of parts
        self._name, self._allowed = folder.name, known
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
