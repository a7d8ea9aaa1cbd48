"""The kernels of joint_runs in NumPy alone: used if numba cannot be imported, and as the reference in
tests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def joint_tuples(maps: Sequence[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct tuples of labels (J, U) in the order of their first pixels, and the pixels (U,) of
    each, from joint runs along the rows.
    """
    n_maps, (height, width), bits = len(maps), maps[0].shape, max(1, int(n - 1).bit_length())
    first = np.zeros((height, width), bool)
    first[:, 0] = True
    for j in range(n_maps):
        first[:, 1:] |= maps[j][:, 1:] != maps[j][:, :-1]
    starts = np.flatnonzero(first)
    pixels = np.diff(starts, append=height * width)
    columns = np.stack([m.ravel()[starts] for m in maps])
    per_word = 64 // bits
    words = []
    for j in range(0, n_maps, per_word):
        word = np.zeros(len(starts), np.uint64)
        for k in range(j, min(n_maps, j + per_word)):
            word = (word << np.uint64(bits)) | columns[k].astype(np.uint64)
        words.append(word)
    key = words[0]
    for word in words[1:]:
        _, before = np.unique(key, return_inverse=True)
        _, rank = np.unique(word, return_inverse=True)
        key = before * (int(rank.max()) + 1) + rank
    _, one, inverse = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(one)
    return columns[:, one[order]], np.bincount(inverse, weights=pixels).astype(np.int64)[order]


def cells_of_tuples(
    columns: np.ndarray, pixels: np.ndarray, n: int, pairs: np.ndarray, out: np.ndarray
) -> None:
    """Add each tuple's pixels to the cells of every pair: out (P, n * n)."""
    wide = columns.astype(np.int64)
    for p, (i, j) in enumerate(pairs.tolist()):
        out[p] += np.bincount(wide[i] * n + wide[j], weights=pixels, minlength=n * n).astype(np.int64)


def both_of_tuples(
    columns: np.ndarray, pixels: np.ndarray, pairs: np.ndarray, both: np.ndarray, totals: np.ndarray
) -> None:
    """Add each tuple's pixels to the intersections of every pair and the histogram of every map."""
    n = both.shape[1]
    for j, column in enumerate(columns):
        totals[j] += np.bincount(column, weights=pixels, minlength=n).astype(np.int64)
    for p, (i, j) in enumerate(pairs.tolist()):
        same = columns[i] == columns[j]
        both[p] += np.bincount(columns[i][same], weights=pixels[same], minlength=n).astype(np.int64)
