"""Which ranks a model may have, by itself and for all models at once: tests of every pair, in the latter case
corrected for their number.

Conventions: ``p_values`` (J, J), entry [i, j] is one-sided, small if i is better than j; NaN = not tested,
which never separates two models. Rank 1 is best. Simultaneous ranks are right for all models together with
probability ``level``, whatever the true scores; ``single_rank_sets`` use tests that are right one at a time,
and are never wider. Holm's procedure runs over both directions of every pair, since a rank says that one
model is *better*, not only different.
Source: Holm 1979; ranks from pairwise tests: Mogstad, Romano, Shaikh and Wilhelm 2024, Klein, Wright and
Wieczorek 2020, Neuhof and Benjamini 2026 (the level of a single task). Exact test of two proportions: McNemar
1947.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays
from faultscape.metrics.intervals.units import LEVEL
from faultscape.ties import DECIMALS


def paired_p_values(accuracy: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return (J, J) one-sided p-values that i is better than j, from their scores on the same images.

    ``accuracy`` (J, I), NaN where unknown; ``weights`` (I,) count the images. Scores that are all 0 or 1,
    without weights, are tested exactly: an image that only one of two models gets right is equally likely to
    be either's. All other scores by Student's t of the mean difference. NaN for a model and itself, and if
    fewer than two images are known.

    >>> paired_p_values(np.array([[1.0, 1, 1, 1, 0], [0, 0, 0, 1, 0]])).round(3)  # three to none: 1/8
    array([[  nan, 0.125],
           [1.   ,   nan]])
    """
    accuracy = np.round(np.asarray(accuracy, dtype=float), DECIMALS)
    if accuracy.ndim != 2:
        raise RankingError(f"scores must be models by images; got shape {accuracy.shape}")
    j, i = accuracy.shape
    known = ~np.isnan(accuracy)
    exact = weights is None and bool(np.isin(accuracy[known], (0, 1)).all())
    weights = np.ones(i) if weights is None else np.asarray(weights, dtype=float)
    out = np.full((j, j), np.nan)
    for k in range(j):
        both = known[k] & known & (weights > 0)
        gap = np.where(both, accuracy[k] - accuracy, 0.0)
        if exact:
            for_k = (gap > 0).sum(1)
            against = (gap < 0).sum(1)
            p = _at_least(for_k, for_k + against)
        else:
            share = np.where(both, weights, 0.0)
            share /= np.maximum(share.sum(1, keepdims=True), np.finfo(float).tiny)
            n = both.sum(1)
            mean = (share * gap).sum(1)
            error = np.sqrt(
                (share**2 * np.where(both, gap - mean[:, None], 0.0) ** 2).sum(1) * n / np.maximum(n - 1, 1)
            )
            p = _one_sided(mean, error, np.maximum(n - 1, 1))
        out[k] = np.where(both.sum(1) > 1, p, np.nan)
    out[range(j), range(j)] = np.nan
    return out


def replicate_p_values(
    scores: np.ndarray, replicates: np.ndarray, images: int | None = None, *, exact: bool = False
) -> np.ndarray:
    """Return (J, J) one-sided p-values that i is better than j, from the spread of their difference over
    replicates.

    ``scores`` (J,), ``replicates`` (B, J) as the rankings give them; t with ``images`` - 1 degrees of
    freedom, the normal distribution by default. A p-value is never below 2^-images, which is how often all of
    them would favour one model at random, nor below 1 / (B + 1) if the replicates do not vary. ``exact``
    scores are 0 or 1, since everything is known. NaN without score.

    >>> draws = np.array([[0.9, 0.1], [0.7, 0.1], [0.8, 0.3], [0.8, 0.1]])
    >>> replicate_p_values(np.array([0.8, 0.15]), draws)[0, 1] < 1e-4  # .65 against an error of .13
    np.True_
    """
    scores = np.asarray(scores, dtype=float)
    replicates = np.asarray(replicates, dtype=float)
    gap = scores[:, None] - scores[None, :]
    error = np.full(gap.shape, np.nan)
    for k in range(len(scores)):
        draws = replicates[:, [k]] - replicates
        n = (~np.isnan(draws)).sum(0)
        mean = np.nansum(draws, 0) / np.maximum(n, 1)
        error[k] = np.where(n > 1, np.sqrt(np.nansum((draws - mean) ** 2, 0) / np.maximum(n - 1, 1)), np.nan)
    degrees = np.full(gap.shape, np.inf if images is None else max(images - 1, 1))
    out = _one_sided(np.round(gap, DECIMALS), np.round(error, DECIMALS), degrees)
    if exact:
        out = np.where(np.isnan(out), np.nan, np.where(np.round(gap, DECIMALS) > 0, 0.0, 1.0))
    else:
        out = np.where(error < 10**-DECIMALS, np.maximum(out, 1 / (len(replicates) + 1)), out)
        out = out if images is None else np.maximum(out, 0.5**images)
    out[range(len(scores)), range(len(scores))] = np.nan
    return out


