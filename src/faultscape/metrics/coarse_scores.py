"""Intervals of AP, AUROC and FPR without a second pass over pixels: per-image histograms of scores rounded to float16.

Conventions: a score is rounded to float16 after its logit (``kind="logit"``, for data sets whose scores all lie in 0..1) or its area sine (``"arcsinh"``, for
all others), which keeps relative differences at both ends; ``coarse_kind`` decides once for a data set. Only scores that are not void are looked at.
A histogram is sparse: ascending ``keys`` (uint16, in the order of the scores) and the known and anomalous pixels of each. The point of a metric comes from the exact
scores, the interval from these, and both are shown: on made scores AP differed by some 1e-4 of itself.
Source: own; the bootstrap over images of Efron 1979.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from faultscape.errors import MetricError, OptionError
from faultscape.metrics.doubt import logit16
from faultscape.metrics.rank_counts import check_rule
from faultscape.metrics.score_histogram import KEYS, histogram16
from faultscape.metrics.scores import VOID, flat

KINDS = ("logit", "arcsinh")
_CELLS = 1 << 21  # of one array of a block of replicates
_PLACES = np.argsort(KEYS).astype(np.uint16)  # the place of each bit pattern in ascending order of the numbers


class SparseHistogram(NamedTuple):
    """Pixels of one image at each coarse score that occurs, keys ascending with the scores."""

    keys: np.ndarray
    known: np.ndarray
    anomalous: np.ndarray


class RankMetrics(NamedTuple):
    """One number a replicate, (B,) each; NaN where a draw has no anomalous or no known pixel."""

    average_precision: np.ndarray
    auroc: np.ndarray
    fpr95: np.ndarray


def coarse_kind(low: float, high: float) -> str:
    """Return "logit" for scores between 0 and 1, else "arcsinh".

    >>> coarse_kind(0.0, 1.0), coarse_kind(-3.0, 0.5)
    ('logit', 'arcsinh')
    """
    return "logit" if low >= 0 and high <= 1 else "arcsinh"


def coarse_keys(score: np.ndarray, kind: str) -> np.ndarray:
    """Return uint16 keys in the order of the scores; MetricError for "logit" of scores outside 0..1.

    >>> coarse_keys(np.array([0.0, 0.5, 1.0]), "logit")
    array([ 6143, 32768, 59392], dtype=uint16)
    """
    return _PLACES[(_rounded(score, kind) + np.float16(0)).view(np.uint16)]


def sparse_histogram(score: np.ndarray, anomaly: np.ndarray, kind: str, *, void: int = VOID, where: str = "") -> SparseHistogram:
    """Return the histogram of one image's coarse scores where ``anomaly`` (0, 1, 255 = void) is not void.

    >>> sparse_histogram(np.array([0.5, 0.5, 0.75]), np.array([0, 1, 255]), "logit").anomalous
    array([1])
    """
    score, anomaly = flat(score, anomaly, where)
    if (anomaly == void).any():
        score, anomaly = score[anomaly != void], anomaly[anomaly != void]
    if not np.isfinite(score).all():
        at, bad = f"{where}: " if where else "", int(np.count_nonzero(~np.isfinite(score)))
        raise MetricError(
            f"{at}{bad} of {len(score)} scores are NaN or infinite; expected finite numbers in all pixels that are not void"
        )
    h = histogram16(_rounded(score, kind), anomaly, void=void, where=where)
    keys = np.flatnonzero(h.known + h.anomalous)
    return SparseHistogram(keys.astype(np.uint16), h.known[keys], h.anomalous[keys])


def from_histograms(
    images: Sequence[SparseHistogram], weights: np.ndarray | None = None, *, fpr_rule: str = "first", recall: float = 0.95
) -> RankMetrics:
    """Return the pooled metrics for each row of ``weights`` (B, I): how often each image is drawn; default each once, B = 1.

    >>> h = SparseHistogram(np.array([1, 2, 3]), np.array([2, 0, 1]), np.array([0, 1, 1]))
    >>> [float(values[0].round(4)) for values in from_histograms([h])]
    [0.5833, 0.75, 0.3333]
    """
    check_rule(fpr_rule, recall)
    weights = np.ones((1, len(images))) if weights is None else np.asarray(weights, float)
    if weights.ndim != 2 or weights.shape[1] != len(images):
        raise MetricError(f"weights have shape {weights.shape}; expected replicates x {len(images)} images")
    if not sum(len(h.keys) for h in images):
        return RankMetrics(*(np.full(len(weights), np.nan) for _ in range(3)))
    known, anomalous = _by_score(images)
    step = max(1, _CELLS // known.shape[0])
    parts = [
        _metrics(known @ block.T, anomalous @ block.T, fpr_rule, recall)
        for block in (weights[low : low + step] for low in range(0, len(weights), step))
    ]
    return RankMetrics(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _rounded(score: np.ndarray, kind: str) -> np.ndarray:
    if kind not in KINDS:
        raise OptionError(f"kind={kind!r} is not known; use {', '.join(KINDS)}")
    return (
        logit16(score)
        if kind == "logit"
        else np.arcsinh(score.astype(np.float32) if score.dtype == np.float16 else score).astype(np.float16)
    )


def _by_score(images: Sequence[SparseHistogram]) -> tuple:
    """Return the known and anomalous pixels as sparse matrices (distinct keys, descending, x images)."""
    from scipy.sparse import csr_array

    keys, places = np.unique(np.concatenate([h.keys for h in images]).astype(np.int64) * -1, return_inverse=True)
    columns = np.repeat(np.arange(len(images)), [len(h.keys) for h in images])
    shape = (len(keys), len(images))
    known, anomalous = (np.concatenate([h[which] for h in images]).astype(float) for which in (1, 2))
    return csr_array((known, (places, columns)), shape=shape), csr_array((anomalous, (places, columns)), shape=shape)


def _metrics(known: np.ndarray, anomalous: np.ndarray, fpr_rule: str, recall: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return AP, AUROC and FPR of counts (U, B), scores descending; the counts are whole numbers in float64."""
    hits, reach = anomalous.cumsum(0), known.cumsum(0)
    positives, negatives = hits[-1], reach[-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.divide(hits, hits + reach, out=np.zeros_like(hits), where=hits > 0)
        ap = (anomalous * precision).sum(0) / positives
        auroc = 1 - (anomalous * (2 * reach - known)).sum(0) / (2 * positives * negatives)
        if fpr_rule == "first":
            row = (hits / positives < recall).sum(0)
        else:  # only where a positive stands, and of two the larger recall
            away = np.where(anomalous > 0, np.abs(hits - recall * positives), np.inf)
            row = len(away) - 1 - away[::-1].argmin(0)
        fpr = reach[np.minimum(row, len(reach) - 1), np.arange(reach.shape[1])] / negatives
        fpr[positives == 0] = np.nan
    return ap, auroc, fpr
