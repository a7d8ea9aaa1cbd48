"""Which pixels a person is asked about: the probability with which each is drawn.

Conventions: ``probability`` (X,) is that of one pixel of each tuple (`ranking.points.pool`), the same for all
its pixels, at every draw; over all pixels it sums to one. It is a mixture: by how much a tuple is expected to
add to the variance of what is asked, under the belief; by how the models' votes split, which needs no belief;
and a floor of uniform draws, so that every pixel can be drawn and pixels on which all models agree get points
too (taking them as right is biased).
Source: Neyman 1934 (allocation by spread); mixtures that bound weights: Hesterberg 1995.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from faultscape.choices import Over
from faultscape.errors import OptionError, SelectionError
from faultscape.ranking.points.estimates import PointScores, point_scores
from faultscape.ranking.points.intervals import pool_spread
from faultscape.ranking.points.pool import PointPool
from faultscape.ranking.points.totals import PointTotals

PointGoal = Literal["order", "best", "values"]
POINT_GOALS = get_args(PointGoal)
FLOOR = 0.05  # share of uniform draws
SPLIT = 0.45  # share drawn by how the votes split
LEAST_AREA = 1e3  # pixels of a class, below which its rarity raises no probability further
LEARNT = 50  # draws from which on the leaders are known well enough to draw for them
LEAST_GAP = 0.005  # differences below are as hard as this one


def point_probabilities(
    totals: PointTotals, goal: PointGoal = "order", *, metric: str = "miou", over: Over = "union"
) -> np.ndarray:
    """Return (X,) the probability of one pixel of each tuple, at one draw, given the points answered so far
    (none at first).

    ``goal`` is what is asked: ``order``, the differences of all pairs; ``best``, those between the leader
    and all others, the more the closer they are (as ``order`` until 50 draws are answered); ``values``,
    each model's own score. Errors: OptionError for another goal; SelectionError if every pixel has a mask.

    >>> from faultscape.ranking.points.answers import PointAnswers
    >>> from faultscape.ranking.points.totals import point_totals
    >>> pool = PointPool(np.array([[0, 0, 1], [0, 1, 1]]), np.array([70, 10, 20]), classes=2)
    >>> none = PointAnswers(np.zeros(0, int), np.zeros(0), np.zeros((0, 3)))
    >>> probability = point_probabilities(point_totals(pool, none, void=False))
    >>> (probability * pool.pixels).sum().round(9), bool(probability.argmax() == 1)  # where they disagree
    (np.float64(1.0), True)
    """
    pool = totals.pool
    if goal not in POINT_GOALS:
        raise OptionError(f"goal={goal!r} is none of {', '.join(POINT_GOALS)}")
    if not pool.size:
        raise SelectionError("no pixel is left to draw: every image has a mask")
    found = point_scores(totals, metric, over=over)
    contrasts = _contrasts(totals, found, goal)
    spread = np.sqrt(totals.belief.variance(pool.said, _truths(found, totals), contrasts))
    uniform = np.full(len(pool.pixels), 1 / pool.size)
    split = _in_proportion(_split(pool), pool, uniform)
    optimal = _in_proportion(spread, pool, uniform)
    return FLOOR * uniform + SPLIT * split + (1 - FLOOR - SPLIT) * optimal


def _contrasts(totals: PointTotals, found: PointScores, goal: str) -> np.ndarray:
    """Return (G, J) the linear combinations of scores whose variances are to be small, in their sum."""
    models = totals.pool.models
    if goal == "values" or models == 1:
        return np.eye(models)
    if goal == "best" and found.draws >= LEARNT and not np.isnan(found.score).all():
        first = int(np.nanargmax(found.score))
        gap = np.maximum(
            found.score[first] - found.score, pool_spread(totals, found).error_of_differences[first]
        )
        rows = (np.eye(models)[first] - np.eye(models)) / np.fmax(gap, LEAST_GAP)[:, None]
        return np.delete(rows, first, axis=0)
    return np.eye(models) - 1 / models  # the sum of squares is that of all differences, over J


def _truths(found: PointScores, totals: PointTotals) -> np.ndarray:
    """Return the slopes of the true classes that the belief knows: without void where the truth has none."""
    return np.ascontiguousarray(found.slopes[:, :, : len(totals.belief.bias)])


def _split(pool: PointPool) -> np.ndarray:
    """Return (X,) how the votes for each class split at a tuple, against how many pixels the class has."""
    area = np.maximum(pool.predicted.mean(0)[:-1], LEAST_AREA)
    out = np.zeros(len(pool.pixels))
    for c in range(pool.classes):
        share = (pool.said == c).mean(0)
        out += share * (1 - share) / area[c]
    return np.sqrt(out)


def _in_proportion(weights: np.ndarray, pool: PointPool, otherwise: np.ndarray) -> np.ndarray:
    """Return probabilities in proportion to weights (X,), or ``otherwise`` where none is above 0."""
    total = weights @ pool.pixels
    return weights / total if total > 0 else otherwise
