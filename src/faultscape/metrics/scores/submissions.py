"""Round submitted scores of unknown meaning to 16 bits, keeping their order, finely where a score of its kind
needs it.

Conventions: the result has the bits of float16, so that histograms count it like any score, but its values
mean nothing. A score between 0 and 1 is rounded by its logit, finely near both ends; values beyond the ends
keep their order in steps of a 128th. Any other score is rounded as its difference to an offset, with eight
bits of fraction and seven of exponent: to one part in 512 of the difference, for differences of 2^-62 to
2^62. The first image decides which of the two applies (`offset_of_submitted`).
Source: own.
"""

from __future__ import annotations

import numpy as np

from faultscape.metrics.doubt import LOGIT_END

_LAST = 0x7BFF  # the largest finite float16, by its bits
_SIGN = 0x8000
_FEWER = 8  # a score between 0 and 1 may lose this factor of its steps when rounded by its logit


def round_submitted(score: np.ndarray, offset: float | None) -> np.ndarray:
    """Return a float32 score (H, W) as float16 in the same order; without an offset, as one between 0 and 1.

    >>> bool(
    ...     (
    ...         np.diff(
    ...             round_submitted(np.array([-7e8, -1.0, 0.0, 1e-9, 1e-3, 1.0, 1.01, 7e8], np.float32), 0.0)
    ...         )
    ...         > 0
    ...     ).all()
    ... )
    True
    >>> bool(
    ...     (
    ...         np.diff(
    ...             round_submitted(
    ...                 np.array([-7e8, -1.0, 0.0, 1e-9, 1e-3, 1 - 1e-6, 1.0, 1.01, 7e8], np.float32), None
    ...             )
    ...         )
    ...         > 0
    ...     ).all()
    ... )
    True
    """
    if offset is None:
        return _by_logit(score)
    difference = np.subtract(score, offset, dtype=np.float64).astype(np.float32)
    return _with_sign(_places(np.abs(difference), lowest=2.0**-62, fraction=8), difference < 0)


def offset_of_submitted(score: np.ndarray) -> float | None:
    """Return the offset of scores of this kind, their median, from those of one image; None for scores
    between 0 and 1, unless their logits would be rounded to far fewer steps.

    >>> offset_of_submitted(np.array([-3.0, 1.0, 2.5], np.float32))
    1.0
    >>> offset_of_submitted(np.array([0.0, 0.01, 0.999], np.float32)) is None
    True
    """
    offset = float(np.median(score))
    if not (score.min() >= 0 and score.max() <= 1):
        return offset
    by_logit, by_difference = (len(np.unique(round_submitted(score, way))) for way in (None, offset))
    return offset if by_difference > _FEWER * by_logit else None


def _by_logit(score: np.ndarray) -> np.ndarray:
    inside = np.clip(score.astype(np.float64), 0, 1)
    with np.errstate(divide="ignore"):
        logit = np.clip(np.log(inside) - np.log1p(-inside), -LOGIT_END, LOGIT_END).astype(np.float16)
    below = score < 0
    above = score > 1
    if not (below.any() or above.any()):
        return logit
    end = int(np.array(LOGIT_END, np.float16).view(np.uint16))
    beyond = np.where(below, 1 - score.astype(np.float64), score).astype(np.float32)
    outside = _with_sign(
        np.minimum(end + _places(np.maximum(beyond, 1), lowest=1.0, fraction=7), _LAST), below
    )
    return np.where(below | above, outside, logit)


def _places(values: np.ndarray, *, lowest: float, fraction: int) -> np.ndarray:
    """Return integers in the order of float32 values of 0 and more: their exponent and ``fraction`` bits of
    their fraction, counted from 0 at the ``lowest``.
    """
    dropped = 23 - fraction
    bits = values.view(np.int32).astype(np.int64) + (1 << (dropped - 1))  # round to nearest
    return np.clip(
        (bits >> dropped) - (int(np.array(lowest, np.float32).view(np.int32)) >> dropped), 0, _LAST
    )


def _with_sign(places: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Return float16 values from their bits; there is no minus zero at place 0."""
    return np.where(negative & (places > 0), places | _SIGN, places).astype(np.uint16).view(np.float16)
