"""The plain twin of geometry.py in NumPy, with equal bytes; ``scatter`` is a Python loop, which takes seconds
for a large image.
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.streams import words_at


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
    """Write to ``out`` the mean of ``still`` times the image and its layers, each read at (y0 + fy, x0 +
    fx).
    """
    acc = (still << 22) * rows.astype(np.int64)
    for layer in range(y0.shape[0]):
        acc += _read(rows, channels, y0[layer], fy[layer], x0[layer], fx[layer], 6)
    out[...] = ((acc >> 8) * factor) >> 46


def _read(
    rows: np.ndarray,
    channels: int,
    y0: np.ndarray,
    fy: np.ndarray,
    x0: np.ndarray,
    fx: np.ndarray,
    shift: int,
) -> np.ndarray:
    """Return the rows at y0 + fy, shifted, read at x0 + fx: times 2^(28 - shift)."""
    high = len(rows)
    wider = rows.astype(np.int64)
    f = fy.astype(np.int64)[:, None]
    line = (wider[y0] * (16384 - f) + wider[np.minimum(y0 + 1, high - 1)] * f) >> shift
    image = np.concatenate([line, np.zeros((len(y0), channels), np.int64)], axis=1).reshape(
        len(y0), -1, channels
    )
    f = fx.astype(np.int64)[:, None]
    return (image[:, x0] * (16384 - f) + image[:, x0 + 1] * f).reshape(len(y0), -1)


def enlarge(
    rows: np.ndarray,
    channels: int,
    y0: np.ndarray,
    fy: np.ndarray,
    x0: np.ndarray,
    fx: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write to ``out`` the image read at (y0 + fy, x0 + fx), rounded."""
    out[...] = (_read(rows, channels, y0, fy, x0, fx, 0) + (1 << 27)) >> 28


def elastic(rows: np.ndarray, channels: int, down: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Write to ``out`` the image read at (y + down, x + right), in steps of 2^-11 pixel, truncated."""
    high, wide = down.shape
    image = rows.reshape(high, wide, channels).astype(np.int64)
    py = (np.arange(high, dtype=np.int64)[:, None] << 11) + down
    px = (np.arange(wide, dtype=np.int64) << 11) + right
    fy = (py & 2047)[..., None]
    fx = (px & 2047)[..., None]
    y0 = _mirror(py >> 11, high)
    y1 = _mirror((py >> 11) + 1, high)
    x0 = _mirror(px >> 11, wide)
    x1 = _mirror((px >> 11) + 1, wide)
    total = image[y0, x0] * ((2048 - fy) * (2048 - fx)) + image[y0, x1] * ((2048 - fy) * fx)
    total += image[y1, x0] * (fy * (2048 - fx)) + image[y1, x1] * (fy * fx)
    out[...] = (total >> 22).reshape(high, -1)


def _mirror(i: np.ndarray, n: int) -> np.ndarray:
    i = i % (2 * n)
    return np.where(i >= n, 2 * n - 1 - i, i)


def scatter(high: int, wide: int, reach: int, rounds: int, start: int) -> np.ndarray:
    """Return (H * W,) int32: the source of each pixel after each was overwritten by a nearby one, row by row
    from the end.
    """
    order = list(range(high * wide))
    places = [y * wide + x for y in range(high - reach, reach, -1) for x in range(wide - reach, reach, -1)]
    for k in range(rounds):
        words = words_at(int(start), len(places), k * len(places))
        choices = np.uint64(2 * reach)
        shift = np.uint64(32)
        dy = (((words & np.uint64(0xFFFFFFFF)) * choices) >> shift).astype(np.int64) - reach
        dx = (((words >> shift) * choices) >> shift).astype(np.int64) - reach
        for a, move in zip(places, (dy * wide + dx).tolist(), strict=True):
            order[a] = order[a + move]
    return np.array(order, np.int32)


def gather(pixels: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return (N, C) pixels in an order (N,)."""
    return pixels[order]


def blocks(
    rows: np.ndarray,
    channels: int,
    down: np.ndarray,
    right: np.ndarray,
    up: np.ndarray,
    across: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write to ``out`` at each pixel the mean of its block, rounded along rows and then along columns."""
    high, wide = rows.shape
    image = rows.astype(np.int64).reshape(high, -1, channels)
    means = _means(_means(image.transpose(1, 0, 2), right).transpose(1, 0, 2), down)
    out[...] = means[up][:, across].reshape(high, wide)


def _means(image: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the rounded means of runs of rows."""
    sums = np.pad(image, ((1, 0), (0, 0), (0, 0))).cumsum(axis=0)
    first, past, inverse = edges
    return ((2 * (sums[past] - sums[first]) + (past - first)[:, None, None]) * inverse[:, None, None]) >> 34
