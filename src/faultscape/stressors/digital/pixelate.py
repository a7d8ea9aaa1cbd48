"""Pixelate: fewer and larger pixels.

Equation: the image is reduced to int(c H) x int(c W), at least 1 x 1, each pixel the mean of those whose
centres it covers, rounded along rows and again along columns; then it is enlarged by nearest neighbour.
Source: Hendrycks and Dietterich 2019, appendix B (Pillow's BOX; NEAREST as in the package imagecorruptions).
"""

from __future__ import annotations

import itertools

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import geometry_loops


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels at the share parameters[0] of their resolution.

    >>> apply(np.array([[[0], [10], [20], [30]]] * 4, np.uint8), (0.5,), 0)[0].ravel()
    array([ 5,  5, 25, 25], dtype=uint8)
    """
    del start
    high, wide, channels = pixels.shape
    (down, up), (right, across) = (block_edges(count, parameters[0]) for count in (high, wide))
    out = np.empty((high, wide * channels), pixels.dtype)
    geometry_loops().blocks(pixels.reshape(high, -1), channels, down, right, up, across, out)
    return out.reshape(pixels.shape)


def block_edges(count: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (3, n) the first pixels of the blocks of ``count``, the pixels after their last, and 2^34 / (2
    size), rounded up; and (count,) the block that each pixel shows.

    >>> edges, shown = block_edges(5, 0.5)
    >>> edges[:2].tolist(), shown
    ([[0, 3], [3, 5]], array([0, 0, 1, 1, 1]))
    """
    blocks = max(int(count * share), 1)
    # floats in Pillow's order: rounding decides for a centre on the border of two blocks
    wide = count / blocks
    middles = (np.arange(blocks) + 0.5) * wide
    first, past = ((middles + side * (0.5 * wide) + 0.5).astype(np.int64) for side in (-1, 1))
    past = np.minimum(past, count)
    first += ((first - middles + 0.5) * (1.0 / wide) <= -0.5).astype(np.int64)
    past -= ((past - 1 - middles + 0.5) * (1.0 / wide) > 0.5).astype(np.int64)
    step = blocks / count
    shown = [
        int(place) for place in itertools.accumulate(itertools.repeat(step, count - 1), initial=0.5 * step)
    ]
    return np.stack([first, past, 2**34 // (2 * (past - first)) + 1]), np.minimum(np.array(shown), blocks - 1)
