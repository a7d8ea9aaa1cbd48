"""Motion blur: the camera moved along a line of a random direction while the image was taken.

Equation: x'(p) = sum over i = 0..2 r of w_i x(p - round(i u)), w_i ~ exp(-i^2 / (2 sigma^2)), u the direction
of an angle of -45..45 degrees; the border is repeated. It is one-sided, like ImageMagick's, and heaviest
where the motion begins. Unlike the reference, which drops the rest and darkens, an image smaller than the
motion also repeats its border.
Source: Hendrycks and Dietterich 2019, appendix B; the package imagecorruptions for the sum of moved images.
"""

from __future__ import annotations

import math

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import filter_loops
from faultscape.stressors.smooth import exact_exp, line_weights
from faultscape.stressors.streams import Stream


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are the radius and the deviation of the motion.

    >>> image = np.zeros((1, 16, 1), np.uint8)
    >>> image[0, 15] = 255
    >>> apply(image, (10, 3), 0)[0, 11:].ravel()
    array([ 54,  90, 138, 195, 255], dtype=uint8)
    """
    angle = Stream(start, "angle").uniform(-45.0, 45.0)
    small = pixels.dtype == np.uint8
    return blur_along(pixels, int(parameters[0]), float(parameters[1]), angle, 0, 20 if small else 32)


def blur_along(
    pixels: np.ndarray, radius: int, sigma: float, angle: float, half: int, bits: int
) -> np.ndarray:
    """Return (H, W, C) pixels blurred along an angle in degrees, with weights in steps of 2^-``bits``;
    ``half`` is added before the result is shifted down.
    """
    down, right, weights = motion_steps(radius, sigma, angle, bits)
    high, wide, channels = pixels.shape
    out = np.empty((high, wide * channels), pixels.dtype)
    wider = weights.astype(np.int32 if bits <= 20 else np.int64)
    filter_loops().shifts(pixels.reshape(high, -1), channels, down, right, wider, half, bits, out)
    return out.reshape(pixels.shape)


def motion_steps(
    radius: int, sigma: float, angle: float, bits: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the moves down and to the right and their weights, 2^bits in total; padded to a multiple of 4
    with weight 0.

    >>> [part[:3].tolist() for part in motion_steps(10, 3.0, -45.0, 8)]
    [[0, 1, 1], [0, -1, -1], [60, 57, 48]]
    """
    width = 2 * radius + 1
    weights = line_weights([exact_exp(-i * i / (2.0 * sigma * sigma)) for i in range(width)], bits)
    sine, cosine = (round(part(math.radians(angle)) * 2.0**40) / 2.0**40 for part in (math.sin, math.cos))
    down = [-math.ceil(i * sine - 0.5) for i in range(width)]
    right = [-math.ceil(i * cosine - 0.5) for i in range(width)]
    more = [0] * (-width % 4)
    return np.array(down + more), np.array(right + more), np.array(weights + more, np.int64)
