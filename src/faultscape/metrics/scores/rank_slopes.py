"""AP, AUROC and FPR at a recall of all pixels of many images together, with the slope of each number by the weight of each image, from the images' histograms.

Conventions: those of ``counts``: step sum, ties half, first threshold with enough recall. Slopes are exact derivatives of AP and AUROC; that of the FPR takes the curve around the recall as
straight. An image without anomalies moves a number too, by its known pixels. NaN where the images together have no anomaly, or nothing else.
Source: Jaeckel 1972 (infinitesimal jackknife); DeLong et al. 1988 (AUROC); Woodruff 1952 (a quantile).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.metrics.intervals.slopes import Linear
from faultscape.metrics.scores.bootstrap import SparseHistogram
from faultscape.metrics.scores.histogram import SIZE

_AROUND = 0.02  # of recall, on either side, within which the curve is taken as straight


@dataclass(frozen=True, eq=False)
class Ranked:
    """What scores of a data set amount to: pixels of either kind, the numbers with their slopes, and the threshold (place) of 5 % false positives."""

    positives: int
    negatives: int
    average_precision: Linear
    auroc: Linear
    fpr: Linear
    at_false: int

    @property
    def share(self) -> float:
        """The share of anomalous pixels, the average precision of chance."""
        total = self.positives + self.negatives
        return self.positives / total if total else float("nan")

    @property
    def undefined(self) -> str:
        """Why there are no numbers, '' where there are."""
        if not self.positives + self.negatives:
            return "no pixel is judged"
        return "no pixel is anomalous" if not self.positives else "every pixel is anomalous" if not self.negatives else ""


def rank_images(images: Sequence[SparseHistogram], *, recall: float = 0.95, false: float = 0.05) -> Ranked:
    """Return the numbers of all pixels of some images together, and their slopes by the images' weights.

    >>> one = SparseHistogram(np.array([10, 20, 30]), np.array([2, 1, 0]), np.array([0, 1, 1]))
    >>> found = rank_images([one, one])
    >>> round(float(found.average_precision.value), 4), round(float(found.auroc.value), 4), round(float(found.fpr.value), 4)
    (0.8333, 0.9167, 0.3333)
    """
    n, p = np.zeros((2, SIZE))
    mine = np.array([(image.known.sum(), image.anomalous.sum()) for image in images], float).reshape(-1, 2).T
    for image in images:
        n[image.places] += image.known
        p[image.places] += image.anomalous
    negatives, positives = float(n.sum()), float(p.sum())
    there = (mine[0] + mine[1]) > 0
    if not negatives or not positives:
        nothing = Linear(np.array(np.nan), np.where(there, np.nan, np.nan))
        return Ranked(int(positives), int(negatives), nothing, nothing, nothing, SIZE)

    def by_image(of_known: np.ndarray, of_anomalous: np.ndarray) -> np.ndarray:
        """Return (I,) sums over the pixels of each image of a number at each place, one of known and one of anomalous pixels."""
        sums = [image.known @ of_known[image.places] + image.anomalous @ of_anomalous[image.places] for image in images]
        return np.array(sums, float)

    tp, fp = np.cumsum(p[::-1])[::-1], np.cumsum(n[::-1])[::-1]  # at this place and above
    above, below = tp - p / 2, np.cumsum(n) - n / 2
    auroc = float((n * above).sum()) / (positives * negatives)
    slopes = by_image(above, below) / (positives * negatives) - auroc * (mine[1] / positives + mine[0] / negatives)
    seen = np.where(tp + fp > 0, tp + fp, 1)
    precision = tp / seen
    ap = float((p * precision).sum()) / positives
    gain, loss = np.cumsum(p * fp / seen**2), np.cumsum(p * tp / seen**2)  # a pixel adds to all thresholds up to its score
    ap_slopes = by_image(-loss, precision + gain) / positives - ap * mine[1] / positives
    at = int(np.flatnonzero(tp >= recall * positives)[-1])
    fpr = float(fp[at]) / negatives
    reached = (np.arange(SIZE) >= at).astype(float)
    steep = _steepness(tp / positives, fp / negatives, recall)
    fpr_slopes = (by_image(reached, np.zeros(SIZE)) - fpr * mine[0]) / negatives
    fpr_slopes -= steep * (by_image(np.zeros(SIZE), reached) - tp[at] / positives * mine[1]) / positives
    allowed = np.flatnonzero(fp <= false * negatives)
    return Ranked(
        int(positives), int(negatives), _linear(ap, ap_slopes, there), _linear(auroc, slopes, there), _linear(fpr, fpr_slopes, there),
        int(allowed[0]) if len(allowed) else SIZE,
    )  # fmt: skip


def average_precision_of(known: np.ndarray, anomalous: np.ndarray) -> float:
    """Return the average precision of counts (65536,) at every place, NaN without anomalies.

    >>> average_precision_of(np.bincount([1], minlength=SIZE), np.bincount([2], minlength=SIZE))
    1.0
    """
    at = np.flatnonzero(anomalous)[::-1]
    if not len(at):
        return float("nan")
    tp, fp = np.cumsum(anomalous[at]), np.cumsum(known[::-1])[::-1][at]
    return float((anomalous[at] * tp / (tp + fp)).sum() / tp[-1])


def best_place(images: Sequence[SparseHistogram]) -> int:
    """Return the place from which on pixels are called anomalous with the best F1, all pixels of some images together; of equals the highest.

    >>> best_place([SparseHistogram(np.array([10, 20, 30]), np.array([5, 1, 0]), np.array([0, 2, 1]))])
    20
    """
    known, anomalous = np.zeros((2, SIZE))
    for image in images:
        known[image.places] += image.known
        anomalous[image.places] += image.anomalous
    tp, fp = np.cumsum(anomalous[::-1]), np.cumsum(known[::-1])
    return SIZE - 1 - int(np.argmax(2 * tp / np.maximum(tp + fp + tp[-1], 1)))


def recall_above(places: np.ndarray, counts: np.ndarray, at: int) -> float:
    """Return the share of pixels at a place or above, NaN without pixels.

    >>> recall_above(np.array([1, 5]), np.array([3, 1]), 4)
    0.25
    """
    total = counts.sum()
    return float(counts[places >= at].sum() / total) if total else float("nan")


def average_precision_alone(image: SparseHistogram) -> float:
    """Return the average precision of one image's pixels by themselves, NaN where none is anomalous, or every one.

    >>> average_precision_alone(SparseHistogram(np.array([10, 20, 30]), np.array([2, 1, 0]), np.array([0, 1, 1])))
    0.8333333333333333
    """
    tp, fp = np.cumsum(image.anomalous[::-1]), np.cumsum(image.known[::-1])
    if not len(tp) or not tp[-1] or not fp[-1]:
        return float("nan")
    return float((image.anomalous[::-1] * tp / np.maximum(tp + fp, 1)).sum() / tp[-1])


def shares_above(known: np.ndarray) -> np.ndarray:
    """Return (65536,) the share of counted pixels (65536,) at each place or above: its false positive rate as a threshold; NaN without pixels.

    >>> shares_above(np.bincount([1, 1, 2, 5], minlength=SIZE))[[0, 2, 5, 6]].tolist()
    [1.0, 0.5, 0.25, 0.0]
    """
    total = known.sum()
    return np.cumsum(known[::-1])[::-1] / total if total else np.full(SIZE, np.nan)


def _linear(value: float, slopes: np.ndarray, there: np.ndarray) -> Linear:
    return Linear(np.array(value), np.where(there, slopes, np.nan))


def _steepness(recalls: np.ndarray, rates: np.ndarray, recall: float) -> float:
    """Return how much the false positive rate rises with recall around one, of both at descending thresholds."""
    low, high = max(recall - _AROUND, 0.0), min(recall + _AROUND, 1.0)
    ends = [int(np.flatnonzero(recalls >= of)[-1]) for of in (low, high)]
    gap = recalls[ends[1]] - recalls[ends[0]]
    return float((rates[ends[1]] - rates[ends[0]]) / gap) if gap > 0 else 0.0
