"""What is gained by refusing doubtful pixels: risk against coverage, AURC, AUGRC.

Conventions: ``incorrect`` is 0 where the prediction is right, 1 where wrong, 255 void (or bool); doubt large = refused first. At a threshold all pixels with
that doubt or less are kept: coverage is their share of all, risk the share of wrong ones among them. Pixels of one doubt are kept or refused together.
AURC is the mean over pixels of the risk at the pixel's own doubt as threshold, which without ties is the mean of the risks of the first 1, 2, ..., n
pixels. AUGRC is the area under (wrong and kept) / n against coverage, straight lines between thresholds, which is the mean over all orders of ties; it equals
(1 - AUROC) a (1 - a) + (1 - a)^2 / 2 with the accuracy a. Both 0 = best; a model that is never wrong has 0.
Source: Geifman and El-Yaniv 2017 (AURC); Traub et al. 2024 (AUGRC).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from faultscape.metrics.rank_counts import Detection
from faultscape.metrics.score_histogram import Histogram16
from faultscape.metrics.scores import VOID
from faultscape.metrics.tie_groups import Groups, groups, groups_of_histogram


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Areas, and the curve thinned to few thresholds, ascending: coverage and risk of keeping all doubts up to each."""

    aurc: float
    augrc: float
    pixels: int
    errors: int
    coverage: np.ndarray = field(repr=False)
    risk: np.ndarray = field(repr=False)
    thresholds: np.ndarray = field(repr=False)


def risk_coverage(
    doubt: np.ndarray, incorrect: np.ndarray, *, void: int = VOID, points: int = 500, where: str = ""
) -> RiskCoverage:
    """Return AURC, AUGRC and the curve, exact, in memory; NaN without pixels.

    >>> r = risk_coverage(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 1, 0]))
    >>> round(r.aurc, 4), r.augrc, r.risk.round(2).tolist()
    (0.1458, 0.09375, [0.0, 0.0, 0.33, 0.25])
    """
    return risk_coverage_of_groups(groups(doubt, incorrect, void=void, where=where), points)


def risk_coverage_of_histogram(doubt: Histogram16, *, points: int = 500) -> RiskCoverage:
    """Return the same of float16 doubts that were counted with the wrong pixels as anomalous: one pass over any number of pixels.

    >>> from faultscape.metrics.score_histogram import histogram16
    >>> risk_coverage_of_histogram(histogram16(np.array([0.5, 1.0], np.float16), np.array([0, 1]))).aurc
    0.25
    """
    return risk_coverage_of_groups(groups_of_histogram(doubt), points)


def risk_coverage_of_groups(found: Groups, points: int = 500) -> RiskCoverage:
    """Return the same from groups of equal doubt whose flagged pixels are wrong.

    >>> risk_coverage_of_groups(Groups(np.array([0.0, 1.0]), np.array([3, 1]), np.array([0, 1]))).aurc
    0.0625
    """
    kept, wrong = np.cumsum(found.pixels), np.cumsum(found.flagged)
    if not len(kept):
        empty = np.empty(0)
        return RiskCoverage(float("nan"), float("nan"), 0, 0, empty, empty, empty)
    n, risk = int(kept[-1]), wrong / kept
    few = np.unique(np.searchsorted(kept, np.linspace(1, n, points))) if len(kept) > points else np.arange(len(kept))
    return RiskCoverage(
        aurc=float((found.pixels * risk).sum() / n),
        augrc=float((found.pixels * (wrong - found.flagged / 2)).sum() / n / n),
        pixels=n,
        errors=int(wrong[-1]),
        coverage=kept[few] / n,
        risk=risk[few],
        thresholds=found.values[few],
    )


def augrc(incorrect: Detection) -> float:
    """Return AUGRC from the detection of wrong pixels by doubt, exact also where it was streamed; NaN without pixels.

    >>> from faultscape.metrics.rank_metrics import detection
    >>> augrc(detection(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0, 0, 1, 0])))
    0.09375
    """
    n = incorrect.positives + incorrect.negatives
    if not n:
        return float("nan")
    wrong = incorrect.positives / n
    unsure = (1 - incorrect.auroc) * wrong * (1 - wrong) if incorrect.positives and incorrect.negatives else 0.0
    return unsure + wrong**2 / 2
