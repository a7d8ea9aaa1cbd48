"""Tuples of labels, one of each of J maps, packed into keys: so that tuples of many images can be merged,
sorted and looked up, whatever J and the number of labels are.

Conventions: labels are 0..n-1. A key (``S`` of 8 bytes a word) holds the labels of a tuple, the first map in
its highest bits, so that keys are sorted as tuples are; as many maps as fit share a word of 64 bits. NumPy
compares such bytes whole, trailing zeros included.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from faultscape.errors import LabelMapError


def _layout(n: int) -> tuple[int, int]:
    """Return the bits of a label, and how many labels a word holds."""
    bits = max(1, int(n - 1).bit_length())
    return bits, 64 // bits


def packed(columns: np.ndarray, n: int) -> np.ndarray:
    """Return the keys (X,) of tuples of labels (J, X), each below ``n``; LabelMapError for another label.

    >>> keys = packed(np.array([[0, 2, 1], [3, 0, 3]]), 4)
    >>> np.argsort(keys).tolist(), unpacked(keys, 2, 4).tolist()
    ([0, 2, 1], [[0, 2, 1], [3, 0, 3]])
    """
    columns = np.asarray(columns)
    if columns.size and not 0 <= int(columns.min()) <= int(columns.max()) < n:
        raise LabelMapError(f"labels of tuples must be 0 to {n - 1}; got {columns.min()} to {columns.max()}")
    bits, per_word = _layout(n)
    words = np.zeros((columns.shape[1], -(-len(columns) // per_word)), ">u8")
    for j, column in enumerate(columns):
        place = np.uint64(64 - bits * (j % per_word + 1))
        words[:, j // per_word] |= column.astype(np.uint64) << place
    return words.view(f"S{8 * words.shape[1]}").ravel()


def unpacked(keys: np.ndarray, maps: int, n: int) -> np.ndarray:
    """Return the labels (J, X) of the keys (X,) of tuples of ``maps`` labels below ``n``."""
    bits, per_word = _layout(n)
    if not len(keys):
        return np.zeros((maps, 0), np.uint16)
    words = np.ascontiguousarray(keys).view(">u8").reshape(len(keys), -1).astype(np.uint64)
    low = np.uint64((1 << bits) - 1)
    out = np.empty((maps, len(keys)), np.uint16)
    for j in range(maps):
        place = np.uint64(64 - bits * (j % per_word + 1))
        out[j] = (words[:, j // per_word] >> place) & low
    return out


def merged(parts: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys (X,) of several parts, sorted, and the sum of the pixels (X,) of each.

    ``parts`` are (keys, pixels) of tuples of the same maps.

    >>> one = packed(np.array([[1, 0]]), 2), np.array([5, 7])
    >>> keys, pixels = merged([one, one])
    >>> unpacked(keys, 1, 2).tolist(), pixels.tolist()
    ([[0, 1]], [14, 10])
    """
    held = [(keys, pixels) for keys, pixels in parts if len(keys)]
    if not held:
        return np.zeros(0, "S8"), np.zeros(0, np.int64)
    keys, place = np.unique(np.concatenate([keys for keys, _ in held]), return_inverse=True)
    pixels = np.zeros(len(keys), np.int64)
    np.add.at(pixels, place, np.concatenate([pixels for _, pixels in held]))
    return keys, pixels
