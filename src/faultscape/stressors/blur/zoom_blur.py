"""Zoom blur: the camera moves towards what it sees while the image is taken.

Equation: x' = (x + sum over zooms z of zoom(x, z)) / (n + 1), z from 1 in n steps; zoom(x, z) is the middle
ceil(H / z) x ceil(W / z) pixels enlarged to round(z ceil(H / z)) rows by linear interpolation, corner to
corner, of which the first H x W are taken; truncated to grey levels. Labels: a pixel of the result is a
mixture of all layers; its label is the one at the mean of its layers' source positions.
Source: Hendrycks and Dietterich 2019, appendix B; the package imagecorruptions for images of any shape.
"""

from __future__ import annotations

import math

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import geometry_loops


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are the end and the step of the zoom.

    >>> apply(np.array([[[0], [0], [0], [255], [0], [0], [0]]], np.uint8), (1.11, 0.01), 0).ravel()
    array([  0,   0,   0, 221,  44,   0,   0], dtype=uint8)
    """
    del start
    high, wide, channels = pixels.shape
    zooms = zoom_factors(*parameters)
    y0, fy = (np.stack(part) for part in zip(*(zoomed_places(high, zoom) for zoom in zooms[1:]), strict=True))
    x0, fx = (np.stack(part) for part in zip(*(zoomed_places(wide, zoom) for zoom in zooms[1:]), strict=True))
    out = np.empty((high, wide * channels), pixels.dtype)
    factor = -(-(2**32) // (len(zooms) + 1))
    geometry_loops().zoom_layers(pixels.reshape(high, -1), channels, y0, fy, x0, fx, 2, factor, out)
    return out.reshape(pixels.shape)


def move(high: int, wide: int, parameters: Parameters, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column (H, W) of the mean source position of each pixel's layers.

    >>> move(8, 8, (1.31, 0.03), 0)[0][:, 0]
    array([0, 1, 2, 3, 4, 4, 5, 6])
    >>> move(64, 64, (1.31, 0.03), 0)[0][[0, 20, 40, 63], 0]
    array([ 3, 21, 39, 59])
    """
    del start
    zooms = zoom_factors(*parameters)
    means = []
    for count in (high, wide):
        total = 2 * 16384 * np.arange(count)
        for zoom in zooms[1:]:
            places, weights = zoomed_places(count, zoom)
            total = total + places * 16384 + weights
        layers = 16384 * (len(zooms) + 1)
        means.append((2 * total + layers) // (2 * layers))
    return np.repeat(means[0][:, None], wide, axis=1), np.repeat(means[1][None], high, axis=0)


def zoom_factors(end: float, step: float) -> list[float]:
    """Return the zooms 1, 1 + step, ... below ``end``, as in numpy.arange(1, end, step).

    >>> zoom_factors(1.11, 0.05)
    [1.0, 1.05, 1.1]
    """
    each = (1.0 + step) - 1.0
    return [1.0 + k * each for k in range(math.ceil((end - 1.0) / step))]


def zoomed_places(count: int, zoom: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (count,) the source positions of an enlarged line of ``count`` pixels, and the weights of the
    next pixels in steps of 2^-14.

    >>> zoomed_places(4, 2.0)
    (array([1, 1, 1, 2]), array([    0,  5461, 10923,     0]))
    """
    part = math.ceil(count / zoom)
    return enlarged_places(part, round(part * zoom), count, (count - part) // 2)


def enlarged_places(part: int, size: int, count: int, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the first ``count`` places of ``part`` pixels from ``first`` on, enlarged to ``size`` corner to
    corner, and their weights.
    """
    steps, last = np.arange(count) * max(part - 1, 0), max(size - 1, 1)
    places, rest = steps // last, steps % last
    return first + places, (2 * rest * 16384 + last) // (2 * last)
