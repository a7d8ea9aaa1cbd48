"""SegmentMeIfYouCan's evaluation of scores: counts between each frame's own quantiles, and a threshold read
off the curve of all frames.

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

from faultscape.metrics.scores.inputs import VOID, check_finite, check_mask, flat

_QUANTILES = 384  # for each kind of pixel
_RECALL = 0.95


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
