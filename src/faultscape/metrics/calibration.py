"""Calibration of confidence: expected and maximum calibration error, reliability diagram, top-label Brier score.

Conventions: ``confidence`` is the winner's probability in 0..1, any shape; ``correct`` has its shape and is 1 where the prediction is right, 0 where it is
wrong, 255 (void) where nobody knows, or bool. Equal-width bins are [k/B, (k+1)/B), the last closed, so that a confidence of exactly 1, which float32
reaches often, is counted with its neighbours. Counts are int64 and sums float64: a float32 counter stops at 2^24 pixels, eight street scenes.
Empty bins have no error. Equal-mass bins hold exactly 1/B of the pixels each: pixels of one confidence are one group, and a group on an edge is shared out,
its right pixels evenly, so that no order of ties is assumed.
Source: Naeini et al. 2015; Guo et al. 2017 (there with (a, b]); Nguyen and O'Connor 2015 (equal mass).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics.score_histogram import Histogram16
from faultscape.metrics.scores import VOID, check_mask, flat
from faultscape.metrics.tie_groups import Groups, groups, groups_of_histogram

BINS = 15
_SLACK = 1e-3  # a confidence that went through float16 may exceed 1 by so much; it is taken as 1
_SLICE = 1 << 22


@dataclass(frozen=True, eq=False)
class Reliability:
    """Sums in equal-width bins of confidence, (B,) each, and of squared error; ``+`` adds two."""

    pixels: np.ndarray
    correct: np.ndarray
    confidence: np.ndarray
    squares: float = 0.0

    def __add__(self, other: Reliability) -> Reliability:
        if len(self.pixels) != len(other.pixels):
            raise MetricError(f"{len(self.pixels)} bins cannot be added to {len(other.pixels)}; expected equally many")
        return Reliability(
            self.pixels + other.pixels,
            self.correct + other.correct,
            self.confidence + other.confidence,
            self.squares + other.squares,
        )


class Diagram(NamedTuple):
    """A reliability diagram: mean confidence, accuracy and share of the pixels of each bin, NaN where it is empty."""

    confidence: np.ndarray
    accuracy: np.ndarray
    share: np.ndarray


def reliability(
    confidence: np.ndarray, correct: np.ndarray, *, bins: int = BINS, void: int = VOID, where: str = ""
) -> Reliability:
    """Return the sums behind ECE; MetricError for values outside 0..1, NaN, unequal shapes and masked arrays.

    >>> reliability(np.array([0.9, 1.0, 0.2]), np.array([1, 0, 255]), bins=2).pixels
    array([0, 2])
    """
    confidence, correct = flat(confidence, correct, where, "confidence")
    total = Reliability(np.zeros(bins, np.int64), np.zeros(bins, np.int64), np.zeros(bins))
    for low in range(0, len(confidence), _SLICE):
        total += _reliability(confidence[low : low + _SLICE], correct[low : low + _SLICE], bins, void, where)
    return total


def ece(sums: Reliability) -> float:
    """Return the expected calibration error: the mean over pixels of |accuracy - mean confidence| of their bin; NaN without pixels.

    >>> round(ece(reliability(np.array([0.9, 0.9, 0.6]), np.array([1, 0, 1]))), 4)
    0.4
    """
    n = int(sums.pixels.sum())
    return float(np.abs(sums.correct - sums.confidence).sum() / n) if n else float("nan")


def mce(sums: Reliability) -> float:
    """Return the maximum calibration error: the largest |accuracy - mean confidence| of a bin with pixels; NaN without pixels.

    >>> round(mce(reliability(np.array([0.9, 0.9, 0.6]), np.array([1, 0, 1]))), 4)
    0.4
    """
    diagram = reliability_diagram(sums)
    gaps = np.abs(diagram.accuracy - diagram.confidence)[sums.pixels > 0]
    return float(gaps.max()) if len(gaps) else float("nan")


def reliability_diagram(sums: Reliability) -> Diagram:
    """Return what a reliability diagram draws.

    >>> reliability_diagram(reliability(np.array([0.9, 0.8]), np.array([1, 0]), bins=2)).accuracy
    array([nan, 0.5])
    """
    out = [np.full(len(sums.pixels), np.nan) for _ in range(2)]
    for into, above in zip(out, (sums.confidence, sums.correct), strict=True):
        np.divide(above, sums.pixels, out=into, where=sums.pixels > 0)
    return Diagram(out[0], out[1], sums.pixels / max(int(sums.pixels.sum()), 1))


def top_label_brier(sums: Reliability) -> float:
    """Return the mean of (confidence - correct)^2; NaN without pixels.

    >>> round(top_label_brier(reliability(np.array([0.9, 0.5]), np.array([1, 0]))), 4)
    0.13
    """
    n = int(sums.pixels.sum())
    return float(sums.squares / n) if n else float("nan")


def equal_mass_ece(confidence: np.ndarray, correct: np.ndarray, *, bins: int = BINS, void: int = VOID, where: str = "") -> float:
    """Return the calibration error over bins that hold equally many pixels, exact, in memory.

    >>> round(equal_mass_ece(np.array([0.9, 0.9, 0.6, 0.6]), np.array([1, 0, 1, 1]), bins=2), 4)
    0.4
    """
    confidence, correct = flat(confidence, correct, where, "confidence")
    return _equal_mass(groups(_capped(confidence, correct != void, where), correct, void=void, where=where), bins)


def equal_mass_ece_of_histogram(doubt: Histogram16, *, bins: int = BINS) -> float:
    """Return the equal-mass calibration error of a streamed histogram of ``logit16(doubt)`` whose anomalous pixels are the wrong ones.

    The confidence 1 - doubt of a pixel is known to 1.1e-4, by the rounding of the logit to float16, and so is the error.

    >>> from faultscape.metrics.doubt import logit16
    >>> from faultscape.metrics.score_histogram import histogram16
    >>> round(equal_mass_ece_of_histogram(histogram16(logit16(np.array([0.1, 0.1, 0.4, 0.4])), np.array([0, 1, 0, 0])), bins=2), 3)
    0.4
    """
    found = groups_of_histogram(doubt)
    with np.errstate(over="ignore"):
        sure = 1 / (1 + np.exp(found.values[::-1].astype(float)))
    return _equal_mass(Groups(sure, found.pixels[::-1], found.pixels[::-1] - found.flagged[::-1]), bins)


def _equal_mass(found: Groups, bins: int) -> float:
    if not len(found.values):
        return float("nan")
    ends = np.concatenate([[0], np.cumsum(found.pixels)])
    edges = np.linspace(0, ends[-1], bins + 1)
    confidence = np.interp(edges, ends, np.concatenate([[0], np.cumsum(found.pixels * found.values.astype(float))]))
    correct = np.interp(edges, ends, np.concatenate([[0], np.cumsum(found.flagged)]))
    return float(np.abs(np.diff(confidence) - np.diff(correct)).sum() / ends[-1])


def _reliability(confidence: np.ndarray, correct: np.ndarray, bins: int, void: int, where: str) -> Reliability:
    judged = (correct == 0) | (correct == 1)
    if not judged.all():
        check_mask(correct, void, where)
    sure, right = _capped(confidence, judged, where)[judged].astype(float), correct[judged] == 1
    place = np.minimum((sure * bins).astype(np.int64), bins - 1)
    return Reliability(
        np.bincount(place, minlength=bins),
        np.bincount(place[right], minlength=bins),
        np.bincount(place, weights=sure, minlength=bins),
        float(np.square(sure - right).sum()),
    )


def _capped(confidence: np.ndarray, judged: np.ndarray, where: str) -> np.ndarray:
    """Return the confidences with those just above 1 taken as 1; MetricError where one that counts lies outside."""
    kept = confidence[judged]
    if kept.size and not (kept.min() >= 0 and kept.max() <= 1 + _SLACK):
        at, bad = f"{where}: " if where else "", int(np.count_nonzero(~((kept >= 0) & (kept <= 1 + _SLACK))))
        raise MetricError(
            f"{at}{bad} of {kept.size} confidences are no numbers from 0 to 1; expected probabilities (8-bit pictures: value / 255)"
        )
    return np.minimum(confidence, 1) if kept.size and kept.max() > 1 else confidence
