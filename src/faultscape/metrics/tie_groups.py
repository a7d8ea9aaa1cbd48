"""Pixels grouped by equal values: what every measure of confidence and risk that treats ties exactly starts from.

Conventions: values ascending, ``pixels`` with each, and how many of them are ``flagged`` (wrong, or right, as the caller means it); int64 counts.
Source: own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from faultscape.metrics.rank_metrics import distinct
from faultscape.metrics.score_histogram import VALUES, Histogram16
from faultscape.metrics.scores import VOID, split


class Groups(NamedTuple):
    """Distinct values ascending, the pixels that have each, and the flagged ones among them."""

    values: np.ndarray
    pixels: np.ndarray
    flagged: np.ndarray


def groups(values: np.ndarray, flags: np.ndarray, *, void: int = VOID, where: str = "") -> Groups:
    """Return the groups of ``values`` (any shape) by ``flags`` (0, 1, 255 = void); MetricError for NaN, unequal shapes and other flags.

    >>> groups(np.array([0.5, 0.25, 0.5]), np.array([1, 0, 0])).flagged
    array([0, 1])
    """
    flagged, everything = split(values, flags, void, where)
    found, pixels = distinct(everything)
    some, times = distinct(flagged)
    counts = np.zeros(len(found), np.int64)
    counts[found.searchsorted(some)] = times
    return Groups(found, pixels, counts)


def groups_of_histogram(histogram: Histogram16) -> Groups:
    """Return the groups of the float16 scores that were counted, the anomalous ones flagged.

    >>> from faultscape.metrics.score_histogram import histogram16
    >>> groups_of_histogram(histogram16(np.array([0.5, 0.5, 2.0], np.float16), np.array([1, 0, 0]))).flagged
    array([1, 0])
    """
    pixels = histogram.known + histogram.anomalous
    used = np.flatnonzero(pixels)
    return Groups(VALUES[used].astype(np.float32), pixels[used], histogram.anomalous[used])
