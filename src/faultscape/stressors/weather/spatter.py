"""Spatter: drops of water (severities 1 to 3) or mud (4 and 5) on the lens.

Equation: l is normal noise (mean, deviation) blurred with a Gaussian, values below `threshold` set to 0.
Water: its edges (Canny, 50 and 150) give distances, at most 20, which are averaged over 3 x 3, equalised,
embossed and averaged again; m = l times that, over its maximum, times `amount`, and x' = clip(x + m pale
turquoise). Mud: m is the mask l > threshold blurred with a Gaussian of `amount` pixels, values below 0.8 set
to 0, and x' = (1 - m) x + m brown. Truncated to grey levels.
Conventions: edges, distances and averages are our own loops of integers, after OpenCV's definitions (Canny
with |dx| + |dy|; a 5 x 5 chamfer of 1, 1.4 and 2.1969).
Source: Hendrycks and Dietterich 2019, appendix B.
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import noise_loops, weather_loops
from faultscape.stressors.normal_table import normal_table
from faultscape.stressors.smooth import gaussian_field

_ONE = 8192  # the value 1 of the liquid before blurring, 2^28 after
_TURQUOISE, _MUD = (175, 238, 238), (63, 42, 20)
_GREY = (0.2989, 0.5870, 0.1140)
_EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.int32)
_MEAN = np.ones((3, 3), np.int32)


def apply(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are the liquid's mean, deviation, blur and threshold, the amount,
    and 1 for mud.

    >>> dirty = apply(np.full((64, 64, 1), 100, np.uint8), (0.65, 0.3, 1, 0.65, 1.5, 1), 0)
    >>> int(dirty.min()), int(dirty.max())
    (47, 100)
    """
    mean, deviation, sigma, threshold, amount, mud = parameters
    high, wide, channels = pixels.shape
    table, tail = normal_table(deviation * _ONE)
    drawn = noise_loops().normals(np.uint64(start), high * wide, table, tail) + np.int32(round(mean * _ONE))
    liquid = gaussian_field(drawn.astype(np.int16).reshape(high, wide), (sigma, sigma), 4.0, "nearest")
    wet = liquid >= round(threshold * 2**28)
    if mud:
        cover = (
            gaussian_field(np.where(wet, 16384, 0).astype(np.int16), (amount, amount), 4.0, "nearest") >> 13
        )
        drops = np.where(cover < 52429, 0, cover)  # 0.8
        keep = 65536 - drops
    else:
        drops, keep = (
            water(np.where(wet, ((liquid >> 8) * 255) >> 20, 0), amount),
            np.full((high, wide), 65536, np.int32),
        )
    colour = np.array(_MUD if mud else _TURQUOISE, np.int64)
    if channels == 1:
        colour = np.array([round(sum(w * c for w, c in zip(_GREY, colour.tolist(), strict=True)))])
    top = int(np.iinfo(pixels.dtype).max)
    out = np.empty((high, wide * channels), pixels.dtype)
    weather_loops().splash(
        pixels.reshape(high, -1), channels, drops, keep, (colour * (top // 255)) << 16, top, out
    )
    return out.reshape(pixels.shape)


def water(liquid: np.ndarray, amount: float) -> np.ndarray:
    """Return (H, W) int32, in steps of 2^-16: the amount of the water's colour to add, given the liquid (H,
    W) int32 with values 0..255.

    >>> water(np.zeros((2, 2), np.int32), 0.6).tolist()
    [[0, 0], [0, 0]]
    """
    loops = weather_loops()
    brims = loops.edges(liquid.astype(np.uint8), 50, 150)
    far = (loops.sums3(loops.distances(brims, 20 << 16), _MEAN) // (9 << 16)).astype(np.uint8)
    heights = equalised(far)[far]
    embossed = np.clip(loops.sums3(heights, _EMBOSS), 0, 255)
    drops = liquid * ((loops.sums3(embossed, 2 * _MEAN) + 9) // 18)
    most = int(drops.max())
    return (np.arange(most + 1) * round(amount * 65536) // max(most, 1)).astype(np.int32)[drops]


def equalised(image: np.ndarray) -> np.ndarray:
    """Return (256,) int32: the histogram equalisation table of an image with values 0..255; the lowest one
    becomes 0.

    >>> equalised(np.array([[3, 3, 7, 9]]))[[3, 7, 9]]
    array([  0, 128, 255], dtype=int32)
    """
    counts = np.bincount(image.ravel(), minlength=256)
    lowest = int(np.flatnonzero(counts)[0])
    others = int(counts.sum() - counts[lowest])
    if not others:
        return np.full(256, lowest, np.int32)
    reached = np.cumsum(counts) - counts[lowest]
    table = (2 * 255 * reached + others) // (2 * others)
    table[: lowest + 1] = 0
    return table.astype(np.int32)
