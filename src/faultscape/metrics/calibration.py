"""Calibration: ECE in four variants, Brier score, NLL and reliability diagrams, from statistics that add up
over images.

Conventions: ``confidence`` is the winner's probability and ``correct`` whether the winner is right, both of
the same shape; ``valid`` says which pixels are judged (void ones are not). Bins of equal width are [a, b),
the last one [a, 1]. Counts are int64 and sums float64, exact enough for 10^9 pixels. 0 is best everywhere.
ECE = sum over bins of (pixels in the bin / pixels) |mean confidence - share of right pixels|.

``bins`` is the number of bins. ``counts`` are those of ``calibration_counts``, ``fine_counts`` or
``probability_counts``, of one image or added up. ``judged`` is the number of judged pixels. ``fine`` (3,
65536) are the counts of ``fine_counts``. ``probabilities`` (C, ...) sum to 1 over the classes. ``label``
(...) is the true class of each pixel.

Source: Guo et al. 2017 (ECE, MCE); Nguyen and O'Connor 2015 (equal mass); Nixon et al. 2019 (class-wise);
Brier 1950.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import MetricError
from faultscape.maps import checked_arrays
from faultscape.metrics.scores.inputs import check_unmasked

BINS = 15
FLOOR = 2.0**-149  # a probability of 0 has the NLL of the smallest positive float32
_FINE = 1 << 16
Statistics = dict[str, np.ndarray]  # sums; some are scalars


@dataclass(frozen=True, eq=False)
class Reliability:
    """A reliability diagram: mean confidence, share of right pixels and number of pixels of each bin, NaN
    where a bin is empty.
    """

    confidence: np.ndarray
    accuracy: np.ndarray
    count: np.ndarray


def calibration_counts(
    confidence: np.ndarray,
    correct: np.ndarray,
    valid: np.ndarray | None = None,
    *,
    bins: int = BINS,
    where: str = "",
) -> Statistics:
    """Return {bin_count, bin_right: (bins,) int64, bin_confidence: (bins,), brier_top_sum, judged}, to be
    summed over images.

    Errors: MetricError for a confidence outside 0..1, NaN, or another shape.

    >>> counts = calibration_counts(np.array([1.0, 0.6]), np.array([True, False]), bins=2)
    >>> counts["bin_count"].tolist(), float(ece(counts).round(4))
    ([0, 2], 0.3)
    """
    sure, right = _judged(confidence, correct, valid, where)
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)  # the last bin is closed
    return {
        "bin_count": np.bincount(place, minlength=bins),
        "bin_right": np.bincount(place[right], minlength=bins),
        "bin_confidence": np.bincount(place, weights=sure, minlength=bins),
        "brier_top_sum": np.array(((sure - right) ** 2).sum()),
        "judged": np.array(len(sure), np.int64),
    }


def counts_by_class(
    confidence: np.ndarray,
    correct: np.ndarray,
    label: np.ndarray,
    classes: int,
    *,
    bins: int = BINS,
    where: str = "",
) -> np.ndarray:
    """Return (C, 3, bins): pixels, right pixels and summed confidence of each true class, from which classes
    can be left out later; labels of ``classes`` and above are void.

    Errors: as of `calibration_counts`.

    >>> counts_by_class(np.array([1.0, 0.6]), np.array([True, False]), np.array([0, 1]), 2, bins=2).tolist()
    [[[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0], [0.0, 0.6]]]
    """
    valid = np.asarray(label) < classes
    sure, right = _judged(confidence, correct, valid, where)
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)
    place += bins * np.asarray(label)[valid].astype(np.int64)
    counts = [np.bincount(place, weights=w, minlength=classes * bins) for w in (None, right, sure)]
    return np.stack(counts).reshape(3, classes, bins).astype(float).swapaxes(0, 1)


def probability_counts(
    probabilities: np.ndarray,
    label: np.ndarray,
    valid: np.ndarray | None = None,
    *,
    bins: int = BINS,
    where: str = "",
) -> Statistics:
    """Return {brier_sum, nll_sum, class_count, class_right: (C, bins), class_confidence: (C, bins)} of (C,
    ...) probabilities and the true classes.

    >>> counts = probability_counts(np.array([[0.75], [0.25]]), np.array([0]))
    >>> float(counts["brier_sum"]), round(float(counts["nll_sum"]), 4)
    (0.125, 0.2877)
    """
    check_unmasked(where, probabilities=probabilities, label=label)
    probabilities = checked_arrays.numbers(
        probabilities, f"{_at(where)}probabilities", MetricError, "... x C"
    )
    label = checked_arrays.numbers(label, f"{_at(where)}label", MetricError)
    classes = len(probabilities)
    if probabilities.shape[1:] != label.shape:
        raise MetricError(
            f"{_at(where)}the probabilities are of shape {probabilities.shape}; expected classes first, then"
            f" {label.shape}"
        )
    valid = _valid(valid, label.shape, where)
    truth = label[valid].astype(np.int64)
    if len(truth) and (truth.min() < 0 or truth.max() >= classes):
        raise MetricError(
            f"{_at(where)}a true class {int(truth.max())} has no probability; there are {classes}"
        )
    brier = 0.0
    nll = 0.0
    counts = {name: np.zeros((classes, bins), np.int64) for name in ("class_count", "class_right")}
    sums = np.zeros((classes, bins))
    for c in range(classes):  # one class at a time, so that only one map is in memory
        p = probabilities[c][valid].astype(np.float64)
        if len(p) and not (p.min() >= 0 and p.max() <= 1 + 1e-3):
            raise MetricError(
                f"{_at(where)}values from {p.min():g} to {p.max():g} were given as probabilities; expected 0"
                " to 1"
            )
        mine = truth == c
        brier += float(((p - mine) ** 2).sum())
        nll -= float(np.log(np.maximum(p[mine], FLOOR)).sum())
        place = np.minimum((p * bins).astype(np.int64), bins - 1)
        counts["class_count"][c] = np.bincount(place, minlength=bins)
        counts["class_right"][c] = np.bincount(place[mine], minlength=bins)
        sums[c] = np.bincount(place, weights=p, minlength=bins)
    return {**counts, "class_confidence": sums, "brier_sum": np.array(brier), "nll_sum": np.array(nll)}


def fine_counts(
    confidence: np.ndarray, correct: np.ndarray, valid: np.ndarray | None = None, *, where: str = ""
) -> np.ndarray:
    """Return (3, 65536): pixels, right pixels and summed confidence in fine bins of log(p / (1 - p)), from
    which bins of equal mass are made over a whole data set.

    >>> fine_counts(np.array([0.5, 0.5]), np.array([True, False])).sum(1).tolist()
    [2.0, 1.0, 1.0]
    """
    sure, right = _judged(confidence, correct, valid, where)
    with np.errstate(divide="ignore"):
        logit = np.log(sure) - np.log1p(-sure)
    place = np.clip((logit + 32) * (_FINE / 64), 0, _FINE - 1).astype(np.int64)
    weights = (None, right, sure)
    return np.stack([np.bincount(place, weights=w, minlength=_FINE).astype(float) for w in weights])


def ece(counts: Statistics) -> np.ndarray:
    """Return the expected calibration error from bins of equal width; counts (..., bins) may come from one
    image or many.
    """
    return _weighted(counts["bin_count"], counts["bin_right"], counts["bin_confidence"])


def mce(counts: Statistics) -> np.ndarray:
    """Return the largest gap of any bin that is not empty."""
    return np.where(
        counts["bin_count"].sum(-1) > 0,
        np.nan_to_num(_gaps(counts["bin_count"], counts["bin_right"], counts["bin_confidence"])).max(-1),
        np.nan,
    )[()]


def ece_classwise(counts: Statistics) -> np.ndarray:
    """Return the mean over classes of the calibration error of each class's own probability."""
    by_class = _weighted(counts["class_count"], counts["class_right"], counts["class_confidence"])
    return by_class.mean(-1)[()]


