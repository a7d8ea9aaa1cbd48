"""Elastic transform: small areas are stretched and moved.

Equation: x'(y, x) = x(y + a dy, x + a dx) by linear interpolation, the image mirrored beyond its border; dy
and dx are uniform noise of +-0.005 H blurred with a Gaussian of 0.01 H rows and 0.01 W columns, cut at 3
deviations. Truncated to grey levels.
Labels: the label at the nearest pixel of the same place.
Source: Hendrycks and Dietterich 2019, appendix B; the package imagecorruptions for images of any shape and
for the numbers (the paper's code has different ones, for images of 224 x 224 pixels, and also rotates them).
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import geometry_loops, noise_loops
from faultscape.stressors.smooth import gaussian_field
from faultscape.stressors.streams import stream_start


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are the amount a.

    >>> moved = apply(np.arange(0, 252, 4, dtype=np.uint8).reshape(7, 9, 1), (12.5,), 0)
    >>> moved.shape, bool(moved.max() <= 248)
    ((7, 9, 1), True)
    """
    high, wide, channels = pixels.shape
    down, right = displacements(high, wide, float(parameters[0]), start)
    out = np.empty((high, wide * channels), pixels.dtype)
    geometry_loops().elastic(pixels.reshape(high, -1), channels, down, right, out)
    return out.reshape(pixels.shape)


def move(high: int, wide: int, parameters: Parameters, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column (H, W) nearest to where each pixel came from; values below 0, or from H
    or W on, are beyond the border.

    >>> rows, columns = move(9, 9, (0.0,), 0)
    >>> rows[:, 0].tolist(), columns[0].tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8])
    """
    down, right = displacements(high, wide, float(parameters[0]), start)
    return np.arange(high)[:, None] + ((down + 1024) >> 11), np.arange(wide) + ((right + 1024) >> 11)


def displacements(high: int, wide: int, amount: float, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (H, W) int32 each: how far down and to the right each pixel comes from, in steps of 2^-11."""
    sigmas, reach = (0.01 * high, 0.01 * wide), round(amount * 0.005 * high * 2048)
    fields = []
    for axis in ("down", "right"):
        drawn = noise_loops().uniforms(np.uint64(stream_start(start, axis)), high * wide).reshape(high, wide)
        smooth = gaussian_field(drawn, sigmas, 3.0, "mirror").astype(np.int64)  # 2^30 is the whole reach
        fields.append(((smooth * reach) >> 30).astype(np.int32))
    return fields[0], fields[1]
