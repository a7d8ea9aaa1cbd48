"""The plain equivalent of the compiled kernel: the same cells, in NumPy and Python only."""

from __future__ import annotations

import numpy as np

EMPTY = np.iinfo(np.int64).max


def offer(
    keys: np.ndarray,
    ranks: np.ndarray,
    families: np.ndarray,
    images: np.ndarray,
    pools: np.ndarray,
    new_keys: np.ndarray,
    member: np.ndarray,
    new_images: np.ndarray,
    new_ranks: np.ndarray,
    new_families: np.ndarray,
) -> None:
    """Add a block of images to every cell (see Best.offer)."""
    models, _, groups, depth = keys.shape
    for d in range(models):
        for g in range(groups):
            rows = np.flatnonzero(member[d, :, g])
            for a in range(models):
                valid = rows[new_keys[d, a, rows] != EMPTY]
                pools[d, a, g] += len(valid)
                order = valid[np.lexsort((new_ranks[valid], new_keys[d, a, valid]))]
                seen: set[int] = set()
                for i in order.tolist():  # only the best depth families of the block can matter
                    if len(seen) == depth:
                        break
                    if int(new_families[i]) in seen:
                        continue
                    seen.add(int(new_families[i]))
                    new = (
                        int(new_keys[d, a, i]),
                        int(new_ranks[i]),
                        int(new_families[i]),
                        int(new_images[i]),
                    )
                    insert(keys[d, a, g], ranks[d, a, g], families[d, a, g], images[d, a, g], *new)


def insert(
    keys: np.ndarray,
    ranks: np.ndarray,
    families: np.ndarray,
    images: np.ndarray,
    key: int,
    rank: int,
    family: int,
    image: int,
) -> None:
    """Put one image into one cell's sorted list, or leave it out."""
    entries = [
        (int(k), int(r), int(f), int(i))
        for k, r, f, i in zip(keys, ranks, families, images, strict=True)
        if i >= 0
    ]
    entries.append((int(key), int(rank), int(family), int(image)))
    kept: list[tuple[int, int, int, int]] = []
    for entry in sorted(entries):
        if entry[2] not in {k[2] for k in kept}:
            kept.append(entry)
    for place, entry in enumerate(kept[: len(keys)]):
        keys[place], ranks[place], families[place], images[place] = entry
