"""Loops of fog, snow and spatter, compiled; the plain twin is plain_weather."""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit
from faultscape.stressors.kernels.streams import word_at

_NEAR, _ASLANT, _KNIGHT = 65536, 91750, 143976  # 1, 1.4 and 2.1969 in steps of 2^-16


@jit
def plasma(size: int, reaches: np.ndarray, start: np.uint64) -> np.ndarray:
    """Return (size, size) int32: a height map by the diamond-square algorithm that wraps around, with a
    number from (-reach, reach) added at every step.
    """
    heights = np.zeros((size, size), np.int32)
    step = size
    level = 0
    n = 0
    while step >= 2:
        half = step // 2
        reach = reaches[level]
        for y in range(0, size, step):
            below = (y + step) % size
            for x in range(0, size, step):
                right = (x + step) % size
                total = (
                    np.int64(heights[y, x]) + heights[y, right] + heights[below, x] + heights[below, right]
                )
                heights[y + half, x + half] = (total >> 2) + _wobble(start, n, reach)
                n += 1
        for y in range(0, size, step):
            above = (y - half) % size
            for x in range(0, size, step):
                total = (
                    np.int64(heights[above, x + half])
                    + heights[y + half, x + half]
                    + heights[y, x]
                    + heights[y, (x + step) % size]
                )
                heights[y, x + half] = (total >> 2) + _wobble(start, n, reach)
                n += 1
        for y in range(0, size, step):
            below = (y + step) % size
            for x in range(0, size, step):
                total = (
                    np.int64(heights[y + half, (x - half) % size])
                    + heights[y + half, x + half]
                    + heights[y, x]
                    + heights[below, x]
                )
                heights[y + half, x] = (total >> 2) + _wobble(start, n, reach)
                n += 1
        step = half
        level = level + 1
    return heights


@jit
def _wobble(start: np.uint64, n: int, reach: int) -> np.int64:
    part = np.int64((word_at(start, np.uint64(n >> 2)) >> np.uint64(16 * (n & 3))) & np.uint64(0xFFFF))
    return ((2 * part - 65535) * reach) >> 16


