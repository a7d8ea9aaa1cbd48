"""The plain twin of the kernels of softmax: the same functions in NumPy, holding all scores at once.

Conventions: those of softmax.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.kernels.plain_winners import stretch

_TINY = np.float32(1.2e-38)


def softmax_sums(
    scores: np.ndarray, first_y: np.ndarray, second_y: np.ndarray, share_y: np.ndarray, first_x: np.ndarray, second_x: np.ndarray,
    share_x: np.ndarray, marginal: bool, top: np.ndarray, second: np.ndarray, others: np.ndarray, spread: np.ndarray,
) -> None:  # fmt: skip
    """Fill (H, W): ``top`` the largest logit, ``second`` e of the second, ``others`` the sum of e over all but the winner, ``spread`` the sum there of e (top - logit)."""
    z = np.empty((len(scores), *top.shape), np.float32)
    stretch(scores, first_y, second_y, share_y, first_x, second_x, share_x, z)
    z = np.log(np.maximum(z, _TINY)) if marginal else z
    top[...] = z.max(0)
    gap = z - top
    e = np.exp(np.maximum(gap, np.float32(-87)))
    best = z.argmax(0)[None]
    np.put_along_axis(e, best, np.float32(0), 0)
    others[...], spread[...] = e.sum(0), -(e * gap).sum(0)
    second[...] = e.max(0) if len(z) > 1 else np.exp(np.float32(-87))


def log_softmax(z: np.ndarray, marginal: bool) -> None:
    """Replace scores (C, H, W) by the logarithms of their probabilities."""
    wide = np.log(np.maximum(z, _TINY)).astype(np.float64) if marginal else z.astype(np.float64)
    wide -= wide.max(0)
    e = np.exp(wide)
    np.put_along_axis(e, wide.argmax(0)[None], 0.0, 0)
    z[...] = wide - np.log1p(e.sum(0))


def mean_sums(
    logs: np.ndarray, label: np.ndarray, winner: np.ndarray, second: np.ndarray, others: np.ndarray, entropy: np.ndarray, expected: np.ndarray, information: np.ndarray
) -> None:  # fmt: skip
    """Fill (H, W) with what the mean of members' probabilities says, of their logarithms (T, C, H, W)."""
    wide = logs.astype(np.float64)
    p = np.exp(wide)
    mean = p.mean(0)
    best = mean.argmax(0)[None]
    rest = mean.copy()
    np.put_along_axis(rest, best, 0.0, 0)
    label[...], winner[...] = best[0], np.take_along_axis(mean, best, 0)[0]
    second[...], others[...] = rest.max(0), rest.sum(0)
    there = mean > 0
    logs_of_mean = np.log(np.where(there, mean, 1))
    entropy[...] = -(mean * logs_of_mean).sum(0)
    expected[...] = -(p * wide).sum(1).mean(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(there & (p > 0), p * (wide - logs_of_mean), 0.0) - p + mean
    information[...] = apart.sum(1).mean(0)
