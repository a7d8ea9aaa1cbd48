"""Intervals of scores from points, and which ranks they leave possible: for this pool, or for images to
come.

Conventions: a variance is that of the corrected scores, linear in what each draw adds: the larger of the
variance over draws and of what the belief expects at the points drawn, since few draws may show none of the
rare errors that add most; of these, no answer counts for more than moves a class to 0 or 1. Intervals are
Student's t around the scores. Shrinking scores towards a belief makes them better on average and intervals
no shorter: the variance is not reduced, and by how much the shrunk score (or difference) differs from the
corrected one is added to the standard error in quadrature, since a belief may be wrong about this very
pair. Degrees of freedom are those of an estimated variance whose terms have heavy tails, as points with
small probabilities do: 2 N / (k - 1), k being the kurtosis of the terms, at most N - 1, for each model and
each pair. For *images to come*, images (or groups of images) are what is drawn first and points second:
what a group's pixels are expected to add together with what its points add is one number, and the spread of
these numbers over groups is the variance, with G - 1 degrees of freedom and none below six groups. Source:
Hansen and Hurwitz 1943; Satterthwaite 1946 (degrees of freedom); two stages: Sarndal, Swensson and Wretman
1992, 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from faultscape.errors import RankingError
from faultscape.metrics.intervals.units import LEAST, LEVEL
from faultscape.ranking.points.estimates import PointScores
from faultscape.ranking.points.totals import PointTotals
from faultscape.ranking.simultaneous_ranks import rank_sets


@dataclass(frozen=True, eq=False)
class Spread:
    """Standard errors and degrees of freedom of each model's score (J,), and of each difference (J, J)."""

    error: np.ndarray
    freedom: np.ndarray
    error_of_differences: np.ndarray
    freedom_of_differences: np.ndarray


def pool_spread(totals: PointTotals, found: PointScores) -> Spread:
    """Return the spread of scores over draws of points from this pool: NaN for fewer than two draws, 0 if
    every pixel has a mask.
    """
    if not totals.pool.size:
        return _spread(np.zeros((totals.pool.models, 2)), 2)
    return _widened(_spread(found.terms, found.draws), found)


def spread_of_images_to_come(
    totals: PointTotals,
    found: PointScores,
    *,
    tuples: np.ndarray,
    images: np.ndarray,
    pixels: np.ndarray,
    image_of_points: np.ndarray,
    groups: np.ndarray,
    known: np.ndarray | None = None,
) -> Spread:
    """Return the spread of scores over images, or groups of images, like those of the pool.

    The pixels of image ``images`` (R,) with tuple ``tuples`` (R,) number ``pixels`` (R,).
    ``image_of_points`` (M,) is the image of each point with an answer, ``groups`` (I,) the group of each
    image, numbered from 0; ``known`` (I, J, C + 1, C + 1) are the confusion counts of images with a mask.
    NaN for fewer than six groups.

    Errors: RankingError if points without an image are given.
    """
    if len(image_of_points) != len(totals.look):
        raise RankingError(
            f"expected the image of each of {len(totals.look)} points with an answer; got"
            f" {len(image_of_points)}"
        )
    expected = totals.belief.slopes(totals.pool.said, found.slopes, totals.pool.boxes)
    number = len(groups)
    sums = np.array([np.bincount(images, pixels * row[tuples], number) for row in expected])
    added = totals.by_point(found.slopes) / max(totals.draws, 1)
    sums += np.array([np.bincount(image_of_points, row, number) for row in added])
    if known is not None:
        sums += np.einsum("ijky,jky->ji", known, found.slopes)
    return spread_over_groups(sums, groups, found)


