"""Corruptions that add noise: of a sensor, of few photons, of dead pixels.

Source: Hendrycks and Dietterich 2019, appendix B, unless a function names another.

Integer quantiles of the normal distribution, from which kernels draw.

Conventions: a deviate is one of 65,536 equally likely quantiles; the outermost two are redrawn from 65,536
finer quantiles, so that deviates reach 6.3. Quantiles are first rounded to 2^-24; a test checks that all are
far enough from a rounding boundary that the math library does not matter.
"""

from __future__ import annotations

import functools

import numpy as np

from faultscape.stressors.corruptions.loops import noise_loops
from faultscape.stressors.corruptions.smooth import exact_exp
from faultscape.stressors.definition import Corruption, Parameters

_LEVEL_BITS = 8  # steps of 2^-8 of a grey level
_STEP = 2.0**-24


@functools.cache
def quantiles() -> tuple[np.ndarray, np.ndarray]:
    """Return (65536,) the quantiles at (i + 1/2) / 2^16, and (65536,) the sizes of those at (i + 1/2) / 2^32.

    >>> table, tail = quantiles()
    >>> (
    ...     round(float(table[0]), 3),
    ...     round(float(table[32768]), 6),
    ...     round(float(tail[0]), 3),
    ...     bool(tail[-1] > table[-2]),
    ... )
    (-4.325, 1.9e-05, 6.338, True)
    """
    from scipy.special import ndtri

    places = np.arange(65536) + 0.5
    return np.rint(ndtri(places / 2.0**16) / _STEP) * _STEP, np.rint(-ndtri(places / 2.0**32) / _STEP) * _STEP


