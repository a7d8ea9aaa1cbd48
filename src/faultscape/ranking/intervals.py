"""How far scores and ranks may move: the bootstrap over images, ranks with ties, and who may still be the best.

Conventions: ``scores`` (J,), ``replicates`` (B, J), large = good, NaN = no score; a replicate is one draw of images with
replacement, so that an image that serves many duels is drawn with all of them. Intervals are percentile intervals over the
replicates with a score; NaN without any. Rank 1 is best, equal scores (to 12 decimals) share the mean of their ranks.
Source: Efron 1979.
"""

from __future__ import annotations

import numpy as np

LEVEL = 0.95
DECIMALS = 12
_CHUNK = 2_000_000


def bootstrap_weights(images: int, resamples: int, seed: int | np.random.Generator = 0) -> np.ndarray:
    """Return (B, I) how often each image is drawn in each of ``resamples`` draws of I images with replacement.

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


def rank_interval(replicates: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Return (J, 2) best and worst rank of each model over replicates of scores, rounded outwards to ranks that occurred.

    >>> rank_interval(np.array([[0.9, 0.1], [0.8, 0.3], [0.1, 0.2]]))
    array([[1., 2.],
           [1., 2.]])
    """
    ordered, count, position = _positions(ranks(replicates), level)
    place = np.stack([np.floor(position[:, 0]), np.ceil(position[:, 1])], 1).astype(int)
    return ordered[place, np.arange(len(count))[:, None]]


def tied_for_best(scores: np.ndarray, replicates: np.ndarray, level: float = LEVEL) -> np.ndarray:
    """Return (J,) whether the interval of (the first's score - the model's score), paired by replicate, holds 0.

    The first is the model with the largest score, the earlier of equals, and is tied with itself. Without replicates nobody is.

    >>> tied_for_best(np.array([0.9, 0.8, 0.1]), np.array([[0.9, 0.8, 0.1], [0.7, 0.8, 0.1], [0.9, 0.7, 0.2]]))
    array([ True,  True, False])
    """
    scores = np.asarray(scores, dtype=float)
    if np.isnan(scores).all() or not len(replicates):
        return np.zeros(len(scores), bool)
    first = np.nanargmax(np.round(scores, DECIMALS))
    gap = percentile_interval(np.round(replicates[:, [first]] - replicates, DECIMALS), level)
    tied = (gap[:, 0] <= 0) & (gap[:, 1] >= 0) & ~np.isnan(scores)
    tied[first] = True
    return tied


def _positions(replicates: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns sorted with NaN last and one row of NaN more, how many are known, and where the two ends lie (J, 2)."""
    replicates = np.asarray(replicates, dtype=float)
    ordered = np.concatenate([np.sort(replicates, axis=0), np.full((1, replicates.shape[1]), np.nan)])
    count = (~np.isnan(replicates)).sum(0)
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    return ordered, count, np.maximum(count - 1, 0)[:, None] * ends
