"""Intervals of AP, AUROC and FPR: the bootstrap over images from each image's histogram of coarse scores,
without reading the pixels again.

Conventions: a coarse score is a float16 (65,536 values), arcsinh((x - centre) / width): x is log(p / (1 - p))
where all scores of a data set lie in 0..1, otherwise the score; centre and width are the median and
interquartile distance of the anomalous scores, so that neither an offset nor a unit matters. A coarse score
rises with the score, so that only scores that round to the same float16 tie; it is linear where the anomalies
are and never overflows. Point estimates come from the exact scores; coarse scores serve only intervals, and
their distance from the exact values is reported. An image is sparse: the places (in histogram16's order) that
occur, with their counts.
Source: Efron 1979.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.choices import Connectivity, FprRule
from faultscape.metrics.doubt import LOGIT_END
from faultscape.metrics.scores.counts import Detection
from faultscape.metrics.scores.histogram import KEYS, SIZE, VALUES, Histogram16, histogram16
from faultscape.metrics.scores.inputs import VOID
from faultscape.metrics.scores.region_overlap import region_shares

_TOGETHER = 32  # replicates at once
_PLACES = np.argsort(KEYS).astype(np.uint16)  # of each bit pattern
_HUGE = 1e300  # beyond this, arcsinh changes by less than a step


@dataclass(frozen=True, eq=False)
class SparseHistogram:
    """One image: places (K,) in ascending order of score, the known and anomalous pixels there, and, where
    regions are made, the summed ``shares`` that the anomalous pixels are of their regions.
    """

    places: np.ndarray
    known: np.ndarray
    anomalous: np.ndarray
    shares: np.ndarray | None = None


@dataclass(frozen=True)
class Coarse:
    """How scores of a data set become float16: whether by their logit, and the ``centre`` and ``width`` of
    arcsinh.
    """

    logit: bool
    centre: float = 0.0
    width: float = 1.0


def coarse_of(found: Detection) -> Coarse:
    """Return how to coarsen a data set's scores, from their exact counts.

    >>> from faultscape.metrics.scores.detection import detection
    >>> coarse_of(detection(np.array([7.0, 101.0, 102.0, 104.0]), np.array([0, 1, 1, 1])))
    Coarse(logit=False, centre=102.0, width=3.0)
    """
    logit = found.low >= 0 and found.high <= 1
    if not found.positives:
        return Coarse(logit)
    reached = found.true_positives.searchsorted(np.array([0.25, 0.5, 0.75]) * found.positives)
    ends = [*(float(found.scores[min(at, len(found.scores) - 1)]) for at in reached), found.high, found.low]
    high, centre, low, most, least = _straight(np.array(ends), logit=logit).tolist()
    widths = (high - low, most - least)
    return Coarse(logit, centre, next((width for width in widths if 0 < width < np.inf), 1.0))


def coarse_scores(score: np.ndarray, how: Coarse) -> np.ndarray:
    """Return scores as float16 in the same order.

    >>> (
    ...     coarse_scores(np.array([0.5, 0.75]), Coarse(True)).tolist(),
    ...     coarse_scores(np.array([-1e30, 5.0]), Coarse(False, 5.0)).tolist(),
    ... )
    ([0.0, 0.94921875], [-69.75, 0.0])
    """
    with np.errstate(over="ignore"):  # halved, so that the difference of the largest numbers is finite
        away = (_straight(score, logit=how.logit) / 2 - how.centre / 2) / (how.width / 2)
    return np.arcsinh(np.clip(away, -_HUGE, _HUGE)).astype(np.float16)


def _straight(score: np.ndarray, *, logit: bool) -> np.ndarray:
    """Return scores as float64, or their logits if they lie in 0..1, with those of 0 and 1 made finite."""
    score = np.asarray(score, np.float64)
    if not logit:
        return score
    p = np.clip(score, 0, 1)  # float64 may exceed the range by less than the float32 check shows
    with np.errstate(divide="ignore"):
        return np.clip(np.log(p) - np.log1p(-p), -LOGIT_END, LOGIT_END)


def sparse_histogram(
    score: np.ndarray, anomaly: np.ndarray, how: Coarse, *, void: int = VOID, where: str = ""
) -> SparseHistogram:
    """Return the histogram of one image's coarse scores."""
    judged = np.asarray(anomaly) != void
    found = histogram16(
        coarse_scores(np.asarray(score)[judged], how), np.asarray(anomaly)[judged], void=void, where=where
    )
    places = np.flatnonzero(found.known + found.anomalous)
    return SparseHistogram(places, found.known[places], found.anomalous[places])


