"""Contrast: reduced contrast.

Equation: x' = (x - mean) c + mean, where mean is that of the channel; truncated to grey levels. Sums, means
and c are exact (c a fraction of its decimal digits).
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import colour_loops


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels with their contrast multiplied by parameters[0].

    >>> apply(np.array([[[0], [100], [200]]], np.uint8), (0.4,), 0).ravel()
    array([ 60, 100, 140], dtype=uint8)
    """
    del start
    colours, share = pixels.reshape(-1, pixels.shape[2]), Fraction(str(parameters[0]))
    count, levels = len(colours), np.arange(int(np.iinfo(pixels.dtype).max) + 1, dtype=np.int64)
    sums = colour_loops().channel_sums(colours).tolist()
    tables = [
        ((levels * count - total) * share.numerator + total * share.denominator)
        // (count * share.denominator)
        for total in sums
    ]
    return colour_loops().look_up(colours, np.stack(tables).astype(pixels.dtype)).reshape(pixels.shape)
