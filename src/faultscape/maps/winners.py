"""From scores to labels: bilinear interpolation to the wanted size, then the largest, without ever holding
the scores at that size.

Conventions: scores are (C, h, w) float32, logits or probabilities; the result has any size. A new pixel lies
at the centre of its share of the old ones (half-pixel centres, edges repeated, no smoothing when the size
shrinks), known as ``align_corners=False``. Ties go to the first class. The order is the same everywhere:
logits -> bilinear -> softmax -> largest; the largest of interpolated logits is also that of their softmax.
Infinite scores (a class that is ruled out, or certain) count as 1e30 of their sign, so that a neighbour of
zero weight has no effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import numpy as np

INFINITE = 1e30
_AT_ONCE = 1 << 22  # interpolated scores in memory at once, if all of them are needed


@runtime_checkable
class OnDevice(Protocol):
    """Scores (C, h, w) that lie on a GPU, where their labels and facts of pixels are made: None where it is
    short of memory, and the processor makes them.
    """

    def __len__(self) -> int: ...
    def labels(self, size: tuple[int, int]) -> np.ndarray | None: ...
    def holds_nan(self) -> bool: ...
    def enlarged(self, size: tuple[int, int], rows: slice) -> Any: ...
    def zeros(self, size: tuple[int, int]) -> Any: ...
    def confidence(self, size: tuple[int, int], *, marginal: bool) -> np.ndarray: ...
    def softmax_sums(self, size: tuple[int, int], *, marginal: bool) -> Sequence[np.ndarray] | None: ...
    def generalised(self, size: tuple[int, int], *, marginal: bool) -> np.ndarray | None: ...
    def class_share(self, channel: int, size: tuple[int, int]) -> np.ndarray | None: ...
    def differential_entropy(self, size: tuple[int, int]) -> np.ndarray | None: ...
    def member_sums(
        self, others: Sequence[Any], size: tuple[int, int], kinds: Sequence[bool]
    ) -> Sequence[np.ndarray] | None: ...
    def generalised_of_members(
        self, others: Sequence[Any], size: tuple[int, int], kinds: Sequence[bool]
    ) -> np.ndarray | None: ...


def labels(scores: np.ndarray | OnDevice, size: tuple[int, int]) -> np.ndarray | None:
    """Return the (H, W) map of the largest score at ``size`` (width, height), uint8 up to 256 classes, else
    uint16; None if a score is NaN.

    >>> labels(np.array([[[0.0, 1.0]], [[0.9, 0.0]]], np.float32), (4, 1)).tolist()
    [[1, 1, 0, 0]]
    """
    if isinstance(scores, OnDevice):
        return scores.labels(size)
    scores = finite(scores)
    kind = np.uint8 if len(scores) <= 256 else np.uint16
    best = np.empty(scores.shape[1:], kind)
    top = np.empty(scores.shape[1:], np.float32)
    if not _kernels().largest(scores, best, top):
        return None
    if (scores.shape[2], scores.shape[1]) == tuple(size):
        return best
    out = np.empty((size[1], size[0]), kind)
    _kernels().draw(scores, best, *between(scores.shape[1], size[1]), *between(scores.shape[2], size[0]), out)
    return out


def holds_nan(scores: np.ndarray | OnDevice) -> bool:
    """Whether any score is NaN.

    >>> holds_nan(np.array([[[0.0, np.nan]]], np.float32))
    True
    """
    return scores.holds_nan() if isinstance(scores, OnDevice) else bool(np.isnan(scores).any())


def zeros(scores: np.ndarray | OnDevice, size: tuple[int, int]) -> np.ndarray:
    """Return (C, H, W) float32 zeros for as many classes, where the scores are.

    >>> zeros(np.ones((2, 1, 1), np.float32), (4, 3)).shape
    (2, 3, 4)
    """
    if isinstance(scores, OnDevice):
        return scores.zeros(size)
    return np.zeros((len(scores), size[1], size[0]), np.float32)


def enlarged(scores: np.ndarray | OnDevice, size: tuple[int, int], rows: slice = slice(None)) -> np.ndarray:
    """Return (C, H, W) float32, the scores at ``size`` (width, height), or some ``rows`` of them.

    >>> enlarged(np.array([[[0.0, 1.0]]], np.float32), (4, 1)).tolist()
    [[[0.0, 0.25, 0.75, 1.0]]]
    """
    if isinstance(scores, OnDevice):
        return scores.enlarged(size, rows)
    scores = finite(scores)
    if (scores.shape[2], scores.shape[1]) == tuple(size):
        return scores[:, rows]
    down = [values[rows] for values in between(scores.shape[1], size[1])]
    out = np.empty((len(scores), len(down[0]), size[0]), np.float32)
    _kernels().stretch(scores, *down, *between(scores.shape[2], size[0]), out)
    return out


def probabilities(scores: np.ndarray, size: tuple[int, int], *, marginal: bool = False) -> np.ndarray:
    """Return (C, H, W) float32 probabilities at ``size``: the softmax of interpolated logits; for
    ``marginal`` scores (sums of class x mask) their share of the sum.

    If marginal scores are all 0, every class has an equal share.
    """
    out = np.array(enlarged(scores, size))
    strip = max(1, _AT_ONCE // max(1, out.shape[0] * out.shape[2]))
    for y in range(0, out.shape[1], strip):
        part = out[:, y : y + strip]
        if marginal:
            np.maximum(part, 0, out=part)
            total = part.sum(0)
            part[:, total == 0] = 1
            part /= np.where(total == 0, np.float32(len(part)), total)
        else:
            part -= part.max(0)
            np.exp(part, out=part)
            part /= part.sum(0)
    return out


def confidence(scores: np.ndarray | OnDevice, size: tuple[int, int], *, marginal: bool = False) -> np.ndarray:
    """Return (H, W) uint8, the probability of the largest class in steps of 1/255, without holding all
    probabilities.

    >>> confidence(np.zeros((4, 1, 1), np.float32), (2, 1)).tolist()
    [[64, 64]]
    """
    if isinstance(scores, OnDevice):
        return scores.confidence(size, marginal=marginal)
    scores = finite(scores)
    rows = between(scores.shape[1], size[1])
    columns = between(scores.shape[2], size[0])
    out = np.empty((size[1], size[0]), np.uint8)
    strip = max(1, _AT_ONCE // max(1, len(scores) * size[0]))
    held = np.empty((len(scores), strip, size[0]), np.float32)
    for y in range(0, size[1], strip):
        part = held[:, : min(strip, size[1] - y)]
        _kernels().stretch(scores, *(values[y : y + strip] for values in rows), *columns, part)
        if marginal:
            np.maximum(part, 0, out=part)
            total = part.sum(0)
            share = np.where(
                total == 0, np.float32(1 / len(part)), part.max(0) / np.where(total == 0, 1, total)
            )
        else:
            part -= part.max(0)
            np.exp(part, out=part)
            share = 1 / part.sum(0)
        out[y : y + strip] = np.rint(share * 255)
    return out


def leading(scores: np.ndarray, few: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (K, H, W) the ``few`` largest scores of each pixel and their classes (uint8 up to 256, else
    uint16), the largest first, ties to the first class.

    With fewer classes than ``few``, all of them. No score may be NaN.

    >>> [
    ...     values.ravel().tolist()
    ...     for values in leading(np.array([[[0.25]], [[0.5]], [[0.25]]], np.float32), 2)
    ... ]
    [[0.5, 0.25], [1, 0]]
    """
    scores = np.ascontiguousarray(scores, np.float32)
    shape = (min(few, len(scores)), *scores.shape[1:])
    values = np.empty(shape, np.float32)
    classes = np.empty(shape, np.uint8 if len(scores) <= 256 else np.uint16)
    _kernels().rank(scores, values, classes)
    return values, classes


def between(old: int, new: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each of ``new`` pixels the two ``old`` pixels that it lies between, and the weight of the
    second.

    >>> [values.tolist() for values in between(2, 4)]
    [[0, 0, 0, 1], [1, 1, 1, 1], [0.0, 0.25, 0.75, 0.0]]
    """
    at = np.maximum((np.arange(new) + 0.5) * (old / new) - 0.5, 0)
    first = np.minimum(at.astype(np.int64), old - 1)
    second = np.minimum(first + 1, old - 1)
    return first, second, np.where(second > first, at - first, 0).astype(np.float32)


def finite(scores: np.ndarray) -> np.ndarray:
    """Return scores as the kernels take them: float32, contiguous, all finite."""
    with np.errstate(all="ignore"):
        scores = np.ascontiguousarray(scores, np.float32)
        if np.isfinite(scores.sum()):  # one pass and no copy; a sum beyond float32 needs a closer look
            return scores
    return np.clip(scores, np.float32(-INFINITE), np.float32(INFINITE)) if np.isinf(scores).any() else scores


def _kernels() -> ModuleType:
    try:
        from faultscape.maps.kernels import winners as compiled_winners
    except ImportError:
        from faultscape.maps.kernels import plain_winners as compiled_winners
    return compiled_winners
