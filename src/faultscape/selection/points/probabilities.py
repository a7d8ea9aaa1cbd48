"""Which pixels a person is asked about: the probability with which each is drawn.

Conventions: ``probability`` (X,) is that of one pixel of each tuple (`ranking.points.pool`), the same for all
its pixels, at every draw; over all pixels it sums to one. It is a mixture: by how much a tuple is expected to
add to the variance of what is asked, under the belief; by how the models' votes split, which needs no belief;
and a floor of uniform draws, so that every pixel can be drawn and pixels on which all models agree get points
too (taking them as right is biased).
Source: Neyman 1934 (allocation by spread); mixtures that bound weights: Hesterberg 1995.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np

from faultscape.choices import Over
from faultscape.errors import OptionError, SelectionError
from faultscape.ranking.points.belief import Belief, kernels
from faultscape.ranking.points.box_states import BoxStates
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


@dataclass(frozen=True, eq=False)
class Allocation:
    """By which numbers pixels are drawn: the variance of ``slopes`` (J, C + 1, Y) under a ``belief``, of
    which model j's less their mean by ``reference`` (J,) counts by ``variance_weights`` (J,); and the
    ``area`` (C,) of each class, against which the votes split.
    """

    belief: Belief
    slopes: np.ndarray
    variance_weights: np.ndarray
    reference: np.ndarray
    area: np.ndarray

    def weights(self, said: np.ndarray, boxes: BoxStates | None = None) -> np.ndarray:
        """Return (3, X) of tuples (J, X), with their ``boxes``, ones, how their votes split, and by how much
        they are expected to add to the variance.
        """
        variance = self.belief.variance(said, self.slopes, self.variance_weights, self.reference, boxes)
        split = kernels().vote_split(said, self.area)
        return np.stack([np.ones(said.shape[1]), np.sqrt(split), np.sqrt(variance)])


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
    pool = cast("PointPool", totals.pool)
    weights = point_allocation(totals, goal, metric=metric, over=over).weights(pool.said, pool.boxes)
    return mixed(weights, weights @ pool.pixels)


def point_allocation(
    totals: PointTotals, goal: PointGoal = "order", *, metric: str = "miou", over: Over = "union"
) -> Allocation:
    """Return by which numbers pixels are drawn; arguments and errors as those of `point_probabilities`."""
    if goal not in POINT_GOALS:
        raise OptionError(f"goal={goal!r} is none of {', '.join(POINT_GOALS)}")
    if not totals.pool.size:
        raise SelectionError("no pixel is left to draw: every image has a mask")
    found = point_scores(totals, metric, over=over)
    # of the true classes that the belief knows: without void where the truth has none
    slopes = np.ascontiguousarray(found.slopes[:, :, : len(totals.belief.bias)])
    area = np.maximum(totals.pool.predicted.mean(0)[:-1], LEAST_AREA)
    return Allocation(totals.belief, slopes, *_asked(totals, found, goal), area)


def mixed(weights: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return (X,) the probabilities of pixels with these `Allocation.weights` (3, X), or of images with these
    sums over their pixels; ``totals`` (3,) are the sums over all.

    >>> mixed(np.array([[1.0, 3.0], [0.0, 2.0], [0.0, 0.0]]), np.array([4.0, 2.0, 0.0])).round(4).tolist()
    [0.1375, 0.8625]
    """
    even = weights[0] / totals[0]
    out = FLOOR * even
    for share, weight, total in zip((SPLIT, 1 - FLOOR - SPLIT), weights[1:], totals[1:], strict=True):
        out += share * (weight / total if total > 0 else even)
    return out


def _asked(totals: PointTotals, found: PointScores, goal: str) -> tuple[np.ndarray, np.ndarray]:
    """Return by which weights (J,) variances of scores are to be small in their sum, each less the mean of
    all by a reference (J,); 0 for the scores themselves.
    """
    models = totals.pool.models
    even = np.ones(models)
    if goal == "values" or models == 1:
        return even, np.zeros(models)
    if goal == "best" and found.draws >= LEARNT and not np.isnan(found.score).all():
        first = int(np.nanargmax(found.score))
        gap = np.maximum(
            found.score[first] - found.score, pool_spread(totals, found).error_of_differences[first]
        )
        leader = np.arange(models) == first
        return np.where(leader, 0.0, np.fmax(gap, LEAST_GAP) ** -2), leader.astype(float)
    return even, even / models  # the sum of squares is that of all differences, over J