def better(p_values: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Return (J, J) bool: i is better than j, where all these statements hold simultaneously with probability
    ``level`` (Holm).

    >>> better(np.array([[np.nan, 0.02, 0.001], [0.98, np.nan, 0.004], [0.999, 0.996, np.nan]])).astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    p_values = checked_arrays.numbers(p_values, "p_values", RankingError).astype(float, copy=False)
    if p_values.ndim != 2 or len(p_values) != p_values.shape[1]:
        raise RankingError(f"p-values must be a square matrix, models by models; got shape {p_values.shape}")
    tested = np.flatnonzero(~np.isnan(p_values).ravel())
    order = tested[np.argsort(p_values.ravel()[tested], kind="stable")]
    passed = p_values.ravel()[order] * np.arange(len(order), 0, -1) <= 1 - level
    count = len(order) if passed.all() else int(passed.argmin())  # stops at the first that fails
    out = np.zeros(p_values.size, bool)
    out[order[:count]] = True
    return out.reshape(p_values.shape)


def rank_sets(p_values: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Return (J, 2) best and worst rank of each model, all right at once: 1 + the number of models better
    than it, J - the number worse.

    A model without any test has no rank (NaN) and is not counted. The models whose best rank is 1 contain the
    best one.

    >>> rank_sets(np.array([[np.nan, 0.02, 0.001], [0.98, np.nan, 0.004], [0.999, 0.996, np.nan]]))
    array([[1., 2.],
           [1., 2.],
           [3., 3.]])
    """
    return ranks_of(better(p_values, level), p_values)


def single_rank_sets(p_values: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Return (J, 2) best and worst rank of each model from the same tests, each two-sided and at its own
    ``level``.

    They lie within ``rank_sets``: what holds for all models at once holds for one pair. The models whose best
    rank is 1 are tied for best: no test says that another model is better.

    >>> single_rank_sets(np.array([[np.nan, 0.02, 0.001], [0.98, np.nan, 0.004], [0.999, 0.996, np.nan]]))
    array([[1., 1.],
           [2., 2.],
           [3., 3.]])
    """
    p_values = np.asarray(p_values, dtype=float)
    return ranks_of(p_values <= (1 - level) / 2, p_values)


def ranks_of(beats: np.ndarray, p_values: np.ndarray) -> np.ndarray:
    """Return (J, 2) best and worst rank of each model, from which row models are better than which column
    models (J, J); NaN for a model without any test.

    >>> ranks_of(np.array([[False, True], [False, False]]), np.array([[np.nan, 0.01], [0.99, np.nan]]))
    array([[1., 1.],
           [2., 2.]])
    """
    ranked = ~np.isnan(np.asarray(p_values, dtype=float)).all(1)
    sets = np.stack([1.0 + beats.sum(0), ranked.sum() - beats.sum(1)], 1)
    sets[~ranked] = np.nan
    return sets


def _one_sided(mean: np.ndarray, error: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """Return the probability of a mean this large or larger under no difference; without error, 0 if it is
    positive, 1 otherwise.
    """
    from scipy.special import stdtr

    sharp = np.where(mean > 0, 0.0, 1.0)
    t = np.divide(mean, error, out=np.zeros(np.shape(mean)), where=error > 0)
    p = stdtr(degrees, -t)
    return np.where(np.isnan(mean) | np.isnan(error), np.nan, np.where(error > 0, p, sharp))


def _at_least(wins: np.ndarray, games: np.ndarray) -> np.ndarray:
    """Return the probability of this many wins or more in games at even odds: P(X >= k) is the incomplete
    beta function I(k, n - k + 1) at 1/2.

    >>> _at_least(np.array([0, 2, 3]), np.array([3, 3, 3]))
    array([1.   , 0.5  , 0.125])
    """
    from scipy.special import betainc

    return np.where(wins > 0, betainc(np.maximum(wins, 1), games - wins + 1, 0.5), 1.0)