def ece_equal_mass(fine: np.ndarray, bins: int = BINS) -> float:
    """Return the calibration error in bins of equal mass, cut between the fine bins of `fine_counts`.

    >>> ece_equal_mass(fine_counts(np.array([0.9, 0.9, 0.6, 0.6]), np.array([1, 1, 1, 0], bool)), 2)
    0.1
    """
    fine = checked_arrays.numbers(fine, "fine", MetricError, "3 x K").astype(np.float64, copy=False)
    if len(fine) != 3 or not (np.isfinite(fine) & (fine >= 0)).all():
        raise MetricError(f"fine: expected counts, 3 x K, none below 0; got shape {fine.shape}")
    return round(float(equal_mass_of_groups(fine[:1], fine[1:2], fine[2:], bins)[0]), 15)


def equal_mass_of_groups(
    count: np.ndarray, right: np.ndarray, sure: np.ndarray, bins: int = BINS
) -> np.ndarray:
    """Return (B,) the calibration error in bins of equal mass, from groups (B, K) of pixels in order of
    confidence; a group goes into the bin that holds its middle.

    >>> equal_mass_of_groups(np.array([[2, 2]]), np.array([[1, 2]]), np.array([[1.2, 1.8]]), 2).round(4)
    array([0.1])
    """
    total = count.sum(1, keepdims=True)
    middle = np.cumsum(count, 1) - count / 2
    place = np.minimum((middle / np.maximum(total, 1) * bins).astype(np.int64), bins - 1)
    place += bins * np.arange(len(count))[:, None]
    gap = np.bincount(place.ravel(), (sure - right).ravel(), minlength=bins * len(count)).reshape(-1, bins)
    return np.where(total[:, 0] > 0, _mean(np.abs(gap).sum(1), total[:, 0]), np.nan)


