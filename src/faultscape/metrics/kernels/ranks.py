"""The kernels behind the exact ranking metrics of scores in memory; the plain twin is plain_ranks."""

# ruff: noqa: ANN001, ANN201, ANN202 - numba infers types from the arguments
# pyright: reportCallIssue=false

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit, jit_ratios
from faultscape.metrics.kernels.lanes import above_of_8, equal_of_8

_ONE = np.uint64(1)
_LANES = np.uint64(8)  # negatives compared at once


@jit
def split(score, anomaly, positives, negatives):
    """Write the scores of pixels labelled 1 and 0 and return how many these are: every score goes to both,
    and stays in one, so that no branch waits for a label.
    """
    p = np.uint64(0)
    n = np.uint64(0)
    for i in range(score.size):
        value = score[i]
        label = anomaly[i]
        positives[p] = value
        negatives[n] = value
        p += np.uint64(label == 1)
        n += np.uint64(label == 0)
    return p, n


@jit
def _next_row(positives, negatives, address, i, j, k, rows):
    """Write row ``k`` of the highest of the first ``i`` positives; return the places below which it and the
    negatives with its score begin.
    """
    scores, hits, reach, above = rows
    size = np.uint64(negatives.size)
    value = positives[i - _ONE]
    i -= _ONE
    while i > 0 and positives[i - _ONE] == value:
        i -= _ONE
    while j >= _LANES and negatives[j - _LANES] > value:
        j -= _LANES
    same = np.uint64(0)
    if j >= _LANES:
        at = address + (j - _LANES) * np.uint64(negatives.itemsize)
        j -= above_of_8(at, value)
        same = equal_of_8(at, value)
    else:
        while j > 0 and negatives[j - _ONE] > value:
            j -= _ONE
    scores[k] = value
    hits[k] = np.uint64(positives.size) - i
    above[k] = size - j
    j -= same
    while j > 0 and negatives[j - _ONE] == value:
        j -= _ONE
    reach[k] = size - j
    return i, j


@jit
def rank(positives, negatives, scores, hits, reach, above):
    """Write the counts at every distinct positive score, highest first, from the ascending scores of both.

    Each row begins where the one before ended, and waits for it: so the upper and the lower half of the
    positives are walked through in turns.
    """
    rows = (scores, hits, reach, above)
    address = np.uint64(negatives.ctypes.data)
    size = np.uint64(positives.size)
    middle = size >> _ONE
    while 0 < middle < size and positives[middle - _ONE] == positives[middle]:
        middle += _ONE
    upper = np.uint64(0)  # rows of the upper half
    for x in range(middle, size):
        upper += np.uint64(x + _ONE == size or positives[x] != positives[x + _ONE])
    i, j = size, np.uint64(negatives.size)
    u, v = middle, np.uint64(0)  # v: how many negatives are not above the highest positive of the lower half
    if middle > 0:
        end = j
        while v < end:
            half = (v + end) >> _ONE
            if negatives[half] > positives[middle - _ONE]:
                end = half
            else:
                v = half + _ONE
    lower = np.uint64(scores.size) - upper
    for k in range(min(upper, lower)):
        i, j = _next_row(positives, negatives, address, i, j, k, rows)
        u, v = _next_row(positives, negatives, address, u, v, upper + k, rows)
    for k in range(min(upper, lower), upper):
        i, j = _next_row(positives, negatives, address, i, j, k, rows)
    for k in range(min(upper, lower), lower):
        u, v = _next_row(positives, negatives, address, u, v, upper + k, rows)


@jit_ratios
def judge(before, hits, reach, above, positives, negatives, own, found, wrong, f1):
    """Write for each row the positives with exactly its score, of which there are ``before`` above the first,
    its terms of the average precision and of ``share_below``, and its F1; return the sums of own * (reach +
    above) by the upper and by the lower 31 bits of the second.
    """
    upper = np.int64(0)
    lower = np.int64(0)
    own[0] = hits[0] - before
    for k in range(1, own.size):
        own[k] = hits[k] - hits[k - 1]
    for k in range(own.size):
        mine = own[k]
        here = hits[k]
        below = positives - here + mine
        found[k] = mine * (here / (here + reach[k]))
        wrong[k] = mine * (below / (below + negatives - above[k]))
        f1[k] = 2 * here / (here + reach[k] + positives)
        others = reach[k] + above[k]
        upper += mine * (others >> 31)
        lower += mine * (others & 0x7FFFFFFF)
    return upper, lower
