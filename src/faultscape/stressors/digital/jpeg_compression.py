"""JPEG compression.

Conventions: Pillow's encoder with chroma at half resolution, its standard tables and no optimisation, and
Pillow's decoder. Both are libjpeg-turbo's integer transforms, whose vector code gives the same bytes as its
plain code: results are the same on any processor for one version of Pillow; another version may decode a
level differently. Files have 8 bits: 16-bit values are rounded to the nearest of 256 levels.
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from faultscape.stressors.definition import Parameters


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels after JPEG compression with quality parameters[0].

    >>> apply(np.full((2, 2, 3), 100, np.uint8), (25,), 0)[0, 0]
    array([100, 100, 100], dtype=uint8)
    """
    del start
    if pixels.dtype != np.uint8:
        small = ((pixels.astype(np.uint32) + 128) // 257).astype(np.uint8)
        return apply(small, parameters, 0).astype(pixels.dtype) * np.array(257, pixels.dtype)
    file = io.BytesIO()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.save(file, "JPEG", quality=int(parameters[0]), subsampling=2, optimize=False, progressive=False)
    return np.array(Image.open(file)).reshape(pixels.shape)
