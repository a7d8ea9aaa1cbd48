"""Impulse noise: some values of some channels become black or white.

Equation: x' = x with probability 1 - p, else 0 or 1 with equal probability.
Source: Hendrycks and Dietterich 2019, appendix B (skimage.util.random_noise, "s&p": each channel
separately).
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import noise_loops


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels with a share parameters[0] of all values replaced.

    >>> apply(np.full((1, 8, 1), 100, np.uint8), (0.5,), 0).ravel()
    array([100, 100, 255, 100, 255,   0, 100, 100], dtype=uint8)
    """
    top = np.iinfo(pixels.dtype).max
    limit = round(parameters[0] * 2**31)
    return noise_loops().replace(pixels.ravel(), np.uint64(start), limit, top).reshape(pixels.shape)
