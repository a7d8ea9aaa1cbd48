"""Step 4, radial motion blur: as the camera drives, what it sees moves away from the point it
drives towards.

Conventions: the blur is proportional to the distance from that point (the focus). Where it is shorter than a
pixel in the whole layer, as in small frames, two points a quarter of its length to each side stand for it:
interpolated between pixels, they have exactly the mean over its whole length.

``focus`` (x, y) is that point of the frame.

Source: Blum et al. 2021, section 3.1, fourth step; the focus and the share are ours.
"""

from __future__ import annotations

import numpy as np

from faultscape.stressors.blend_steps.kernels.choice import blend_kernels
from faultscape.stressors.blend_steps.layer import Layer, planes_of, with_planes

_MOST = 33  # maximum number of points averaged for a pixel


def blur_motion(layer: Layer, focus: tuple[int, int], share: float) -> tuple[Layer, float]:
    """Return the layer blurred along the rays from the focus (x, y) of the frame, over ``share`` of each
    pixel's distance, and the longest blur in pixels, 0 if it changes nothing.

    >>> layer = Layer(
    ...     np.zeros((1, 3, 3), np.int32),
    ...     np.array([[0, 4096, 0]], np.int32),
    ...     (99, 0),
    ...     np.zeros((1, 3, 3), np.uint8),
    ...     (1, 102),
    ... )
    >>> blur_motion(layer, (0, 0), 0.02)[0].alpha.tolist()  # 2 of 100 pixels
    [[1349, 1365, 1349]]
    """
    height, width = layer.alpha.shape
    centre_y = focus[1] - layer.corner[1]
    centre_x = focus[0] - layer.corner[0]
    reach_y = max(abs(centre_y), abs(height - centre_y))
    reach_x = max(abs(centre_x), abs(width - centre_x))
    longest = share * float(np.sqrt(reach_y * reach_y + reach_x * reach_x))
    taps = min(_MOST, int(longest) + 1)
    reach = round(share * 2**20)
    if longest < 1:
        taps = 2
        reach = reach // 2
    planes = planes_of(layer)
    out = np.empty_like(planes)
    blend_kernels().move(planes, centre_y, centre_x, reach, taps, out)
    if np.array_equal(out, planes):
        return layer, 0.0
    return with_planes(layer, out), round(longest, 6)


def longest_motion(shape: tuple[int, int], share: float) -> int:
    """Return the maximum number of pixels to each side that motion can spread an object in a frame (height,
    width).

    >>> longest_motion((300, 400), 0.02)
    6
    """
    return int(share * float(np.sqrt(shape[0] * shape[0] + shape[1] * shape[1])) / 2) + 1
