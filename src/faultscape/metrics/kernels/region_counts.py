"""The counts behind the region metrics of every class, compiled: one pass over a table of overlaps. The plain
twin is plain_region_counts.
"""

# ruff: noqa: ANN001, ANN201, ARG001 - numba infers types from the arguments

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def count_regions(truth_label, truth_area, label, area, truth, prediction, pixels, alive, whole, parts):
    """Add to ``whole`` (C, 10) and ``parts`` (C, 4) what region_counts names; predicted regions that are not
    ``alive`` do not exist.
    """
    classes = len(whole)
    n = len(truth_label)
    m = len(label)
    touching_t = np.zeros(n, np.int64)
    touching_p = np.zeros(m, np.int64)
    # the largest overlap, and the area of the region it overlaps: among equal overlaps, the smallest
    most_t = np.zeros(n, np.int64)
    most_p = np.zeros(m, np.int64)
    other_t = np.zeros(n, np.int64)
    other_p = np.zeros(m, np.int64)
    for k in range(len(pixels)):
        t = truth[k]
        p = prediction[k]
        v = pixels[k]
        if truth_label[t] == label[p] and alive[p]:
            touching_t[t] += 1
            touching_p[p] += 1
            if v > most_t[t] or (v == most_t[t] and area[p] < other_t[t]):
                most_t[t], other_t[t] = v, area[p]
            if v > most_p[p] or (v == most_p[p] and truth_area[t] < other_p[p]):
                most_p[p], other_p[p] = v, truth_area[t]
    tearing = np.zeros(m, np.bool_)
    merged = np.zeros(n, np.bool_)
    for k in range(len(pixels)):
        t = truth[k]
        p = prediction[k]
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
def count_thresholds(
    truth_label, label, truth, prediction, pixels, truth_area, area, confidence, thresholds, whole, pixel
):
    """Fill ``whole`` (T, C, 10) and ``pixel`` (T, C, 2: both, predicted) for the regions whose confidence is
    not below each rising threshold.

    Overlaps within one class are listed once; each threshold then visits only these.
    """
    classes = whole.shape[1]
    n = len(truth_label)
    m = len(label)
    mine = np.empty(len(pixels), np.int64)
    count = 0
    for k in range(len(pixels)):
        mine[count] = k
        count += truth_label[truth[k]] == label[prediction[k]] and label[prediction[k]] < classes
    touching_t = np.zeros(n, np.int32)
    touching_p = np.zeros(m, np.int32)
    tearing = np.zeros(m, np.bool_)
    merged = np.zeros(n, np.bool_)
    for i in range(len(thresholds)):
        touching_t[:], touching_p[:], tearing[:], merged[:] = 0, 0, False, False
        kept = 0
        for q in range(count):
            k = mine[q]
            t = truth[k]
            p = prediction[k]
            if confidence[p] >= thresholds[i]:
                touching_t[t] += 1
                touching_p[p] += 1
                pixel[i, label[p], 0] += pixels[k]
                mine[kept] = k  # regions below this threshold are below the next
                kept += 1
        count = kept
        for q in range(count):
            t = truth[mine[q]]
            p = prediction[mine[q]]
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


@jit
def count_matches(truth_label, truth_area, label, area, truth, prediction, pixels, dice, matched):
    """Add to ``matched`` (10, C) the predicted regions found at overlaps of .50, .55, ... .95: one to one,
    the largest overlap first.
    """
    classes = matched.shape[1]
    mine = np.empty(len(pixels), np.int64)
    score = np.empty(len(pixels), np.float64)
    count = 0
    for k in range(len(pixels)):
        t = truth[k]
        p = prediction[k]
        v = pixels[k]
        if truth_label[t] == label[p] and label[p] < classes:
            total = truth_area[t] + area[p]
            above, below = (2 * v, total) if dice else (v, total - v)
            if 2 * above >= below:
                mine[count], score[count] = k, -above / below
                count += 1
    order = np.argsort(score[:count], kind="mergesort")  # equal overlaps keep the order of their regions
    used_t = np.zeros(len(truth_label), np.bool_)
    used_p = np.zeros(len(label), np.bool_)
    for q in order:
        k = mine[q]
        t = truth[k]
        p = prediction[k]
        v = pixels[k]
        if not used_t[t] and not used_p[p]:
            used_t[t], used_p[p] = True, True
            total = truth_area[t] + area[p]
            above, below = (2 * v, total) if dice else (v, total - v)
            for i in range(min(20 * above // below - 9, len(matched))):
                # whole numbers, so that an overlap of exactly .55 is found at .55
                matched[i, label[p]] += 1


@jit
def count_quality(truth_label, truth_area, label, area, truth, prediction, pixels, void_area, quality, iou):
    """Add to ``quality`` (3, C) the matched, missed and invented regions, and to ``iou`` (C,) the sum of IoU
    over the matched.
    """
    classes = quality.shape[1]
    hit_t = np.zeros(len(truth_label), np.bool_)
    hit_p = np.zeros(len(label), np.bool_)
    for k in range(len(pixels)):
        t = truth[k]
        p = prediction[k]
        v = pixels[k]
        c = label[p]
        if truth_label[t] == c and c < classes:
            either = truth_area[t] + area[p] - v
            if 2 * v > either:  # such a match is the only one of either region
                hit_t[t], hit_p[p] = True, True
                quality[0, c] += 1
                iou[c] += v / either
    for t in range(len(truth_label)):
        if truth_label[t] < classes and not hit_t[t]:
            quality[1, truth_label[t]] += 1
    for p in range(len(label)):
        if label[p] < classes and not hit_p[p] and 2 * void_area[p] <= area[p] + void_area[p]:
            quality[2, label[p]] += 1
