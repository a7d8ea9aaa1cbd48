"""The labels of a blended frame: 1 anomalous, 0 known, 255 void.

Conventions: a pixel belongs to an object where its alpha is at least 1/2; later objects cover
earlier ones.
Source: Blum et al. 2021, section 3.1: void of the base is not evaluated, but an object over it counts.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import ImageError, LabelMapError
from faultscape.maps import checked_arrays

KNOWN = 0
ANOMALY = 1
VOID = 255


def labels_of_base(void: np.ndarray | None, frame: tuple[int, int]) -> np.ndarray:
    """Return (H, W) uint8 labels before any object: 255 where the base is void (H, W), else 0; ImageError if
    the size is not the frame's (height, width).

    >>> labels_of_base(np.array([[True, False]]), (1, 2)).tolist()
    [[255, 0]]
    """
    if void is None:
        return np.zeros(frame, np.uint8)
    void = np.asarray(void)
    if void.shape != tuple(frame):
        raise ImageError(
            f"void of the base has shape {void.shape}, the base {tuple(frame)}; they must have the same size"
        )
    return np.where(void, VOID, KNOWN).astype(np.uint8)


def count_labels(labels: np.ndarray) -> tuple[int, int, int]:
    """Return how many pixels are anomalous, known and void.

    >>> count_labels(np.array([[1, 0, 255, 255]], np.uint8))
    (1, 1, 2)
    """
    labels = checked_arrays.whole_numbers(labels, "labels", LabelMapError)
    if labels.size and labels.min() < 0:
        raise LabelMapError(f"labels: expected 0, 1 and 255; got {labels.min()}")
    counts = np.bincount(labels.ravel(), minlength=256)
    return int(counts[ANOMALY]), int(counts[KNOWN]), int(counts[VOID])
