"""How much scores from points vary over images, or groups of images, like those of the pool.

Conventions: ``sums`` (J, I) are what each image adds to the change of a score: what its pixels are expected to add,
with the slopes of the score (`estimates.PointScores`), together with what its points add. Groups are what is drawn
first, and points second, so that the spread of the sums of whole groups holds both. Student's t with G - 1 degrees of
freedom, and nothing below six groups.
Source: two stages: Särndal, Swensson and Wretman 1992, 4.3.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.intervals.units import LEAST
from faultscape.ranking.points.intervals import Spread
from faultscape.ranking.points.totals import PointTotals


def added_by_points(totals: PointTotals, slopes: np.ndarray) -> np.ndarray:
    """Return (J, M) what each point with an answer adds to the change of a score with these slopes (J, C + 1, C + 1)."""
    pairs = zip(totals.said, slopes, strict=True)
    return np.array([(table[own] * totals.left).sum(1) for own, table in pairs]) / max(totals.draws, 1)


def spread_over_groups(sums: np.ndarray, groups: np.ndarray) -> Spread:
    """Return the spread of scores over groups of images, from the sums (J, I) of images and their ``groups`` (I,);
    NaN for fewer than six groups.

    >>> spread = spread_over_groups(np.array([[0.1, -0.1] * 4, [0.0] * 8]), np.arange(8))
    >>> spread.error.round(3).tolist(), spread.freedom.tolist()
    ([0.302, 0.0], [7.0, 7.0])
    """
    _, place = np.unique(groups, return_inverse=True)
    count = int(place.max(initial=-1)) + 1
    by_group = np.array([np.bincount(place, row, count) for row in sums])
    if count < LEAST:
        nothing = np.full((len(sums), len(sums)), np.nan)
        return Spread(nothing[0], nothing[0], nothing, nothing)
    apart = by_group[:, None] - by_group

    def error(each: np.ndarray) -> np.ndarray:
        # the sum over groups is their number times their mean
        return np.sqrt(count * each.var(-1, ddof=1))

    freedom = np.full((len(sums), len(sums)), count - 1.0)
    return Spread(error(by_group), freedom[0], error(apart), freedom)
