"""Metrics of models from points, each with its interval, and what else the answers say about a number: how
many of them decide a class, and which range those on borders leave open.

Conventions: as in ``estimates`` and ``intervals``; intervals speak of this pool. A point decides the IoU of a
class for a model if it shows the class, or the model predicts it there and the truth is not void.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.choices import Over
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.estimates import PointScores, class_weights, point_scores
from faultscape.ranking.points.intervals import (
    Spread,
    point_difference_intervals,
    point_intervals,
    pool_spread,
)
from faultscape.ranking.points.pool import Pool
from faultscape.ranking.points.totals import PointTotals

FEW = 5  # points that decide a class, below which its interval is not to be relied on


@dataclass(frozen=True, eq=False)
class PointMeasure:
    """One metric of J models: ``values`` (J,) with ``intervals`` (J, 2), and ``differences`` (J, J, 2), the
    intervals of the value of the row model less that of the column model; NaN where unknown.
    """

    found: PointScores
    spread: Spread
    intervals: np.ndarray
    differences: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """(J,) the estimates, between 0 and 1 as the intervals: that of a rare class may lie below 0."""
        return np.clip(self.found.score, 0, 1)


def point_measure(totals: PointTotals, metric: str = "miou", *, over: Over = "union") -> PointMeasure:
    """Return a metric of all models, one of those that `point_scores` names; OptionError for another one, or
    another ``over``.

    >>> from faultscape.ranking.points.pool import PointPool
    >>> from faultscape.ranking.points.totals import point_totals
    >>> masks = np.array([[[5, 0, 0], [1, 4, 0], [0, 0, 0]]])  # of every image
    >>> pool = PointPool(np.array([[0, 1]]), np.zeros(2), classes=2, known=masks)
    >>> none = PointAnswers(np.zeros(0, int), np.zeros(0), np.zeros((0, 3)))
    >>> found = point_measure(point_totals(pool, none, void=False), "pixel_accuracy")
    >>> found.values.tolist(), found.intervals.tolist()
    ([0.9], [[0.9, 0.9]])
    """
    found = point_scores(totals, metric, over=over)
    spread = pool_spread(totals, found)
    differences = point_difference_intervals(found, spread)
    return PointMeasure(found, spread, point_intervals(found, spread), differences)


def deciding_points(pool: Pool, answers: PointAnswers) -> np.ndarray:
    """Return (J, C) how many answered points decide the IoU of each class for each model.

    >>> from faultscape.ranking.points.pool import PointPool
    >>> pool = PointPool(np.array([[0, 0, 1]]), np.ones(3), classes=2)
    >>> shares = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])  # the first class, a border, void
    >>> deciding_points(pool, PointAnswers(np.arange(3), np.full(3, 0.1), shares)).tolist()
    [[2, 1]]
    """
    known = answers.known
    shows = np.asarray(answers.shares[known][:, :-1] > 0)
    inside = shows.any(1, keepdims=True)
    said = pool.said[:, answers.place[known], None] == np.arange(pool.classes)  # (J, M, C)
    return (shows | (said & inside)).sum(1)


def point_confusion(totals: PointTotals) -> np.ndarray:
    """Return (J, C + 1, C + 1) confusion counts to be shown: those that the belief expects, corrected by the
    points as far as the total of each true class is known, and never below 0.
    """
    weights = class_weights(totals)
    return np.maximum(totals.expected + weights * totals.correction, 0.0)
