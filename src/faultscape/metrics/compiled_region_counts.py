"""The counts behind the region metrics of every class, compiled: one pass over a table of overlaps. The plain twin is plain_region_counts."""
# ruff: noqa: ANN001, ANN201 - numba infers types from the arguments

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def count_regions(truth_label, truth_area, label, area, truth, prediction, pixels, alive, whole, parts):
    """Add to ``whole`` (C, 10) and ``parts`` (C, 4) what region_counts names; predicted regions that are not ``alive`` do not exist."""
    classes, n, m = len(whole), len(truth_label), len(label)
    touching_t, touching_p = np.zeros(n, np.int64), np.zeros(m, np.int64)
    most_t, most_p = np.zeros(n, np.int64), np.zeros(m, np.int64)  # the largest overlap,
    other_t, other_p = np.zeros(n, np.int64), np.zeros(m, np.int64)  # and the area of the region it is with: of equal overlaps the smallest
    for k in range(len(pixels)):
        t, p, v = truth[k], prediction[k], pixels[k]
        if truth_label[t] == label[p] and alive[p]:
            touching_t[t] += 1
            touching_p[p] += 1
            if v > most_t[t] or (v == most_t[t] and area[p] < other_t[t]):
                most_t[t], other_t[t] = v, area[p]
            if v > most_p[p] or (v == most_p[p] and truth_area[t] < other_p[p]):
                most_p[p], other_p[p] = v, truth_area[t]
    tearing, merged = np.zeros(m, np.bool_), np.zeros(n, np.bool_)
    for k in range(len(pixels)):
        t, p = truth[k], prediction[k]
        if truth_label[t] == label[p] and alive[p]:
            tearing[p] |= touching_t[t] > 1
            merged[t] |= touching_p[p] > 1
    for t in range(n):
        c = truth_label[t]
        if c < classes:
            whole[c, 0] += 1
            whole[c, 2] += touching_t[t] > 1
            whole[c, 4] += max(touching_t[t] - 1, 0)  # S1 eq. 6
            whole[c, 5] += merged[t]
            whole[c, 8] += touching_t[t] == 0
            parts[c, 0] += 1.0 - most_t[t] / truth_area[t]
            if touching_t[t] > 0:
                parts[c, 1] += 1.0 - most_t[t] / other_t[t]
    for p in range(m):
        c = label[p]
        if c < classes and alive[p]:
            whole[c, 1] += 1
            whole[c, 3] += tearing[p]
            whole[c, 6] += touching_p[p] > 1
            whole[c, 7] += max(touching_p[p] - 1, 0)  # S1 eq. 9
            whole[c, 9] += touching_p[p] == 0
            if touching_p[p] > 0:
                parts[c, 2] += 1.0 - most_p[p] / other_p[p]
            parts[c, 3] += 1.0 - most_p[p] / area[p]


@jit
def count_thresholds(truth_label, label, truth, prediction, pixels, truth_area, area, confidence, thresholds, whole, pixel):
    """Fill ``whole`` (T, C, 10) and ``pixel`` (T, C, 2: both, predicted) for the regions whose confidence is not below each rising threshold.

    Overlaps of one class are listed once; a threshold then looks at these few alone.
    """
    classes, n, m = whole.shape[1], len(truth_label), len(label)
    mine = np.empty(len(pixels), np.int64)
    count = 0
    for k in range(len(pixels)):
        mine[count] = k
        count += truth_label[truth[k]] == label[prediction[k]] and label[prediction[k]] < classes
    touching_t, touching_p = np.zeros(n, np.int32), np.zeros(m, np.int32)
    tearing, merged = np.zeros(m, np.bool_), np.zeros(n, np.bool_)
    for i in range(len(thresholds)):
        touching_t[:], touching_p[:], tearing[:], merged[:] = 0, 0, False, False
        kept = 0
        for q in range(count):
            k = mine[q]
            t, p = truth[k], prediction[k]
            if confidence[p] >= thresholds[i]:
                touching_t[t] += 1
                touching_p[p] += 1
                pixel[i, label[p], 0] += pixels[k]
                mine[kept] = k  # what falls below this threshold falls below the next
                kept += 1
        count = kept
        for q in range(count):
            t, p = truth[mine[q]], prediction[mine[q]]
            tearing[p] |= touching_t[t] > 1
            merged[t] |= touching_p[p] > 1
        for t in range(n):
            c = truth_label[t]
            if c < classes:
                whole[i, c, 0] += 1
                whole[i, c, 2] += touching_t[t] > 1
                whole[i, c, 4] += max(touching_t[t] - 1, 0)
                whole[i, c, 5] += merged[t]
                whole[i, c, 8] += touching_t[t] == 0
        for p in range(m):
            c = label[p]
            if c < classes and confidence[p] >= thresholds[i]:
                whole[i, c, 1] += 1
                whole[i, c, 3] += tearing[p]
                whole[i, c, 6] += touching_p[p] > 1
                whole[i, c, 7] += max(touching_p[p] - 1, 0)
                whole[i, c, 9] += touching_p[p] == 0
                pixel[i, c, 1] += area[p]
