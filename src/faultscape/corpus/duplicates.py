"""Near-duplicates: images whose difference hashes differ in at most four bits.

Conventions: an image joins the group of the first collected group leader within four bits of it, or starts a
new group; there is no chaining through other images. Two 64-bit hashes within four bits share at least one of
five bands, so only images with an equal band are compared. Of many images a compiled search finds the same.

``value`` is the difference hash of an image.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np

DISTANCE = 4
_MANY = 50_000  # images from which on compiling a search is quicker than going without
_AT_ONCE = 1 << 21  # places compared at a time
_BANDS = (
    (0, 13),
    (13, 13),
    (26, 13),
    (39, 13),
    (52, 12),
)  # (shift, bits): one band more than the bits that may differ


_SIX = ((0, 11), (11, 11), (22, 11), (33, 11), (44, 10), (54, 10))
_MASKS = [np.uint64(((1 << a[1]) - 1) << a[0] | ((1 << b[1]) - 1) << b[0]) for a, b in combinations(_SIX, 2)]
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio: neighbouring keys lie far apart


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


def leaders(hashes: np.ndarray) -> np.ndarray:
    """Return (I,) the place of the image whose group each image joins, its own if it starts one, from
    difference hashes (I,) uint64 in the order in which images come.

    >>> leaders(np.array([0b1111, 0b0111, 0, 2**64 - 1], np.uint64))
    array([0, 0, 0, 3])
    """
    out = np.empty(len(hashes), np.int64)
    if len(hashes) >= _MANY and (kernels := _kernels()) is not None:
        bits = min(max(len(hashes).bit_length() - 1, 8), 21)
        kernels.find_leaders(hashes, bits, DISTANCE, out)
        return out
    groups = Groups()
    first: list[int] = []
    for place, value in enumerate(hashes.tolist()):
        hit = groups.nearest(value)
        if hit is None:
            groups.add(value)
            first.append(place)
        out[place] = place if hit is None else first[hit]
    return out


class Near:
    """Different hashes (I,) uint64, of which those near other hashes can be looked up.

    For each pair of six bands one table holds the hashes by the bits of these, since two hashes within four
    bits are equal in two of the bands.

    >>> Near(np.array([0b1111, 2**64 - 1], np.uint64)).pairs(np.array([0, 0b111], np.uint64)).tolist()
    [[0, 0], [1, 0]]
    """

    def __init__(self, hashes: np.ndarray) -> None:
        self._hashes = hashes
        self._down = np.uint64(64 - min(max(len(hashes).bit_length() + 1, 8), 20))
        self._tables = [self._table(mask) for mask in _MASKS]

    def _table(self, mask: np.uint64) -> tuple[np.uint64, np.ndarray, np.ndarray]:
        """Return the bits of a table, (1 + number of lists,) where each list begins, and (I,) what the lists
        hold.
        """
        keys = self._keys(self._hashes, mask)
        order = np.argsort(keys, kind="stable").astype(np.int32)
        sizes = np.bincount(keys, minlength=1 << (64 - int(self._down)))
        return mask, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32), order

    def _keys(self, hashes: np.ndarray, mask: np.uint64) -> np.ndarray:
        return (((hashes & mask) * _SPREAD) >> self._down).astype(np.int32)

    def pairs(self, others: np.ndarray) -> np.ndarray:
        """Return (P, 2) the places of an other hash (K,) uint64 and of a hash within DISTANCE bits of it."""
        found = [np.empty((0, 2), np.int64)]
        for mask, first, order in self._tables:
            keys = self._keys(others, mask)
            begins = first[keys]
            sizes = (first[keys + 1] - begins).astype(np.int64)
            ends = np.cumsum(sizes)
            for start, stop in _slices(ends):
                mine = sizes[start:stop]
                other = np.repeat(np.arange(start, stop), mine)
                within = np.arange(len(other)) - np.repeat(np.cumsum(mine) - mine, mine)
                hash_ = order[begins[other] + within]
                near = np.bitwise_count(others[other] ^ self._hashes[hash_]) <= DISTANCE
                found.append(np.stack([other[near], hash_[near]], 1))
        return np.unique(np.concatenate(found), axis=0)


def _slices(ends: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of runs of lists that hold a few million places together, or one list alone, from
    where each list ends among all.
    """
    start = 0
    while start < len(ends):
        before = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, before + _AT_ONCE, side="right")), start + 1)
        yield start, stop
        start = stop


def _kernels():  # noqa: ANN202 - the module, or none where there is no numba
    try:
        from faultscape.corpus.kernels import leaders as compiled
    except ImportError:
        return None
    return compiled


def _keys(value: int) -> list[int]:
    return [(value >> shift) & ((1 << bits) - 1) for shift, bits in _BANDS]