def spread_over_groups(sums: np.ndarray, groups: np.ndarray, found: PointScores) -> Spread:
    """Return the spread of scores over groups of images, from what each image adds to the change of a score
    (J, I), expected and corrected, and the ``groups`` (I,) of images; NaN for fewer than six groups.

    >>> none = np.zeros((2, 0))
    >>> scores, expected = [np.array([0.5, 0.7])] * 3, np.zeros((2, 2))
    >>> found = PointScores("miou", *scores, none, np.zeros((2, 3, 3)), (1.0, 1.0), expected)
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


def point_intervals(found: PointScores, spread: Spread, level: float = LEVEL) -> np.ndarray:
    """Return (J, 2) intervals of the scores, between 0 and 1."""
    from scipy.special import stdtrit

    half = stdtrit(spread.freedom, (1 + level) / 2) * spread.error
    return np.clip(found.score[:, None] + half[:, None] * np.array([-1, 1]), 0, 1)


def point_difference_intervals(found: PointScores, spread: Spread, level: float = LEVEL) -> np.ndarray:
    """Return (J, J, 2) intervals of the score of the row model minus that of the column model."""
    from scipy.special import stdtrit

    gap = found.score[:, None] - found.score
    half = stdtrit(spread.freedom_of_differences, (1 + level) / 2) * spread.error_of_differences
    return gap[..., None] + half[..., None] * np.array([-1, 1])


def how_well_known(spread: Spread, level: float = LEVEL) -> tuple[float, float]:
    """Return by how much a score, and the difference of two scores, may be off: medians over models and pairs
    of half the intervals' widths; NaN for the difference if there is one model.
    """
    from scipy.special import stdtrit

    own = stdtrit(spread.freedom, (1 + level) / 2) * spread.error
    gaps = stdtrit(spread.freedom_of_differences, (1 + level) / 2) * spread.error_of_differences
    pairs = gaps[np.triu_indices(len(own), 1)]
    return float(np.median(own)), float(np.median(pairs)) if len(pairs) else np.nan


def better_p_values(found: PointScores, spread: Spread) -> np.ndarray:
    """Return (J, J) one-sided p-values that the row model is better than the column model; NaN for a model
    and itself, and where the difference has no standard error.
    """
    from scipy.special import stdtr

    gap = found.score[:, None] - found.score
    error = spread.error_of_differences
    ratio = np.divide(gap, error, out=np.where(gap > 0, np.inf, -np.inf), where=error > 0)
    p = np.where(np.isnan(gap + error), np.nan, stdtr(spread.freedom_of_differences, -ratio))
    p[np.diag_indices(len(p))] = np.nan
    return p


def ranks_from_points(found: PointScores, spread: Spread, level: float = LEVEL) -> np.ndarray:
    """Return (J, 2) the best and worst rank of each model, right for all models together."""
    return rank_sets(better_p_values(found, spread), level)


def _widened(spread: Spread, found: PointScores) -> Spread:
    """Return the spread, at least that which the belief expects, with what shrinking moved each score and
    difference by.
    """
    shift = np.nan_to_num(found.corrected - found.score)
    expected = found.expected_covariance
    own = np.diagonal(expected)
    apart = np.sqrt(np.maximum(own[:, None] + own - 2 * expected, 0.0))
    return replace(
        spread,
        error=np.hypot(np.maximum(spread.error, np.sqrt(own)), shift),
        error_of_differences=np.hypot(np.maximum(spread.error_of_differences, apart), shift[:, None] - shift),
    )


def _spread(terms: np.ndarray, number: int) -> Spread:
    """Return standard errors of means of terms (J, N), and their degrees of freedom."""
    models = len(terms)
    if number < 2 or not terms.shape[1]:
        nothing = np.full((models, models), np.nan)
        return Spread(nothing[0], nothing[0], nothing, nothing)
    error = np.empty((models, models))
    freedom = np.empty((models, models))
    for i in range(models):
        error[i], freedom[i] = _error(terms[i] - terms)
    own_error, own_freedom = _error(terms)
    return Spread(own_error, own_freedom, error, freedom)


def _error(terms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard error of the mean of each row (J, N), and its degrees of freedom."""
    number = terms.shape[1]
    centred = terms - terms.mean(1, keepdims=True)
    square = (centred**2).sum(1)
    fourth = (centred**4).sum(1)
    kurtosis = np.divide(number * fourth, square**2, out=np.full(len(terms), 3.0), where=square > 0)
    freedom = np.clip(2 * number / np.maximum(kurtosis - 1, 1e-9), 1, number - 1)
    return np.sqrt(square / number / (number - 1)), freedom
