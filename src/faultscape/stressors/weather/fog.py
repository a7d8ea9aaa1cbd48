"""Fog: a plasma fractal cloud over the image, the same on all channels.

Equation: x' = clip((x + c p) m / (m + c)), m the image's largest value, p in 0..1 a height map by the
diamond-square algorithm with steps of 100^2 / d^(2 l) at level l; the map's side is the longer side rounded
up to a power of two, and it wraps around. Truncated to grey levels.
Source: Hendrycks and Dietterich 2019, appendix B; Fournier, Fussell and Carpenter 1982.
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import weather_loops

_STEPS = 8192  # a height of 1


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are the amount c and the decay d.

    >>> foggy = apply(np.full((8, 8, 1), 200, np.uint8), (1.5, 2), 0)
    >>> int(foggy.min()), int(foggy.max())
    (68, 199)
    """
    amount, decay = float(parameters[0]), float(parameters[1])
    high, wide, channels = pixels.shape
    top, most = int(np.iinfo(pixels.dtype).max), int(pixels.max())
    heights = plasma_map(max(high, wide), decay, start)
    low = int(heights.min())
    span = max(int(heights.max()) - low, 1)
    gain = most / (most + amount * top) if most else 0.0
    gains = np.rint(np.arange(top + 1) * (gain * 65536.0)).astype(np.int64)
    out = np.empty((high, wide * channels), pixels.dtype)
    factor = amount * top * gain * 65536.0 / span
    weather_loops().veil(pixels.reshape(high, -1), channels, heights, low, factor, gains, top, out)
    return out.reshape(pixels.shape)


def plasma_map(side: int, decay: float, start: int) -> np.ndarray:
    """Return (S, S) int32 heights, where S is the side rounded up to a power of two.

    >>> plasma_map(5, 2.0, 0).shape
    (8, 8)
    """
    size = 1 << (side - 1).bit_length()
    reaches, reach = [], 10000.0
    for _ in range(size.bit_length()):
        reaches.append(round(reach * _STEPS))
        reach = reach / decay / decay
    return weather_loops().plasma(size, np.array(reaches, np.int64), np.uint64(start))
