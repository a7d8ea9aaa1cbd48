"""Blurs by integer weights, compiled; the plain twin is plain_filters.

Conventions: an image is (H, W * C) values, its channels side by side. Weights are integers; their type, 32 or
64 bits, is the type in which sums are made. Sums of integers are the same in any order, so results do not
depend on a CPU's vector units.
"""

from __future__ import annotations

import numpy as np

from faultscape.maps.jit import jit


@jit
def separable(
    rows: np.ndarray,
    channels: int,
    up: np.ndarray,
    across: np.ndarray,
    down: np.ndarray,
    along: np.ndarray,
    middle: int,
    end: int,
    out: np.ndarray,
) -> None:
    """Write to ``out`` the image blurred by half kernels ``down`` (columns) and ``along`` (rows), from the
    middle outwards.

    ``up`` (H + 2 R) and ``across`` (W + 2 R) give the row and pixel to read, including beyond the border;
    sums are shifted by ``middle`` bits with rounding, then by ``end`` bits without.
    """
    high, wide = rows.shape
    tall = down.size - 1
    far = along.size - 1
    acc = np.empty(wide, down.dtype)
    line = np.empty(wide + 2 * far * channels, down.dtype)
    inner = line[far * channels : far * channels + wide]
    half = (1 << middle) >> 1
    for y in range(high):
        weight = down[0]
        row = rows[y]
        for x in range(wide):
            acc[x] = weight * row[x]
        d = 1
        while d + 1 <= tall:  # two distances at once: fewer passes over acc
            w0 = down[d]
            w1 = down[d + 1]
            a0 = rows[up[y + tall - d]]
            b0 = rows[up[y + tall + d]]
            a1 = rows[up[y + tall - d - 1]]
            b1 = rows[up[y + tall + d + 1]]
            for x in range(wide):
                acc[x] += w0 * (np.int32(a0[x]) + np.int32(b0[x])) + w1 * (np.int32(a1[x]) + np.int32(b1[x]))
            d += 2
        if d <= tall:
            w0 = down[d]
            a0 = rows[up[y + tall - d]]
            b0 = rows[up[y + tall + d]]
            for x in range(wide):
                acc[x] += w0 * (np.int32(a0[x]) + np.int32(b0[x]))
        for x in range(wide):
            inner[x] = (acc[x] + half) >> middle
        for k in range(far):
            for c in range(channels):
                line[k * channels + c] = inner[across[k] * channels + c]
                line[(far * channels + wide) + k * channels + c] = inner[
                    across[across.size - far + k] * channels + c
                ]
        weight = along[0]
        for x in range(wide):
            acc[x] = weight * inner[x]
        d = 1
        while d + 1 <= far:
            w0 = along[d]
            w1 = along[d + 1]
            a0 = line[(far - d) * channels :]
            b0 = line[(far + d) * channels :]
            a1 = line[(far - d - 1) * channels :]
            b1 = line[(far + d + 1) * channels :]
            for x in range(wide):
                acc[x] += w0 * (a0[x] + b0[x]) + w1 * (a1[x] + b1[x])
            d += 2
        if d <= far:
            w0 = along[d]
            a0 = line[(far - d) * channels :]
            b0 = line[(far + d) * channels :]
            for x in range(wide):
                acc[x] += w0 * (a0[x] + b0[x])
        target = out[y]
        for x in range(wide):
            target[x] = acc[x] >> end


