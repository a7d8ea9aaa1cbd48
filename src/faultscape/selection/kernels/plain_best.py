"""The plain equivalent of the compiled kernel: the same cells, in NumPy and Python only."""

from __future__ import annotations

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
                seen: set[int] = set()
                for i in order.tolist():  # only the best depth families of the block can matter
                    if len(seen) == depth:
                        break
                    if int(families[i]) in seen:
                        continue
                    seen.add(int(families[i]))
                    new = (int(keys[d, a, i]), int(ranks[i]), int(families[i]), int(images[i]))
                    insert(entries[:, d, a, g], new)


def insert(cell: np.ndarray, new: tuple[int, int, int, int]) -> None:
    """Put one image into one cell's sorted list (4, depth), or leave it out."""
    entries = [(int(k), int(r), int(f), int(i)) for k, r, f, i in cell.T if i >= 0]
    kept: list[tuple[int, int, int, int]] = []
    for entry in sorted([*entries, new]):
        if entry[2] not in {k[2] for k in kept}:
            kept.append(entry)
    for place, entry in enumerate(kept[: cell.shape[1]]):
        cell[:, place] = entry