@jit
def veil(
    rows: np.ndarray,
    channels: int,
    heights: np.ndarray,
    low: int,
    factor: float,
    gains: np.ndarray,
    top: int,
    out: np.ndarray,
) -> None:
    """Write to ``out`` gains[value] + (height - low) * factor of each pixel, in steps of 2^-16, cut to 0..top
    and then truncated.
    """
    high, wide = rows.shape
    for y in range(high):
        for x in range(wide // channels):
            add = np.int64((heights[y, x] - low) * factor)
            for c in range(x * channels, (x + 1) * channels):
                out[y, c] = min((gains[rows[y, c]] + add) >> 16, top)


@jit
def whiten(
    rows: np.ndarray, channels: int, layer: np.ndarray, keep: int, unit: int, top: int, out: np.ndarray
) -> None:
    """Write to ``out`` the image, whitened by 1 - keep / 2^16, under flakes of ``layer`` (H, W) and of the
    layer turned by half a turn.
    """
    high, wide = layer.shape
    for y in range(high):
        row = rows[y]
        target = out[y]
        for x in range(wide):
            k = x * channels
            if channels == 3:
                grey = 19595 * np.int64(row[k]) + 38470 * np.int64(row[k + 1]) + 7471 * np.int64(row[k + 2])
            else:
                grey = np.int64(row[k]) << 16
            bright = (3 * grey + (top << 16)) >> 1
            flakes = ((np.int64(layer[y, x]) + layer[high - 1 - y, wide - 1 - x]) * unit) << 16
            for c in range(k, k + channels):
                value = np.int64(row[c]) << 16
                mixed = (keep * value + (65536 - keep) * max(value, bright)) >> 16
                target[c] = min((mixed + flakes) >> 16, top)


@jit
def edges(image: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return (H, W) uint8: 1 on Canny edges of a uint8 image, with Sobel gradients of size |dx| + |dy|."""
    tall, wide = image.shape
    out = np.zeros((tall, wide), np.uint8)  # 2: candidate
    stack = np.empty(tall * wide, np.int64)
    count = 0
    padded = np.empty((3, wide + 2), np.int32)
    dx = np.empty((3, wide), np.int32)
    dy = np.empty((3, wide), np.int32)
    size = np.zeros((3, wide + 2), np.int32)  # of three rows at a time: row y in place y % 3
    for y in range(tall + 1):
        if y < tall:
            for k in range(3):
                row = image[min(max(y + k - 1, 0), tall - 1)]
                target = padded[k]
                target[1 : wide + 1] = row
                target[0], target[wide + 1] = row[0], row[wide - 1]
            a = padded[0]
            b = padded[1]
            c = padded[2]
            a1 = a[1:]
            c1 = c[1:]
            a2 = a[2:]
            b2 = b[2:]
            c2 = c[2:]
            across = dx[y % 3]
            down = dy[y % 3]
            sizes = size[y % 3][1:]
            for x in range(wide):
                g = (a2[x] - a[x]) + 2 * (b2[x] - b[x]) + (c2[x] - c[x])
                h = (c[x] - a[x]) + 2 * (c1[x] - a1[x]) + (c2[x] - a2[x])
                across[x], down[x] = g, h
                sizes[x] = abs(g) + abs(h)
        else:
            size[y % 3] = 0
        if y == 0:
            continue
        above = size[(y - 2) % 3]
        level = size[(y - 1) % 3]
        below = size[y % 3]
        across = dx[(y - 1) % 3]
        down = dy[(y - 1) % 3]
        _mark_crests(above, level, below, across, down, low, high, out[y - 1])
        for x in range(wide):
            if out[y - 1, x] == 1:
                stack[count] = (y - 1) * wide + x
                count += 1
    while count:
        count -= 1
        y = stack[count] // wide
        x = stack[count] % wide
        for v in range(max(y - 1, 0), min(y + 2, tall)):
            for u in range(max(x - 1, 0), min(x + 2, wide)):
                if out[v, u] == 2:
                    out[v, u] = 1
                    stack[count] = v * wide + u
                    count += 1
    for y in range(tall):
        row = out[y]
        for x in range(wide):
            row[x] &= np.uint8(1)
    return out


@jit
def _mark_crests(
    above: np.ndarray,
    level: np.ndarray,
    below: np.ndarray,
    dx: np.ndarray,
    dy: np.ndarray,
    low: int,
    high: int,
    row: np.ndarray,
) -> None:
    """Write to ``row`` 2, or 1 beyond ``high``, where the gradient's size is largest along its direction and
    beyond ``low``, else 0; without branches, which would be slow on noise.
    """
    up = above[1:]
    here = level[1:]
    down = below[1:]
    up_right = above[2:]
    right = level[2:]
    down_right = below[2:]
    for x in range(dx.size):
        size = here[x]
        steep = abs(dy[x]) << 15
        run = abs(dx[x])
        flat = run * 13573  # tan 22.5 degrees in steps of 2^-15
        along = np.int32(size > level[x]) & np.int32(size >= right[x])
        across = np.int32(size > up[x]) & np.int32(size >= down[x])
        falling = np.int32(size > above[x]) & np.int32(size > down_right[x])
        rising = np.int32(size > up_right[x]) & np.int32(size > below[x])
        aslant = rising if (dx[x] ^ dy[x]) < 0 else falling
        crest = along if steep < flat else (across if steep > flat + (run << 16) else aslant)
        row[x] = (crest & np.int32(size > low)) * (2 - np.int32(size > high))


@jit
def distances(marked: np.ndarray, limit: int) -> np.ndarray:
    """Return (H, W) int32: the distance to the nearest marked pixel in steps of 2^-16, at most ``limit``,
    along steps of 1, 1.4 and 2.1969 (a 5 x 5 chamfer).
    """
    high, wide = marked.shape
    d = np.full((high + 4, wide + 4), limit, np.int32)
    for y in range(2, high + 2):
        for x in range(2, wide + 2):
            if marked[y - 2, x - 2]:
                d[y, x] = 0
                continue
            near = min(d[y - 1, x], d[y, x - 1]) + _NEAR
            aslant = min(d[y - 1, x - 1], d[y - 1, x + 1]) + _ASLANT
            knight = min(d[y - 2, x - 1], d[y - 2, x + 1], d[y - 1, x - 2], d[y - 1, x + 2]) + _KNIGHT
            d[y, x] = min(near, aslant, knight, limit)
    for y in range(high + 1, 1, -1):
        for x in range(wide + 1, 1, -1):
            near = min(d[y + 1, x], d[y, x + 1]) + _NEAR
            aslant = min(d[y + 1, x - 1], d[y + 1, x + 1]) + _ASLANT
            knight = min(d[y + 2, x - 1], d[y + 2, x + 1], d[y + 1, x - 2], d[y + 1, x + 2]) + _KNIGHT
            d[y, x] = min(near, aslant, knight, np.int64(d[y, x]))
    return d[2 : high + 2, 2 : wide + 2].copy()


@jit
def sums3(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (H, W) int32: the sum under 3 x 3 weights, the image mirrored at its border pixels."""
    high, wide = image.shape
    out = np.empty((high, wide), np.int32)
    padded = np.empty((3, wide + 2), np.int32)
    for y in range(high):
        for k in range(3):
            row = image[_about(y + k - 1, high)]
            target = padded[k]
            for x in range(wide):
                target[x + 1] = row[x]
            target[0], target[wide + 1] = row[_about(-1, wide)], row[_about(wide, wide)]
        line = out[y]
        line[:] = 0
        for k in range(3):
            a = padded[k]
            b = padded[k][1:]
            c = padded[k][2:]
            left = weights[k, 0]
            middle = weights[k, 1]
            right = weights[k, 2]
            for x in range(wide):
                line[x] += left * a[x] + middle * b[x] + right * c[x]
    return out


@jit
def _about(i: int, n: int) -> int:
    if n == 1:
        return 0
    return -i if i < 0 else 2 * n - 2 - i if i >= n else i


@jit
def splash(
    rows: np.ndarray,
    channels: int,
    amount: np.ndarray,
    keep: np.ndarray,
    colour: np.ndarray,
    top: int,
    out: np.ndarray,
) -> None:
    """Write to ``out`` keep * value + amount * colour of each pixel, all in steps of 2^-16, cut to top and
    then truncated.
    """
    high, wide = amount.shape
    for y in range(high):
        for x in range(wide):
            much = np.int64(amount[y, x])
            left = np.int64(keep[y, x])
            for c in range(channels):
                k = x * channels + c
                out[y, k] = min((left * rows[y, k] + ((much * colour[c]) >> 16)) >> 16, top)
