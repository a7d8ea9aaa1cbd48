"""One score per model: the mean over its opponents of its share of wins against each.

Conventions: ``wins`` (..., J, J), row over column, ties half to each side, NaN or zero both ways where two
models never met. Scores lie in 0..1, large = good, with mean 1/2 if all models met. Only then are they fair:
a model that met only weak opponents gains. The mean of the accuracies a_ij would be a different score: it
depends on how hard the images of a model's pairs are, which the share of wins does not.
Source: Borda 1781, as the row sums of pairwise comparisons; Shah and Wainwright 2018.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays
from faultscape.ranking.methods.likelihood import connected


def borda(wins: np.ndarray) -> np.ndarray:
    """Return (..., J) the mean over the opponents j that i met of w_ij / (w_ij + w_ji).

    NaN for models outside the largest group that comparisons link; RankingError for negative or infinite
    wins.

    >>> borda(np.array([[0, 3.0, 1], [1, 0, 0], [1, 2, 0]]))  # (3/4 + 1/2) / 2, (1/4 + 0) / 2, (1/2 + 1) / 2
    array([0.625, 0.125, 0.75 ])
    """
    wins = checked_arrays.numbers(wins, "wins", RankingError).astype(float, copy=False)
    if wins.ndim < 2 or wins.shape[-1] != wins.shape[-2] or (wins < 0).any() or np.isinf(wins).any():
        raise RankingError(
            "wins must be a square matrix of finite numbers not below 0; give NaN where two models never met"
        )
    known = np.where(np.isnan(wins), 0.0, wins)
    total = known + np.swapaxes(known, -1, -2)
    met = (total > 0) & ~np.eye(wins.shape[-1], dtype=bool)
    ranked = connected(met)
    met &= ranked[..., :, None] & ranked[..., None, :]
    shares = np.divide(known, total, out=np.zeros(wins.shape), where=met)
    return np.where(ranked, shares.sum(-1) / np.maximum(met.sum(-1), 1), np.nan)
