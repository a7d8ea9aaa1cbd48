"""Corruptions of files and screens: contrast, saturation, pixels, compression, and images pulled about.

Source: Hendrycks and Dietterich 2019, appendix B, unless a function names another.
"""

from __future__ import annotations

import io
import itertools
from fractions import Fraction

import numpy as np
from PIL import Image

from faultscape.stressors.corruptions.loops import colour_loops, geometry_loops, noise_loops
from faultscape.stressors.corruptions.smooth import gaussian_field
from faultscape.stressors.definition import Corruption, Parameters
from faultscape.stressors.streams import stream_start


def contrast(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Contrast: reduced contrast.

    x' = (x - mean) c + mean, where mean is that of the channel; truncated to grey levels. Sums, means and c
    are exact (c a fraction of its decimal digits).

    Return (H, W, C) pixels with their contrast multiplied by parameters[0].

    >>> contrast(np.array([[[0], [100], [200]]], np.uint8), (0.4,), 0).ravel()
    array([ 60, 100, 140], dtype=uint8)
    """
    del start
    colours = pixels.reshape(-1, pixels.shape[2])
    share = Fraction(str(parameters[0]))
    count = len(colours)
    levels = np.arange(int(np.iinfo(pixels.dtype).max) + 1, dtype=np.int64)
    sums = colour_loops().channel_sums(colours).tolist()
    tables = [
        ((levels * count - total) * share.numerator + total * share.denominator)
        // (count * share.denominator)
        for total in sums
    ]
    return colour_loops().look_up(colours, np.stack(tables).astype(pixels.dtype)).reshape(pixels.shape)


CONTRAST = Corruption(
    "contrast",
    "Contrast",
    "digital",
    ("kept",),
    ((0.4,), (0.3,), (0.2,), (0.1,), (0.05,)),
    contrast,
    random=False,
)


def elastic_transform(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Elastic transform: small areas are stretched and moved.

    x'(y, x) = x(y + a dy, x + a dx) by linear interpolation, the image mirrored beyond its border; dy and dx
    are uniform noise of +-0.005 H blurred with a Gaussian of 0.01 H rows and 0.01 W columns, cut at 3
    deviations. Truncated to grey levels. Labels: the label at the nearest pixel of the same place. Source:
    Hendrycks and Dietterich 2019, appendix B; the package imagecorruptions for images of any shape and for
    the numbers (the paper's code has different ones, for images of 224 x 224 pixels, and also rotates them).

    Return (H, W, C) pixels; parameters are the amount a.

    >>> moved = elastic_transform(np.arange(0, 252, 4, dtype=np.uint8).reshape(7, 9, 1), (12.5,), 0)
    >>> moved.shape, bool(moved.max() <= 248)
    ((7, 9, 1), True)
    """
    high, wide, channels = pixels.shape
    down, right = displacements(high, wide, float(parameters[0]), start)
    out = np.empty((high, wide * channels), pixels.dtype)
    geometry_loops().elastic(pixels.reshape(high, -1), channels, down, right, out)
    return out.reshape(pixels.shape)


def move_by_elastic_transform(
    high: int, wide: int, parameters: Parameters, start: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column (H, W) nearest to where each pixel came from; values below 0, or from H
    or W on, are beyond the border.

    >>> rows, columns = move_by_elastic_transform(9, 9, (0.0,), 0)
    >>> rows[:, 0].tolist(), columns[0].tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 3, 4, 5, 6, 7, 8])
    """
    down, right = displacements(high, wide, float(parameters[0]), start)
    return np.arange(high)[:, None] + ((down + 1024) >> 11), np.arange(wide) + ((right + 1024) >> 11)


def displacements(high: int, wide: int, amount: float, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (H, W) int32 each: how far down and to the right each pixel comes from, in steps of 2^-11."""
    sigmas = (0.01 * high, 0.01 * wide)
    reach = round(amount * 0.005 * high * 2048)
    fields = []
    for axis in ("down", "right"):
        drawn = noise_loops().uniforms(np.uint64(stream_start(start, axis)), high * wide).reshape(high, wide)
        smooth = gaussian_field(drawn, sigmas, 3.0, "mirror").astype(np.int64)  # 2^30 is the whole reach
        fields.append(((smooth * reach) >> 30).astype(np.int32))
    return fields[0], fields[1]


