"""Step 6, colour noise: the object becomes as noisy as the frame.

Conventions: the noise of an image is estimated from its second differences, which smooth shading and straight
edges do not change, in blocks of 8 x 8 pixels; only the quietest quarter counts, so that texture does not.
The object's existing noise is subtracted: variances add.

``factor`` is how noisy the object becomes: 1 for as noisy as the frame. ``colour`` (h, w, 3) are
the pixels.

Source: Blum et al. 2021, section 3.1, sixth step; Immerkær 1996 (the estimate). That the variance follows the
frame's is ours.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultscape.stressors.blend_steps.kernels.choice import blend_kernels
from faultscape.stressors.blend_steps.layer import GREY, WHOLE, Layer

_BLOCK = 8
_MEAN_OF_NORMAL = (
    4.7873073648  # 6 sqrt(2 / pi): the mean size of the response to noise with a standard deviation of 1
)
# for pure noise, the quietest quarter of blocks reaches up to this share of the mean; by simulation
_QUIET = 0.883


def add_colour_noise(layer: Layer, start: int, factor: float) -> tuple[Layer, float]:
    """Return the layer with independent noise in each channel, and the largest channel's standard deviation
    in grey levels.

    sigma^2 = factor^2 max(0, s'^2 - s^2), with the frame's noise s' around the object and the object's own s.
    ``start`` is the start of the random stream.

    >>> from faultscape.stressors.streams import words_at
    >>> frame = (words_at(0, 32 * 32 * 3) >> np.uint64(60)).reshape(32, 32, 3).astype(np.uint8)
    >>> layer = Layer(
    ...     np.full((32, 32, 3), 25600, np.int32), np.full((32, 32), 4096, np.int32), (0, 0), frame, (32, 32)
    ... )
    >>> 3 < add_colour_noise(layer, 1, 1.0)[1] < 6  # of 0..15, evenly: 4.6
    True
    """
    wanted = noise_levels(layer.window.astype(np.int32) * GREY, np.ones(layer.alpha.shape, bool))
    there = noise_levels(layer.colour, layer.alpha > WHOLE * 3 // 4)
    variance = np.maximum(wanted * wanted - there * there, 0.0)
    sigmas = np.rint(np.sqrt(variance) * factor).astype(np.int64)
    colour = np.ascontiguousarray(layer.colour, np.int32).copy()
    blend_kernels().add_noise(colour, np.uint64(start), sigmas)
    return replace(layer, colour=colour), round(int(sigmas.max()) / GREY, 6)


def noise_levels(colour: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return (3,) float64: the noise's standard deviation in each channel of (h, w, 3) whole numbers, where
    ``inside`` (h, w) is true; 0 if there are too few pixels.

    >>> noise_levels(np.zeros((20, 20, 3), np.int32), np.ones((20, 20), bool)).tolist()
    [0.0, 0.0, 0.0]
    """
    height = (inside.shape[0] - 2) // _BLOCK
    width = (inside.shape[1] - 2) // _BLOCK
    if height < 1 or width < 1:
        return np.zeros(3)
    part = colour[: height * _BLOCK + 2, : width * _BLOCK + 2].astype(np.int32)
    lines = part[:-2] - 2 * part[1:-1] + part[2:]
    response = np.abs(lines[:, :-2] - 2 * lines[:, 1:-1] + lines[:, 2:])
    sums = response.reshape(height, _BLOCK, width, _BLOCK, 3).sum((1, 3), dtype=np.int64)
    whole = (
        inside[1:-1, 1:-1][: height * _BLOCK, : width * _BLOCK]
        .reshape(height, _BLOCK, width, _BLOCK)
        .all((1, 3))
    )
    if not whole.any():
        return np.zeros(3)
    found = np.sort(sums[whole], axis=0)
    return found[len(found) // 4] / (_BLOCK * _BLOCK * _MEAN_OF_NORMAL * _QUIET)
