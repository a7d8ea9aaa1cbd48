"""Snow: moving flakes in front of a whitened image.

Equation: x' = clip(k x + (1 - k) max(x, 1.5 grey + 0.5) + s + s turned by half a turn); s is normal noise
(mean, deviation), with its middle enlarged by `zoom`, values below `threshold` set to 0, clipped to 0..1,
blurred along a direction of -135..-45 degrees, rounded to 1 / 255. Truncated to grey levels. Conventions:
only the enlarged middle is drawn.
Source: Hendrycks and Dietterich 2019, appendix B; the package imagecorruptions for images of any shape.
"""

from __future__ import annotations

import math

import numpy as np

from faultscape.stressors.blur.motion_blur import blur_along
from faultscape.stressors.blur.zoom_blur import enlarged_places
from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import geometry_loops, noise_loops, weather_loops
from faultscape.stressors.normal_table import normal_table
from faultscape.stressors.streams import Stream

_ONE = 255 * 64  # the value 1 of a layer


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are the layer's mean, deviation, zoom and threshold, the motion's
    radius and deviation, and the share k of the image that is kept.

    >>> snowy = apply(np.full((32, 32, 1), 100, np.uint8), (0.1, 0.3, 3, 0.5, 10, 4, 0.8), 0)
    >>> int(snowy.min()), int(snowy.max())
    (135, 185)
    """
    keep, (high, wide, channels) = parameters[6], pixels.shape
    top = int(np.iinfo(pixels.dtype).max)
    layer = snow_layer(high, wide, parameters, start)
    out = np.empty((high, wide * channels), pixels.dtype)
    weather_loops().whiten(
        pixels.reshape(high, -1), channels, layer, round(keep * 65536), top // 255, top, out
    )
    return out.reshape(pixels.shape)


def snow_layer(high: int, wide: int, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W) uint8: the flakes, 255 white."""
    mean, deviation, zoom, threshold, radius, sigma = parameters[:6]
    tall, broad = math.ceil(high / zoom), math.ceil(wide / zoom)
    table, tail = normal_table(deviation * _ONE)
    drawn = noise_loops().normals(np.uint64(start), tall * broad, table, tail).reshape(
        tall, broad
    ) + np.int32(round(mean * _ONE))
    size = (round(tall * zoom), round(broad * zoom))
    y0, fy = enlarged_places(tall, size[0], size[0])
    x0, fx = enlarged_places(broad, size[1], size[1])
    layer = np.empty(size, np.int32)
    geometry_loops().enlarge(drawn, 1, y0, fy, x0, fx, layer)
    layer[layer < round(threshold * _ONE)] = 0
    flakes = (np.clip(layer, 0, _ONE) >> 2).astype(np.uint16)[..., None]
    angle = Stream(start, "angle").uniform(-135.0, -45.0)
    blurred = blur_along(flakes, int(radius), float(sigma), angle, 1 << 19, 16)
    return (blurred[:high, :wide, 0] >> 4).astype(np.uint8)
