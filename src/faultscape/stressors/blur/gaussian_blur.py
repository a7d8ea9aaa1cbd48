"""Gaussian blur.

Equation: x' = x * g, g(d) ~ exp(-d^2 / (2 sigma^2)), cut at 4 sigma, the border repeated; truncated to grey
levels.
Source: Hendrycks and Dietterich 2019, appendix B (skimage.filters.gaussian).
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.smooth import gaussian_pixels


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels blurred with a deviation of parameters[0] pixels.

    >>> apply(np.array([[[0], [0], [255], [0], [0]]], np.uint8), (1,), 0).ravel()
    array([ 13,  61, 101,  61,  13], dtype=uint8)
    """
    del start
    return gaussian_pixels(pixels, float(parameters[0]))
