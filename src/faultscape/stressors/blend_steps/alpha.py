"""Step 1, alpha smoothing: a hard mask gets a narrow transparency gradient at its border.

Conventions: the border stays in place: alpha is 1/2 on it. Near and beyond it, colours come from the object's
pixels further inside, because the outermost pixels of a mask contain some background of the original image.
Source: Blum et al. 2021, section 3.1, first step; the width is ours.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultscape.stressors.blend_steps.layer import WHOLE, Layer, blurred, gaussian, planes_of, with_planes

_LEAST = WHOLE // 64  # with less weight, colours would be rounding errors


def smooth_alpha(layer: Layer, sigma: float) -> tuple[Layer, float]:
    """Return the layer with alpha smoothed by a Gaussian of ``sigma`` pixels, and that sigma; colours well
    inside do not change.

    alpha = G * mask; colour = (G * (inner colour)) / (G * inner) where alpha is below 9/10 and the Gaussian
    reaches ``inner``, the pixels where it is not.

    >>> mask = np.repeat(np.array([[0, 0, 0, 4096, 4096, 4096, 4096]], np.int32), 5, 0)
    >>> layer = Layer(np.full((5, 7, 3), 256, np.int32), mask, (0, 0), np.zeros((5, 7, 3), np.uint8), (5, 7))
    >>> smooth_alpha(layer, 0.5)[0].alpha[2, :5].tolist()
    [0, 1, 437, 3659, 4095]
    """
    if not sigma:
        return layer, 0.0
    soft = with_planes(layer, blurred(planes_of(layer), gaussian(sigma)))
    inner = soft.alpha * 10 >= WHOLE * 9
    around = blurred(planes_of(replace(layer, alpha=np.where(inner, layer.alpha, 0))), gaussian(sigma))
    reached = around[..., 3] >= _LEAST
    colour = np.where(reached[..., None], with_planes(layer, around).colour, soft.colour)
    own = inner | (~reached & (layer.alpha > 0))
    colour[own] = layer.colour[own]
    return replace(soft, colour=colour), sigma
