"""How much single draws of points vary before any answer: from what the models say at the pixels of a pool.

Conventions: as ``probabilities``. Draws are simulated, so that rare tuples with large weights count as often
as they would be drawn.
"""

from __future__ import annotations

import numpy as np

from faultscape.ranking.planning.point_needs import expected_covariance
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.estimates import point_scores
from faultscape.ranking.points.pool import PointPool
from faultscape.ranking.points.totals import point_totals
from faultscape.selection.points.probabilities import PointGoal, point_probabilities

DRAWS = 20_000


def foreseen_covariance(
    pool: PointPool, goal: PointGoal = "order", *, void: bool = True, seed: int = 0
) -> np.ndarray:
    """Return (J, J) the covariance of what one draw for a ``goal`` is expected to add to the scores of the
    models; ``void`` says whether the truth may be void.

    >>> pool = PointPool(np.array([[0, 0, 1], [0, 1, 1]]), np.array([700, 100, 200]), classes=2)
    >>> foreseen_covariance(pool).shape
    (2, 2)
    """
    none = PointAnswers(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, pool.classes + 1)))
    totals = point_totals(pool, none, void=void)
    probability = point_probabilities(totals, goal)
    weights = pool.pixels * probability
    drawn = np.random.default_rng(seed).choice(len(weights), DRAWS, p=weights / weights.sum())
    slopes = point_scores(totals).slopes
    boxes = pool.boxes and pool.boxes.of(drawn)
    return expected_covariance(totals.belief, slopes, pool.said[:, drawn], probability[drawn], boxes)
