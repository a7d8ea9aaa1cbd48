"""How far scores may vary: the bootstrap over images, ranks with ties, intervals of shares.

Conventions: ``scores`` (J,), ``replicates`` (B, J), large = good, NaN = no score; a replicate is one draw of
images with replacement, in which an image that serves many duels is drawn with all of them. Intervals are
percentile intervals over the replicates with a score, NaN if there are none. Rank 1 is best, equal scores (to
12 decimals) share the mean of their ranks.
Source: Efron 1979; Wilson 1927; the effective sample size of a variance: Kish 1965, Korn and Graubard
1998.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.intervals.units import LEVEL
from faultscape.ties import DECIMALS

LOST = 0.02  # share of replicates without a score above which the others are not a fair sample
SURE = 6  # number of cases at which the measured variance gets three quarters of the weight
_CHUNK = 2_000_000


def bootstrap_weights(images: int, resamples: int, seed: int | np.random.Generator = 0) -> np.ndarray:
    """Return (B, I) how often each image is drawn in each of ``resamples`` draws of I images with
    replacement.

    >>> bootstrap_weights(5, 3, seed=0).sum(1)
    array([5., 5., 5.])
    """
    rng = np.random.default_rng(seed)
    if not images:
        return np.zeros((resamples, 0))
    return rng.multinomial(images, np.full(images, 1 / images), size=resamples).astype(float)


def ranks(scores: np.ndarray) -> np.ndarray:
    """Return (..., J) ranks, 1 = best, ties share their mean rank, NaN stays NaN.

    >>> ranks(np.array([0.2, 0.9, np.nan, 0.2]))
    array([2.5, 1. , nan, 2.5])
    """
    scores = np.round(np.asarray(scores, dtype=float), DECIMALS)
    j = scores.shape[-1]
    flat = scores.reshape(-1, j)
    out = np.empty_like(flat)
    step = max(1, _CHUNK // max(j * j, 1))
    for low in range(0, len(flat), step):
        part = flat[low : low + step]
        better = (part[:, None, :] > part[:, :, None]).sum(2)
        equal = (part[:, None, :] == part[:, :, None]).sum(2)
        out[low : low + step] = 1 + better + (equal - 1) / 2
    out[np.isnan(flat)] = np.nan
    return out.reshape(scores.shape)


def percentile_interval(replicates: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Return (J, 2) the central interval of each column, linear between order statistics, ignoring NaN.

    >>> percentile_interval(np.array([[0.0], [1.0], [2.0], [np.nan]]), level=0.5)
    array([[0.5, 1.5]])
    """
    ordered, count, position = _positions(replicates, level)
    low = np.floor(position).astype(int)
    share = position - low
    high = np.minimum(low + 1, np.maximum(count - 1, 0)[:, None])
    columns = np.arange(len(count))[:, None]
    return ordered[low, columns] + share * (ordered[high, columns] - ordered[low, columns])


def share_intervals(
    share: np.ndarray, variance: np.ndarray, unit: float, factor: float, shift: np.ndarray | float = 0.0
) -> np.ndarray:
    """Return (J, 2) Wilson's intervals of shares (J,) between 0 and 1, with the effective number of images
    that their ``variance`` implies.

    ``unit`` is the variance of a share p in units of p (1 - p) that the number of images alone implies,
    ``factor`` the quantile of Student's t. A variance v counts as that of n = q^2 / v cases, q = p (1 - p),
    and is mixed with ``unit``, whose weight is (6 / (n + 6))^2: if no case was seen the variance is zero,
    although there may be cases. ``shift`` (J,) is the part of the variance that does not depend on p.

    >>> share_intervals(np.array([0.0, 0.5]), np.array([0.0, 0.0025]), 0.01, 1.96).round(
    ...     3
    ... )  # a hundred images
    array([[0.   , 0.037],
           [0.404, 0.596]])
    """
    share = np.round(share, DECIMALS)  # sums of weights miss 0 and 1 by rounding errors
    own = share * (1 - share)
    variance = np.where(np.asarray(variance) < 10.0 ** (-2 * DECIMALS), 0.0, variance)  # NaN stays NaN
    cases = np.divide(own**2, variance, out=np.where(own > 0, np.inf, 0.0), where=variance > 0)
    shift = np.minimum(shift, variance)
    rest = own * (1 - np.divide(shift, variance, out=np.zeros(len(own)), where=variance > 0))
    seen = np.isfinite(cases)
    more = np.where(seen, cases, 0.0) + SURE
    each = np.where(seen, rest * (more + SURE) / more**2 + unit * (SURE / more) ** 2, 0.0)
    square = factor**2
    middle = (share + square * each / 2) / (1 + square * each)
    half = np.sqrt(np.maximum(middle**2 - (share**2 - square * shift) / (1 + square * each), 0))
    return np.clip(np.stack([middle - half, middle + half], 1), 0, 1)


def _positions(replicates: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns sorted with NaN last and one more row of NaN, the number of known values, and the
    positions of the two ends (J, 2).
    """
    replicates = np.asarray(replicates, dtype=float)
    ordered = np.concatenate([np.sort(replicates, axis=0), np.full((1, replicates.shape[1]), np.nan)])
    count = (~np.isnan(replicates)).sum(0)
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    return ordered, count, np.maximum(count - 1, 0)[:, None] * ends
