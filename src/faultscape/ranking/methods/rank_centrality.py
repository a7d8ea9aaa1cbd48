"""One score per model from a random walk that moves to winners: it stays longest at strong models.

Conventions: ``wins`` (..., J, J), row over column, ties half to each side, NaN or zero both ways where two
models never met. Scores sum to one, large = good; their logarithms estimate Bradley-Terry strengths. Each
pair counts by its share of wins, not by its number of comparisons, which distinguishes this from maximum
likelihood. Models outside the largest strongly connected component have no score.
Source: Negahban, Oh and Shah 2017; the elimination without subtractions is that of Grassmann, Taksar and
Heyman 1985.
"""

from __future__ import annotations

import numpy as np

from faultscape.ranking.methods.bradley_terry import smoothed
from faultscape.ranking.methods.likelihood import connected


def rank_centrality(wins: np.ndarray, pseudo_count: float = 0.5) -> np.ndarray:
    """Return (..., J) the stationary distribution of the walk that moves from i to j at the rate w_ji / (w_ij
    + w_ji).

    The authors divide the rates by the largest number of opponents, which slows the walk and leaves its
    stationary distribution unchanged. The pseudo-count is added both ways wherever two models met. NaN for
    models outside the largest strongly connected component; OptionError for a negative pseudo-count,
    RankingError for negative wins.

    >>> rank_centrality(np.array([[0, 3.0], [1, 0]]), 0)
    array([0.75, 0.25])
    """
    wins = smoothed(wins, pseudo_count)
    ranked = connected(wins)
    j = wins.shape[-1]
    met = wins + np.swapaxes(wins, -1, -2)
    both = ranked[..., :, None] & ranked[..., None, :] & (met > 0) & ~np.eye(j, dtype=bool)
    rates = np.divide(np.swapaxes(wins, -1, -2), met, out=np.zeros(wins.shape), where=both)

    # eliminate states from last to first: a walk past state n continues where n would send it
    leave = np.ones((j, *wins.shape[:-2]))
    for n in range(j - 1, 0, -1):
        leave[n] = rates[..., n, :n].sum(-1)
        onward = np.divide(
            rates[..., n, :n],
            leave[n][..., None],
            out=np.zeros(rates[..., n, :n].shape),
            where=leave[n][..., None] > 0,
        )
        rates[..., :n, :n] += rates[..., :n, n, None] * onward[..., None, :]
    scores = np.zeros(wins.shape[:-1])
    first = ranked & (ranked.cumsum(-1) == 1)
    for n in range(j):
        reached = (scores[..., :n] * rates[..., :n, n]).sum(-1)
        share = np.divide(reached, leave[n], out=np.zeros_like(reached), where=leave[n] > 0)
        scores[..., n] = np.where(first[..., n], 1.0, share)
    total = scores.sum(-1, keepdims=True)
    return np.where(ranked, scores / np.where(total > 0, total, 1.0), np.nan)
