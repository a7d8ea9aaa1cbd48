"""Shares of counts with their intervals.

Conventions: counts and numbers are arrays of one shape, or numbers; a share of nothing is NaN. An interval
holds for a number of answers that was fixed in advance: checking after every answer, and stopping when the
interval suits, misleads more often than it says.
Source: Wilson 1927.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from faultscape.metrics.intervals.units import LEVEL


@dataclass(frozen=True, eq=False)
class Share:
    """A ``count``, ``of`` how many, the share, and its interval (..., 2)."""

    count: np.ndarray
    of: np.ndarray
    value: np.ndarray
    interval: np.ndarray


def share_of(count: ArrayLike, of: ArrayLike, level: float = LEVEL) -> Share:
    """Return counts as shares of their numbers, with Wilson's intervals; NaN for a share of zero.

    >>> share = share_of([0, 8], [0, 10])
    >>> share.value.tolist(), share.interval.round(3).tolist()
    ([nan, 0.8], [[nan, nan], [0.49, 0.943]])
    """
    count = np.asarray(count, float)
    of = np.asarray(of, float)
    square = float(ndtri((1 + level) / 2)) ** 2
    known = np.where(of > 0, of, np.nan)
    value = count / known
    middle = (count + square / 2) / (known + square)
    half = np.sqrt(square * (value * (1 - value) * known + square / 4)) / (known + square)
    # for a share of 0 or 1 the end is exact, which rounding would miss
    low = np.where(count == 0, middle * 0, middle - half)
    high = np.where(count == of, middle * 0 + 1, middle + half)
    return Share(count, of, value, np.stack([low, high], -1))
