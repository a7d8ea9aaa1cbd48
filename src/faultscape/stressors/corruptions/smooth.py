"""Gaussian blurs by integer weights, and the pixels beyond an image's border.

Conventions: weights are exp(-d^2 / (2 sigma^2)), d up to truncate * sigma, divided by their sum (as in
scipy.ndimage.gaussian_filter), then rounded to integers with sum exactly 2^bits, so that uniform areas do not
change. Exponentials are computed with ``decimal``, so their digits are the same everywhere.
"""

from __future__ import annotations

import functools
from decimal import Context, Decimal

import numpy as np

from faultscape.stressors.corruptions.loops import filter_loops

_DIGITS = Context(prec=40)


def exact_exp(exponent: float) -> float:
    """Return e to the power of a float, correctly rounded and the same on every machine.

    >>> exact_exp(-0.5)
    0.6065306597126334
    """
    return float(_DIGITS.exp(Decimal(exponent)))


@functools.lru_cache(maxsize=64)
def half_kernel(sigma: float, truncate: float, bits: int) -> tuple[int, ...]:
    """Return the weights from the middle outwards; together with the other side their sum is 2^bits.

    >>> half_kernel(1.0, 2, 8)
    (102, 63, 14)
    """
    radius = int(truncate * sigma + 0.5)
    values = [exact_exp(-d * d / (2.0 * sigma * sigma)) for d in range(radius + 1)] if radius else [1.0]
    total = values[0] + 2.0 * sum(values[1:])
    sides = [round(value / total * 2**bits) for value in values[1:]]
    return (2**bits - 2 * sum(sides), *sides)


def line_weights(values: list[float], bits: int) -> list[int]:
    """Return integers in proportion to the values with sum 2^bits; the rounding remainder goes to
    the first.

    >>> line_weights([2.0, 1.0, 0.0], 4)
    [11, 5, 0]
    """
    total = sum(values)
    rest = [round(value / total * 2**bits) for value in values[1:]]
    return [2**bits - sum(rest), *rest]


def beyond(count: int, radius: int, border: str) -> np.ndarray:
    """Return (count + 2 radius,) int64: the place read at -radius..count + radius - 1.

    Borders: "nearest" (aaa|abc), "mirror" (cba|abc, every pixel twice) and "about" (dcb|abcd, mirrored at the
    border pixel).

    >>> beyond(3, 2, "nearest"), beyond(3, 2, "mirror"), beyond(3, 2, "about")
    (array([0, 0, 0, 1, 2, 2, 2]), array([1, 0, 0, 1, 2, 2, 1]), array([2, 1, 0, 1, 2, 1, 0]))
    """
    places = np.arange(-radius, count + radius)
    if border == "nearest":
        return np.clip(places, 0, count - 1)
    if border == "mirror":
        places %= 2 * count
        return np.where(places >= count, 2 * count - 1 - places, places)
    period = max(2 * count - 2, 1)
    places %= period
    return np.where(places >= count, period - places, places)


def gaussian_pixels(pixels: np.ndarray, sigma: float) -> np.ndarray:
    """Return (H, W, C) pixels blurred with a Gaussian, truncated at 4 sigma and to whole grey levels, the
    border repeated.

    >>> gaussian_pixels(np.full((2, 3, 1), 7, np.uint8), 2.0).ravel()
    array([7, 7, 7, 7, 7, 7], dtype=uint8)
    """
    high, wide, channels = pixels.shape
    small = pixels.dtype == np.uint8
    weights = np.array(half_kernel(sigma, 4.0, 14 if small else 22), np.int32 if small else np.int64)
    radius = len(weights) - 1
    out = np.empty((high, wide * channels), pixels.dtype)
    up = beyond(high, radius, "nearest")
    across = beyond(wide, radius, "nearest")
    filter_loops().separable(
        pixels.reshape(high, -1),
        channels,
        up,
        across,
        weights,
        weights,
        6 if small else 0,
        22 if small else 44,
        out,
    )
    return out.reshape(pixels.shape)


def gaussian_field(
    field: np.ndarray, sigmas: tuple[float, float], truncate: float, border: str
) -> np.ndarray:
    """Return (H, W) int32: 2^15 times an int16 field, blurred with a Gaussian of deviations in rows and in
    columns, cut at ``truncate`` of them.

    >>> gaussian_field(np.full((2, 3), 5, np.int16), (1.0, 2.0), 3, "mirror")[0] / 2**15
    array([5., 5., 5.])
    """
    high, wide = field.shape
    down, along = (np.array(half_kernel(sigma, truncate, 14), np.int32) for sigma in sigmas)
    up = beyond(high, len(down) - 1, border)
    across = beyond(wide, len(along) - 1, border)
    out = np.empty(field.shape, np.int32)
    filter_loops().separable(field, 1, up, across, down, along, 13, 0, out)
    return out
