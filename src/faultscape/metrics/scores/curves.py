"""Other definitions of AP and AUROC, to reproduce published numbers: the trapezoidal rule, and 200 equal
thresholds.

Conventions: the exact values come from `detection`; these are named presets (pytorch-ood, keras200) and never
the default.
Source: metrics-speed measurements in docs/reference/definitions.md; Davis and Goadrich 2006 for the
interpolation that Keras uses.

SegmentMeIfYouCan's evaluation of scores: counts between each frame's own quantiles, and a threshold read off
the curve of all frames.

Conventions: the steps follow their code since August 2023, in its order. (1) The edges of a frame are 0, 1,
and at most 384 evenly spaced quantiles each of the anomalous and of the known pixels' scores; pixels are
counted in [edge, next edge), the last closed. (2) The lower edges of all frames, descending, are the
thresholds, and counts are added up along them. (3) Among equal thresholds the last row stays, and so does the
very first row of all; a row of zeros is put before it. (4) AP is the step sum, AUROC the trapezoidal sum, and
FPR95 is read at the first row with a recall of .95. (5) ``threshold`` is that of the first row with the best
F1, rounded to float16, the type in which scores are stored. Their code at commit 6bc8f37 looks up that row's
place among the thresholds as they were before (3): ``looked_up`` is the threshold it finds there, or the
lowest where it ends in an error. Their code leaves open which of equal thresholds comes first; here it is
that of the later frame.

``frames`` are the counts of ``frame_bins``, one a frame.

Source: Chan et al. 2021 (SegmentMeIfYouCan) and its road-anomaly-benchmark; `rank_counts` has the exact
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics.scores.counts import Detection
from faultscape.metrics.scores.inputs import VOID, check_finite, check_mask, flat

KERAS_THRESHOLDS = 200
_QUANTILES = 384  # for each kind of pixel
_RECALL = 0.95


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


class FrameBins(NamedTuple):
    """One frame: the lower edges of its bins (K,), descending, and the anomalous and known pixels in each."""

    thresholds: np.ndarray
    anomalous: np.ndarray
    known: np.ndarray


class QuantileCurve(NamedTuple):
    """Areas and rate of all frames, and the thresholds above which a pixel is predicted; NaN without
    anomalous or without known pixels.
    """

    average_precision: float
    auroc: float
    fpr95: float
    threshold: float
    looked_up: float


def frame_bins(score: np.ndarray, anomaly: np.ndarray, *, void: int = VOID, where: str = "") -> FrameBins:
    """Return the counts of one frame's ``score`` (any shape) between its quantiles, where ``anomaly`` is 1
    and 0; MetricError for scores that are not finite.

    >>> frame_bins(np.array([0.25, 0.5, 0.75]), np.array([0, 1, 255])).thresholds.tolist()
    [0.5, 0.25, 0.0]
    """
    score, anomaly = flat(score, anomaly, where)
    check_mask(anomaly, void, where)
    kinds = [score[anomaly == label] for label in (1, 0)]
    for values in kinds:
        check_finite(np.sort(values), where)
    quantiles = [
        np.quantile(values, np.linspace(0, 1, min(_QUANTILES, values.size)))
        for values in kinds
        if values.size
    ]
    edges = np.unique(np.concatenate([[0.0, 1.0], *quantiles]))
    return FrameBins(edges[-2::-1], *(np.histogram(values, edges)[0][::-1] for values in kinds))


def quantile_curve(frames: Iterable[FrameBins]) -> QuantileCurve:
    """Return the areas, the rate and the thresholds of all frames together.

    >>> quantile_curve([frame_bins(np.array([0.25, 0.5, 0.75]), np.array([0, 1, 1]))]).average_precision
    1.0
    """
    thresholds, anomalous, known = (np.concatenate(column) for column in zip(*frames, strict=True))
    positives = int(anomalous.sum())
    negatives = int(known.sum())
    if not positives:
        return QuantileCurve(*(math.nan,) * 5)
    order = np.argsort(thresholds, kind="stable")[::-1]
    thresholds = thresholds[order]
    last = np.concatenate([[0], np.flatnonzero(thresholds[:-1] != thresholds[1:]), [len(thresholds) - 1]])
    tp, fp = (np.cumsum(counts[order])[last] for counts in (anomalous, known))
    at = thresholds[last]
    if tp[0] or fp[0]:
        tp = np.concatenate([[0], tp])
        fp = np.concatenate([[0], fp])
        at = np.concatenate([[np.inf], at])
    recall = tp / positives
    reached = tp + fp
    precision = np.divide(tp, reached, out=np.ones(len(tp)), where=reached > 0)
    best = int(np.argmax(2 * tp / (reached + positives)))
    found = QuantileCurve(
        average_precision=float(np.sum(np.diff(recall) * precision[1:])),
        auroc=math.nan,
        fpr95=math.nan,
        threshold=float(np.float16(at[best])),
        looked_up=float(np.float16(thresholds[min(best, len(thresholds) - 1)])),
    )
    if not negatives:
        return found
    rate = fp / negatives
    return found._replace(
        auroc=float(np.trapezoid(recall, rate)), fpr95=float(rate[np.searchsorted(recall, _RECALL)])
    )
