"""One score per model by least squares on a flow of pairwise differences, and how much of the flow no scores
can explain.

Conventions: ``flow`` (..., J, J) is skew-symmetric, y_ij = how far i is above j (for Wang et al. 2020 log
b_ij), NaN where two models were not compared; ``weights`` (..., J, J) are symmetric, not negative, one by
default; for Wang et al. 2020 the number of images of the pair. Sizes of flows are sums over pairs of weight
times square. Scores have mean zero, large = good; NaN for models that no comparison links to the largest
group.
Source: Jiang, Lim, Yao and Ye 2011 (HodgeRank), named in Wang et al. 2020, section 2.1.
"""

from __future__ import annotations

import itertools

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays
from faultscape.ranking.methods.likelihood import connected, potentials


def hodge_rank(flow: np.ndarray, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (..., J) the scores s that minimise sum_i<j w_ij (y_ij - (s_i - s_j))^2, and (...,) the
    inconsistent share.

    The share is the size of the residual over the size of the flow: 0 if the flow is a difference of scores,
    1 if scores explain nothing, NaN for a flow of zeros. A flow with an infinite entry has no scores.
    RankingError for a flow that is not skew-symmetric, or weights that are negative or not symmetric.

    >>> v = np.log([0.2, 0.3, 0.5])
    >>> scores, share = hodge_rank(v[:, None] - v)
    >>> np.allclose(scores, v - v.mean()), round(float(share), 12)
    (True, 0.0)
    >>> hodge_rank(np.array([[0.0, 1, -1], [-1, 0, 1], [1, -1, 0]]))  # a beats b beats c beats a
    (array([0., 0., 0.]), np.float64(1.0))
    """
    flow, weights, ranked = _edges(flow, weights)
    scores = potentials(weights, (weights * flow).sum(-1), ranked)
    scores -= scores.sum(-1, where=ranked, keepdims=True) / np.maximum(ranked.sum(-1, keepdims=True), 1)
    rest = flow - (scores[..., :, None] - scores[..., None, :])
    size = (weights * flow**2).sum((-1, -2))
    share = np.divide(
        (weights * rest**2).sum((-1, -2)), size, out=np.full(size.shape, np.nan), where=size > 0
    )
    return np.where(ranked, scores, np.nan), share[()]


def hodge_split(flow: np.ndarray, weights: np.ndarray | None = None) -> dict[str, float]:
    """Return the shares of one flow (J, J): ``gradient`` (scores), ``curl`` (cycles of three) and
    ``harmonic`` (longer cycles).

    They sum to one. Curl is disagreement among three models that all met each other; harmonic is what remains
    around holes in the graph of comparisons, and 0 if all met all. Errors as ``hodge_rank``.

    >>> ring = np.zeros((4, 4))
    >>> ring[[0, 1, 2, 3], [1, 2, 3, 0]] = 1
    >>> hodge_split(ring - ring.T, ring + ring.T)  # nobody met the model opposite
    {'gradient': 0.0, 'curl': 0.0, 'harmonic': 1.0}
    """
    flow = checked_arrays.square(flow, "flow", RankingError, "J x J")
    scores, _ = hodge_rank(flow, weights)
    clean, weights, ranked = _edges(flow, weights)
    first, second = np.nonzero(np.triu(weights, 1))
    scale = np.sqrt(weights[first, second])
    whole = scale * clean[first, second]
    size = (whole**2).sum()
    if not size:
        return dict.fromkeys(("gradient", "curl", "harmonic"), float("nan"))
    rest = whole - scale * (scores[first] - scores[second])
    harmonic = np.zeros(len(rest))
    if len(first) < ranked.sum() * (ranked.sum() - 1) // 2:  # without a hole the harmonic part is zero
        # the residual of the scores is orthogonal to them; the curls span the columns of W^-1/2 C^T, where C
        # sums around triangles
        place = {pair: k for k, pair in enumerate(zip(first.tolist(), second.tolist(), strict=True))}
        curls = np.zeros((len(first), len(first)))  # W^-1/2 C^T C W^-1/2 has the same span, edges by edges
        for i, j, k in itertools.combinations(np.flatnonzero(ranked).tolist(), 3):
            if (i, j) in place and (j, k) in place and (i, k) in place:
                edges = [place[i, j], place[j, k], place[i, k]]
                signs = np.array([1.0, 1.0, -1.0])
                curls[np.ix_(edges, edges)] += np.outer(signs, signs) / np.outer(scale[edges], scale[edges])
        harmonic = rest - curls @ np.linalg.lstsq(curls, rest, rcond=1e-10)[0]
    share = float((harmonic**2).sum() / size)
    inconsistent = float((rest**2).sum() / size)
    split = {"gradient": 1 - inconsistent, "curl": inconsistent - share, "harmonic": share}
    return {name: min(max(round(value, 12), 0.0), 1.0) for name, value in split.items()}


def _edges(flow: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the flow and the weights, zero where nothing counts, and which models are ranked."""
    flow = checked_arrays.numbers(flow, "flow", RankingError).astype(float, copy=False)
    if flow.ndim < 2 or flow.shape[-1] != flow.shape[-2]:
        raise RankingError(f"a flow must be a square matrix, models by models; got shape {flow.shape}")
    turned = np.swapaxes(flow, -1, -2)
    known = ~np.isnan(flow) & ~np.isnan(turned) & ~np.eye(flow.shape[-1], dtype=bool)
    given = (
        np.ones(flow.shape) if weights is None else checked_arrays.square(weights, "weights", RankingError)
    )
    if given.shape[-2:] != flow.shape[-2:] or given.ndim > flow.ndim:
        raise RankingError(f"flow has the shape {flow.shape}, weights {given.shape}; expected one shape")
    weights = np.where(known, given, 0.0)
    if not (np.isfinite(weights) & (weights >= 0)).all() or not np.allclose(
        weights, np.swapaxes(weights, -1, -2), rtol=1e-9
    ):
        raise RankingError(
            "weights of a flow must be symmetric, finite and not negative; give 0 where two models did not"
            " meet"
        )
    known &= weights > 0
    if not np.allclose(np.where(known, flow, 0.0), np.where(known, -turned, 0.0), rtol=1e-9, atol=1e-12):
        raise RankingError(
            "a flow must be skew-symmetric, y_ij = -y_ji; give the logarithms of ratios b_ij with b_ij"
            " b_ji = 1"
        )
    usable = (~known | np.isfinite(flow)).all((-1, -2), keepdims=True)
    ranked = connected(known) & np.array(usable)[..., 0]
    known &= ranked[..., :, None] & ranked[..., None, :]
    return np.where(known, flow, 0.0), np.where(known, weights, 0.0), ranked
