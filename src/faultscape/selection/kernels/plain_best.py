"""The plain equivalent of the compiled kernel: the same cells, in NumPy and Python only."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

EMPTY = np.iinfo(np.int64).max


def offer(
    entries: np.ndarray, pools: np.ndarray, keys: np.ndarray, member: np.ndarray, numbers: np.ndarray
) -> None:
    """Add a block of images to every cell (see Best.offer)."""
    _, models, _, groups, depth = entries.shape
    ranks, families, images = numbers
    for d in range(models):
        for g in range(groups):
            rows = np.flatnonzero(member[d, :, g])
            for a in range(models):
                valid = rows[keys[d, a, rows] != EMPTY]
                pools[d, a, g] += len(valid)
                order = valid[np.lexsort((ranks[valid], keys[d, a, valid]))]
                new = dict[int, tuple[int, int, int, int]]()
                for i in order.tolist():  # only the best depth families of the block can matter
                    if len(new) == depth:
                        break
                    family = int(families[i])
                    if family not in new:
                        new[family] = (int(keys[d, a, i]), int(ranks[i]), family, int(images[i]))
                if new:
                    merge(entries[:, d, a, g], new.values())


def merge(cell: np.ndarray, new: Iterable[tuple[int, ...]]) -> None:
    """Put some images into one cell's sorted list (4, depth), as far as they are among the best, of each
    family one.
    """
    kept = dict[int, tuple[int, ...]]()
    for entry in sorted([*map(tuple, cell[:, cell[3] >= 0].T.tolist()), *new]):
        kept.setdefault(entry[2], entry)
    best = np.array([*kept.values()][: cell.shape[1]]).T
    cell[:, : best.shape[1]] = best
