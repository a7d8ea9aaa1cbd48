"""Frost: ice on the window in front of the camera.

Equation: x' = clip(k x + f ice), where ice is a random crop, of the image's size, from one of several
textures enlarged to 1.1 times the size that covers the image (1.1 times its own size if it already does);
truncated to grey levels. Conventions: textures are drawn by our own code (weather/frost_textures), or given:
(h, w) or (h, w, 3), uint8. They are enlarged by linear interpolation, where the reference uses cubic.
Source: Hendrycks and Dietterich 2019, appendix B; the package imagecorruptions for images of any shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from faultscape.errors import ImageError
from faultscape.stressors.definition import Parameters
from faultscape.stressors.loops import colour_loops, geometry_loops
from faultscape.stressors.streams import Stream
from faultscape.stressors.weather.frost_textures import TEXTURES, frost_texture

_GREY = (19595, 38469, 7472)  # 0.2989, 0.5870 and 0.1140 in steps of 2^-16


def apply(
    pixels: np.ndarray, parameters: Parameters, start: int, textures: Sequence[np.ndarray] | None = None
) -> np.ndarray:
    """Return (H, W, C) pixels; parameters are the shares of the image and of the ice. ImageError for invalid
    textures.

    >>> white = np.full((4, 4), 255, np.uint8)
    >>> apply(np.full((1, 2, 1), 100, np.uint8), (0.8, 0.5), 0, [white]).ravel()
    array([207, 207], dtype=uint8)
    """
    stream = Stream(start, "texture")
    if textures is None:
        texture = frost_texture(stream.integer(TEXTURES))
    else:
        texture = _checked(textures, stream.integer(len(textures) or 1))
    high, wide, channels = pixels.shape
    if channels == 1 and texture.shape[2] == 3:
        texture = ((texture.astype(np.int64) @ np.array(_GREY)) >> 16)[..., None]
    tall, broad = texture.shape[:2]
    scale = 1.1 * max(high / tall, wide / broad, 1.0)
    size = (math.ceil(tall * scale), math.ceil(broad * scale))
    top, left = stream.integer(size[0] - high), stream.integer(size[1] - wide)
    y0, fy = _between(tall, size[0], top, high)
    x0, fx = _between(broad, size[1], left, wide)
    ice = np.empty((high, wide * texture.shape[2]), np.uint8)
    geometry_loops().enlarge(
        np.ascontiguousarray(texture.reshape(tall, -1), np.uint8), texture.shape[2], y0, fy, x0, fx, ice
    )
    if texture.shape[2] < channels:
        ice = np.repeat(ice, channels, axis=1)
    most = int(np.iinfo(pixels.dtype).max)
    kept, added = (
        math.ceil(part * 65536) * np.arange(count)
        for part, count in zip(parameters, (most + 1, 256), strict=True)
    )
    return (
        colour_loops()
        .blend(pixels.ravel(), ice.ravel(), kept, added * (most // 255), most)
        .reshape(pixels.shape)
    )


def _between(part: int, size: int, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``count`` positions from ``first`` on in ``part`` pixels enlarged to ``size``, aligned by pixel
    centres, and weights in steps of 2^-14.
    """
    steps = np.clip((2 * np.arange(first, first + count) + 1) * part - size, 0, 2 * size * (part - 1))
    places, rest = steps // (2 * size), steps % (2 * size)
    return places, (rest * 16384 + size) // (2 * size)


def _checked(textures: Sequence[np.ndarray], place: int) -> np.ndarray:
    """Return the texture at a place as (h, w, C)."""
    if isinstance(textures, np.ndarray) and (
        textures.ndim < 3 or (textures.ndim == 3 and textures.shape[2] == 3)
    ):
        raise ImageError(
            f"frost: textures is a single array {textures.shape}; give a list of images, [texture] for one"
        )
    if not len(textures):
        raise ImageError(
            "frost: textures is empty; give one or more images, or leave it out to use drawn ones"
        )
    texture = np.asarray(textures[place])
    if (
        texture.dtype != np.uint8
        or texture.ndim not in (2, 3)
        or (texture.ndim == 3 and texture.shape[2] != 3)
        or not texture.size
    ):
        raise ImageError(
            f"frost: texture {place + 1} is {texture.dtype} {texture.shape}; expected uint8 (h, w) or"
            " (h, w, 3)"
        )
    return texture[..., None] if texture.ndim == 2 else texture
