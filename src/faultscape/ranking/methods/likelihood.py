"""The scores that make paired comparisons most likely: max over s of sum_ij w_ij log F(s_i - s_j), for many
matrices at once.

Conventions: weights are (..., J, J), row over column, not negative; NaN is not a comparison and the diagonal
is ignored (its terms are constants). A finite maximum exists only among models that are strongly connected (i
over j is an edge where w_ij > 0). The largest such component gets scores, the other models NaN; if two
components are largest, all models get NaN, since the distance between them is undetermined. F is log-concave,
so the maximum is unique up to a shift, and a damped Newton method finds it to rounding error.
Source: Yan et al. 2021, eq. 6 (F normal); Bradley and Terry 1952 (F logistic); the condition is that of Ford
1957.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays

PSEUDO_COUNT = (
    0.5  # added to the wins of both sides where two models met, so that a model that always wins has a score
)

_FLOOR = np.finfo(float).tiny
_TINY = 1e-12  # a weight below this share of the largest is lost in floating point
_CHUNK = 2_000_000  # numbers in one temporary array
_STEPS = 100
_HALVINGS = 40

Log = Callable[[np.ndarray], np.ndarray]
Slopes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def connected(weights: np.ndarray) -> np.ndarray:
    """Return (..., J) whether a model belongs to the unique largest strongly connected component, of at least
    two models.

    >>> connected(np.array([[0, 3, 9], [1, 0, 2], [0, 0, 0]]))  # nobody ever lost to the third
    array([ True,  True, False])
    """
    edges = _clean(weights) > 0
    j = edges.shape[-1]
    if (edges | np.eye(j, dtype=bool)).all():  # all met all, or there is only one
        return np.full(edges.shape[:-1], j > 1)
    reach = (edges | np.eye(j, dtype=bool)).astype(np.float32)
    for _ in range(max(1, int(np.ceil(np.log2(max(j, 2)))))):
        reach = (reach @ reach > 0).astype(np.float32)
    size = ((reach > 0) & (np.swapaxes(reach, -1, -2) > 0)).sum(-1)
    largest = size.max(-1, keepdims=True)
    mask = size == largest
    return mask & (mask.sum(-1, keepdims=True) == largest)


def maximise(weights: np.ndarray, log: Log, slopes: Slopes) -> np.ndarray:
    """Return (..., J) scores of mean zero at the maximum, NaN for models outside the largest strongly
    connected component.

    ``log`` is log F, ``slopes`` its first derivative and minus its second. RankingError for negative or
    infinite weights.
    """
    clean = _clean(weights)
    j = clean.shape[-1]
    flat = clean.reshape(-1, j, j)
    out = np.full(flat.shape[:2], np.nan)
    step = max(1, _CHUNK // (j * j)) if j else 1
    for low in range(0, len(flat), step):
        out[low : low + step] = _newton(flat[low : low + step], log, slopes)
    return out.reshape(clean.shape[:-1])


def _clean(weights: np.ndarray) -> np.ndarray:
    weights = checked_arrays.numbers(weights, "weights", RankingError).astype(float, copy=False)
    if weights.ndim < 2 or weights.shape[-1] != weights.shape[-2]:
        raise RankingError(
            f"comparisons must be a square matrix, models by models; got shape {weights.shape}"
        )
    off = np.where(np.isnan(weights) | np.eye(weights.shape[-1], dtype=bool), 0.0, weights)
    if (off < 0).any() or np.isinf(off).any():
        raise RankingError(
            "weights of comparisons must be finite and not negative; give NaN where two models were not"
            " compared"
        )
    return np.where(off > _TINY * off.max((-1, -2), keepdims=True, initial=0), off, 0.0)


def _newton(weights: np.ndarray, log: Log, slopes: Slopes) -> np.ndarray:
    """Return (B, J) for cleaned weights (B, J, J); each item is fitted separately, so a batch equals a
    loop.
    """
    mask = connected(weights)
    weights = weights * (mask[:, :, None] & mask[:, None, :])
    weights = weights / np.maximum(weights.sum((1, 2), keepdims=True), _FLOOR)
    scores = np.where(mask, 0.0, np.nan)
    active = np.flatnonzero(mask.any(1))
    last = np.full(len(active), np.inf)
    for _ in range(_STEPS):
        if not len(active):
            break
        w = weights[active]
        ranked = mask[active]
        s = np.where(ranked, scores[active], 0.0)
        slope, bend = slopes(s[:, :, None] - s[:, None, :])
        pull = w * slope
        bend = w * bend
        gradient = pull.sum(2) - pull.sum(1)
        step = potentials(bend + np.swapaxes(bend, 1, 2), gradient, ranked)
        s += _damped(w, s, step, (gradient * step).sum(1), log) * step
        s -= s.sum(1, where=ranked, keepdims=True) / ranked.sum(1, keepdims=True)
        scores[active] = np.where(ranked, s, np.nan)
        # Newton's error after a step of 1e-9 is its square; small steps that no longer shrink are rounding
        size = np.abs(step).max(1)
        going = (size > 1e-9) & ((size > 1e-3) | (size < last))
        active = active[going]
        last = size[going]
    scores[active] = np.nan
    return scores


def potentials(edges: np.ndarray, sources: np.ndarray, ranked: np.ndarray) -> np.ndarray:
    """Return (..., J) the x with L x = sources, L the Laplacian of the symmetric ``edges`` (..., J, J); 0 for
    models not ranked.

    ``sources`` (..., J) sum to zero over the ``ranked`` (..., J), which the edges connect; x is fixed up to a
    shift.

    >>> x = potentials(np.array([[0.0, 2], [2, 0]]), np.array([1.0, -1]), np.array([True, True]))
    >>> np.round(x[0] - x[1], 12)  # 2 (x_0 - x_1) = 1
    np.float64(0.5)
    """
    size = np.sqrt(np.where(ranked, np.maximum(edges.sum(-1), _FLOOR), 1.0))
    curve = -edges / (size[..., :, None] * size[..., None, :])
    j = edges.shape[-1]
    curve[..., range(j), range(j)] += 1 + 1e-14  # never quite singular, however different the weights are
    free = np.where(ranked, size, 0.0)  # fixes the shift, which the edges leave free
    curve += (
        free[..., :, None] * free[..., None, :] / np.maximum((free * free).sum(-1), _FLOOR)[..., None, None]
    )
    return np.linalg.solve(curve, (sources / size)[..., None])[..., 0] / size


def _damped(w: np.ndarray, s: np.ndarray, step: np.ndarray, rise: np.ndarray, log: Log) -> np.ndarray:
    """Return (B, 1) the largest of 1, 1/2, 1/4, ... with which the step raises the likelihood enough."""

    def likelihood(at: np.ndarray) -> np.ndarray:
        return (w * log(at[:, :, None] - at[:, None, :])).sum((1, 2))

    size = np.ones((len(s), 1))
    before = likelihood(s)
    for _ in range(_HALVINGS):
        short = likelihood(s + size * step) < before + 1e-4 * size[:, 0] * rise - 1e-13 * np.abs(before)
        if not short.any():
            break
        size[short] /= 2
    return size
