"""Other definitions of AP and AUROC, to reproduce published numbers: the trapezoidal rule, and 200 equal
thresholds.

Conventions: the exact values come from `detection`; these are named presets (pytorch-ood, keras200) and never
the default.
Source: metrics-speed measurements in docs/reference/definitions.md; Davis and Goadrich 2006 for the
interpolation that Keras uses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics.scores.counts import Detection

KERAS_THRESHOLDS = 200


class Areas(NamedTuple):
    """Area under precision and recall, and under ROC."""

    average_precision: float
    auroc: float


def trapezoid_precision(detection: Detection) -> float:
    """Return the area under precision and recall by the trapezoidal rule, from recall 0 on; for a constant
    score it is not the share of anomalies.

    For a ``thinned`` detection (from a stream) it is approximate, depending on the spacing of the points.

    >>> import numpy as np
    >>> from faultscape.metrics.scores.detection import detection
    >>> trapezoid_precision(detection(np.zeros(4), np.array([1, 0, 0, 0])))
    0.625
    """
    if not detection.positives:
        return float("nan")
    hits = detection.true_positives
    before = np.concatenate([[0], detection.true_positives[:-1]])
    # two points a step: the end of the negatives above it, then the step itself
    recall = np.stack([before, hits], 1).ravel() / detection.positives
    reached = np.stack([before + detection.above, hits + detection.false_positives], 1).ravel()
    found = np.stack([before, hits], 1).ravel()
    precision = np.divide(found, reached, out=np.ones(len(found)), where=reached > 0)
    return float(np.trapezoid(precision, recall))


def threshold_counts(
    score: np.ndarray, anomaly: np.ndarray, thresholds: int = KERAS_THRESHOLDS
) -> np.ndarray:
    """Return (2, T) known and anomalous pixels above each of T equal thresholds on 0..1, the first just below
    0 and the last just above 1; add them up over images.

    MetricError for scores outside 0..1, where there are no thresholds; Keras refuses them as well.

    >>> threshold_counts(np.array([0.0, 1.0]), np.array([0, 1]))[:, [0, 1, 198, 199]].tolist()
    [[1, 0, 0, 0], [1, 1, 1, 0]]
    """
    edges = np.arange(thresholds) / (thresholds - 1)
    edges[0], edges[-1] = -1e-7, 1 + 1e-7
    score = np.asarray(score).ravel()
    anomaly = np.asarray(anomaly).ravel()
    if score.size and not (score.min() >= 0 and score.max() <= 1):
        raise MetricError(
            f"keras200 has its thresholds on 0..1 and the scores span {score.min():.6g}..{score.max():.6g}; "
            "bring the scores to 0..1, or leave the preset out"
        )
    ordered = [np.sort(score[anomaly == label]) for label in (0, 1)]
    return np.stack([len(values) - values.searchsorted(edges, "right") for values in ordered]).astype(
        np.int64
    )


def keras_areas(counts: np.ndarray) -> Areas:
    """Return what Keras' AUC computes from the counts of `threshold_counts`: ROC by the trapezoidal rule,
    precision and recall by its interpolation.

    >>> keras_areas(threshold_counts(np.array([0.1, 0.9]), np.array([0, 1]))).auroc
    1.0
    """
    fp, tp = counts.astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        auroc = float(np.trapezoid((tp / tp[0])[::-1], (fp / fp[0])[::-1]))
        found = tp[:-1] - tp[1:]
        reached = tp + fp
        step = reached[:-1] - reached[1:]
        slope = np.where(step > 0, found / step, 0.0)
        intercept = tp[1:] - slope * reached[1:]
        both = (reached[:-1] > 0) & (reached[1:] > 0)
        growth = np.where(both, reached[:-1] / np.maximum(reached[1:], 1e-300), 1.0)
        area = slope * (found + intercept * np.log(growth)) / tp[0]
    return Areas(float(area.sum()) if tp[0] else float("nan"), auroc)
