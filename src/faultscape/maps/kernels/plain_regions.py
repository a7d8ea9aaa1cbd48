"""Connected regions and their overlaps in NumPy and OpenCV alone: used where numba would not pay, and as the
reference in tests.
"""

from __future__ import annotations

import cv2
import numpy as np


def number_regions(labels: np.ndarray, none: int, reach: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (H, W) region numbers, -1 for ``none``, in the order of first pixels, and the label of each
    region.
    """
    numbers = np.full(labels.shape, -1, np.int32)
    names = list[int]()
    for label in np.unique(labels).tolist():
        if label == none:
            continue
        of_label = labels == label
        rows, columns = (np.flatnonzero(of_label.any(axis)) for axis in (1, 0))
        box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        mask = np.ascontiguousarray(of_label[box]).view(np.uint8)
        count, found = cv2.connectedComponents(mask, connectivity=8 if reach else 4, ltype=cv2.CV_32S)
        found += len(names) - 1
        cv2.copyTo(found, mask, numbers[box])
        names += [label] * (count - 1)
    flat = numbers.ravel()
    at = np.flatnonzero(flat >= 0)[::-1]
    first = np.empty(len(names), np.int64)
    first[flat[at]] = at  # of several pixels the one that is written last: the first
    order = np.argsort(first)
    rank = np.full(len(names) + 1, -1, np.int32)
    rank[order] = np.arange(len(names))
    return rank[numbers], np.array(names, np.int32)[order]


def overlap(
    truth: np.ndarray, prediction: np.ndarray, n_p: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (truth, prediction, pixels) of every pair that shares pixels, sorted, and the pixels of each
    predicted region outside all true ones.
    """
    both = (truth >= 0) & (prediction >= 0)
    codes = truth[both].astype(np.int64) * max(n_p, 1) + prediction[both]
    if codes.max(initial=0) <= 8 * truth.size:  # a table is quicker than sorting
        pixels = np.bincount(codes)
        pairs = np.flatnonzero(pixels)
        pixels = pixels[pairs]
    else:
        pairs, pixels = np.unique(codes, return_counts=True)
    outside = np.bincount(prediction[(truth < 0) & (prediction >= 0)], minlength=n_p).astype(np.int64)
    return (
        (pairs // max(n_p, 1)).astype(np.int32),
        (pairs % max(n_p, 1)).astype(np.int32),
        pixels.astype(np.int64),
        outside,
    )
