"""Which range of scores answers leave open that name no class, or two.

Conventions: every such point takes the class that lowers, or raises, a model's score most. The change is that
of first order, but no class leaves the values from 0 to 1, which a rare one soon does in first order.
"""

from __future__ import annotations

import numpy as np

from faultscape.ranking.points.answers import GONE, PointAnswers
from faultscape.ranking.points.estimates import PointScores
from faultscape.ranking.points.totals import PointTotals


def open_range(totals: PointTotals, found: PointScores) -> np.ndarray:
    """Return (J, 2) by how much each score could change, down and up, if the points that nobody could answer
    had been answered, with any class.
    """
    number = totals.draws + totals.missing_draws
    now = totals.missing_guess
    return _range(
        found, totals.missing, np.ones(now.shape, bool), now, totals.missing_weight / max(number, 1)
    )


def border_range(totals: PointTotals, answers: PointAnswers, found: PointScores) -> np.ndarray:
    """Return (J, 2) by how much each score could change, down and up, if the points on borders were wholly of
    one of their classes and not in parts.

    ``answers`` are those that ``totals`` were made from.
    """
    between = np.flatnonzero(answers.known & ((answers.shares > 0).sum(1) > 1))
    look = answers.look[between]
    counted = answers.look[answers.known | (answers.place == GONE)]
    weight = 1 / answers.probability[between] / np.bincount(counted, minlength=1)[look]
    shares = answers.shares[between]
    said = totals.pool.said[:, answers.place[between]]
    return _range(found, said, shares > 0, shares, weight / max(totals.draws, 1))


def _range(
    found: PointScores, said: np.ndarray, possible: np.ndarray, now: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return (J, 2) how the scores change when M points, at which models say ``said`` (J, M), take one of
    their ``possible`` (M, Y) classes instead of what they count as ``now`` (M, Y); each is worth ``weight``
    (M,) pixels.
    """
    out = np.zeros((len(said), 2))
    if not len(weight) or found.at is None:
        return out
    truths = now.shape[1]
    for end, sign in enumerate((1, -1)):
        added = np.zeros(found.slopes.shape)
        for own, table, counts in zip(said, found.slopes, added, strict=True):
            worth = np.where(possible, sign * table[own][:, :truths], np.inf)
            then = np.eye(truths)[worth.argmin(1)]
            np.add.at(counts[:, :truths], own, (then - now) * weight[:, None])
        out[:, end] = found.at.bounded_change(added)
    return out
