"""Glass blur: a blur, pixels replaced by nearby ones, and the blur again, as through frosted glass.

Equation: from the last row and column to the first, `rounds` times, pixel (y, x) becomes (y + dy, x + dx),
both drawn from -reach..reach - 1. The paper's code leaves out +reach. It intends to swap the two pixels, but
on colour images its NumPy swap of two views writes only the first, and the published images were made that
way. Both blurs are truncated to grey levels.
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import geometry_loops
from faultscape.stressors.smooth import gaussian_pixels


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are the blur's deviation, the reach and the rounds.

    >>> image = np.zeros((9, 9, 1), np.uint8)
    >>> image[4, 4] = 255
    >>> int(apply(image, (0.7, 1, 2), 0).sum()) > 150
    True
    """
    sigma, reach, rounds = float(parameters[0]), int(parameters[1]), int(parameters[2])
    high, wide, channels = pixels.shape
    order = geometry_loops().scatter(high, wide, reach, rounds, np.uint64(start))
    moved = geometry_loops().gather(gaussian_pixels(pixels, sigma).reshape(-1, channels), order)
    return gaussian_pixels(moved.reshape(pixels.shape), sigma)


def move(high: int, wide: int, parameters: Parameters, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column (H, W) from which each pixel was taken; the blurs do not move labels.

    >>> rows, columns = move(9, 9, (0.7, 1, 2), 0)
    >>> int(abs(rows - np.arange(9)[:, None]).max()), rows[0].tolist()
    (2, [0, 0, 0, 0, 0, 0, 0, 0, 0])
    """
    order = (
        geometry_loops()
        .scatter(high, wide, int(parameters[1]), int(parameters[2]), np.uint64(start))
        .reshape(high, wide)
    )
    return order // wide, order % wide
