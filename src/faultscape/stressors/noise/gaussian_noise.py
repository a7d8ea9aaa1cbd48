"""Gaussian noise: a normal deviate is added to every value of every channel.

Equation: x' = clip(x + n), n ~ N(0, sigma^2), on the scale of 0..1, truncated to grey levels.
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import noise_loops
from faultscape.stressors.normal_table import normal_table

_BITS = 8  # steps of 2^-8 of a grey level


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels with noise of standard deviation parameters[0] on the scale 0..1.

    >>> apply(np.full((1, 3, 1), 100, np.uint8), (0.08,), 0).ravel()
    array([117,  99, 108], dtype=uint8)
    """
    top = np.iinfo(pixels.dtype).max
    table, tail = normal_table(parameters[0] * top * 2**_BITS)
    return (
        noise_loops()
        .add_noise(pixels.ravel(), np.uint64(start), table, tail, _BITS, top)
        .reshape(pixels.shape)
    )
