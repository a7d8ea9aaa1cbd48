"""Scores of full probabilities against the truth: Brier score, negative log likelihood, class-wise calibration error.

Conventions: ``probabilities`` are (C, ...) with the classes first; ``truth`` has the other axes and holds 0..C-1, and ``void`` where nobody knows. The Brier
score is the sum over classes of squared errors, 0..2. The log likelihood is in nats, with probabilities below ``floor`` taken as the floor and counted.
The class-wise error bins each class's own probability over all pixels (equal width, last bin closed) against how often the truth is that class there,
and is the mean over all C classes. Sums are float64, counts int64, and ``+`` adds two.
Source: Brier 1950; Kull et al. 2019 (class-wise calibration error).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics.calibration import BINS
from faultscape.metrics.scores import VOID

FLOOR = 1e-12


@dataclass(frozen=True, eq=False)
class ProbabilityScores:
    """Sums over pixels: squared errors, -log p of the true class, how many were floored; and (C, B) pixels, pixels of the class and probability of each bin."""

    pixels: int
    squares: float
    surprise: float
    floored: int
    bin_pixels: np.ndarray
    bin_hits: np.ndarray
    bin_probability: np.ndarray

    def __add__(self, other: ProbabilityScores) -> ProbabilityScores:
        if self.bin_pixels.shape != other.bin_pixels.shape:
            raise MetricError(
                f"sums of classes x bins {self.bin_pixels.shape} cannot be added to {other.bin_pixels.shape}; expected one shape"
            )
        return ProbabilityScores(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def score_probabilities(
    probabilities: np.ndarray, truth: np.ndarray, *, void: int = VOID, bins: int = BINS, floor: float = FLOOR, where: str = ""
) -> ProbabilityScores:
    """Return the sums; MetricError for shapes that do not fit, labels of no class and what are no probabilities.

    >>> s = score_probabilities(np.array([[0.8, 0.3], [0.2, 0.7]]), np.array([0, 0]))
    >>> s.pixels, round(s.squares, 4)
    (2, 1.06)
    """
    at = f"{where}: " if where else ""
    if isinstance(probabilities, np.ma.MaskedArray) or isinstance(truth, np.ma.MaskedArray):
        raise MetricError(
            f"{at}a masked array was given, whose mask most libraries drop without a word; set the truth to {void} where void"
        )
    probabilities, truth = np.asarray(probabilities), np.asarray(truth)
    if probabilities.shape[1:] != truth.shape or probabilities.ndim < 1 or not len(probabilities):
        raise MetricError(
            f"{at}probabilities have shape {probabilities.shape}, the truth {truth.shape}; expected C x H x W and H x W"
        )
    judged = truth != void
    labels, values = truth[judged].astype(np.int64), probabilities[:, judged]
    if labels.size and not 0 <= labels.min() <= labels.max() < len(values):
        raise MetricError(
            f"{at}the truth holds {labels.max() if labels.max() >= len(values) else labels.min()}; expected 0 to {len(values) - 1} and {void} (void)"
        )
    if values.size and not (values.min() >= 0 and values.max() <= 1 + 1e-2):
        raise MetricError(f"{at}values from {values.min()} to {values.max()} were given as probabilities; expected 0 to 1")
    counts, hits, sums = (np.zeros((len(values), bins), kind) for kind in (np.int64, np.int64, float))
    squares = 0.0
    for c, p in enumerate(values.astype(float, copy=False)):
        place, true = np.minimum((p * bins).astype(np.int64), bins - 1), labels == c
        counts[c] = np.bincount(place, minlength=bins)
        hits[c] = np.bincount(place[true], minlength=bins)
        sums[c] = np.bincount(place, weights=p, minlength=bins)
        squares += float(np.square(p - true).sum())
    own = values[labels, np.arange(len(labels))].astype(float)
    surprise = float(-np.log(np.maximum(own, floor)).sum())
    return ProbabilityScores(len(labels), squares, surprise, int(np.count_nonzero(own < floor)), counts, hits, sums)


def brier(scores: ProbabilityScores) -> float:
    """Return the mean over pixels of the sum over classes of (p - truth)^2; NaN without pixels.

    >>> round(brier(score_probabilities(np.array([[0.8], [0.2]]), np.array([0]))), 4)
    0.08
    """
    return scores.squares / scores.pixels if scores.pixels else float("nan")


def nll(scores: ProbabilityScores) -> float:
    """Return the mean of -log p of the true class in nats; NaN without pixels.

    >>> round(nll(score_probabilities(np.array([[0.5], [0.5]]), np.array([0]))), 4)
    0.6931
    """
    return scores.surprise / scores.pixels if scores.pixels else float("nan")


def classwise_ece(scores: ProbabilityScores) -> tuple[float, np.ndarray]:
    """Return the mean over classes, and (C,) the calibration error of each class's own probability.

    >>> classwise_ece(score_probabilities(np.array([[0.8, 0.8], [0.2, 0.2]]), np.array([0, 1])))[1].round(4)
    array([0.3, 0.3])
    """
    if not scores.pixels:
        return float("nan"), np.full(len(scores.bin_pixels), np.nan)
    errors = np.abs(scores.bin_hits - scores.bin_probability).sum(1) / scores.pixels
    return float(errors.mean()), errors
