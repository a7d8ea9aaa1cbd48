"""The labelled images of some sets of a study: where their labels are, and how to read one.

Conventions: labels are those of one truth, for made sets those of their parents (`reading.image_truths`), as
places of the class list (C for void), scaled to a size by the nearest pixel.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.errors import OptionError, closest
from faultscape.reading.image_truths import Place, find_judged, with_labels
from faultscape.reading.maps import StoredMaps
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.tables.corpus import Image, part_name


class LabelledImages:
    """Labelled images of a study; `places` is safe for several threads."""

    def __init__(self, study: Study, rows: Sequence[tuple[Image, Place]], roles: Sequence[str]) -> None:
        self._study = study
        self._classes = study.classes
        self.rows = tuple(rows)
        self.roles = tuple(roles)
        self._lock = threading.Lock()
        self._maps = lru_cache(maxsize=8)(self._open)

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, number: int, size: tuple[int, int]) -> np.ndarray:
        """Return the labels (H, W) of an image as places, at a size (width, height)."""
        _, (folder, shard, id_) = self.rows[number]
        with self._lock:
            found = self._maps(folder, shard).read(id_, size)
            return (
                np.full((size[1], size[0]), len(self._classes), np.uint8) if found is None else found.copy()
            )

    def key(self) -> str:
        """Return a key of the images and of their labels."""
        parts = sorted({(folder, shard) for _, (folder, shard, _) in self.rows})
        held = [(folder, shard, self._checksum(folder, shard)) for folder, shard in parts]
        return key_of([(image.id, image.digest) for image, _ in self.rows], held)

    def _open(self, folder: str, shard: int) -> StoredMaps:
        where = self._study.root / folder
        known = allowed(self._classes)
        return StoredMaps(where, shard, table(self._classes), known, self._checksum(folder, shard))

    def _checksum(self, folder: str, shard: int) -> str:
        return self._study.manifest(self._study.root / folder)[part_name(shard)].sha256


def find_labelled(
    study: Study, truth: str | None, sets: Sequence[str] | None, role: str, option: str
) -> LabelledImages:
    """Return the labelled images of some sets, or without sets the collected images with a role; OptionError
    for an unknown set, naming the ``option``.
    """
    images = study.image_rows
    known = [*study.sets]
    if lost := next((name for name in sets or () if name not in known), None):
        raise OptionError(
            f"--{option} {lost!r}: the study has no such set; it has"
            f" {', '.join(known)}.{closest(lost, known)}"
        )
    judged = with_labels(study, find_judged(study, images, study.truth(truth)))
    places = [(image, judged[image.id].semantic) for image in of_sets_or_role(images, sets, role)]
    rows = [(image, place) for image, place in places if place is not None]
    return LabelledImages(study, rows, [role_of(image, images) for image, _ in rows])


def role_of(image: Image, images: Mapping[str, Image]) -> str:
    """Return the role of an image; a made one has the role of its original."""
    while image.parent in images:
        image = images[image.parent]
    return image.role


def of_sets_or_role(images: Mapping[str, Image], sets: Sequence[str] | None, role: str) -> list[Image]:
    """Return the images of some sets, or without sets those with a role."""
    if not sets:
        return [image for image in images.values() if image.role == role and not image.parent]
    return [image for image in images.values() if image.set in set(sets)]
