"""Near-duplicates: images whose difference hashes differ in at most four bits.

Conventions: an image joins the group of the first collected group leader within four bits of it, or starts a
new group; there is no chaining through other images. Two 64-bit hashes within four bits share at least one of
five bands, so only images with an equal band are compared.

``value`` is the difference hash of an image.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

DISTANCE = 4
_BANDS = (
    (0, 13),
    (13, 13),
    (26, 13),
    (39, 13),
    (52, 12),
)  # (shift, bits): one band more than the bits that may differ


class Groups:
    """The images that started a group, searchable by difference hash.

    >>> groups = Groups()
    >>> groups.add(0b1111), groups.nearest(0b0111), groups.nearest(-1)
    (0, 0, None)
    """

    def __init__(self, hashes: Iterable[int] = ()) -> None:
        self._hashes = np.empty(1024, np.uint64)
        self._count = 0
        self._bands: list[dict[int, list[int]]] = [{} for _ in _BANDS]
        for value in hashes:
            self.add(value)

    def add(self, value: int) -> int:
        """Start a group with this hash and return its number."""
        if self._count == len(self._hashes):
            self._hashes = np.concatenate([self._hashes, np.empty_like(self._hashes)])
        self._hashes[self._count] = value & 0xFFFFFFFFFFFFFFFF
        for band, key in zip(self._bands, _keys(value), strict=True):
            band.setdefault(key, []).append(self._count)
        self._count += 1
        return self._count - 1

    def nearest(self, value: int) -> int | None:
        """Return the number of the first group within DISTANCE bits, or None."""
        near = {
            number
            for band, key in zip(self._bands, _keys(value), strict=True)
            for number in band.get(key, ())
        }
        if not near:
            return None
        numbers = np.fromiter(near, np.int64, len(near))
        differing = np.bitwise_count(self._hashes[numbers] ^ np.uint64(value & 0xFFFFFFFFFFFFFFFF))
        hits = numbers[differing <= DISTANCE]
        return int(hits.min()) if len(hits) else None


def _keys(value: int) -> list[int]:
    return [(value >> shift) & ((1 << bits) - 1) for shift, bits in _BANDS]
