"""Whether consecutive images are alike, and how much too narrow that makes intervals that assume
independence.

Conventions: ``values`` (I,) in corpus order, NaN where an image has none. If the correlation falls as r, r^2,
r^3 ... with distance, the variance of a mean is (1 + r) / (1 - r) times that of independent images.
Source: Bayley and Hammersley 1946.
"""

from __future__ import annotations

import numpy as np

ALIKE = 0.3  # the correlation of neighbours above which it is reported


def neighbour_correlation(values: np.ndarray) -> float:
    """Return the correlation of each image with the next, over the pairs in which both have a value; NaN
    without such pairs, or where all values are equal.

    >>> round(neighbour_correlation(np.array([1.0, 1, 1, 1, 5, 5, 5, 5])), 3)
    0.714
    """
    away = values - np.nanmean(values) if not np.isnan(values).all() else values
    pairs = away[1:] * away[:-1]
    known = ~np.isnan(pairs)
    variance = np.nanmean(away**2) if not np.isnan(away).all() else 0.0
    return float(pairs[known].mean() / variance) if known.any() and variance > 0 else float("nan")


def too_narrow(correlation: float) -> float:
    """Return the factor by which intervals that assume independent images are too narrow.

    >>> too_narrow(0.6)
    2.0
    """
    return round(float(np.sqrt((1 + correlation) / (1 - correlation))), 12)


def alike(values: np.ndarray) -> float | None:
    """Return the correlation of neighbours if it is above .3 and more than two standard errors from zero,
    else None.
    """
    found = neighbour_correlation(values)
    images = int((~np.isnan(values)).sum())
    return found if not np.isnan(found) and max(ALIKE, 2 / np.sqrt(max(images, 1))) < found < 1 else None
