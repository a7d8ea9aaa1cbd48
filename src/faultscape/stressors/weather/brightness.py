"""Brightness: more light.

Equation: the value of HSV becomes min(v + c, 1); all channels are scaled alike, x' = x v' / v, and black
becomes grey. For greyscale images, x' = min(x + c, 1). Truncated to grey levels.
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import colour_loops


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels with parameters[0], on the scale 0..1, added to their value.

    >>> apply(np.array([[[200, 100, 0], [0, 0, 0]]], np.uint8), (0.1,), 0)
    array([[[225, 112,   0],
            [ 25,  25,  25]]], dtype=uint8)
    """
    del start
    high, wide, channels = pixels.shape
    top = int(np.iinfo(pixels.dtype).max)
    add = Fraction(str(parameters[0])) * top
    # v' times the denominator
    twice = np.minimum(np.arange(top + 1) * add.denominator + add.numerator, top * add.denominator)
    if channels == 1:
        return (
            colour_loops()
            .look_up(pixels.reshape(-1, 1), (twice // add.denominator)[None].astype(pixels.dtype))
            .reshape(pixels.shape)
        )
    below = np.maximum(np.arange(top + 1), 1) * add.denominator
    ratios = -((-twice << 16) // below)  # rounded up, so that exact values are not truncated
    ratios[0] = 0
    return (
        colour_loops()
        .brighten(pixels.reshape(-1, 3), ratios, int(twice[0] // add.denominator))
        .reshape(high, wide, 3)
    )
