"""The plain twin of the softmax kernels: the same functions in NumPy, holding all scores at once.

Conventions: those of softmax.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.kernels.plain_winners import stretch

_TINY = np.float32(1.2e-38)


def softmax_sums(
    scores: np.ndarray,
    first_y: np.ndarray,
    second_y: np.ndarray,
    share_y: np.ndarray,
    first_x: np.ndarray,
    second_x: np.ndarray,
    share_x: np.ndarray,
    marginal: bool,
    top: np.ndarray,
    second: np.ndarray,
    others: np.ndarray,
    spread: np.ndarray,
) -> None:
    """Fill (H, W): ``top`` the largest logit, ``second`` e of the second, ``others`` the sum of e over all
    but the winner, ``spread`` the sum there of e (top - logit).
    """
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


def generalised_sums(
    scores: np.ndarray,
    first_y: np.ndarray,
    second_y: np.ndarray,
    share_y: np.ndarray,
    first_x: np.ndarray,
    second_x: np.ndarray,
    share_x: np.ndarray,
    marginal: bool,
    exponent: float,
    sums: np.ndarray,
) -> None:
    """Fill (H, W) with the sum over classes of (p (1 - p)) ^ ``exponent``."""
    z = np.empty((len(scores), *sums.shape), np.float32)
    stretch(scores, first_y, second_y, share_y, first_x, second_x, share_x, z)
    wide = (np.log(np.maximum(z, _TINY)) if marginal else z).astype(np.float64)
    e = np.exp(wide - wide.max(0))
    total = e.sum(0)
    best = wide.argmax(0)[None]
    others = e.copy()
    np.put_along_axis(others, best, 0.0, 0)
    rest = total - e  # 1 - p of the winner is not a difference
    np.put_along_axis(rest, best, np.maximum(others.sum(0), _TINY)[None], 0)
    sums[...] = ((e * rest / total**2) ** exponent).sum(0)


def member_sums(
    z: np.ndarray, marginal: bool, shares: np.ndarray, others: np.ndarray, entropy: np.ndarray
) -> None:
    """Replace a member's scores (C, H, W) by its probabilities in ``shares`` (C, H, W), and fill (H, W) with
    the sum of all but its largest and its entropy.
    """
    wide = np.log(np.maximum(z, _TINY)).astype(np.float64) if marginal else z.astype(np.float64)
    wide -= wide.max(0)
    e = np.exp(wide)
    total = e.sum(0)
    shares[...], entropy[...] = e / total, np.log(total) - (e * wide).sum(0) / total
    np.put_along_axis(e, wide.argmax(0)[None], 0.0, 0)
    others[...] = e.sum(0) / total


def mean_sums(
    shares: np.ndarray,
    label: np.ndarray,
    winner: np.ndarray,
    second: np.ndarray,
    others: np.ndarray,
    entropy: np.ndarray,
    information: np.ndarray,
) -> None:
    """Fill (H, W) with the facts of the mean of members' probabilities (T, C, H, W)."""
    p = shares.astype(np.float64)
    mean = p.mean(0)
    best = mean.argmax(0)[None]
    rest = mean.copy()
    np.put_along_axis(rest, best, 0.0, 0)
    label[...], winner[...] = best[0], np.take_along_axis(mean, best, 0)[0]
    second[...], others[...] = rest.max(0), rest.sum(0)
    logs = np.log(np.where(mean > 0, mean, 1))
    entropy[...] = -(mean * logs).sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(p > 0, p * (np.log(p) - logs), 0.0) - p + mean
    information[...] = apart.sum(1).mean(0)
