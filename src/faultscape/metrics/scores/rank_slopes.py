"""AP, AUROC and FPR at a recall for the pooled pixels of many images, from the images' histograms, and how
much each unit of images changes them.

Conventions: those of ``counts``: step sum, ties half, first threshold with enough recall; the values are
exact. Intervals use at most 2,048 thresholds, half of them spread evenly over the anomalous pixels and half
over the known ones. Slopes of AP and AUROC come from the jackknife: what the value loses without a unit (an
image, or a group). The FPR, which changes in steps, is redrawn. An image without anomalies also changes the
values, through its known pixels. There is no interval with fewer than six units that have anomalies, or that
have other pixels. NaN where the images together have no anomalous or no other pixels.
Source: Tukey 1958 (jackknife); Efron 1979; Blum et al. 2021, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.metrics.intervals.evidence import Drawn
from faultscape.metrics.intervals.slopes import Linear
from faultscape.metrics.intervals.units import LEAST, Draws
from faultscape.metrics.scores.bootstrap import SparseHistogram, areas_of
from faultscape.metrics.scores.histogram import SIZE

_STEPS, _FEWEST = 2048, 256  # thresholds; fewer where there are very many units
_NUMBERS = 1 << 23
_TOGETHER = 64  # units or draws at once


@dataclass(frozen=True, eq=False)
class Ranked:
    """Detection metrics of a data set: pixels of either kind, how many distinct scores they have, the
    metrics, AP and AUROC with their slopes by unit.
    """

    positives: int
    negatives: int
    values: int
    average_precision: Linear
    auroc: Linear
    fpr: Drawn

    @property
    def share(self) -> float:
        """The share of anomalous pixels, which is the average precision of random scores."""
        total = self.positives + self.negatives
        return self.positives / total if total else float("nan")

    @property
    def undefined(self) -> str:
        """Why the metrics are undefined, '' where they are defined."""
        if not self.positives + self.negatives:
            return "no pixel is judged"
        return (
            "no pixel is anomalous"
            if not self.positives
            else "every pixel is anomalous"
            if not self.negatives
            else ""
        )


def rank_images(
    images: Sequence[SparseHistogram],
    of: np.ndarray | None = None,
    draws: Draws | None = None,
    *,
    recall: float = 0.95,
) -> Ranked:
    """Return the metrics of the pooled pixels of some images and, with ``draws`` of U units, the evidence for
    intervals; ``of`` (I,) is the unit of each image.

    >>> one = SparseHistogram(np.array([10, 20, 30]), np.array([2, 1, 0]), np.array([0, 1, 1]))
    >>> found = rank_images([one, one])
    >>> (
    ...     round(float(found.average_precision.value), 4),
    ...     round(float(found.auroc.value), 4),
    ...     round(found.fpr.value, 4),
    ... )
    (0.8333, 0.9167, 0.3333)
    """
    n, p = np.zeros((2, SIZE))
    for image in images:
        n[image.places] += image.known
        p[image.places] += image.anomalous
    negatives = float(n.sum())
    positives = float(p.sum())
    nothing = np.zeros(0)
    values = int(np.count_nonzero(n + p))
    if not negatives or not positives:
        nowhere = Linear(np.array(np.nan), nothing)
        return Ranked(
            int(positives),
            int(negatives),
            values,
            nowhere,
            nowhere,
            Drawn(np.nan, nothing, nothing, nothing),
        )
    ((ap, auroc, fpr),) = areas_of(p[None, ::-1], n[None, ::-1], recall=recall).tolist()
    slopes = np.zeros((0, 2))
    drawn = Drawn(fpr, nothing, nothing, nothing, "stepped")
    if draws is not None:
        known, anomalous = counts_by_unit(
            images, np.arange(len(images)) if of is None else of, draws.weights.shape[1], n, p
        )
        slopes, drawn = _slopes_and_draws(known, anomalous, draws, fpr, recall)
    return Ranked(
        int(positives),
        int(negatives),
        values,
        Linear(np.array(ap), slopes[:, 0]),
        Linear(np.array(auroc), slopes[:, 1]),
        drawn,
    )


def counts_by_unit(
    images: Sequence[SparseHistogram], of: np.ndarray, units: int, n: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (U, K) known and anomalous pixels of each unit at descending thresholds, few enough to leave out
    each unit in turn; ``n`` and ``p`` (65536,) are their sums at every place.
    """
    most = int(np.clip(_NUMBERS // max(units, 1), _FEWEST, _STEPS))
    there = (n + p) > 0
    if there.sum() <= most:
        steps = np.cumsum(there) - there
        many = int(there.sum())
    else:
        passed = (np.cumsum(n) - n) / n.sum() + (np.cumsum(p) - p) / p.sum()  # 0..2
        steps = np.minimum((passed / 2 * most).astype(np.int64), most - 1)
        many = most
    steps = many - 1 - steps
    known, anomalous = np.zeros((2, units, many))
    for image, unit in zip(images, of.tolist(), strict=True):
        at = steps[image.places]
        known[unit] += np.bincount(at, image.known, many)
        anomalous[unit] += np.bincount(at, image.anomalous, many)
    return known, anomalous


def _slopes_and_draws(
    known: np.ndarray, anomalous: np.ndarray, draws: Draws, fpr: float, recall: float
) -> tuple[np.ndarray, Drawn]:
    """Return (U, 2) slopes of AP and AUROC, NaN for units without pixels, and the FPR with its draws."""
    of_known = known.sum(1)
    of_anomalous = anomalous.sum(1)
    there = of_known + of_anomalous > 0
    slopes = np.full((len(known), 2), np.nan)
    if min((of_known > 0).sum(), (of_anomalous > 0).sum()) < LEAST:
        return slopes, Drawn(fpr, np.zeros(0), np.zeros(0), there, "stepped")
    n = known.sum(0)
    p = anomalous.sum(0)
    units = np.flatnonzero(there)
    chunks = [units[low : low + _TOGETHER] for low in range(0, len(units), _TOGETHER)]
    left_out = np.concatenate(
        [areas_of(p - anomalous[some], n - known[some], recall=recall) for some in chunks]
    )
    slopes[units] = (len(units) - 1) / len(units) * (left_out[:, :2].mean(0) - left_out[:, :2])
    # sums of integers are exact in any order
    drawn = draws.weights[1 : 1 + draws.resamples].astype(float)
    rows = [drawn[low : low + _TOGETHER] for low in range(0, len(drawn), _TOGETHER)]
    replicates = np.concatenate(
        [np.zeros(0), *(areas_of(some @ anomalous, some @ known, recall=recall)[:, 2] for some in rows)]
    )
    return slopes, Drawn(fpr, replicates, left_out[:, 2], there, "stepped")


def average_precision_of(known: np.ndarray, anomalous: np.ndarray) -> float:
    """Return the average precision from counts (65536,) at every place, NaN without anomalies.

    >>> average_precision_of(np.bincount([1], minlength=SIZE), np.bincount([2], minlength=SIZE))
    1.0
    """
    at = np.flatnonzero(anomalous)[::-1]
    if not len(at):
        return float("nan")
    tp = np.cumsum(anomalous[at])
    fp = np.cumsum(known[::-1])[::-1][at]
    return float((anomalous[at] * tp / (tp + fp)).sum() / tp[-1])


def best_place(images: Sequence[SparseHistogram]) -> int:
    """Return the threshold place with the best F1 for the pooled pixels of some images; among equals, the
    highest.

    >>> best_place([SparseHistogram(np.array([10, 20, 30]), np.array([5, 1, 0]), np.array([0, 2, 1]))])
    20
    """
    known, anomalous = np.zeros((2, SIZE))
    for image in images:
        known[image.places] += image.known
        anomalous[image.places] += image.anomalous
    tp = np.cumsum(anomalous[::-1])
    fp = np.cumsum(known[::-1])
    return SIZE - 1 - int(np.argmax(2 * tp / np.maximum(tp + fp + tp[-1], 1)))


def recall_above(places: np.ndarray, counts: np.ndarray, at: int) -> float:
    """Return the share of pixels at or above a place, NaN without pixels.

    >>> recall_above(np.array([1, 5]), np.array([3, 1]), 4)
    0.25
    """
    total = counts.sum()
    return float(counts[places >= at].sum() / total) if total else float("nan")


def average_precision_alone(image: SparseHistogram) -> float:
    """Return the average precision of a single image's pixels, NaN where none or all are anomalous.

    >>> average_precision_alone(
    ...     SparseHistogram(np.array([10, 20, 30]), np.array([2, 1, 0]), np.array([0, 1, 1]))
    ... )
    0.8333333333333333
    """
    tp = np.cumsum(image.anomalous[::-1])
    fp = np.cumsum(image.known[::-1])
    if not len(tp) or not tp[-1] or not fp[-1]:
        return float("nan")
    return float((image.anomalous[::-1] * tp / np.maximum(tp + fp, 1)).sum() / tp[-1])


def shares_above(known: np.ndarray) -> np.ndarray:
    """Return (65536,) the share of counted pixels (65536,) at or above each place: the false positive rate of
    that place as a threshold; NaN without pixels.

    >>> shares_above(np.bincount([1, 1, 2, 5], minlength=SIZE))[[0, 2, 5, 6]].tolist()
    [1.0, 0.5, 0.25, 0.0]
    """
    total = known.sum()
    return np.cumsum(known[::-1])[::-1] / total if total else np.full(SIZE, np.nan)
