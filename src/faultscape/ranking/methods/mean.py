"""The mean score of each model over all labels, whatever they were made for.

Conventions: ``scores`` (J, I) in 0..1, NaN where a label does not decide; ``weights`` (B, I) count the
images.
Source: the re-use of labels is ours.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays


def mean_scores(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (B, J) means over the images on which a model's score is known, NaN where none is.

    >>> mean_scores(np.array([[0.9, 0.8, 0.1], [0.7, np.nan, 0.2], [np.nan] * 3]), np.ones((1, 3))).round(3)
    array([[0.6 , 0.45,  nan]])
    """
    scores = checked_arrays.numbers(scores, "scores", RankingError, "J x I").astype(float, copy=False)
    weights = checked_arrays.numbers(weights, "weights", RankingError, "B x I").astype(float, copy=False)
    if scores.shape[1] != weights.shape[1]:
        raise RankingError(
            f"scores (J, I) have the shape {scores.shape}, weights (B, I) {weights.shape}; give them for the"
            " same images"
        )
    known = ~np.isnan(scores)
    drawn = np.einsum("bi,ji->bj", weights, known.astype(float))
    total = np.einsum("bi,ji->bj", weights, np.where(known, scores, 0.0))
    return np.divide(total, drawn, out=np.full_like(total, np.nan), where=drawn > 0)