@jit
def disc(
    rows: np.ndarray,
    channels: int,
    up: np.ndarray,
    across: np.ndarray,
    kernel: np.ndarray,
    bits: int,
    top: int,
    out: np.ndarray,
) -> None:
    """Write to ``out`` the image under a kernel (2 R + 1, 2 R + 1) that is its own mirror image in both
    directions.

    A row of a disc is one run of equal weights, so the difference of neighbouring sums has few terms: sum(x)
    - sum(x - 1) = sum over j of (k[j] - k[j+1]) s(x + j).
    """
    high, wide = rows.shape
    radius = kernel.shape[0] // 2
    pad = (radius + 1) * channels
    acc = np.empty(wide, kernel.dtype)
    line = np.zeros(wide + 2 * pad, kernel.dtype)
    inner = line[pad : pad + wide]
    first = np.zeros(channels, kernel.dtype)
    places = np.zeros(radius + 2, np.int64)
    steps = np.zeros(radius + 2, kernel.dtype)
    for y in range(high):
        acc[:] = 0
        first[:] = 0
        for dy in range(radius + 1):
            weights = kernel[radius + dy]
            a = rows[up[y + radius - dy]]
            b = rows[up[y + radius + dy]]
            if dy:
                for x in range(wide):
                    inner[x] = np.int32(a[x]) + np.int32(b[x])
            else:
                for x in range(wide):
                    inner[x] = a[x]
            for k in range(radius):
                for c in range(channels):
                    line[(k + 1) * channels + c] = inner[across[k] * channels + c]
                    line[pad + wide + k * channels + c] = inner[
                        across[across.size - radius + k] * channels + c
                    ]
            for c in range(channels):
                for j in range(-radius, radius + 1):
                    first[c] += weights[radius + j] * line[pad + j * channels + c]
            terms = 0
            for j in range(radius + 1):
                step = weights[radius + j] - (weights[radius + j + 1] if j < radius else 0)
                if step:
                    places[terms] = j * channels
                    steps[terms] = step
                    terms += 1
            steps[terms] = 0  # half of the last pair, if their number is odd
            for k in range(0, terms, 2):  # two terms at once: fewer passes over acc
                w0 = steps[k]
                w1 = steps[k + 1]
                a0 = line[pad + places[k] :]
                b0 = line[pad - places[k] - channels :]
                a1 = line[pad + places[k + 1] :]
                b1 = line[pad - places[k + 1] - channels :]
                for x in range(wide):
                    acc[x] += w0 * (a0[x] - b0[x]) + w1 * (a1[x] - b1[x])
        target = out[y]
        for c in range(channels):
            acc[c] = first[c]
        for x in range(channels, wide):
            acc[x] += acc[x - channels]
        for x in range(wide):
            target[x] = min(acc[x] >> bits, top)


@jit
def shifts(
    rows: np.ndarray,
    channels: int,
    down: np.ndarray,
    right: np.ndarray,
    weights: np.ndarray,
    half: int,
    bits: int,
    out: np.ndarray,
) -> None:
    """Write to ``out`` the weighted sum of the image shifted by (down, right) pixels each, its border
    repeated; the number of shifts is a multiple of 4.
    """
    high, wide = rows.shape
    pad = 0
    for move in right:
        pad = max(pad, abs(move))
    pad *= channels
    padded = np.empty((high, wide + 2 * pad), rows.dtype)
    for y in range(high):
        padded[y, pad : pad + wide] = rows[y]
        for k in range(0, pad, channels):
            for c in range(channels):
                padded[y, k + c] = rows[y, c]
                padded[y, pad + wide + k + c] = rows[y, wide - channels + c]
    acc = np.empty(wide, weights.dtype)
    for y in range(high):
        acc[:] = half
        for k in range(0, weights.size, 4):
            w0 = weights[k]
            w1 = weights[k + 1]
            w2 = weights[k + 2]
            w3 = weights[k + 3]
            r0 = padded[min(max(y - down[k], 0), high - 1)][pad - right[k] * channels :]
            r1 = padded[min(max(y - down[k + 1], 0), high - 1)][pad - right[k + 1] * channels :]
            r2 = padded[min(max(y - down[k + 2], 0), high - 1)][pad - right[k + 2] * channels :]
            r3 = padded[min(max(y - down[k + 3], 0), high - 1)][pad - right[k + 3] * channels :]
            for x in range(wide):
                acc[x] += w0 * r0[x] + w1 * r1[x] + w2 * r2[x] + w3 * r3[x]
        target = out[y]
        for x in range(wide):
            target[x] = acc[x] >> bits