ELASTIC_TRANSFORM = Corruption(
    "elastic_transform",
    "Elastic transform",
    "digital",
    ("amount",),
    ((12.5,), (16.25,), (21.25,), (25.0,), (30.0,)),
    elastic_transform,
    random=True,
    move=move_by_elastic_transform,
    source="Hendrycks and Dietterich 2019; the numbers are those of imagecorruptions",
)


def pixelate(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Pixelate: fewer and larger pixels.

    The image is reduced to int(c H) x int(c W), at least 1 x 1, each pixel the mean of those whose centres it
    covers, rounded along rows and again along columns; then it is enlarged by nearest neighbour. Source:
    Hendrycks and Dietterich 2019, appendix B (Pillow's BOX; NEAREST as in the package imagecorruptions).

    Return (H, W, C) pixels at the share parameters[0] of their resolution.

    >>> pixelate(np.array([[[0], [10], [20], [30]]] * 4, np.uint8), (0.5,), 0)[0].ravel()
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


PIXELATE = Corruption(
    "pixelate",
    "Pixelate",
    "digital",
    ("size",),
    ((0.6,), (0.5,), (0.4,), (0.3,), (0.25,)),
    pixelate,
    random=False,
)


def jpeg_compression(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """JPEG compression.

    Conventions: Pillow's encoder with chroma at half resolution, its standard tables and no optimisation, and
    Pillow's decoder. Both are libjpeg-turbo's integer transforms, whose vector code gives the same bytes as
    its plain code: results are the same on any processor for one version of Pillow; another version may
    decode a level differently. Files have 8 bits: 16-bit values are rounded to the nearest of 256 levels.

    Return (H, W, C) pixels after JPEG compression with quality parameters[0].

    >>> jpeg_compression(np.full((2, 2, 3), 100, np.uint8), (25,), 0)[0, 0]
    array([100, 100, 100], dtype=uint8)
    """
    del start
    if pixels.dtype != np.uint8:
        small = ((pixels.astype(np.uint32) + 128) // 257).astype(np.uint8)
        return jpeg_compression(small, parameters, 0).astype(pixels.dtype) * np.array(257, pixels.dtype)
    file = io.BytesIO()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    image.save(file, "JPEG", quality=int(parameters[0]), subsampling=2, optimize=False, progressive=False)
    return np.array(Image.open(file)).reshape(pixels.shape)


JPEG_COMPRESSION = Corruption(
    "jpeg_compression",
    "JPEG compression",
    "digital",
    ("quality",),
    ((25,), (18,), (15,), (10,), (7,)),
    jpeg_compression,
    random=False,
)


def saturate(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Saturate: paler or stronger colours.

    The saturation of HSV becomes clip(c s + a, 0, 1); with v the largest channel, x' = v - (v - x) s' / s.
    Grey has the hue red, s' = a. Greyscale images do not change. Truncated to grey levels.

    Return (H, W, C) pixels; parameters are c and a.

    >>> saturate(np.array([[[200, 150, 100], [90, 90, 90]]], np.uint8), (5, 0.1), 0)
    array([[[200, 100,   0],
            [ 90,  81,  81]]], dtype=uint8)
    """
    del start
    if pixels.shape[2] == 1:
        return pixels.copy()
    # rounded down, so that exact values are not truncated
    scale, shift = (int(part * 65536) for part in parameters)
    inverses = 2**32 // np.maximum(np.arange(int(np.iinfo(pixels.dtype).max) + 1, dtype=np.int64), 1)
    return colour_loops().saturate_hsv(pixels.reshape(-1, 3), inverses, scale, shift).reshape(pixels.shape)


SATURATE = Corruption(
    "saturate",
    "Saturate",
    "digital",
    ("factor", "added"),
    ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    saturate,
    random=False,
)
