"""The kernels of the maps room in NumPy alone: the path where numba cannot be imported, and the twin that tests hold the compiled one to."""

from __future__ import annotations

import numpy as np


def find_runs(label_map: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return runs a row, ends and labels of all runs."""
    height, width = label_map.shape
    last = np.ones((height, width), bool)
    np.not_equal(label_map[:, 1:], label_map[:, :-1], out=last[:, :-1])
    rows, columns = np.nonzero(last)
    return np.bincount(rows, minlength=height).astype(np.uint32), (columns + 1).astype(np.uint32), label_map[rows, columns]


def predict(counts: np.ndarray, ends: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what remains of ends and labels after prediction from the row above."""
    above, same = _above(counts)
    starts = np.concatenate([[0], ends[:-1].astype(np.int64)])
    starts[np.concatenate([[0], np.cumsum(counts, dtype=np.int64)[:-1]])] = 0
    lifted = np.where(same, above, 0)
    steps = ends.astype(np.int64) - np.where(same, ends[lifted].astype(np.int64), starts)
    return steps.astype(np.int32), np.where(same, values ^ values[lifted], values).astype(values.dtype)


def restore(counts: np.ndarray, steps: np.ndarray, marks: np.ndarray, width: int, ends: np.ndarray, values: np.ndarray) -> bool:
    """Fill ends and labels; False unless they fill every row exactly."""
    values[:] = marks
    if counts.min() < 1 or int(counts.sum(dtype=np.int64)) != len(ends):
        return False
    here, before = 0, 0
    for y, n in enumerate(counts.tolist()):
        span = slice(here, here + n)
        if y > 0 and n == counts[y - 1]:
            above = slice(before, before + n)
            row = ends[above] + steps[span]
            values[span] ^= values[above]
        else:
            row = np.cumsum(steps[span], dtype=np.int64)
        if row[0] < 1 or row[-1] != width or (np.diff(row) < 1).any():
            return False
        ends[span] = row
        before, here = here, here + n
    return True


def fill(ends: np.ndarray, values: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the map whose runs these are."""
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    starts[starts == width] = 0
    return np.repeat(values, ends - starts).reshape(height, width)


def joint_tuples(maps: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct tuples of labels (J, U) and the pixels (U,) of each, from joint runs along the rows."""
    n_maps, height, width = maps.shape
    first = np.zeros((height, width), bool)
    first[:, 0] = True
    for j in range(n_maps):
        first[:, 1:] |= maps[j, :, 1:] != maps[j, :, :-1]
    starts = np.flatnonzero(first)
    pixels = np.diff(starts, append=height * width)
    columns = maps.reshape(n_maps, -1)[:, starts]
    per_word = 64 // bits
    key = np.zeros(len(starts), np.int64)
    for j in range(0, n_maps, per_word):
        word = np.zeros(len(starts), np.uint64)
        for k in range(j, min(n_maps, j + per_word)):
            word = (word << np.uint64(bits)) | columns[k].astype(np.uint64)
        _, rank = np.unique(word, return_inverse=True)
        if j:
            _, rank = np.unique(key * (int(rank.max()) + 1) + rank, return_inverse=True)
        key = rank.astype(np.int64)
    _, one, inverse = np.unique(key, return_index=True, return_inverse=True)
    return columns[:, one], np.bincount(inverse, weights=pixels).astype(np.int64)


def cells_of_tuples(columns: np.ndarray, pixels: np.ndarray, n: int, pairs: np.ndarray, out: np.ndarray) -> None:
    """Add each tuple's pixels to the cells of every pair: out (P, n * n)."""
    wide = columns.astype(np.int64)
    for p, (i, j) in enumerate(pairs.tolist()):
        out[p] += np.bincount(wide[i] * n + wide[j], weights=pixels, minlength=n * n).astype(np.int64)


def both_of_tuples(columns: np.ndarray, pixels: np.ndarray, pairs: np.ndarray, both: np.ndarray, totals: np.ndarray) -> None:
    """Add each tuple's pixels to the intersections of every pair and the histogram of every map."""
    n = both.shape[1]
    for j, column in enumerate(columns):
        totals[j] += np.bincount(column, weights=pixels, minlength=n).astype(np.int64)
    for p, (i, j) in enumerate(pairs.tolist()):
        same = columns[i] == columns[j]
        both[p] += np.bincount(columns[i][same], weights=pixels[same], minlength=n).astype(np.int64)


def _above(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each run, the number of the run above it and whether the row above has as many runs."""
    whole = counts.astype(np.int64)
    same = np.concatenate([[False], whole[1:] == whole[:-1]])
    return np.arange(whole.sum()) - np.repeat(whole, whole), np.repeat(same, whole)
