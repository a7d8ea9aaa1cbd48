"""Saturate: paler or stronger colours.

Equation: the saturation of HSV becomes clip(c s + a, 0, 1); with v the largest channel, x' = v - (v - x) s' /
s. Grey has the hue red, s' = a. Greyscale images do not change. Truncated to grey levels.
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import colour_loops


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are c and a.

    >>> apply(np.array([[[200, 150, 100], [90, 90, 90]]], np.uint8), (5, 0.1), 0)
    array([[[200, 100,   0],
            [ 90,  81,  81]]], dtype=uint8)
    """
    del start
    if pixels.shape[2] == 1:
        return pixels.copy()
    # rounded down, so that exact values are not truncated
    scale, shift = (int(part * 65536) for part in parameters)
    inverses = 2**32 // np.maximum(np.arange(int(np.iinfo(pixels.dtype).max) + 1, dtype=np.int64), 1)
    return colour_loops().saturate_hsv(pixels.reshape(-1, 3), inverses, scale, shift).reshape(pixels.shape)
