"""The plain twin of `planes`: the same functions in NumPy, with the same bytes.

Conventions: those of `planes`.
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.streams import words_at

_HALF = 1 << 11
_SHIFT = 12


def blur(planes: np.ndarray, weights: np.ndarray, lines: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the planes weighted along rows, then along columns."""
    radius = len(weights) // 2
    for source, target, axis in ((planes, lines, 1), (lines, out, 0)):
        ends = [(0, 0)] * 3
        ends[axis] = (radius, radius)
        wide = np.pad(source.astype(np.int64), ends)
        total = np.full(source.shape, _HALF, np.int64)
        for k, weight in enumerate(weights):
            total += weight * wide.take(range(k, k + source.shape[axis]), axis)
        target[...] = total >> _SHIFT


def resample(
    planes: np.ndarray,
    first_y: np.ndarray,
    weights_y: np.ndarray,
    first_x: np.ndarray,
    weights_x: np.ndarray,
    lines: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill ``out``: pixel (y, x) weighs the planes' rows from first_y[y] and columns from first_x[x] on."""
    total = np.full(lines.shape, _HALF, np.int64)
    for k in range(weights_x.shape[1]):
        total += planes[:, first_x + k].astype(np.int64) * weights_x[:, k, None]
    lines[...] = total >> _SHIFT
    total = np.full(out.shape, _HALF, np.int64)
    for k in range(weights_y.shape[1]):
        total += lines[first_y + k].astype(np.int64) * weights_y[:, k, None, None]
    out[...] = total >> _SHIFT


def move(planes: np.ndarray, centre_y: int, centre_x: int, share: int, taps: int, out: np.ndarray) -> None:
    """Fill ``out`` with the mean of ``taps`` points on the ray from (centre_y, centre_x) through each
    pixel.
    """
    height, width, _ = planes.shape
    y, x = np.mgrid[:height, :width]
    total = np.zeros(planes.shape, np.int64)
    for tap in range(taps):
        place = 2 * tap - (taps - 1)
        reach = 2 * (taps - 1)
        at_y = y * 256 + ((y - centre_y) * share * place // reach + 2048 >> 12)
        at_x = x * 256 + ((x - centre_x) * share * place // reach + 2048 >> 12)
        point = np.full(planes.shape, 32768, np.int64)
        for i in range(2):
            for j in range(2):
                row = (at_y >> 8) + i
                column = (at_x >> 8) + j
                inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
                part_y = at_y & 255
                part_x = at_x & 255
                weight = np.where(
                    inside, (part_y if i else 256 - part_y) * (part_x if j else 256 - part_x), 0
                )
                point += (
                    planes[np.where(inside, row, 0), np.where(inside, column, 0)].astype(np.int64)
                    * weight[..., None]
                )
        total += point >> 16
    out[...] = (total + taps // 2) // taps


def add_noise(colour: np.ndarray, start: np.uint64, sigmas: np.ndarray) -> None:
    """Add nearly normal noise with a standard deviation per channel to ``colour`` in place."""
    words = words_at(int(start), colour.size).reshape(colour.shape)
    total = sum((words >> np.uint64(shift) & np.uint64(0xFFFF)).astype(np.int64) for shift in (0, 16, 32, 48))
    colour[...] = np.clip(colour + (total - 131070) * sigmas // 37837, 0, 65280)


def straighten(planes: np.ndarray, colour: np.ndarray, alpha: np.ndarray) -> None:
    """Fill ``colour`` (h, w, 3) and ``alpha`` (h, w) from planes (h, w, 4) of colour times alpha,
    and alpha.
    """
    alpha[...] = planes[..., 3]
    divisor = np.maximum(alpha, 1)[..., None]
    colour[...] = np.minimum((planes[..., :3] + divisor // 2) // divisor, 65280)


def overexposed(
    colour: np.ndarray, alpha: np.ndarray, window: np.ndarray, bright: int, cell: int, out: np.ndarray
) -> bool:
    """Fill ``out`` (rows, columns, 6) with the means over cells of the excess above ``bright``, in the frame
    beside the object and in the object; return whether there is any.
    """
    frame = np.maximum(window.astype(np.int32) - bright, 0) * 256 * (4096 - alpha)[..., None] >> 12
    light = np.maximum(colour - bright * 256, 0) * alpha[..., None] >> 12
    both = np.concatenate([frame, light], 2)
    rows, columns = out.shape[:2]
    both = np.pad(both, ((0, rows * cell - both.shape[0]), (0, columns * cell - both.shape[1]), (0, 0)))
    out[...] = both.reshape(rows, cell, columns, cell, 6).sum((1, 3), dtype=np.int32) // (cell * cell)
    return bool(both.any())


def count_values(image: np.ndarray) -> np.ndarray:
    """Return (3, 256) int64: how often each value occurs in each channel of an (H, W, 3) uint8 image."""
    return np.stack([np.bincount(image[..., c].ravel(), minlength=256) for c in range(3)]).astype(np.int64)