def equal_mass_exact(
    confidence: np.ndarray, correct: np.ndarray, valid: np.ndarray | None = None, *, bins: int = BINS
) -> float:
    """Return the calibration error in bins of equal mass from sorted values; equal values go together into
    the bin that holds their middle.

    >>> round(equal_mass_exact(np.array([0.9, 0.9, 0.6, 0.6]), np.array([1, 1, 1, 0], bool), bins=2), 4)
    0.1
    """
    sure, right = _judged(confidence, correct, valid, "")
    if not len(sure):
        return float("nan")
    _, inverse, count = np.unique(sure, return_inverse=True, return_counts=True)
    middle = (np.cumsum(count) - count / 2) / len(sure)
    place = np.minimum((middle * bins).astype(np.int64), bins - 1)[inverse]
    return float(_weighted(*(np.bincount(place, weights=w, minlength=bins) for w in (None, right, sure))))


def brier(counts: Statistics, judged: np.ndarray) -> np.ndarray:
    """Return the mean over pixels of sum over classes of (p - y)^2: 0 best, 2 worst."""
    return _mean(counts["brier_sum"], judged)


def brier_top(counts: Statistics) -> np.ndarray:
    """Return the mean over pixels of (confidence - right)^2."""
    return _mean(counts["brier_top_sum"], counts["judged"])


def nll(counts: Statistics, judged: np.ndarray) -> np.ndarray:
    """Return the mean of -log p of the true class, with p at least 2^-149."""
    return _mean(counts["nll_sum"], judged)


def reliability(counts: Statistics) -> Reliability:
    """Return the diagram of one data set's counts (bins,)."""
    n = counts["bin_count"]
    return Reliability(_mean(counts["bin_confidence"], n), _mean(counts["bin_right"], n), n)


def _judged(
    confidence: np.ndarray, correct: np.ndarray, valid: np.ndarray | None, where: str
) -> tuple[np.ndarray, np.ndarray]:
    check_unmasked(where, confidence=confidence, map=correct)
    confidence = checked_arrays.numbers(confidence, f"{_at(where)}confidence", MetricError)
    correct = checked_arrays.numbers(correct, f"{_at(where)}correct", MetricError).astype(bool, copy=False)
    if confidence.shape != correct.shape:
        raise MetricError(
            f"{_at(where)}the confidence has shape {confidence.shape} and the map {correct.shape}; expected"
            " one shape"
        )
    inside = slice(None) if valid is None else _valid(valid, confidence.shape, where)
    sure = confidence[inside].ravel().astype(np.float64)
    right = correct[inside].ravel()
    if len(sure) and not (sure.min() >= 0 and sure.max() <= 1):  # NaN fails both
        raise MetricError(
            f"{_at(where)}the confidence goes from {sure.min():g} to {sure.max():g}; expected numbers 0 to 1"
        )
    return sure, right


def _valid(valid: np.ndarray | None, shape: tuple[int, ...], where: str) -> np.ndarray:
    """Return which pixels count; MetricError for another shape than the pixels'."""
    if valid is None:
        return np.ones(shape, bool)
    inside = checked_arrays.numbers(valid, f"{_at(where)}valid", MetricError).astype(bool, copy=False)
    if inside.shape != shape:
        raise MetricError(
            f"{_at(where)}valid has the shape {inside.shape}, the pixels {shape}; expected one shape"
        )
    return inside


def _gaps(count: np.ndarray, right: np.ndarray, sure: np.ndarray) -> np.ndarray:
    return _mean(np.abs(sure - right), count)


def _weighted(count: np.ndarray, right: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Return sum |summed confidence - right| / pixels, which is the weighted mean of the gaps."""
    return _mean(np.abs(sure - right).sum(-1), np.asarray(count).sum(-1))


def _mean(total: np.ndarray, number: np.ndarray) -> np.ndarray:
    out = np.full(np.broadcast_shapes(np.shape(total), np.shape(number)), np.nan)
    return np.divide(total, number, out=out, where=np.asarray(number) > 0)[()]


def _at(where: str) -> str:
    return f"{where}: " if where else ""
