"""Defocus blur: a lens out of focus spreads each point into a disc.

Equation: x' = x * d, where d is a disc of the given radius, blurred with a Gaussian of `alias` pixels over 3
x 3 (5 x 5 from radius 9 on) so that its rim is smooth; the image is mirrored at its border pixels. As in the
reference, the disc is in a square that just holds it, mirrored at its own border, so that discs of radius 8
and more sum to a little more than 1.
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import filter_loops
from faultscape.stressors.smooth import beyond, exact_exp


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are the radius and the blur of its rim.

    >>> image = np.zeros((9, 9, 1), np.uint8)
    >>> image[4, 4] = 255
    >>> apply(image, (3, 0.1), 0)[4].ravel()
    array([0, 8, 8, 8, 8, 8, 8, 8, 0], dtype=uint8)
    """
    del start
    small = pixels.dtype == np.uint8
    bits = 20 if small else 32
    kernel = disc_kernel(int(parameters[0]), float(parameters[1]), bits).astype(
        np.int32 if small else np.int64
    )
    high, wide, channels = pixels.shape
    radius = kernel.shape[0] // 2
    out = np.empty((high, wide * channels), pixels.dtype)
    up, across = beyond(high, radius, "about"), beyond(wide, radius, "about")
    filter_loops().disc(
        pixels.reshape(high, -1), channels, up, across, kernel, bits, int(np.iinfo(pixels.dtype).max), out
    )
    return out.reshape(pixels.shape)


@functools.lru_cache(maxsize=10)
def disc_kernel(radius: int, alias: float, bits: int) -> np.ndarray:
    """Return the weights (2 R + 1, 2 R + 1) int64 in steps of 2^-bits, without rows and columns of zeros
    around them.

    >>> disc_kernel(3, 0.1, 10)[:, 3].tolist(), disc_kernel(3, 0.1, 10)[0].tolist()
    ([35, 35, 35, 44, 35, 35, 35], [0, 0, 0, 35, 0, 0, 0])
    """
    reach, rim = (8, 1) if radius <= 8 else (radius, 2)
    line = np.arange(-reach, reach + 1)
    disc = ((line[:, None] ** 2 + line**2) <= radius**2).astype(float)
    disc /= int(disc.sum())
    side = [exact_exp(-d * d / (2.0 * alias * alias)) for d in range(rim + 1)]
    side = [value / (side[0] + 2.0 * sum(side[1:])) for value in side]
    places = beyond(len(line), rim, "about")
    for _ in range(2):  # rows, then, after transposing, columns
        padded, total = disc[places], side[0] * disc
        for d in range(1, rim + 1):
            total = total + side[d] * (
                padded[rim - d : rim - d + len(line)] + padded[rim + d : rim + d + len(line)]
            )
        disc = total.T
    weights = np.rint(disc * 2.0**bits).astype(np.int64)
    # the remainder of rounding
    weights[reach, reach] += round(math.fsum(disc.ravel().tolist()) * 2.0**bits) - int(weights.sum())
    used = int(np.flatnonzero(weights.any(axis=1))[0])
    return weights[used : len(line) - used, used : len(line) - used]
