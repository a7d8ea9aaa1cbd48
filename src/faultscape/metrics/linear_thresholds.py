"""The AUROC of peers that keep counts at evenly spaced thresholds, to reproduce their numbers and to show what they lose.

Conventions: scores in 0..1; thresholds are n - 2 inner steps of 1 / (n - 1) and one beyond each end, "score > threshold", trapezoid between them. Scores that crowd
at one end fall between two thresholds and become ties: on saturated doubts this AUROC has been .77 where the exact one is .92.
Source: the AUC of Keras with its default of 200 thresholds, as S3's online path and its calibration AUROC use it.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics.scores import VOID, split


def linear_auroc(score: np.ndarray, anomaly: np.ndarray, *, thresholds: int = 200, void: int = VOID, where: str = "") -> float:
    """Return the AUROC from ``thresholds`` linear thresholds; NaN without positives or negatives, MetricError for scores outside 0..1.

    >>> linear_auroc(np.array([1, 0, 0, 0.1, 0]), np.array([1, 0, 0, 0, 1]), thresholds=10)
    0.75
    """
    positives, everything = split(score, anomaly, void, where)
    if len(everything) and not 0 <= everything[0] <= everything[-1] <= 1:
        raise MetricError(
            f"{where + ': ' if where else ''}scores from {everything[0]} to {everything[-1]}; linear thresholds need scores from 0 to 1"
        )
    negatives = len(everything) - len(positives)
    if not (len(positives) and negatives):
        return float("nan")
    inner = np.arange(1, thresholds - 1) / (thresholds - 1)
    edges = np.concatenate([[-1e-7], inner, [1 + 1e-7]])
    hits = len(positives) - positives.searchsorted(edges, "right")
    reach = len(everything) - everything.searchsorted(edges, "right") - hits
    tpr, fpr = hits / len(positives), reach / negatives
    return float(((fpr[:-1] - fpr[1:]) * (tpr[:-1] + tpr[1:]) / 2).sum())
