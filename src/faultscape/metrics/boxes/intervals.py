"""Intervals for a value of which only bounds are known, and these from a sample of images.

Conventions: an interval covers the value, wherever it lies between its bounds, with probability ``level`` as
the number of groups of images grows. Errors of bounds are standard errors, from leaving out one group at a
time; NaN with fewer than two groups.
Source: Imbens and Manski 2004, Confidence intervals for partially identified parameters, Econometrica 72,
equations 6 and 7; they hold for bounds whose distance is not close to 0, or is estimated well there (Stoye
2009, lemma 3), as it is here: boxes give both bounds from the same images.
"""

from __future__ import annotations

import numpy as np

LEVEL = 0.95


def left_out_errors(values: np.ndarray) -> np.ndarray:
    """Return (...) the standard errors of statistics from their values (G, ...) without each group in turn
    (jackknife).

    >>> left_out_errors(np.array([[1.0], [2.0], [3.0]])).round(3)
    array([1.155])
    """
    number = len(values)
    if number < 2:
        return np.full(values.shape[1:], np.nan)
    return np.sqrt((number - 1) / number * ((values - values.mean(0)) ** 2).sum(0))


def interval_of_bounds(bounds: np.ndarray, errors: np.ndarray, *, level: float = LEVEL) -> np.ndarray:
    """Return (..., 2) an interval for a value between bounds (..., 2) that have standard errors (..., 2).

    It goes ``c`` errors beyond the bounds, where Phi(c + width / larger error) - Phi(-c) = level: 1.96 where
    the bounds meet, 1.64 where they are far apart, since the value cannot be near both.

    >>> interval_of_bounds(np.array([[0.2, 0.2], [0.2, 0.9]]), np.full((2, 2), 0.1)).round(3).tolist()
    [[0.004, 0.396], [0.036, 1.064]]
    """
    from scipy.special import ndtr, ndtri

    larger = errors.max(-1)
    width = bounds[..., 1] - bounds[..., 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.where(larger > 0, width / larger, np.inf)
    low = np.full(apart.shape, ndtri(level))
    high = np.full(apart.shape, ndtri((1 + level) / 2))
    for _ in range(50):
        middle = (low + high) / 2
        short = ndtr(middle + apart) - ndtr(-middle) < level
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.stack([bounds[..., 0] - high * errors[..., 0], bounds[..., 1] + high * errors[..., 1]], -1)
