"""Step 2, brightness: the object's mean brightness moves towards that of the pixels that it covers.

Conventions: brightness is (77 R + 150 G + 29 B) / 256; means are weighted by alpha. Light is multiplicative,
so colours are multiplied, by up to 1.5; beyond that they are lifted towards white, as against an overexposed
sky, because larger factors clip and look garish.
Source: Blum et al. 2021, section 3.1, second step; the strength and the method are ours.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultscape.stressors.blend_steps.layer import GREY, WHITE, WHOLE, Layer

_LARGEST = WHOLE * 3 // 2  # factor of colours


def match_brightness(layer: Layer, strength: float) -> tuple[Layer, float]:
    """Return the layer with its mean brightness moved ``strength`` (0..1) of the way to that of the covered
    pixels, and the change in grey levels.

    m + strength (m' - m), with the object's mean m and the covered pixels' mean m'.

    >>> layer = Layer(
    ...     np.full((1, 1, 3), 25600, np.int32),
    ...     np.array([[4096]], np.int32),
    ...     (0, 0),
    ...     np.full((1, 1, 3), 200, np.uint8),
    ...     (1, 1),
    ... )
    >>> match_brightness(layer, 0.5)[0].colour.tolist(), match_brightness(layer, 0.5)[1]
    ([[[38400, 38400, 38400]]], 50.0)
    """
    own = mean_brightness(layer.colour, layer.alpha)
    covered = mean_brightness(layer.window.astype(np.int32) * GREY, layer.alpha)
    target = own + round(strength * WHOLE) * (covered - own) // WHOLE
    factor = min(target * WHOLE // max(own, 1), _LARGEST)
    colour = np.minimum((layer.colour * np.int64(factor) + WHOLE // 2) // WHOLE, WHITE)
    lifted = mean_brightness(colour, layer.alpha)
    if factor == _LARGEST and lifted < target:
        colour += (WHITE - colour) * ((target - lifted) * WHOLE // (WHITE - lifted)) // WHOLE
    colour = colour.astype(np.int32)
    return replace(layer, colour=colour), round((mean_brightness(colour, layer.alpha) - own) / GREY, 6)


def mean_brightness(colour: np.ndarray, alpha: np.ndarray) -> int:
    """Return the mean brightness of colours (h, w, 3) weighted by alpha (h, w), in 256ths of a grey level.

    >>> mean_brightness(np.full((2, 2, 3), 512), np.ones((2, 2), np.int32))
    512
    """
    bright = (
        colour[..., 0] * np.int64(77) + colour[..., 1] * np.int64(150) + colour[..., 2] * np.int64(29)
    ) >> 8
    return int((bright * alpha).sum()) // max(1, int(alpha.sum(dtype=np.int64)))