@functools.lru_cache(maxsize=16)
def normal_table(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return both tables (65536,), int32, of ``scale`` times a deviate, rounded.

    >>> normal_table(100.0)[0][[1, -2]]
    array([-408,  408], dtype=int32)
    """
    table, tail = quantiles()
    return np.rint(table * scale).astype(np.int32), np.rint(tail * scale).astype(np.int32)


def gaussian_noise(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Gaussian noise: a normal deviate is added to every value of every channel.

    x' = clip(x + n), n ~ N(0, sigma^2), on the scale of 0..1, truncated to grey levels.

    Return (H, W, C) pixels with noise of standard deviation parameters[0] on the scale 0..1.

    >>> gaussian_noise(np.full((1, 3, 1), 100, np.uint8), (0.08,), 0).ravel()
    array([117,  99, 108], dtype=uint8)
    """
    top = np.iinfo(pixels.dtype).max
    table, tail = normal_table(parameters[0] * top * 2**_LEVEL_BITS)
    return (
        noise_loops()
        .add_noise(pixels.ravel(), np.uint64(start), table, tail, _LEVEL_BITS, top)
        .reshape(pixels.shape)
    )


GAUSSIAN_NOISE = Corruption(
    "gaussian_noise",
    "Gaussian noise",
    "noise",
    ("deviation",),
    ((0.08,), (0.12,), (0.18,), (0.26,), (0.38,)),
    gaussian_noise,
    random=True,
)


def shot_noise(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Shot noise: photons are counted, so dark pixels and few photons are noisy.

    x' = min(n / c, 1), n ~ Poisson(c x), on the scale of 0..1, truncated to grey levels. A count of c or more
    is white, so only counts below c are distinguished. Conventions: the limits of counts are P(n <= k) for
    each grey level in steps of 2^-32. e^-c x is computed from products of a few correctly rounded powers, in
    a fixed order.

    Return (H, W, C) pixels as if a white pixel received parameters[0] photons on average.

    >>> shot_noise(np.full((1, 6, 1), 100, np.uint8), (12,), 0).ravel()
    array([ 85, 148, 106,  85, 106,  21], dtype=uint8)
    """
    top = int(np.iinfo(pixels.dtype).max)
    limits, first, bits, values = count_limits(int(parameters[0]), top)
    return (
        noise_loops()
        .count_events(pixels.ravel(), np.uint64(start), limits, first, bits, values)
        .reshape(pixels.shape)
    )


@functools.lru_cache(maxsize=5)
def count_limits(rate: int, top: int) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """Return the limits (top + 1, rate) uint32 of each level's counts, the place to start by the leading bits
    of a number (top + 1, 2^bits), the number of these bits, and the values of counts (rate + 1,).

    >>> limits, first, bits, values = count_limits(3, 255)
    >>> (limits[255] / 2**32).round(3), values  # P(n <= 0, 1, 2) of a mean of 3
    (array([0.05 , 0.199, 0.423]), array([  0,  85, 170, 255]))
    """
    levels = np.arange(top + 1)
    chance = np.ones(top + 1)
    for bit in range(top.bit_length()):  # e^(-rate level / top), by the bits of the level
        chance *= np.where(levels >> bit & 1, exact_exp(-rate * 2.0**bit / top), 1.0)
    total = chance.copy()
    mean = levels * (rate / top)
    limits = np.empty((top + 1, rate), np.uint32)
    for n in range(rate):
        limits[:, n] = np.minimum(np.rint(total * 2.0**32), 2.0**32 - 1).astype(np.uint32)
        chance = chance * mean / (n + 1)
        total = total + chance
    bits = 8 if top == 255 else 4
    first = np.empty((top + 1, 1 << bits), np.uint8)
    for part in range(1 << bits):
        first[:, part] = (limits <= np.uint32(part << (32 - bits))).sum(axis=1)
    return limits, first, bits, np.arange(rate + 1) * top // rate


SHOT_NOISE = Corruption(
    "shot_noise",
    "Shot noise",
    "noise",
    ("photons",),
    ((60,), (25,), (12,), (5,), (3,)),
    shot_noise,
    random=True,
)


def impulse_noise(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Impulse noise: some values of some channels become black or white.

    x' = x with probability 1 - p, else 0 or 1 with equal probability. Source: Hendrycks and Dietterich 2019,
    appendix B (skimage.util.random_noise, "s&p": each channel separately).

    Return (H, W, C) pixels with a share parameters[0] of all values replaced.

    >>> impulse_noise(np.full((1, 8, 1), 100, np.uint8), (0.5,), 0).ravel()
    array([100, 100, 255, 100, 255,   0, 100, 100], dtype=uint8)
    """
    top = np.iinfo(pixels.dtype).max
    limit = round(parameters[0] * 2**31)
    return noise_loops().replace(pixels.ravel(), np.uint64(start), limit, top).reshape(pixels.shape)


IMPULSE_NOISE = Corruption(
    "impulse_noise",
    "Impulse noise",
    "noise",
    ("share",),
    ((0.03,), (0.06,), (0.09,), (0.17,), (0.27,)),
    impulse_noise,
    random=True,
)


_FACTOR_BITS = 18  # steps of 2^-18 of the value


def speckle_noise(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Speckle noise: every value is multiplied by 1 plus a normal deviate.

    x' = clip(x + x n), n ~ N(0, sigma^2), truncated to grey levels.

    Return (H, W, C) pixels with noise of standard deviation parameters[0] times each value.

    >>> speckle_noise(np.full((1, 3, 1), 100, np.uint8), (0.15,), 0).ravel()
    array([112,  99, 106], dtype=uint8)
    """
    top = np.iinfo(pixels.dtype).max
    table, tail = normal_table(parameters[0] * 2**_FACTOR_BITS)
    return (
        noise_loops()
        .scale_noise(pixels.ravel(), np.uint64(start), table, tail, _FACTOR_BITS, top)
        .reshape(pixels.shape)
    )


SPECKLE_NOISE = Corruption(
    "speckle_noise",
    "Speckle noise",
    "noise",
    ("deviation",),
    ((0.15,), (0.2,), (0.35,), (0.45,), (0.6,)),
    speckle_noise,
    random=True,
)
