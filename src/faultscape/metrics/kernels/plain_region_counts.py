"""The counts behind the region metrics in NumPy alone: the fallback where numba cannot be imported, and the
twin that tests compare the compiled one with.
"""

from __future__ import annotations

import numpy as np


def count_regions(
    truth_label: np.ndarray,
    truth_area: np.ndarray,
    label: np.ndarray,
    area: np.ndarray,
    truth: np.ndarray,
    prediction: np.ndarray,
    pixels: np.ndarray,
    alive: np.ndarray,
    whole: np.ndarray,
    parts: np.ndarray,
) -> None:
    """Add to ``whole`` (C, 10) and ``parts`` (C, 4) what region_counts names; predicted regions that are not
    ``alive`` do not exist.
    """
    classes = len(whole)
    n = len(truth_label)
    m = len(label)
    same = (truth_label[truth] == label[prediction]) & alive[prediction]
    t = truth[same]
    p = prediction[same]
    v = pixels[same]
    touching_t = np.bincount(t, minlength=n)
    touching_p = np.bincount(p, minlength=m)
    tearing = np.bincount(p, weights=touching_t[t] > 1, minlength=m) > 0
    merged = np.bincount(t, weights=touching_p[p] > 1, minlength=n) > 0
    most_t, other_t = _largest(t, v, area[p], n)
    most_p, other_p = _largest(p, v, truth_area[t], m)
    inside_t = truth_label < classes
    inside_p = (label < classes) & alive

    def by_class(labels: np.ndarray, inside: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.bincount(labels[inside], weights=values[inside], minlength=classes)[:classes]

    for column, values in (
        (0, np.ones(n)),
        (2, touching_t > 1),
        (4, np.maximum(touching_t - 1, 0)),
        (5, merged),
        (8, touching_t == 0),
    ):
        whole[:, column] += by_class(truth_label, inside_t, values).astype(np.int64)
    for column, values in (
        (1, np.ones(m)),
        (3, tearing),
        (6, touching_p > 1),
        (7, np.maximum(touching_p - 1, 0)),
        (9, touching_p == 0),
    ):
        whole[:, column] += by_class(label, inside_p, values).astype(np.int64)
    parts[:, 0] += by_class(truth_label, inside_t, 1 - most_t / np.maximum(truth_area, 1))
    parts[:, 1] += by_class(truth_label, inside_t & (touching_t > 0), 1 - most_t / np.maximum(other_t, 1))
    parts[:, 2] += by_class(label, inside_p & (touching_p > 0), 1 - most_p / np.maximum(other_p, 1))
    parts[:, 3] += by_class(label, inside_p, 1 - most_p / np.maximum(area, 1))


def count_thresholds(
    truth_label: np.ndarray,
    label: np.ndarray,
    truth: np.ndarray,
    prediction: np.ndarray,
    pixels: np.ndarray,
    truth_area: np.ndarray,
    area: np.ndarray,
    confidence: np.ndarray,
    thresholds: np.ndarray,
    whole: np.ndarray,
    pixel: np.ndarray,
) -> None:
    """Fill ``whole`` (T, C, 10) and ``pixel`` (T, C, 2: both, predicted) for the regions whose confidence is
    not below each threshold.
    """
    classes = whole.shape[1]
    unused = np.zeros((classes, 4))
    for i, threshold in enumerate(thresholds.tolist()):
        alive = confidence >= threshold
        count_regions(
            truth_label, truth_area, label, area, truth, prediction, pixels, alive, whole[i], unused
        )
        same = (truth_label[truth] == label[prediction]) & alive[prediction] & (label[prediction] < classes)
        mine = alive & (label < classes)
        np.add.at(pixel[i, :, 0], label[prediction[same]], pixels[same])
        np.add.at(pixel[i, :, 1], label[mine], area[mine])


def count_matches(
    truth_label: np.ndarray,
    truth_area: np.ndarray,
    label: np.ndarray,
    area: np.ndarray,
    truth: np.ndarray,
    prediction: np.ndarray,
    pixels: np.ndarray,
    dice: bool,
    matched: np.ndarray,
) -> None:
    """Add to ``matched`` (10, C) the predicted regions found at overlaps of .50, .55, ... .95: one to one,
    the largest overlap first.
    """
    t, p, v = _same_class(truth_label, label, truth, prediction, pixels, matched.shape[1])
    total = truth_area[t] + area[p]
    above, below = (2 * v, total) if dice else (v, total - v)
    used_t: set[int] = set()
    used_p: set[int] = set()
    for k in np.argsort(-above / np.maximum(below, 1), kind="stable").tolist():
        if 2 * above[k] >= below[k] and int(t[k]) not in used_t and int(p[k]) not in used_p:
            used_t.add(int(t[k]))
            used_p.add(int(p[k]))
            matched[: 20 * above[k] // below[k] - 9, label[p[k]]] += 1


def count_quality(
    truth_label: np.ndarray,
    truth_area: np.ndarray,
    label: np.ndarray,
    area: np.ndarray,
    truth: np.ndarray,
    prediction: np.ndarray,
    pixels: np.ndarray,
    void_area: np.ndarray,
    quality: np.ndarray,
    iou: np.ndarray,
) -> None:
    """Add to ``quality`` (3, C) the matched, missed and invented regions, and to ``iou`` (C,) the sum of IoU
    over the matched.
    """
    classes = quality.shape[1]
    t, p, v = _same_class(truth_label, label, truth, prediction, pixels, classes)
    either = truth_area[t] + area[p] - v
    found = 2 * v > either
    t = t[found]
    p = p[found]
    missed = truth_label < classes
    invented = (label < classes) & (2 * void_area <= area + void_area)
    missed[t], invented[p] = False, False
    for row, labels in enumerate((label[p], truth_label[missed], label[invented])):
        quality[row] += np.bincount(labels, minlength=classes)
    iou += np.bincount(label[p], weights=v[found] / either[found], minlength=classes)


def _same_class(
    truth_label: np.ndarray,
    label: np.ndarray,
    truth: np.ndarray,
    prediction: np.ndarray,
    pixels: np.ndarray,
    classes: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    same = (truth_label[truth] == label[prediction]) & (label[prediction] < classes)
    return truth[same], prediction[same], pixels[same]


def _largest(
    region: np.ndarray, overlap: np.ndarray, other: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest overlap of each region, and the area of the region it overlaps: among equal
    overlaps, the smallest.
    """
    order = np.lexsort((-other, overlap, region))
    most = np.zeros(count, np.int64)
    with_ = np.zeros(count, np.int64)
    most[region[order]], with_[region[order]] = overlap[order], other[order]  # the last write wins
    return most, with_
