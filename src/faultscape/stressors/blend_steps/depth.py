"""Step 5, depth blur by position: distant objects are less sharp.

Conventions: an object's distance is estimated from the row it stands on: farthest at the horizon and above,
nearest at the frame's lower border.
Source: Blum et al. 2021, section 3.1, fifth step; the horizon and the widths are ours.
"""

from __future__ import annotations

from faultscape.stressors.blend_steps.layer import Layer, blurred, gaussian, planes_of, with_planes


def blur_depth(layer: Layer, sigma: float) -> tuple[Layer, float]:
    """Return the layer blurred by a Gaussian of ``sigma`` pixels, and that sigma.

    >>> import numpy as np
    >>> layer = Layer(
    ...     np.zeros((3, 3, 3), np.int32),
    ...     np.eye(3, dtype=np.int32)[[2, 1, 2]] * 4096,
    ...     (0, 0),
    ...     np.zeros((3, 3, 3), np.uint8),
    ...     (3, 3),
    ... )
    >>> blur_depth(layer, 0.5)[1]
    0.5
    """
    return (with_planes(layer, blurred(planes_of(layer), gaussian(sigma))), sigma) if sigma else (layer, 0.0)


def farness(foot: int, horizon: int, height: int) -> float:
    """Return how far away an object with lowest row ``foot`` is in a frame of this height: 1 at the horizon's
    row and above, 0 at the lower border.

    >>> farness(400, 400, 1000), farness(700, 400, 1000), farness(1000, 400, 1000)
    (1.0, 0.5, 0.0)
    """
    return min(max((height - foot) / max(1, height - horizon), 0.0), 1.0)
