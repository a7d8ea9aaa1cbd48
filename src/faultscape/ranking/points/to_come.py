"""How much scores from points vary over groups of images like those of the pool, from sums over images.

Conventions: ``sums`` (J, I) are what each image adds to the change of a score: what its pixels are expected
to add, with the slopes of the score (`estimates.PointScores`), together with what its points add. It is
`intervals.spread_of_images_to_come` for pools whose tuples are read image by image.
Source: as there.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.intervals.units import LEAST
from faultscape.ranking.points.estimates import PointScores
from faultscape.ranking.points.intervals import Spread


def spread_over_groups(sums: np.ndarray, groups: np.ndarray, found: PointScores) -> Spread:
    """Return the spread of scores over groups of images, from the sums (J, I) of images and their ``groups``
    (I,); NaN for fewer than six groups.

    >>> none = np.zeros((2, 0))
    >>> found = PointScores("miou", *[np.array([0.5, 0.7])] * 3, none, np.zeros((2, 3, 3)), (1.0, 1.0))
    >>> spread = spread_over_groups(np.array([[0.1, -0.1] * 4, [0.0] * 8]), np.arange(8), found)
    >>> spread.error.round(3).tolist(), spread.freedom.tolist()
    ([0.302, 0.0], [7.0, 7.0])
    """
    _, place = np.unique(groups, return_inverse=True)
    count = int(place.max(initial=-1)) + 1
    by_group = np.array([np.bincount(place, row, count) for row in sums])
    if count < LEAST:
        nothing = np.full((len(sums), len(sums)), np.nan)
        return Spread(nothing[0], nothing[0], nothing, nothing)
    shift = np.nan_to_num(found.corrected - found.score)  # by what shrinking moved each score

    def error(each: np.ndarray, moved: np.ndarray) -> np.ndarray:
        # the sum over groups is their number times their mean
        return np.hypot(np.sqrt(count * each.var(-1, ddof=1)), moved)

    freedom = np.full((len(sums), len(sums)), count - 1.0)
    apart = error(by_group[:, None] - by_group, shift[:, None] - shift)
    return Spread(error(by_group, shift), freedom[0], apart, freedom)
