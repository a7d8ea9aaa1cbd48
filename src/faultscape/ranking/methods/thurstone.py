"""One score per model from a matrix of ratios: Thurstone's case V by maximum likelihood, as Yan et al. 2021
compute their two global rankings.

Conventions: ``weights`` (..., J, J) are A or R, row over column; NaN is not a comparison. Scores sum to one,
large = good. The ratios act as weights of pseudo-comparisons: within a pair only their proportion matters,
between pairs their size matters.
Source: Yan et al. 2021, eq. 6; Tsukida and Gupta 2011.
"""

from __future__ import annotations

import numpy as np

from faultscape.ranking.methods.likelihood import maximise


def thurstone(weights: np.ndarray) -> np.ndarray:
    """Return (..., J) scores that maximise L(mu) = sum_ij a_ij log Phi(mu_i - mu_j) under sum_i mu_i = 1, Yan
    et al. 2021, eq. 6.

    NaN for models outside the largest strongly connected component (see ``likelihood.connected``), for which
    the maximum is at infinity; the sum is over the models with a score. RankingError for negative or infinite
    weights. For two models Phi(mu_1 - mu_2) = a_12 / (a_12 + a_21).

    >>> thurstone(np.array([[1.0, 3.0], [1.0, 1.0]])).round(6)  # Phi(0.674490) = 3/4
    array([0.837245, 0.162755])
    >>> thurstone(np.array([[1.0, 3.0], [0.0, 1.0]]))
    array([nan, nan])
    """
    from scipy.special import log_ndtr

    scores = maximise(weights, log_ndtr, _slopes)  # S0 eq. 6
    return scores + 1 / np.maximum((~np.isnan(scores)).sum(-1, keepdims=True), 1)


def _slopes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return m = phi / Phi, the slope of log Phi, and minus its curvature, m (x + m); stable in the far left
    tail.
    """
    from scipy.special import erfcx

    mills = np.sqrt(2 / np.pi) / erfcx(-np.minimum(x, 35.0) / np.sqrt(2))
    return mills, mills * (x + mills)
