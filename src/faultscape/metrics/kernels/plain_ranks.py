"""The kernels of the exact ranking metrics in NumPy alone, with the same bytes."""

from __future__ import annotations

import numpy as np


def rank(
    positives: np.ndarray,
    negatives: np.ndarray,
    scores: np.ndarray,
    hits: np.ndarray,
    reach: np.ndarray,
    above: np.ndarray,
) -> None:
    """Write the counts at every distinct positive score, highest first, from the ascending scores of both."""
    values, counts = distinct(positives)
    first = negatives.searchsorted(values, "left")
    end = first.copy()
    tied = np.flatnonzero(negatives.take(first, mode="clip") == values) if len(negatives) else first[:0]
    end[tied] = negatives.searchsorted(values[tied], "right")
    scores[:] = values[::-1]
    hits[:] = np.cumsum(counts[::-1])
    reach[:] = len(negatives) - first[::-1]
    above[:] = len(negatives) - end[::-1]


def judge(
    before: int,
    hits: np.ndarray,
    reach: np.ndarray,
    above: np.ndarray,
    positives: int,
    negatives: int,
    own: np.ndarray,
    found: np.ndarray,
    wrong: np.ndarray,
    f1: np.ndarray,
) -> tuple[int, int]:
    """Write for each row the positives with exactly its score, of which there are ``before`` above the first,
    its terms of the average precision and of ``share_below``, and its F1; return the sums of own * (reach +
    above) by the upper and by the lower 31 bits of the second.
    """
    own[:] = np.diff(hits, prepend=before)
    found[:] = own * (hits / (hits + reach))
    below = positives - hits + own
    wrong[:] = own * (below / (below + negatives - above))
    f1[:] = 2 * hits / (hits + reach + positives)
    others = reach + above
    return int(np.dot(own, others >> 31)), int(np.dot(own, others & 0x7FFFFFFF))


def distinct(ascending: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of an array in ascending order and how often each occurs (int64).

    >>> distinct(np.array([1, 2, 2]))
    (array([1, 2]), array([1, 2]))
    """
    first = np.ones(len(ascending), bool)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    return ascending[starts], np.diff(starts, append=len(ascending))
