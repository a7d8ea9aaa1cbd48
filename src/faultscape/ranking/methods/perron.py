"""One score per model from pairwise accuracies: the matrices A and B of Wang et al. 2020, the Perron rank,
and how consistent B is.

Conventions: matrices are (..., J, J), row over column, NaN where two models were not compared; the diagonal
of B is one. Large = good. A zero or infinite ratio cannot be ranked by: a matrix that contains one has no
scores, hence the smoothing. Not compared is not equal: a missing ratio is replaced by that of the scores
themselves (Harker 1987), and models that no comparison links to the largest group have no score.
Source: Wang et al. 2020, section 2.1 and eq. 5; Saaty and Vargas 1984; Harker 1987 for incomplete matrices;
Saaty 1980 for the random index.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import OptionError, RankingError
from faultscape.maps import checked_arrays
from faultscape.ranking.methods.likelihood import connected

# the consistency index of random reciprocal matrices with entries 1/9, ..., 1/2, 1, ..., 9, by size from 3:
# Saaty 1980, table of chapter 1
RANDOM_INDEX = (0.58, 0.90, 1.12, 1.24, 1.32, 1.41, 1.45, 1.49, 1.51, 1.48, 1.56, 1.57, 1.59)


def smoothed_accuracy(correct: np.ndarray, total: np.ndarray, laplace: float = 1) -> np.ndarray:
    """Return A (...), a_ij = (c_ij + laplace) / (n_ij + 2 laplace): the accuracy of i on the images of the
    pair, NaN where n_ij = 0. Without ``laplace`` it is Wang et al. 2020, eq. 1.

    ``correct`` and ``total`` (...) are of one shape. OptionError for a negative ``laplace``, RankingError
    unless 0 <= correct <= total.

    >>> smoothed_accuracy(np.array([3, 0, 0]), np.array([4, 4, 0]))
    array([0.66666667, 0.16666667,        nan])
    """
    if not (np.isfinite(laplace) and laplace >= 0):
        raise OptionError(f"laplace must be a number not below 0; got {laplace}")
    correct, total = (
        checked_arrays.numbers(values, name, RankingError).astype(float, copy=False)
        for name, values in (("correct", correct), ("total", total))
    )
    checked_arrays.broadcastable(RankingError, correct=correct, total=total)
    correct, total = np.broadcast_arrays(correct, total)
    if not ((correct >= 0) & (correct <= total)).all():
        raise RankingError(
            "correct answers must lie between 0 and the number of images; give 0 of 0 where there is none"
        )
    return np.divide(
        correct + laplace, total + 2 * laplace, out=np.full(total.shape, np.nan), where=total > 0
    )


def dominance(accuracy: np.ndarray) -> np.ndarray:
    """Return B, b_ij = a_ij / a_ji, ones on the diagonal, infinite where only a_ji is zero, NaN where both
    are or one is NaN.

    ``accuracy`` (..., J, J); RankingError for negative values.

    >>> dominance(np.array([[np.nan, 0.8], [0.4, np.nan]]))
    array([[1. , 2. ],
           [0.5, 1. ]])
    """
    accuracy = checked_arrays.square(accuracy, "accuracy", RankingError)
    if (accuracy < 0).any():
        raise RankingError("accuracies cannot be negative; give NaN where two models were not compared")
    with np.errstate(divide="ignore", invalid="ignore"):
        out = accuracy / np.swapaxes(accuracy, -1, -2)  # S2 2.1
    j = out.shape[-1]
    out[..., range(j), range(j)] = 1.0
    return out


def perron(ratios: np.ndarray) -> np.ndarray:
    """Return (..., J) the principal eigenvector of B that sums to one, the limit of Wang et al. 2020, eq. 5.

    ``ratios`` (..., J, J), NaN where two models were not compared; such an entry counts as the ratio of the
    two scores, which sets it to 0 and adds 1 to the diagonal of its row (Harker 1987). NaN for models outside
    the largest group that comparisons link, and for all models of a matrix with a zero or infinite ratio.
    RankingError for negative ratios.

    >>> v = np.array([0.2, 0.3, 0.5])
    >>> perron(v[:, None] / v)  # b_ij = v_i / v_j gives v
    array([0.2, 0.3, 0.5])
    """
    return _principal(ratios)[0]


def consistency_ratio(ratios: np.ndarray) -> np.ndarray:
    """Return (...,) Saaty's (lambda - J) / (J - 1), divided by its value for random matrices; 0 if b_ij b_jk
    = b_ik throughout.

    ``ratios`` (..., J, J). NaN for incomplete matrices and for fewer than 3 or more than 15 models, where the
    table of random indices ends. Saaty considers up to .1 consistent; his table is made from ratios up to 9,
    and ratios of accuracies are smaller.

    >>> np.round(
    ...     consistency_ratio(np.array([[1, 2, 1 / 2], [1 / 2, 1, 2], [2, 1 / 2, 1]])), 4
    ... )  # lambda = 1 + 2 + 1/2
    np.float64(0.431)
    """
    scores, value = _principal(ratios)
    j = scores.shape[-1]
    index = RANDOM_INDEX[j - 3] if 3 <= j < 3 + len(RANDOM_INDEX) else np.nan
    whole = ~np.isnan(np.where(np.eye(j, dtype=bool), 1.0, np.asarray(ratios, dtype=float))).any((-1, -2))
    return np.where(whole, (value - j) / max(j - 1, 1) / index, np.nan)[()]


def _principal(ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvectors (..., J) that sum to one, and their eigenvalues (...,), NaN where there is
    none.
    """
    ratios = checked_arrays.numbers(ratios, "ratios", RankingError).astype(float)
    if ratios.ndim < 2 or ratios.shape[-1] != ratios.shape[-2]:
        raise RankingError(f"ratios must be a square matrix, models by models; got shape {ratios.shape}")
    j = ratios.shape[-1]
    ratios[..., range(j), range(j)] = 1.0
    if (ratios < 0).any():
        raise RankingError("ratios cannot be negative; give NaN where two models were not compared")
    known = ~np.isnan(ratios) & ~np.isnan(np.swapaxes(ratios, -1, -2))
    usable = (~known | ((ratios > 0) & np.isfinite(ratios))).all((-1, -2), keepdims=True)
    ranked = connected(known) & np.array(usable)[..., 0]
    known &= ranked[..., :, None] & ranked[..., None, :]

    # D^-1 B D has the same eigenvalues; with D the geometric means of the rows, its entries are close to one,
    # so that scores may differ by any factor without loss of precision
    logs = np.log(np.where(known, ratios, 1.0))
    means = logs.sum(-1) / np.maximum(known.sum(-1), 1)
    level = np.where(known, np.exp(logs - means[..., :, None] + means[..., None, :]), 0.0)
    missing = (ranked[..., :, None] & ranked[..., None, :] & ~known).sum(-1)
    level[..., range(j), range(j)] = np.where(ranked, 1.0 + missing, 0.0)

    # a nonnegative irreducible matrix has one positive eigenvector, that of the largest eigenvalue, and its
    # eigenvalue is simple
    values, vectors = np.linalg.eig(level)
    values = np.real(values)
    vectors = np.real(vectors)
    place = values.argmax(-1)[..., None]
    vector = np.abs(np.take_along_axis(vectors, place[..., None, :], -1)[..., 0])
    with np.errstate(divide="ignore"):
        size = np.log(vector) + means
    size = np.where(ranked, size, -np.inf)
    some = ranked.any(-1)
    top = np.where(some, size.max(-1, initial=-np.inf), 0.0)[..., None]
    total = np.where(ranked, np.exp(size - top), np.nan)
    scores = total / np.where(some, np.nansum(total, -1), 1.0)[..., None]
    value = np.where(some, np.take_along_axis(values, place, -1)[..., 0], np.nan)
    return scores, value
