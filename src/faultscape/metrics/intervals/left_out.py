"""Intervals of a number of a whole data set that is not a sum over images, such as average precision:
Student's, from the number with each unit left out (jackknife).

Conventions: a unit is an image, or a group of images that belong together. Many units are left out in blocks,
since the number is computed once for each. Draws with replacement hold the truth far too rarely here: an
image that is drawn twice agrees with itself.
Source: Efron and Tibshirani 1993, section 11.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.intervals.units import LEAST, LEVEL, Units, draw_units

MOST = 200  # blocks of units


def leave_out(units: Units, ranks: np.ndarray | None = None, *, most: int = MOST) -> np.ndarray:
    """Return (1 + B, I) how often each image counts: once each, then with each of B units left out, or of B
    blocks of units. Units are put into blocks by the order of the ``ranks`` (I,) of their images.

    >>> leave_out(Units(np.array([0, 0, 1]), 2)).tolist()
    [[1, 1, 1], [0, 0, 1], [1, 1, 0]]
    """
    if units.count > most:
        order = np.arange(len(units.of)) if ranks is None else ranks
        least = np.full(units.count, len(units.of))
        np.minimum.at(least, units.of, order)
        units = Units((np.argsort(np.argsort(least)) % most)[units.of], most)
    return draw_units(units, 0, 0, leave_out=True).weights


def student_of_left_out(values: np.ndarray, count: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Student's interval of a number from ``values`` (1 + B,), those of all units and with each left
    out, with ``count`` - 1 degrees of freedom; NaN for fewer than six units or an undefined value.

    >>> student_of_left_out(np.array([3.5, 4.0, 3.8, 3.6, 3.4, 3.2, 3.0]), 6)
    (1.5366..., 5.4633...)
    """
    from scipy.special import stdtrit

    each = values[1:]
    if count < LEAST or not len(each) or not np.isfinite(values).all():
        return np.nan, np.nan
    spread = (len(each) - 1) / len(each) * ((each - each.mean()) ** 2).sum()
    half = float(stdtrit(count - 1, (1 + level) / 2) * np.sqrt(spread))
    return float(values[0]) - half, float(values[0]) + half
