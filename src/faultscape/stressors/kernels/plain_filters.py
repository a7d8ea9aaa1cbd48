"""The plain twin of filters.py in NumPy, with equal bytes."""

from __future__ import annotations

import numpy as np


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
    """
    high, wide = rows.shape
    tall = down.size - 1
    far = along.size - 1
    padded = rows.astype(down.dtype)[up]
    acc = down[0] * padded[tall : tall + high]
    for d in range(1, tall + 1):
        acc += down[d] * (padded[tall - d : tall - d + high] + padded[tall + d : tall + d + high])
    acc = (acc + ((1 << middle) >> 1)) >> middle
    line = acc.reshape(high, -1, channels)[:, across]
    pixels = wide // channels
    blurred = along[0] * line[:, far : far + pixels]
    for d in range(1, far + 1):
        blurred += along[d] * (line[:, far - d : far - d + pixels] + line[:, far + d : far + d + pixels])
    out[...] = (blurred >> end).reshape(high, wide)


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
    """Write to ``out`` the image under a kernel (2 R + 1, 2 R + 1)."""
    high, wide = rows.shape
    pixels = wide // channels
    size = kernel.shape[0]
    padded = rows.astype(kernel.dtype).reshape(high, pixels, channels)[up][:, across]
    acc = np.zeros((high, pixels, channels), kernel.dtype)
    for y in range(size):
        for x in range(size):
            if kernel[y, x]:
                acc += kernel[y, x] * padded[y : y + high, x : x + pixels]
    out[...] = np.minimum(acc >> bits, top).reshape(high, wide)


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
    repeated.
    """
    high, wide = rows.shape
    image = rows.astype(weights.dtype).reshape(high, -1, channels)
    acc = np.full(image.shape, half, weights.dtype)
    for dy, dx, weight in zip(down, right, weights, strict=True):
        y = np.clip(np.arange(high) - dy, 0, high - 1)
        x = np.clip(np.arange(image.shape[1]) - dx, 0, image.shape[1] - 1)
        acc += weight * image[y][:, x]
    out[...] = (acc >> bits).reshape(high, wide)