def shares_at(
    image: SparseHistogram, score: np.ndarray, anomaly: np.ndarray, how: Coarse, connectivity: Connectivity
) -> np.ndarray:
    """Return (K,), for each place of an image's histogram, the summed shares that the anomalous pixels (H, W)
    there are of their regions.

    >>> score, truth = np.array([[0.9, 0.1, 0.9, 0.8]]), np.array([[1, 0, 1, 1]])
    >>> shares_at(sparse_histogram(score, truth, Coarse(True)), score, truth, Coarse(True), 8).tolist()
    [0.0, 0.5, 1.5]
    """
    anomalous = np.asarray(anomaly) == 1
    # minus zero counts as zero
    bits = (coarse_scores(np.asarray(score)[anomalous], how) + np.float16(0)).view(np.uint16)
    at = image.places.searchsorted(_PLACES[bits])
    return np.bincount(at, region_shares(anomalous, connectivity), minlength=len(image.places))


def together(images: Sequence[SparseHistogram]) -> Histogram16:
    """Return the histogram of all images."""
    known, anomalous = np.zeros((2, SIZE), np.int64)
    for image in images:
        known[image.places] += image.known
        anomalous[image.places] += image.anomalous
    return Histogram16(known, anomalous)


def replicates(
    images: Sequence[SparseHistogram],
    weights: np.ndarray,
    *,
    fpr_rule: FprRule = "first",
    recall: float = 0.95,
) -> np.ndarray:
    """Return (B, 3) average precision, AUROC and FPR when images count ``weights`` (B, I) times; NaN where a
    replicate has no anomalous or no other pixels.

    >>> one = sparse_histogram(np.array([0.1, 0.9]), np.array([0, 1]), Coarse(True))
    >>> replicates([one], np.array([[1.0], [2.0]])).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    """
    return np.concatenate(
        [
            areas_of(own[:, ::-1], other[:, ::-1], fpr_rule=fpr_rule, recall=recall)
            for other, own in grouped(images, weights)
        ]
    )


def grouped(
    images: Sequence[SparseHistogram], weights: np.ndarray, columns: Sequence[str] = ("known", "anomalous")
) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield (known, anomalous) pixels (b, K), or other ``columns``, for a few replicates at a time, at every
    place that occurs, in ascending order of score.
    """
    from scipy.sparse import csr_array

    ends = np.cumsum([0, *(len(image.places) for image in images)])
    used, at = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(image.places for image in images)]), return_inverse=True
    )
    shape = (len(images), len(used))
    tables: list[Any] = [
        csr_array((np.concatenate([np.zeros(0), *(getattr(i, name) for i in images)]), at, ends), shape=shape)
        for name in columns
    ]
    for low in range(0, len(weights), _TOGETHER):
        rows = weights[low : low + _TOGETHER].T
        yield tuple((table.T @ rows).T for table in tables)


def confidence_at(images: Sequence[SparseHistogram], how: Coarse) -> np.ndarray:
    """Return (K,) the confidence 1 - doubt at every place that occurs, in the order of `grouped`, where
    scores are doubts made coarse by their logit.

    >>> confidence_at(
    ...     [sparse_histogram(np.array([0.5, 0.25]), np.array([0, 1]), Coarse(True))], Coarse(True)
    ... ).round(3).tolist()
    [0.75, 0.5]
    """
    from scipy.special import expit

    used = np.unique(np.concatenate([np.zeros(0, np.int64), *(image.places for image in images)]))
    return expit(-np.sinh(VALUES[used].astype(np.float64)) * how.width - how.centre)


def areas_of(
    own: np.ndarray, other: np.ndarray, *, fpr_rule: FprRule = "first", recall: float = 0.95
) -> np.ndarray:
    """Return (B, 3) average precision, AUROC and FPR from positives and negatives (B, K) at descending
    scores; each place is a group of ties.

    >>> areas_of(np.array([[1, 1, 0]]), np.array([[0, 1, 2]])).round(4).tolist()
    [[0.8333, 0.9167, 0.3333]]
    """
    if not own.shape[1]:  # every pixel is void
        return np.full((len(own), 3), np.nan)
    tp = np.cumsum(own, 1)
    fp = np.cumsum(other, 1)
    positives = tp[:, -1:]
    negatives = fp[:, -1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(own > 0, own * tp / (tp + fp), 0.0).sum(1) / positives[:, 0]
        auroc = (other * (tp - own / 2)).sum(1) / (positives * negatives)[:, 0]
        share = tp / positives
        if fpr_rule == "closest":
            # all were found earlier, or the place has no pixel
            passed = (tp - own >= positives) | (tp + fp == 0)
            away = np.where(passed, np.inf, np.abs(share - recall))
            at = share.shape[1] - 1 - away[:, ::-1].argmin(1)
        else:
            at = (share >= recall).argmax(1)
        fpr = fp[np.arange(len(fp)), at] / negatives[:, 0]
    fpr[positives[:, 0] == 0] = np.nan
    return np.stack([precision, auroc, fpr], 1)
