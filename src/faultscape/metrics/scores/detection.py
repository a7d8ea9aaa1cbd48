"""Detection of anomalous pixels in memory: exact AP, AUROC and FPR at 95 % recall for any scores.

Conventions: those of ``scores`` and ``rank_counts``. The scores of anomalous and of known pixels are sorted
apart and then walked through together: NumPy sorts values several times faster than it computes the order of
an array, and which pixel a score belongs to does not matter. float16 scores are counted by their bits instead
(``score_histogram``), which is also exact.
Source: Blum et al. 2021, section 3.3; equals scikit-learn's average_precision_score, roc_auc_score and the
first point of roc_curve with enough recall.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from faultscape.choices import FprRule
from faultscape.metrics.kernels import plain_ranks
from faultscape.metrics.scores.counts import Detection, Rows, check_rule, summarise
from faultscape.metrics.scores.histogram import detection_from_histogram, histogram16
from faultscape.metrics.scores.inputs import RANKS, VOID, split

_A_PIXEL = 1e-8  # seconds that the plain kernels take for a pixel


def detection(
    score: np.ndarray,
    anomaly: np.ndarray,
    *,
    void: int = VOID,
    fpr_rule: FprRule = "first",
    recall: float = 0.95,
    alarm: float = 0.05,
    where: str = "",
) -> Detection:
    """Return how well ``score`` (any shape, large = anomalous) finds the pixels where ``anomaly`` (0, 1, 255
    = void) is 1.

    NaN or infinite scores, unequal shapes, other mask values and masked arrays raise MetricError, with
    ``where`` naming the image.

    >>> d = detection(np.array([0.1, 0.4, 0.35, 0.8, 0.9]), np.array([0, 0, 1, 1, 255]))
    >>> round(d.average_precision, 4), d.auroc, d.fpr95
    (0.8333, 0.75, 0.5)
    """
    check_rule(fpr_rule, recall)
    if getattr(score, "dtype", None) == np.float16:
        counted = histogram16(score, anomaly, void=void, where=where)
        return detection_from_histogram(counted, fpr_rule=fpr_rule, recall=recall, alarm=alarm)
    positives, negatives = split(score, anomaly, void, where)
    ends = [float(part[k]) for part in (positives, negatives) if len(part) for k in (0, -1)]
    return summarise(
        [rows_of_sorted(positives, negatives)],
        len(positives),
        len(negatives),
        span=(min(ends, default=np.nan), max(ends, default=np.nan)),
        fpr_rule=fpr_rule,
        recall=recall,
        alarm=alarm,
    )


class Misclassification(NamedTuple):
    """Both directions of one question: doubt finds the wrong pixels, and confidence the right ones.

    ``incorrect``: the wrong pixels are the positives and doubt is the score; its ``auroc`` is the calibration
    AUROC. ``correct``: the right pixels are the positives and minus the doubt is the score; the AUROC is the
    same, the average precision is not. Neither AP can compare models with different accuracies.
    """

    incorrect: Detection
    correct: Detection


def misclassification(
    doubt: np.ndarray,
    incorrect: np.ndarray,
    *,
    void: int = VOID,
    fpr_rule: FprRule = "first",
    recall: float = 0.95,
    where: str = "",
) -> Misclassification:
    """Return how well ``doubt`` finds the pixels that are ``incorrect`` (0 right, 1 wrong, 255 void), and how
    well minus the doubt finds the right ones.

    >>> m = misclassification(np.array([0.0, 1.0, 1.0, 1.0, 0.0]), np.array([0, 1, 1, 1, 0]))
    >>> m.incorrect.auroc, m.correct.average_precision
    (1.0, 1.0)
    """
    options = {"fpr_rule": fpr_rule, "recall": recall, "where": where}
    wrong = detection(doubt, incorrect, void=void, **options)
    values = np.asarray(doubt)
    truth = np.asarray(incorrect)
    right = np.where(truth == void, VOID, truth == 0).astype(np.uint8) if truth.dtype != bool else ~truth
    return Misclassification(
        wrong, detection(-values if values.dtype.kind == "f" else -values.astype(np.int64), right, **options)
    )


def rows_of_sorted(positives: np.ndarray, negatives: np.ndarray) -> Rows:
    """Return the counts at every distinct positive score, from the scores of both in ascending order.

    >>> rows_of_sorted(np.array([1, 2, 2]), np.array([0, 1, 3])).reach.tolist()
    [1, 2]
    """
    size = len(positives) and 1 + int(np.count_nonzero(positives[1:] != positives[:-1]))
    rows = Rows(np.empty(size, positives.dtype), *(np.empty(size, np.int64) for _ in range(3)))
    kernels = RANKS.ready(len(negatives) * _A_PIXEL) if positives.dtype.kind == "f" else None
    (kernels or plain_ranks).rank(positives, negatives, *rows[:4])
    return rows
