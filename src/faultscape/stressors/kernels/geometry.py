"""Loops that move or gather pixels, compiled; the plain twin is plain_geometry.

Conventions: an image is (H, W * C) values. A position between two pixels is a whole number and a weight in
steps of 2^-14 (2^-11 for ``elastic``); everything is an integer.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit
from faultscape.stressors.kernels.streams import word_at


@jit
def zoom_layers(
    rows: np.ndarray,
    channels: int,
    y0: np.ndarray,
    fy: np.ndarray,
    x0: np.ndarray,
    fx: np.ndarray,
    still: int,
    factor: int,
    out: np.ndarray,
) -> None:
    """Write to ``out`` the mean of ``still`` times the image and its layers, each read at (y0 + fy, x0 + fx)
    of (L, H) and (L, W); ``factor`` is 2^32 divided by their number.
    """
    high, wide = rows.shape
    acc = np.empty(wide, np.int64)
    line = np.zeros(wide + channels, np.int32)
    for y in range(high):
        row = rows[y]
        target = out[y]
        for x in range(wide):
            acc[x] = (still << 22) * np.int64(row[x])
        for layer in range(y0.shape[0]):
            _row_between(rows, y0[layer, y], fy[layer, y], 6, line)
            places = x0[layer]
            weights = fx[layer]
            if channels == 3:
                for x in range(places.size):
                    k = 3 * places[x]
                    f = np.int64(weights[x])
                    g = 16384 - f
                    acc[3 * x] += line[k] * g + line[k + 3] * f
                    acc[3 * x + 1] += line[k + 1] * g + line[k + 4] * f
                    acc[3 * x + 2] += line[k + 2] * g + line[k + 5] * f
            else:
                for x in range(places.size):
                    k = places[x]
                    f = np.int64(weights[x])
                    acc[x] += line[k] * (16384 - f) + line[k + 1] * f
        for x in range(wide):
            target[x] = ((acc[x] >> 8) * factor) >> 46


@jit
def _row_between(rows: np.ndarray, y: int, f: int, shift: int, line: np.ndarray) -> None:
    """Write to ``line`` the row at y + f / 2^14, times 2^(14 - shift)."""
    high, wide = rows.shape
    above = rows[y]
    below = rows[min(y + 1, high - 1)]
    after = np.int32(f)
    before = np.int32(16384) - after
    for x in range(wide):
        line[x] = (np.int32(above[x]) * before + np.int32(below[x]) * after) >> shift


@jit
def enlarge(
    rows: np.ndarray,
    channels: int,
    y0: np.ndarray,
    fy: np.ndarray,
    x0: np.ndarray,
    fx: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write to ``out`` the image read at (y0 + fy, x0 + fx) of (H,) and (W,), rounded; values are below 2^16
    in size.
    """
    line = np.zeros(rows.shape[1] + channels, np.int32)
    for y in range(y0.size):
        _row_between(rows, y0[y], fy[y], 0, line)
        target = out[y]
        for x in range(x0.size):
            k = x0[x] * channels
            f = np.int64(fx[x])
            for c in range(channels):
                target[x * channels + c] = (
                    line[k + c] * (16384 - f) + line[k + channels + c] * f + (1 << 27)
                ) >> 28


@jit
def elastic(rows: np.ndarray, channels: int, down: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Write to ``out`` the image read at (y + down, x + right), in steps of 2^-11 pixel, truncated; beyond
    its border it is mirrored.
    """
    high, wide = down.shape
    for y in range(high):
        target = out[y]
        for x in range(wide):
            py = (y << 11) + np.int64(down[y, x])
            px = (x << 11) + np.int64(right[y, x])
            fy = py & 2047
            fx = px & 2047
            above = rows[_mirror(py >> 11, high)]
            below = rows[_mirror((py >> 11) + 1, high)]
            a = _mirror(px >> 11, wide) * channels
            b = _mirror((px >> 11) + 1, wide) * channels
            w00 = (2048 - fy) * (2048 - fx)
            w01 = (2048 - fy) * fx
            w10 = fy * (2048 - fx)
            w11 = fy * fx
            for c in range(channels):
                total = above[a + c] * w00 + above[b + c] * w01 + below[a + c] * w10 + below[b + c] * w11
                target[x * channels + c] = total >> 22


@jit
def _mirror(i: np.int64, n: int) -> np.int64:
    if i < 0 or i >= n:
        i %= 2 * n
        if i >= n:
            i = 2 * n - 1 - i
    return i


@jit
def scatter(high: int, wide: int, reach: int, rounds: int, start: np.uint64) -> np.ndarray:
    """Return (H * W,) int32: the source of each pixel after each was overwritten by one at most ``reach``
    before it or ``reach`` - 1 after it, row by row from the end.
    """
    order = np.arange(high * wide).astype(np.int32)
    n = 0
    choices = np.uint64(2 * reach)
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    for _ in range(rounds):
        for y in range(high - reach, reach, -1):
            for x in range(wide - reach, reach, -1):
                word = word_at(start, np.uint64(n))
                n += 1
                dy = np.int64(((word & low) * choices) >> shift) - reach
                dx = np.int64(((word >> shift) * choices) >> shift) - reach
                order[y * wide + x] = order[(y + dy) * wide + x + dx]
    return order


@jit
def gather(pixels: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return (N, C) pixels in an order (N,)."""
    out = np.empty_like(pixels)
    for k in range(order.size):
        for c in range(pixels.shape[1]):
            out[k, c] = pixels[order[k], c]
    return out


@jit
def blocks(
    rows: np.ndarray,
    channels: int,
    down: np.ndarray,
    right: np.ndarray,
    up: np.ndarray,
    across: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write to ``out`` at each pixel the mean of a block, rounded along rows and then along columns: block
    (up[y], across[x]) of the blocks of rows ``down`` and columns ``right``.

    These are (3, n): the first pixel, the one after the last, and 2^34 / (2 size), rounded up.
    """
    high, wide = rows.shape
    across_blocks = right.shape[1]
    sums = np.empty(across_blocks * channels, np.int64)
    line = np.empty(wide, rows.dtype)
    block = -1
    for y in range(high):
        if up[y] != block:
            block = up[y]
            sums[:] = 0
            for k in range(down[0, block], down[1, block]):
                row = rows[k]
                if channels == 3:
                    for b in range(across_blocks):
                        size = right[1, b] - right[0, b]
                        inverse = right[2, b]
                        red = np.int64(0)
                        green = np.int64(0)
                        blue = np.int64(0)
                        for i in range(3 * right[0, b], 3 * right[1, b], 3):
                            red += row[i]
                            green += row[i + 1]
                            blue += row[i + 2]
                        sums[3 * b] += ((2 * red + size) * inverse) >> 34
                        sums[3 * b + 1] += ((2 * green + size) * inverse) >> 34
                        sums[3 * b + 2] += ((2 * blue + size) * inverse) >> 34
                else:
                    for b in range(across_blocks):
                        total = np.int64(0)
                        for i in range(right[0, b], right[1, b]):
                            total += row[i]
                        sums[b] += ((2 * total + right[1, b] - right[0, b]) * right[2, b]) >> 34
            size = down[1, block] - down[0, block]
            inverse = down[2, block]
            for i in range(sums.size):
                sums[i] = ((2 * sums[i] + size) * inverse) >> 34
            if channels == 3:
                for x in range(across.size):
                    k = 3 * across[x]
                    line[3 * x], line[3 * x + 1], line[3 * x + 2] = sums[k], sums[k + 1], sums[k + 2]
            else:
                for x in range(across.size):
                    line[x] = sums[across[x]]
        out[y] = line
