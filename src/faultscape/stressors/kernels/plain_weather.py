"""The plain twin of weather.py in NumPy, with equal bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from faultscape.stressors.streams import words_at

_STEPS = (
    *((dy, dx, 65536) for dy, dx in ((-1, 0), (0, -1), (0, 1), (1, 0))),
    *((dy, dx, 91750) for dy in (-1, 1) for dx in (-1, 1)),
    *(
        (dy, dx, 143976)
        for dy, dx in ((-2, -1), (-2, 1), (2, -1), (2, 1), (-1, -2), (-1, 2), (1, -2), (1, 2))
    ),
)


def plasma(size: int, reaches: np.ndarray, start: int) -> np.ndarray:
    """Return (size, size) int32: a height map by the diamond-square algorithm that wraps around."""
    heights = np.zeros((size, size), np.int64)
    step = size
    level = 0
    n = 0

    def filled(total: np.ndarray) -> np.ndarray:
        nonlocal n
        places = np.arange(n, n + total.size)
        words = words_at(int(start), (n + total.size + 3) // 4 - n // 4, n // 4)
        parts = (words[places // 4 - n // 4] >> (16 * (places % 4)).astype(np.uint64)) & np.uint64(0xFFFF)
        n += total.size
        return (total >> 2) + (((2 * parts.astype(np.int64) - 65535) * int(reaches[level])) >> 16).reshape(
            total.shape
        )

    while step >= 2:
        half = step // 2
        corner = heights[::step, ::step].copy()
        both = corner + np.roll(corner, -1, axis=0)
        centre = filled(both + np.roll(both, -1, axis=1))
        heights[half::step, half::step] = centre
        heights[::step, half::step] = filled(
            centre + np.roll(centre, 1, axis=0) + corner + np.roll(corner, -1, axis=1)
        )
        heights[half::step, ::step] = filled(
            centre + np.roll(centre, 1, axis=1) + corner + np.roll(corner, -1, axis=0)
        )
        step = half
        level = level + 1
    return heights.astype(np.int32)


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
    add = ((heights[:high, : wide // channels].astype(np.int64) - low) * factor).astype(np.int64)
    out[...] = np.minimum((gains[rows] + np.repeat(add, channels, axis=1)) >> 16, top)


def whiten(
    rows: np.ndarray, channels: int, layer: np.ndarray, keep: int, unit: int, top: int, out: np.ndarray
) -> None:
    """Write to ``out`` the image, whitened by 1 - keep / 2^16, under flakes of ``layer`` and of the layer
    turned by half a turn.
    """
    high, wide = layer.shape
    image = rows.astype(np.int64).reshape(high, wide, channels)
    grey = (image * np.array([19595, 38470, 7471] if channels == 3 else [65536])).sum(axis=2, keepdims=True)
    bright = (3 * grey + (top << 16)) >> 1
    flakes = ((layer.astype(np.int64) + layer[::-1, ::-1]) * unit << 16)[..., None]
    value = image << 16
    mixed = (keep * value + (65536 - keep) * np.maximum(value, bright)) >> 16
    out[...] = np.minimum((mixed + flakes) >> 16, top).reshape(rows.shape)


def edges(image: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return (H, W) uint8: 1 where Canny's edges of an image of uint8 are."""
    from scipy.ndimage import label

    tall, wide = image.shape
    p = np.pad(image.astype(np.int32), 1, mode="edge")
    dx = (p[:-2, 2:] - p[:-2, :-2]) + 2 * (p[1:-1, 2:] - p[1:-1, :-2]) + (p[2:, 2:] - p[2:, :-2])
    dy = (p[2:, :-2] - p[:-2, :-2]) + 2 * (p[2:, 1:-1] - p[:-2, 1:-1]) + (p[2:, 2:] - p[:-2, 2:])
    here = np.abs(dx) + np.abs(dy)
    size = np.pad(here, 1)

    def beside(y: int, x: int) -> np.ndarray:
        return size[1 + y : 1 + y + tall, 1 + x : 1 + x + wide]

    steep = np.abs(dy).astype(np.int64) << 15
    flat = np.abs(dx).astype(np.int64) * 13573
    level = (here > beside(0, -1)) & (here >= beside(0, 1))
    upright = (here > beside(-1, 0)) & (here >= beside(1, 0))
    falling = (here > beside(-1, -1)) & (here > beside(1, 1))
    rising = (here > beside(-1, 1)) & (here > beside(1, -1))
    aslant = np.where((dx ^ dy) < 0, rising, falling)
    crest = np.where(
        steep < flat, level, np.where(steep > flat + (np.abs(dx).astype(np.int64) << 16), upright, aslant)
    )
    weak = crest & (here > low)
    found: Any = label(weak, np.ones((3, 3)))
    names = np.asarray(found[0])
    strong = np.zeros(int(found[1]) + 1, bool)
    strong[names[weak & (here > high)]] = True
    strong[0] = False
    return strong[names].astype(np.uint8)


def distances(marked: np.ndarray, limit: int) -> np.ndarray:
    """Return (H, W) int32: the distance to the nearest marked pixel in steps of 2^-16, at most ``limit``:
    steps repeat until no distance gets shorter.
    """
    high, wide = marked.shape
    d = np.pad(np.where(marked > 0, 0, limit).astype(np.int32), 2, constant_values=limit)
    while True:
        nearest = d[2:-2, 2:-2].copy()
        for dy, dx, far in _STEPS:
            nearest = np.minimum(nearest, d[2 + dy : 2 + dy + high, 2 + dx : 2 + dx + wide] + far)
        if (nearest == d[2:-2, 2:-2]).all():
            return nearest
        d[2:-2, 2:-2] = nearest


def sums3(image: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (H, W) int32: the sum under 3 x 3 weights, the image mirrored at its border pixels."""
    high, wide = image.shape
    up = _about(high)
    across = _about(wide)
    p = image.astype(np.int32)[up][:, across]
    out = np.zeros((high, wide), np.int32)
    for y in range(3):
        for x in range(3):
            out += weights[y, x] * p[y : y + high, x : x + wide]
    return out


def _about(n: int) -> np.ndarray:
    return np.array([min(1, n - 1), *range(n), max(n - 2, 0)])


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
    high, wide = rows.shape
    image = rows.astype(np.int64).reshape(high, -1, channels)
    drops = (amount.astype(np.int64)[..., None] * colour) >> 16
    out[...] = np.minimum((keep.astype(np.int64)[..., None] * image + drops) >> 16, top).reshape(high, wide)
