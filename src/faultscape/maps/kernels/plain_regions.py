"""Connected regions and their overlaps in NumPy and SciPy alone: used if numba cannot be imported, and as the
reference in tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def number_regions(labels: np.ndarray, none: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (H, W) region numbers, -1 for ``none``, in the order of first pixels, and the label of each
    region.
    """
    from scipy import ndimage

    structure: Any = np.ones((3, 3), int) if reach else None
    numbers = np.full(labels.shape, -1, np.int64)
    names = []
    count = 0
    label_of: Any = ndimage.label
    for label in np.unique(labels):
        if label != none:
            found, n = label_of(labels == label, structure)
            numbers[found > 0] = found[found > 0] - 1 + count
            names += [int(label)] * n
            count += n
    flat = numbers.ravel()
    met, at = np.unique(flat[flat >= 0], return_index=True)
    order = np.argsort(np.flatnonzero(flat >= 0)[at]) if len(met) else np.zeros(0, int)
    rank = np.full(count + 1, -1)
    rank[order] = np.arange(count)
    return rank[numbers].astype(np.int32), np.array(names, np.int32)[order]


def overlap(
    truth: np.ndarray, prediction: np.ndarray, n_p: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (truth, prediction, pixels) of every pair that shares pixels, sorted, and the pixels of each
    predicted region outside all true ones.
    """
    both = (truth >= 0) & (prediction >= 0)
    pairs, pixels = np.unique(
        truth[both].astype(np.int64) * max(n_p, 1) + prediction[both], return_counts=True
    )
    outside = np.bincount(prediction[(truth < 0) & (prediction >= 0)], minlength=n_p).astype(np.int64)
    return (
        (pairs // max(n_p, 1)).astype(np.int32),
        (pairs % max(n_p, 1)).astype(np.int32),
        pixels.astype(np.int64),
        outside,
    )
