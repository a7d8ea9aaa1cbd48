"""Ranking methods side by side: what is averaged first, and what is counted.

Conventions: J models, K cells; ``merits`` (J, K) are large = good. A method gives numbers (J,), and rank 1 is
the best; equal numbers share the lowest of their ranks, as in challenge rankings. Signed-rank tests are
one-sided at 5 % and not corrected, with the normal approximation, its correction for continuity and for ties;
differences of 0 are left out.
Source: Wiesenfarth et al. 2021 (the four families); Wilcoxon 1945.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from faultscape.ranking.intervals import ranks
from faultscape.ties import DECIMALS

ALPHA = 0.05
METHODS = {
    "mean": "mean over cases, then rank",
    "median": "median over cases, then rank",
    "mean_rank": "rank on each case, then mean of ranks",
    "signed_rank": "models that a one-sided signed-rank test calls worse, pair by pair",
    "claims": "models that are shown to be worse, all pairs at once",
}


def numbers_of_methods(merits: np.ndarray, better: np.ndarray) -> dict[str, np.ndarray]:
    """Return {method: (J,) numbers, large = good}: means, medians, minus mean ranks, numbers of models
    beaten.

    >>> merits = np.array([[0.9, 0.8, 0.1], [0.7, 0.7, 0.7]])
    >>> found = numbers_of_methods(merits, np.zeros((2, 2), bool))
    >>> found["mean"].round(2), found["median"], found["mean_rank"].round(2)
    (array([0.6, 0.7]), array([0.8, 0.7]), array([-1.33, -1.67]))
    """
    return {
        "mean": merits.mean(1),
        "median": np.median(merits, 1),
        "mean_rank": -ranks(merits.T).mean(0),
        "signed_rank": (signed_rank_p_values(merits) < ALPHA).sum(1).astype(float),
        "claims": better.sum(1).astype(float),
    }


def lowest_ranks(numbers: np.ndarray) -> np.ndarray:
    """Return (..., J) ranks of numbers, 1 = largest, where equal ones share the lowest.

    >>> lowest_ranks(np.array([0.5, 0.9, 0.5]))
    array([2, 1, 2])
    """
    numbers = np.round(numbers, DECIMALS)
    return 1 + (numbers[..., None, :] > numbers[..., :, None]).sum(-1)


def signed_rank_p_values(merits: np.ndarray) -> np.ndarray:
    """Return (J, J) one-sided p-values of Wilcoxon's signed-rank test that the row is better; 1 for a model
    and itself, and for pairs without a difference.

    >>> signed_rank_p_values(np.array([[5.0, 6, 7, 8], [4, 4, 4, 4]])).round(4)
    array([[1.    , 0.0502],
           [0.9777, 1.    ]])
    """
    j = len(merits)
    out = np.ones((j, j))
    for i in range(j):
        for k in range(i):
            gap = np.round(merits[i] - merits[k], DECIMALS)
            gap = gap[gap != 0]
            n = len(gap)
            if not n:
                continue
            _, place, count = np.unique(np.abs(gap), return_inverse=True, return_counts=True)
            rank = (np.cumsum(count) - (count - 1) / 2)[place]
            middle = n * (n + 1) / 4
            error = np.sqrt(n * (n + 1) * (2 * n + 1) / 24 - (count**3 - count).sum() / 48)
            above = rank[gap > 0].sum() - middle
            out[i, k] = ndtr(-(above - 0.5) / error)
            out[k, i] = ndtr(-(-above - 0.5) / error)
    return out
