"""Blurs, resampling, motion, noise and counts of values in integer arithmetic.

Conventions: planes are (h, w, k) int32; weights are whole numbers with sum 2^12; outside is 0. Results are
rounded to nearest, halves up. The plain twin is `plain_planes`, which gives the same bytes.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit
from faultscape.stressors.kernels.streams import word_at

_HALF = 1 << 11
_SHIFT = 12


@jit
def blur(planes: np.ndarray, weights: np.ndarray, lines: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out`` with the planes weighted along rows, then along columns; ``lines`` (h, w, k) is scratch
    space for the first pass.
    """
    height, width, count = planes.shape
    radius = len(weights) // 2
    row = width * count
    source = planes.reshape(height, row)
    middle = lines.reshape(height, row)
    target = out.reshape(height, row)
    totals = np.empty(row, np.int64)
    for y in range(height):
        totals[:] = _HALF
        for k in range(len(weights)):
            step = (k - radius) * count
            weight = np.int64(weights[k])
            for i in range(max(0, -step), min(row, row - step)):
                totals[i] += np.int64(source[y, i + step]) * weight
        for i in range(row):
            middle[y, i] = totals[i] >> _SHIFT
    for y in range(height):
        totals[:] = _HALF
        for k in range(max(0, y - radius), min(height, y + radius + 1)):
            weight = np.int64(weights[k - y + radius])
            for i in range(row):
                totals[i] += np.int64(middle[k, i]) * weight
        for i in range(row):
            target[y, i] = totals[i] >> _SHIFT


@jit
def resample(
    planes: np.ndarray,
    first_y: np.ndarray,
    weights_y: np.ndarray,
    first_x: np.ndarray,
    weights_x: np.ndarray,
    lines: np.ndarray,
    out: np.ndarray,
) -> None:
    """Fill ``out`` (H, W, k): pixel (y, x) weighs the planes' rows from first_y[y] and columns from
    first_x[x] on; ``lines`` (h, W, k) is scratch space.
    """
    height = planes.shape[0]
    count = planes.shape[2]
    for y in range(height):
        for x in range(lines.shape[1]):
            for c in range(count):
                total = np.int64(_HALF)
                for k in range(weights_x.shape[1]):
                    total += np.int64(planes[y, first_x[x] + k, c]) * weights_x[x, k]
                lines[y, x, c] = total >> _SHIFT
    row = lines.shape[1] * count
    middle = lines.reshape(height, row)
    target = out.reshape(out.shape[0], row)
    totals = np.empty(row, np.int64)
    for y in range(out.shape[0]):
        totals[:] = _HALF
        for k in range(weights_y.shape[1]):
            weight = np.int64(weights_y[y, k])
            for i in range(row):
                totals[i] += np.int64(middle[first_y[y] + k, i]) * weight
        for i in range(row):
            target[y, i] = totals[i] >> _SHIFT


@jit
def move(planes: np.ndarray, centre_y: int, centre_x: int, share: int, taps: int, out: np.ndarray) -> None:
    """Fill ``out`` with the mean of ``taps`` points on the ray from (centre_y, centre_x) through each pixel,
    over share / 2^20 of its distance.
    """
    height, width, count = planes.shape
    reach = 2 * (taps - 1)
    totals = np.zeros(count, np.int64)
    for y in range(height):
        for x in range(width):
            totals[:] = taps // 2
            for tap in range(taps):
                place = 2 * tap - (taps - 1)
                at_y = y * 256 + ((y - centre_y) * share * place // reach + 2048 >> 12)
                at_x = x * 256 + ((x - centre_x) * share * place // reach + 2048 >> 12)
                low_y = at_y >> 8
                low_x = at_x >> 8
                part_y = at_y & 255
                part_x = at_x & 255
                for c in range(count):
                    total = np.int64(32768)
                    for i in range(2):
                        for j in range(2):
                            row = low_y + i
                            column = low_x + j
                            if 0 <= row < height and 0 <= column < width:
                                weight = (part_y if i else 256 - part_y) * (part_x if j else 256 - part_x)
                                total += np.int64(planes[row, column, c]) * weight
                    totals[c] += total >> 16
            for c in range(count):
                out[y, x, c] = totals[c] // taps


@jit
def add_noise(colour: np.ndarray, start: np.uint64, sigmas: np.ndarray) -> None:
    """Add noise with a standard deviation per channel to ``colour`` in place: the sum of four uniform 16-bit
    numbers, which is nearly normal.
    """
    height, width, count = colour.shape
    mask = np.uint64(0xFFFF)
    sixteen = np.uint64(16)
    for y in range(height):
        for x in range(width):
            for c in range(count):
                word = word_at(start, np.uint64((y * width + x) * count + c))
                total = np.int64(0)
                for _ in range(4):
                    total += np.int64(word & mask)
                    word >>= sixteen
                drawn = (total - 131070) * sigmas[c] // 37837
                colour[y, x, c] = min(max(colour[y, x, c] + drawn, 0), 65280)


@jit
def straighten(planes: np.ndarray, colour: np.ndarray, alpha: np.ndarray) -> None:
    """Fill ``colour`` (h, w, 3) and ``alpha`` (h, w) from planes (h, w, 4) of colour times alpha, and alpha;
    where alpha is 0, the colour is too.
    """
    for y in range(planes.shape[0]):
        for x in range(planes.shape[1]):
            whole = planes[y, x, 3]
            alpha[y, x] = whole
            for c in range(3):
                value = planes[y, x, c]
                if whole == 4096:
                    value = (value + 2048) >> 12
                elif whole > 0:
                    value = (value + whole // 2) // whole
                colour[y, x, c] = min(value, 65280)


@jit
def overexposed(
    colour: np.ndarray, alpha: np.ndarray, window: np.ndarray, bright: int, cell: int, out: np.ndarray
) -> bool:
    """Fill ``out`` (rows, columns, 6) with the means over cells of the excess above ``bright``, in the frame
    beside the object and in the object; return whether there is any.
    """
    height, width = alpha.shape
    found = False
    out[:] = 0
    for y in range(height):
        for x in range(width):
            own = alpha[y, x]
            for c in range(3):
                frame = max(np.int32(window[y, x, c]) - bright, 0) * 256 * (4096 - own) >> 12
                light = max(colour[y, x, c] - bright * 256, 0) * own >> 12
                if frame > 0 or light > 0:
                    found = True
                    out[y // cell, x // cell, c] += frame
                    out[y // cell, x // cell, c + 3] += light
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for c in range(6):
                out[i, j, c] //= cell * cell
    return found


@jit
def count_values(image: np.ndarray) -> np.ndarray:
    """Return (3, 256) int64: how often each value occurs in each channel of an (H, W, 3) uint8 image."""
    counts = np.zeros((3, 256), np.int64)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            for c in range(3):
                counts[c, image[y, x, c]] += 1
    return counts
