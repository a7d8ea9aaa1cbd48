"""Step 7, glow: overexposed areas shed light across their border.

Conventions: glow goes both ways: from bright pixels of the frame (a sky) onto the object's rim, and from
bright pixels of the object onto the frame around it. The frame's own glow is already in its pixels.

``strength`` is how bright the glow is.

Source: Blum et al. 2021, section 3.1, last step; the threshold, the width and the strength are ours.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultscape.stressors.blend_steps.kernels.choice import blend_kernels
from faultscape.stressors.blend_steps.layer import GREY, WHITE, WHOLE, Layer, blurred, gaussian, resized

BRIGHT = 225  # grey levels: above it a pixel is overexposed
_COARSE = 4  # glow is smooth: it is computed on blocks of 4 x 4 pixels


def add_glow(layer: Layer, sigma: float, strength: float) -> tuple[Layer, float]:
    """Return the layer with the frame's light on its rim and the light that it sheds, and the maximum of both
    in grey levels.

    Light on the object: strength G * ((1 - alpha) max(0, frame - 225)); around it: strength G * (alpha max(0,
    object - 225)), with a Gaussian G of ``sigma`` pixels.

    >>> window = np.full((16, 16, 3), 255, np.uint8)
    >>> alpha = np.zeros((16, 16), np.int32)
    >>> alpha[4:12, 4:12] = 4096
    >>> add_glow(Layer(np.zeros((16, 16, 3), np.int32), alpha, (0, 0), window, (16, 16)), 2.0, 1.0)[0].colour[
    ...     4, 4, 0
    ... ] > 0
    np.True_
    """
    height, width = layer.alpha.shape
    rows = -(-height // _COARSE)
    columns = -(-width // _COARSE)
    coarse = np.empty((rows, columns, 6), np.int32)
    if not blend_kernels().overexposed(layer.colour, layer.alpha, layer.window, BRIGHT, _COARSE, coarse):
        return layer, 0.0
    spread = resized(blurred(coarse, gaussian(sigma / _COARSE)), (rows * _COARSE, columns * _COARSE))[
        :height, :width
    ]
    spread = spread * round(strength * GREY) // GREY
    onto = spread[..., :3]
    light = spread[..., 3:]
    colour = np.minimum(layer.colour + onto, WHITE)
    most = max(int(onto[layer.alpha > 0].max(initial=0)), int(light[layer.alpha < WHOLE].max(initial=0)))
    return replace(layer, colour=colour, light=np.ascontiguousarray(light)), round(most / GREY, 6)
