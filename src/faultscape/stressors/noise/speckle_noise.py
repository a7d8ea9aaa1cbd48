"""Speckle noise: every value is multiplied by 1 plus a normal deviate.

Equation: x' = clip(x + x n), n ~ N(0, sigma^2), truncated to grey levels.
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import noise_loops
from faultscape.stressors.normal_table import normal_table

_BITS = 18  # steps of 2^-18 of the value


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels with noise of standard deviation parameters[0] times each value.

    >>> apply(np.full((1, 3, 1), 100, np.uint8), (0.15,), 0).ravel()
    array([112,  99, 106], dtype=uint8)
    """
    top = np.iinfo(pixels.dtype).max
    table, tail = normal_table(parameters[0] * 2**_BITS)
    return (
        noise_loops()
        .scale_noise(pixels.ravel(), np.uint64(start), table, tail, _BITS, top)
        .reshape(pixels.shape)
    )
