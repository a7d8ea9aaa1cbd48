"""One pass over float16 scores: counts of known and anomalous pixels at each of the 65,536 bit patterns.

Conventions: ``known`` and ``anomalous`` (65536,) int64 are in ascending order of the scores (`KEYS`) and add
up over images, processes and machines in any order. Every metric computed from them is exact for float16
scores, and exact up to the rounding to float16 for others. Scores that are not float16 are refused: how to
round them is a decision (`coarse_scores`, `doubt.logit16`). Minus zero counts as zero.

``histogram`` is that of one image, or the sum of several.

Source: IEEE 754 half precision, whose bit patterns are in the order of the numbers except for the sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from faultscape.choices import FprRule
from faultscape.errors import MetricError
from faultscape.metrics.scores.counts import Detection, Rows, summarise
from faultscape.metrics.scores.inputs import VOID, check_mask, flat

SIZE = 1 << 16
# bit patterns in ascending order
KEYS = np.concatenate([np.arange(0xFFFF, 0x7FFF, -1), np.arange(0x8000)]).astype(np.uint16)
VALUES = KEYS.view(np.float16)
_FIRST, _LAST = 0x03FF, 0xFC00  # the finite ones: negative NaN and -inf come before, inf and NaN after
_ZERO = 0x8000  # the place of zero; minus zero is just before it
_PIXELS = 1 << 31  # the kernel counts in uint32


@dataclass(frozen=True, eq=False)
class Histogram16:
    """Pixels at each float16 score in ascending order, known and anomalous; ``+`` adds two."""

    known: np.ndarray  # (65536,) int64: known pixels at each float16 value, ascending
    anomalous: np.ndarray  # (65536,) int64: anomalous pixels, in the same order

    def __add__(self, other: Histogram16) -> Histogram16:
        return Histogram16(self.known + other.known, self.anomalous + other.anomalous)

    @property
    def opposite(self) -> Histogram16:
        """The same pixels with minus the score, known and anomalous swapped."""
        return Histogram16(_mirrored(self.anomalous), _mirrored(self.known))


def histogram16(score: np.ndarray, anomaly: np.ndarray, *, void: int = VOID, where: str = "") -> Histogram16:
    """Return the counts of float16 ``score`` (any shape) where ``anomaly`` is 0 and 1; NaN and infinite
    scores raise MetricError.

    >>> h = histogram16(np.array([0.5, 0.5, 2.0], np.float16), np.array([0, 1, 255]))
    >>> int(h.known.sum()), int(h.anomalous.sum()), float(VALUES[h.known.argmax()])
    (1, 1, 0.5)
    """
    score, anomaly = flat(score, anomaly, where)
    if score.dtype != np.float16:
        raise MetricError(
            f"{where + ': ' if where else ''}the score holds {score.dtype}; expected float16 (see logit16)"
        )
    bits = np.ascontiguousarray(score).view(np.uint16)
    kernels = counting_kernels()
    by_bits = np.zeros((2, SIZE), np.int64)
    if kernels is None or anomaly.dtype != np.uint8:
        for label in (0, 1):
            by_bits[label] = np.bincount(bits[anomaly == label], minlength=SIZE)
    else:
        anomaly = np.ascontiguousarray(anomaly)
        for low in range(0, len(bits), _PIXELS):
            counted = np.zeros((4, SIZE), np.uint32)
            kernels.count_bits(bits[low : low + _PIXELS], anomaly[low : low + _PIXELS], counted)
            by_bits += counted[:2].astype(np.int64) + counted[2:]
    if by_bits.sum() < score.size:
        check_mask(anomaly, void, where)
    counts = by_bits[:, KEYS]
    finite = counts[:, _FIRST + 1 : _LAST].sum()
    if finite < counts.sum():
        at = f"{where}: " if where else ""
        raise MetricError(
            f"{at}{counts.sum() - finite} of {counts.sum()} scores are NaN or infinite; expected finite"
            " numbers in all pixels that are not void (float16 ends at 65504)"
        )
    counts[:, _ZERO] += counts[:, _ZERO - 1]
    counts[:, _ZERO - 1] = 0
    return Histogram16(counts[0], counts[1])


def places_of(score: np.ndarray) -> np.ndarray:
    """Return the place of each float16 score among all 65,536, (H, W) int32; NaN is beyond the finite ones.

    >>> VALUES[places_of(np.array([-1.5, -0.0, 2.0], np.float16))].tolist()
    [-1.5, 0.0, 2.0]
    """
    # minus zero becomes zero
    bits = np.ascontiguousarray(score + np.float16(0)).view(np.uint16).astype(np.int32)
    return np.where(bits >= 0x8000, 0xFFFF - bits, bits + 0x8000)


def detection_from_histogram(
    histogram: Histogram16, *, fpr_rule: FprRule = "first", recall: float = 0.95, alarm: float = 0.05
) -> Detection:
    """Return the same result as ``detection`` for the float16 scores that were counted.

    >>> h = histogram16(np.array([0.5, 0.25, 2.0], np.float16), np.array([0, 1, 1]))
    >>> round(detection_from_histogram(h).average_precision, 4)
    0.8333
    """
    reach = np.cumsum(histogram.known[::-1])[::-1]
    places = np.flatnonzero(histogram.anomalous)[::-1]
    used = np.flatnonzero(histogram.known + histogram.anomalous)
    span = (float(VALUES[used[0]]), float(VALUES[used[-1]])) if len(used) else (np.nan, np.nan)
    rows = Rows(
        VALUES[places].astype(np.float32),
        np.cumsum(histogram.anomalous[places]),
        reach[places],
        reach[places] - histogram.known[places],
    )
    positives = int(histogram.anomalous.sum())
    negatives = int(histogram.known.sum())
    return summarise([rows], positives, negatives, span=span, fpr_rule=fpr_rule, recall=recall, alarm=alarm)


def _mirrored(counts: np.ndarray) -> np.ndarray:
    """Return the counts of minus the score: the place of -x mirrors that of x, and zero stays."""
    mirrored = counts[::-1].copy()
    mirrored[_ZERO], mirrored[_ZERO - 1] = counts[_ZERO], 0
    return mirrored


@cache
def counting_kernels() -> Any:
    """Return the compiled kernel, or None where numba cannot be imported."""
    try:
        from faultscape.metrics.kernels import stream as compiled_histogram
    except ImportError:
        return None
    return compiled_histogram
