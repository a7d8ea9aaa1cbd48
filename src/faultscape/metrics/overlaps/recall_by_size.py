"""Recall by size: the share found of the smallest quarter of a data set's true regions, of the next two
quarters, and of the largest.

Conventions: a true region of a label map is found where a predicted region of its class has an IoU above .5
with it (at most one can). An anomalous object is found where at least ``covered`` of its pixels have a score
that at most ``alarm`` of all known pixels reach. Sizes are pixels, void left out. The statistics of an image
are the number of regions in each octave of sizes and how many of them were found, (..., 32, 2), where octave
b holds 2^b to 2^(b + 1) - 1 pixels; they add up over images. Quarters divide all true regions of a class in
the data set, in order of size; an octave that spans a cut is shared in proportion, assuming equal recall
throughout. NaN where there is no true region.

``sizes`` (..., 32, 2) are such counts. ``quarter`` is 0 (the smallest regions) to 3 (the largest).
``table`` is the overlaps of true and predicted regions.

Source: own; IoU > .5 as in Kirillov et al. 2019.
"""

from __future__ import annotations

import numpy as np

from faultscape.choices import Connectivity
from faultscape.errors import MetricError
from faultscape.maps import checked_arrays
from faultscape.maps.regions import Overlaps, number
from faultscape.metrics.scores.inputs import VOID, check_mask, flat

OCTAVES = 32  # a map has fewer than 2^31 pixels
QUARTERS = 4


def size_counts(table: Overlaps, classes: int) -> np.ndarray:
    """Return (C, 32, 2) the number of true regions of each class in each octave of sizes, and how many of
    them are found, from a table of overlaps.

    >>> from faultscape.maps.regions import overlaps
    >>> table = overlaps(
    ...     np.array([[0, 1, 1, 0, 0, 0]], np.uint8), np.array([[1, 1, 1, 0, 0, 1]], np.uint8), 2
    ... )
    >>> size_counts(table, 2)[0, :2].tolist()  # one pixel: missed; three: found
    [[1, 0], [1, 1]]
    """
    same = table.truth_label[table.truth] == table.prediction_label[table.prediction]
    either = table.truth_area[table.truth] + table.prediction_area[table.prediction] - table.pixels
    found = np.zeros(len(table.truth_label), bool)
    found[table.truth[same & (2 * table.pixels > either)]] = True
    return _counted(table.truth_label, table.truth_area, found, classes)


def object_size_counts(
    score: np.ndarray,
    anomaly: np.ndarray,
    threshold: float,
    *,
    covered: float = 0.5,
    connectivity: Connectivity = 8,
    void: int = VOID,
    where: str = "",
) -> np.ndarray:
    """Return (32, 2) the number of anomalous objects in each octave of sizes, and how many of them have at
    least ``covered`` of their pixels at a score of ``threshold`` or more.

    ``score`` and ``anomaly`` (0, 1, 255) are (H, W). Without a threshold (NaN) nothing is counted.

    >>> object_size_counts(np.array([[0.9, 0.1, 0.9, 0.2]]), np.array([[1, 0, 1, 1]]), 0.5)[:2].tolist()
    [[1, 1], [1, 1]]
    """
    flat(score, anomaly, where)  # refuses masked arrays and shapes that differ
    score = np.asarray(score)
    anomaly = np.asarray(anomaly)
    check_mask(anomaly.ravel(), void, where)
    if np.isnan(threshold):
        return np.zeros((OCTAVES, 2), np.int64)
    numbers, labels, areas = number((anomaly == 1).view(np.uint8), connectivity=connectivity, none=0)
    # float64 holds every narrower score exactly
    hit = (numbers >= 0) & (score >= np.float64(threshold))
    pixels = np.bincount(numbers[hit], minlength=len(areas))
    return _counted(np.zeros(len(labels), np.int64), areas, pixels / areas >= covered, 1)[0]


def recall_of_quarter(sizes: np.ndarray, quarter: int) -> np.ndarray:
    """Return (...) the share found of a quarter of the true regions, 0 the smallest to 3 the largest, from
    counts (..., 32, 2), which may be sums over images.

    >>> sizes = np.zeros((32, 2))
    >>> sizes[3], sizes[10] = (2, 0), (6, 3)
    >>> [float(recall_of_quarter(sizes, quarter)) for quarter in range(4)]
    [0.0, 0.5, 0.5, 0.5]
    """
    sizes = checked_arrays.columns(sizes, "sizes", MetricError, 2)
    if sizes.ndim < 2 or not sizes.shape[-2]:
        raise MetricError(f"sizes: expected counts, ... x 32 x 2; got shape {sizes.shape}")
    there = sizes[..., 0].astype(np.float64)
    found = sizes[..., 1].astype(np.float64)
    upper = np.cumsum(there, -1)
    quarter_of = upper[..., -1:] / QUARTERS
    inside = np.minimum(upper, (quarter + 1) * quarter_of) - np.maximum(upper - there, quarter * quarter_of)
    even = np.divide(found, there, out=np.zeros(there.shape), where=there > 0)
    total = (np.maximum(inside, 0) * even).sum(-1)
    wanted = quarter_of[..., 0]
    return np.divide(total, wanted, out=np.full(np.shape(wanted), np.nan), where=wanted > 0)[()]


def _counted(labels: np.ndarray, areas: np.ndarray, found: np.ndarray, classes: int) -> np.ndarray:
    """Return (C, 32, 2) regions of each label and octave, all and found."""
    octave = np.frexp(areas.astype(np.float64))[1] - 1
    place = (labels.astype(np.int64) * OCTAVES + octave) * 2
    counts = np.bincount(place, minlength=classes * OCTAVES * 2)
    counts += np.bincount(place[found] + 1, minlength=classes * OCTAVES * 2)
    return counts.astype(np.int64).reshape(classes, OCTAVES, 2)
