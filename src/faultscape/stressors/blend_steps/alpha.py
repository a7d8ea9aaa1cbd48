"""Step 1, alpha smoothing: a hard mask gets a small gradient of transparency at its border.

Conventions: the border stays where it was: alpha is 1/2 on it. Outside the mask the object's own colours go on, never those of the image it was cut out of.
Source: Blum et al. 2021 (S4) 3.1, first step; the width is ours.
"""

from __future__ import annotations

from faultscape.stressors.blend_steps.layer import Layer, blurred, gaussian, of_planes, planes_of


def smooth_alpha(layer: Layer, sigma: float) -> tuple[Layer, float]:
    """Return the layer with alpha smoothed by a Gaussian of ``sigma`` pixels, and that sigma; inside, colours stay as they were.

    alpha = G * mask; colour = mask colour + (1 - mask) (G * (mask colour)) / (G * mask).

    >>> import numpy as np
    >>> mask = np.repeat(np.array([[0, 0, 0, 4096, 4096, 4096, 4096]], np.int32), 5, 0)
    >>> layer = Layer(np.full((5, 7, 3), 256, np.int32), mask, (0, 0), np.zeros((5, 7, 3), np.uint8), (5, 7))
    >>> smooth_alpha(layer, 0.5)[0].alpha[2, :5].tolist()
    [0, 1, 437, 3659, 4095]
    """
    if not sigma:
        return layer, 0.0
    soft = of_planes(blurred(planes_of(layer), gaussian(sigma)), layer)
    inside = layer.alpha > 0
    soft.colour[inside] = layer.colour[inside]
    return soft, sigma
