"""Scores of all models from the confusion counts that points give, and how much they vary with the draw.

Conventions: three estimates (J,) of each score. ``believed`` is the score of the counts that the belief
expects: it varies little, and is wrong where the belief is. ``corrected`` follows the points: a score of
unbiased totals is a ratio, biased as long as totals of rare classes are poorly known, so each class moves
towards its corrected totals only as far as they are known, and the rest is added in first order there; its
bias falls as 1 / N, with N draws. ``score`` lies between the two: the correction is weighted by how large
it is against its own variance, with one weight for the level of all models and one for their differences.
The weights go to one as points are added. A variance is the larger of that over the draws and of what the
belief expects at the points drawn: a rare error at a pixel with a small probability adds a great deal, and
draws without one show too small a variance. ``terms`` (J, N) are what each draw adds to ``corrected``;
intervals are those of ``corrected``, so they do not rely on the belief. Source: one-step estimators: Bickel
et al. 1993; shrinkage: Efron and Morris 1973, Green and Strawderman 1991.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.choices import Over
from faultscape.ranking.points.scores import Score, Totals, counted_classes, score
from faultscape.ranking.points.totals import PointTotals

CAUTION = 40.0  # a class whose total has a relative error e moves 1 / (1 + 40 e^2) of the way
PRIOR = 9.0  # the prior of the belief's errors counts as much as this many models
DIFFERENCE = 0.015  # standard deviation of the prior of the belief's error, of the difference of two models
LEVEL = 0.03  # and of the level of all


@dataclass(frozen=True, eq=False)
class PointScores:
    """Scores (J,), as estimated and as believed and corrected, of one metric; ``terms`` (J, N), ``slopes``
    (J, C + 1, C + 1) what one more pixel is worth, the weights of the correction, for the level and for
    differences, and the covariance (J, J) of the corrected scores that the belief expects; ``at`` is the
    score where the slopes were taken.
    """

    metric: str
    score: np.ndarray
    believed: np.ndarray
    corrected: np.ndarray
    terms: np.ndarray
    slopes: np.ndarray
    weights: tuple[float, float]
    expected_covariance: np.ndarray
    at: Score | None = None

    @property
    def draws(self) -> int:
        """N, the number of draws with an answer."""
        return self.terms.shape[1]

    @property
    def covariance(self) -> np.ndarray:
        """(J, J) of the corrected scores over draws; NaN for fewer than two draws unless nothing is left to
        draw.
        """
        return _covariance(self.terms)


def point_scores(totals: PointTotals, metric: str = "miou", *, over: Over = "union") -> PointScores:
    """Return the scores of a metric, pooled over all pixels: ``miou``, ``fwiou``, ``mpa``, ``dice``,
    ``pixel_accuracy``, or ``iou C`` of the class at place C.

    ``over`` says which classes a mean is over. OptionError for another metric or ``over``.
    """
    predicted = totals.pool.predicted[:, :-1] + totals.pool.known[:, :-1, :-1].sum(2)
    if metric == "mpa" and over == "union":
        over = "truth"  # a class that is never true has no accuracy
    counted = counted_classes(predicted, totals.seen, over)
    believed = Totals.of(totals.believed)
    expected = Totals.of(totals.expected)
    corrected = Totals.of(totals.corrected)
    plain = score(believed, metric, counted)
    if not totals.draws:
        nothing = np.zeros((totals.pool.models, 0))
        same = plain.value
        unknown = _covariance(nothing)
        return PointScores(metric, same, same, same, nothing, plain.slopes(), (0.0, 0.0), unknown, plain)
    between = _as_far_as_known(totals, expected, corrected)
    there = score(between, metric, counted)
    slopes = there.slopes()
    terms = totals.terms(slopes)
    moved = there.value + there.change(between, corrected)
    of_moved = totals.expected_covariance(there.unbounded)  # the correction is of first order
    found, weights = shrunk(plain.value, moved, _covariance(terms), of_moved)
    expected_covariance = totals.expected_covariance(there)
    return PointScores(metric, found, plain.value, moved, terms, slopes, weights, expected_covariance, there)


def shrunk(
    believed: np.ndarray, corrected: np.ndarray, *covariances: np.ndarray
) -> tuple[np.ndarray, tuple[float, float]]:
    """Return (J,) scores between those believed and those corrected, and the weights of the correction: of
    the level and of the differences.

    A weight is t / (t + v): v is the variance of the correction, the largest by any of the ``covariances``
    (J, J), t that of the belief's error, estimated as the squared correction less v, together with a prior.
    NaN scores stay NaN and count in no weight.

    >>> shrunk(np.array([0.3, 0.4]), np.array([0.5, 0.5]), np.eye(2) * 1e-12)[0].round(
    ...     6
    ... )  # well known: followed
    array([0.5, 0.5])
    """
    known = ~np.isnan(believed) & ~np.isnan(corrected)
    correction = (corrected - believed)[known]
    number = len(correction)
    if not number:
        return corrected, (1.0, 1.0)
    variances = [covariance[np.ix_(known, known)] for covariance in covariances]
    if np.isnan(variances).any():  # a single draw
        return believed, (0.0, 0.0)
    level = correction.mean()
    level_weight = _weight(level**2, max(v.mean() for v in variances), 1, LEVEL**2)
    apart = correction - level
    spread = max(np.trace(v) - number * v.mean() for v in variances)
    weight = _weight((apart**2).sum(), max(spread, 0.0), number - 1, DIFFERENCE**2 / 2)
    out = np.full(len(believed), np.nan)
    out[known] = believed[known] + level_weight * level + weight * apart
    return out, (level_weight, weight)


def _weight(square: float, variance: float, directions: int, prior: float) -> float:
    """Return the weight of a correction with this sum of squares and variance over so many directions."""
    if not directions or variance <= 0:
        return 1.0
    error = (PRIOR * prior + max(square - variance, 0.0)) / (PRIOR + directions)
    return float(error / (error + variance / directions))


def class_weights(totals: PointTotals) -> np.ndarray:
    """Return (C + 1,) how far each true class, the last being void, moves from its expected towards its
    corrected total: all the way where that is known exactly.
    """
    if not totals.draws:
        return np.zeros(totals.pool.classes + 1)
    each = totals.by_draw(totals.left.T)  # (C + 1, N)
    spread = each.var(1) / totals.draws
    expected = totals.expected[0].sum(0)  # the same of every model, with what masks know
    corrected = totals.corrected[0].sum(0)
    largest = np.maximum(np.maximum(corrected, expected)[:-1], 1.0)
    known = 1 / (1 + CAUTION * spread[:-1] / largest**2)
    true = np.maximum(expected[:-1] + known * (corrected - expected)[:-1], 0.0)
    void = max(expected.sum() - true.sum(), 1.0)
    return np.append(known, 1 / (1 + CAUTION * spread[-1] / void**2))


def _as_far_as_known(totals: PointTotals, expected: Totals, corrected: Totals) -> Totals:
    """Return totals between the expected and the corrected ones: each true class as far as its own total is
    known.
    """
    weights = class_weights(totals)
    known = weights[:-1]
    known_void = weights[-1]
    true = np.maximum(expected.true + known * (corrected.true - expected.true), 0.0)
    predicted = np.maximum(expected.predicted + known_void * (corrected.predicted - expected.predicted), 0.0)
    hits = expected.hits + known * (corrected.hits - expected.hits)
    hits = np.clip(hits, 0.0, np.minimum(predicted, true))
    return Totals(hits, true, predicted)


def _covariance(terms: np.ndarray) -> np.ndarray:
    number = terms.shape[1]
    if number < 2:
        return np.full((len(terms), len(terms)), np.nan)
    centred = terms - terms.mean(1, keepdims=True)
    return centred @ centred.T / number / (number - 1)
