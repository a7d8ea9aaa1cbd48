"""How far scores may move: the bootstrap over images, ranks with ties, intervals of shares.

Conventions: ``scores`` (J,), ``replicates`` (B, J), large = good, NaN = no score; a replicate is one draw of
images with replacement, so that an image that serves many duels is drawn with all of them. Intervals are
percentile intervals over the replicates with a score; NaN without any. Rank 1 is best, equal scores (to 12
decimals) share the mean of their ranks.
Source: Efron 1979; Wilson 1927; the number of images that a variance is worth: Kish 1965, Korn and Graubard
1998.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.intervals.units import LEVEL
from faultscape.ties import DECIMALS

LOST = 0.02  # share of replicates without a score beyond which they speak of lucky draws alone
SURE = 6  # cases at which three quarters of a variance are believed
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
    """Return (J, 2) the central interval of each column, linear between order statistics, NaN left out.

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
    """Return (J, 2) Wilson's intervals of shares (J,) between 0 and 1, of as many images as their
    ``variance`` says they are worth.

    ``unit`` is the variance of a share p in units of p (1 - p) as the number of images alone lets expect,
    ``factor`` the quantile of Student's t. A variance v counts as that of n = q^2 / v cases, q = p (1 - p),
    and the ``unit`` in its place is believed by (6 / (n + 6))^2: where no case was seen there is no variance,
    and yet some may be. ``shift`` (J,) is of the variance, and the same whatever p is.

    >>> share_intervals(np.array([0.0, 0.5]), np.array([0.0, 0.0025]), 0.01, 1.96).round(
    ...     3
    ... )  # a hundred images
    array([[0.   , 0.037],
           [0.404, 0.596]])
    """
    share = np.round(share, DECIMALS)  # sums of weights make a share of all or none all but so
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
    """Return the columns sorted with NaN last and one row of NaN more, how many are known, and where the two
    ends lie (J, 2).
    """
    replicates = np.asarray(replicates, dtype=float)
    ordered = np.concatenate([np.sort(replicates, axis=0), np.full((1, replicates.shape[1]), np.nan)])
    count = (~np.isnan(replicates)).sum(0)
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    return ordered, count, np.maximum(count - 1, 0)[:, None] * ends
