"""Shot noise: photons are counted, so dark pixels and few photons are noisy.

Equation: x' = min(n / c, 1), n ~ Poisson(c x), on the scale of 0..1, truncated to grey levels. A count of c
or more is white, so only counts below c are distinguished. Conventions: the limits of counts are P(n <= k)
for each grey level in steps of 2^-32. e^-c x is computed from products of a few correctly rounded powers, in
a fixed order.
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

import functools

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import noise_loops
from faultscape.stressors.smooth import exact_exp


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels as if a white pixel received parameters[0] photons on average.

    >>> apply(np.full((1, 6, 1), 100, np.uint8), (12,), 0).ravel()
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
    total, mean = chance.copy(), levels * (rate / top)
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
