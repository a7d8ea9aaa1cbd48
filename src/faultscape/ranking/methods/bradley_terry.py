"""One score per model from all labels at once: each labelled image is a game between every two models.

Conventions: ``accuracy`` (J, I) is the concordance of each model with the truth, NaN where unknown; the
larger wins, equal values (to 12 decimals) are half a win each. Strengths are natural logarithms with mean
zero, large = good. The pseudo-count is added in both directions and only where two models met: elsewhere it
would invent a comparison.

``pseudo_count`` is how many wins are added in both directions where two models met. ``scores`` (J, I) are
those of each model on each image. ``weights`` (B, I) count the images.

Source: Bradley and Terry 1952; the re-use of labels is ours (Yan et al. 2021 scores a model only on its own
duels).
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import OptionError, RankingError
from faultscape.maps import checked_arrays
from faultscape.ranking.methods.likelihood import PSEUDO_COUNT, connected, maximise
from faultscape.ties import DECIMALS


def wins(accuracy: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return (B, J, J) weighted wins of the row model over the column model, ties half; zero on the diagonal.

    ``weights`` (B, I) count the images, ones by default (B = 1).

    >>> wins(np.array([[0.9, 0.5, 0.7], [0.1, 0.5, np.nan]]))
    array([[[0. , 1.5],
            [0.5, 0. ]]])
    """
    accuracy = np.round(
        checked_arrays.numbers(accuracy, "scores", RankingError, "J x I").astype(float, copy=False), DECIMALS
    )
    j, i = accuracy.shape
    weights = np.ones((1, i)) if weights is None else weights
    weights = checked_arrays.numbers(weights, "weights", RankingError, "B x I").astype(float, copy=False)
    if weights.shape[1] != i or not len(weights):
        raise RankingError(
            f"scores (J, I) have the shape {accuracy.shape}, weights (B, I) {weights.shape}; give them for"
            " the same images"
        )
    out = np.empty((len(weights), j, j))
    for k, own in enumerate(accuracy):  # one model at a time keeps J x I in memory, not J x J x I
        out[:, k] = weights @ ((own > accuracy) + 0.5 * (own == accuracy)).T
        out[:, k, k] = 0
    return out


def smoothed(wins: np.ndarray, pseudo_count: float = 0.5) -> np.ndarray:
    """Return the wins with a pseudo-count added both ways wherever two models met; OptionError for a negative
    pseudo-count.

    >>> smoothed(np.array([[0.0, 3.0, np.nan], [0.0, 0.0, np.nan], [np.nan, np.nan, 0.0]]))
    array([[0. , 3.5, 0. ],
           [0.5, 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    if not (np.isfinite(pseudo_count) and pseudo_count >= 0):
        raise OptionError(f"the pseudo-count must be a number not below 0; got {pseudo_count}")
    wins = checked_arrays.square(wins, "wins", RankingError)
    known = np.where(np.isnan(wins), 0.0, wins)
    return known + pseudo_count * (known + np.swapaxes(known, -1, -2) > 0)


def bradley_terry(wins: np.ndarray, pseudo_count: float = 0.5) -> np.ndarray:
    """Return (..., J) log-strengths s that maximise sum_ij (w_ij + pseudo-count) log(1 / (1 + exp(s_j -
    s_i))), of mean zero.

    ``wins`` (..., J, J), NaN or zero both ways where two models never met. NaN for models outside the largest
    strongly connected component; OptionError for a negative pseudo-count, RankingError for negative wins. For
    two models s_1 - s_2 = log(w_12 / w_21).

    >>> bradley_terry(np.array([[0.0, 7.5], [0.5, 0.0]])).round(6)  # log(8 / 1) / 2
    array([ 1.039721, -1.039721])
    """
    from scipy.special import log_expit

    return maximise(smoothed(wins, pseudo_count), log_expit, _slopes)


def linked_strengths(games: np.ndarray) -> np.ndarray:
    """Return (B, J) strengths from wins (B, J, J) and the pseudo-count, for the models that the games of the
    first matrix link; NaN for the others.

    >>> linked_strengths(np.array([[[0.0, 7.5, 0], [0, 0, 0], [0, 0, 0]]])).round(6)
    array([[ 1.386294, -1.386294,       nan]])
    """
    smooth = smoothed(games, PSEUDO_COUNT)
    joined = connected(smooth[0])
    return bradley_terry(np.where(joined[:, None] & joined[None, :], smooth, np.nan), 0)


def reuse_strengths(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (B, J) strengths in which each image is a game between every two models whose scores (J, I) are
    known; images are drawn as often as the weights (B, I) say.

    >>> reuse_strengths(np.array([[0.9, 0.8], [0.7, 0.9]]), np.ones((1, 2)))
    array([[0., 0.]])
    """
    return linked_strengths(wins(scores, weights))


def _slopes(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slope of the log of the logistic function, and minus its curvature."""
    from scipy.special import expit

    return expit(-x), expit(x) * expit(-x)
