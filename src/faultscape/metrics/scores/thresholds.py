"""The threshold of a false-alarm rate: the place from which on pixels are flagged, and the score there.

Conventions: a pixel is flagged if its rounded score is at the threshold or above. The threshold of a rate is
the lowest place at which no more than that share of the known pixels is flagged. Images without anomalies are
counted at one place in 16, so a threshold learnt from them stands where 16 places begin, and flags exactly
what was counted.
Source: own.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.scorers import Scorer, rounded
from faultscape.metrics.scores.grouped_counts import COARSE
from faultscape.metrics.scores.histogram import SIZE, places_of

_LAST = 0x7F7FFFFF  # bits of the largest finite float32


def threshold_place(known: np.ndarray, rate: float) -> int:
    """Return the lowest place at which at most a share of the known pixels, counts (65536,), is flagged;
    65536 where no place is.

    >>> threshold_place(np.bincount([1, 1, 1, 5], minlength=SIZE), 0.25)
    2
    """
    allowed = np.flatnonzero(np.cumsum(known[::-1])[::-1] <= rate * known.sum())
    return int(allowed[0]) if len(allowed) and known.any() else SIZE


def learnt_place(known: np.ndarray, rate: float) -> int:
    """Return the threshold of a rate from counts (65536,), some of them at one place in 16.

    >>> learnt_place(np.bincount([8, 8, 8, 40], minlength=SIZE), 0.25)
    16
    """
    return -(-threshold_place(known, rate) // COARSE) * COARSE


def lowest_score(scorer: Scorer, place: int, classes: int, offset: float | None) -> float:
    """Return the lowest float32 score that is flagged from a place on, NaN where none is; ``classes`` and
    ``offset`` are those of `scorers.rounded`.

    >>> from faultscape.metrics.scorers import scorer_named
    >>> lowest_score(scorer_named("msp"), int(places_of(np.float16([0]))[0]), 2, 0.0)
    0.5
    """

    def flagged(order: int) -> bool:
        score = np.array([abs(order)], np.uint32).view(np.float32) * np.float32(np.sign(order) or 1)
        return int(places_of(rounded(scorer, score, classes, offset))[0]) >= place

    low, high = -_LAST, _LAST
    if not flagged(high):
        return float("nan")
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if flagged(middle) else (middle + 1, high)
    return float(np.array([abs(high)], np.uint32).view(np.float32)[0]) * (-1 if high < 0 else 1)
