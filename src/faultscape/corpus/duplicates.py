"""Near-duplicates: images whose difference hashes differ in at most four bits.

Conventions: an image joins the group of the first collected group leader within four bits of it, or starts a
new group; there is no chaining through other images. Two 64-bit hashes within four bits share at least one of
five bands, so only images with an equal band are compared. Of many images a compiled search finds the same.

``value`` is the difference hash of an image.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

DISTANCE = 4
_MANY = 50_000  # images from which on compiling a search is quicker than going without
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


def leaders(hashes: np.ndarray, began: int = 0) -> np.ndarray:
    """Return (I,) the place of the image whose group each image joins, its own if it starts one, from
    difference hashes (I,) uint64 in the order in which images come; the first ``began`` start groups.

    >>> leaders(np.array([0b1111, 0b0111, 0, 2**64 - 1], np.uint64))
    array([0, 0, 0, 3])
    """
    out = np.empty(len(hashes), np.int64)
    if len(hashes) >= _MANY and (kernels := _kernels()) is not None:
        bits = min(max(len(hashes).bit_length() - 1, 8), 21)
        kernels.find_leaders(hashes, began, bits, DISTANCE, out)
        return out
    groups = Groups()
    first: list[int] = []
    for place, value in enumerate(hashes.tolist()):
        hit = None if place < began else groups.nearest(value)
        if hit is None:
            groups.add(value)
            first.append(place)
        out[place] = place if hit is None else first[hit]
    return out


def _kernels():  # noqa: ANN202 - the module, or none where there is no numba
    try:
        from faultscape.corpus.kernels import leaders as compiled
    except ImportError:
        return None
    return compiled


def _keys(value: int) -> list[int]:
    return [(value >> shift) & ((1 << bits) - 1) for shift, bits in _BANDS]
