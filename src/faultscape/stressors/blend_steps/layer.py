"""An object being blended into a frame: its colours and alpha at their size there, and the part of the frame
around it.

Conventions: colours are whole numbers, 256 per grey level (0..65280), alpha 0..4096, both int32, so that
every step gives the same bytes on every machine. Blurs and resampling work on planes (h, w, 4) of colour
times alpha, and alpha: colours of transparent pixels never leak in, and a pixel outside a mask takes the
colours of nearby object pixels.

``box`` is (x, y, width, height) of the object in the frame. ``flip`` mirrors it. ``margin`` is the width of
the transparent margin, in pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from faultscape.errors import ImageError, OptionError
from faultscape.stressors.blend_steps.kernels.choice import blend_kernels
from faultscape.stressors.objects.cutout import Cutout

WHOLE = 4096  # the alpha of a pixel fully covered by the object, and the sum of all weights
GREY = 256  # units per grey level
WHITE = 255 * GREY


@dataclass(frozen=True, eq=False)
class Layer:
    """An object's colour (h, w, 3) and alpha (h, w), its corner (x, y) in the frame, and the light (h, w, 3)
    that it sheds around itself, or None.

    ``window`` (h, w, 3) uint8 is the frame underneath, with the nearest pixels repeated beyond its border.
    ``size`` is the frame's (height, width).
    """

    colour: np.ndarray  # (h, w, 3) int32, 256 per grey level
    alpha: np.ndarray  # (h, w) int32, from 0 to 4096 where the object covers fully
    corner: tuple[int, int]  # (x, y) in the frame, possibly outside of it
    window: np.ndarray
    size: tuple[int, int]
    light: np.ndarray | None = None  # (h, w, 3) int32 that glow adds to the frame around the object


def layer_of(
    cutout: Cutout, base: np.ndarray, box: tuple[int, int, int, int], *, flip: bool, margin: int
) -> Layer:
    """Return the layer of a cut-out resized into the box (x, y, width, height) of a frame (H, W, 3), with a
    transparent margin around it.

    Each new pixel is the mean of the cut-out's pixels that it covers, or interpolated between the nearest
    ones when the object is enlarged.
    """
    x, y, width, height = box
    pixels = cutout.pixels
    alpha = cutout.alpha
    if flip:
        pixels = pixels[:, ::-1]
        alpha = alpha[:, ::-1]
    weight = (alpha.astype(np.int32) * WHOLE + 127) // 255
    planes = np.empty((*alpha.shape, 4), np.int32)
    planes[..., :3] = pixels.astype(np.int32) * GREY * weight[..., None]
    planes[..., 3] = weight
    planes = np.pad(resized(planes, (height, width)), ((margin, margin), (margin, margin), (0, 0)))
    window = window_of(base, (x - margin, y - margin, width + 2 * margin, height + 2 * margin))
    return Layer(*_straightened(planes), (x - margin, y - margin), window, (base.shape[0], base.shape[1]))


def window_of(base: np.ndarray, box: tuple[int, int, int, int]) -> np.ndarray:
    """Return the pixels of a frame in a box (x, y, width, height), with the nearest ones repeated beyond its
    border.

    >>> window_of(np.array([[1, 2], [3, 4]]), (1, 0, 2, 3)).tolist()
    [[2, 2], [4, 4], [4, 4]]
    """
    x, y, width, height = box
    rows = np.clip(np.arange(y, y + height), 0, base.shape[0] - 1)
    columns = np.clip(np.arange(x, x + width), 0, base.shape[1] - 1)
    return base[rows[:, None], columns]


def widened(layer: Layer, image: np.ndarray, margin: int) -> Layer:
    """Return the layer with a wider transparent margin, over a frame (H, W, 3)."""
    x = layer.corner[0] - margin
    y = layer.corner[1] - margin
    height, width = (side + 2 * margin for side in layer.alpha.shape)
    colour = np.pad(layer.colour, ((margin, margin), (margin, margin), (0, 0)))
    return replace(
        layer,
        colour=colour,
        alpha=np.pad(layer.alpha, margin),
        corner=(x, y),
        window=window_of(image, (x, y, width, height)),
    )


def planes_of(layer: Layer) -> np.ndarray:
    """Return (h, w, 4) int32: colour times alpha, and alpha."""
    planes = np.empty((*layer.alpha.shape, 4), np.int32)
    np.multiply(layer.colour, layer.alpha[..., None], out=planes[..., :3])
    planes[..., 3] = layer.alpha
    return planes


def with_planes(layer: Layer, planes: np.ndarray) -> Layer:
    """Return the layer with the colour and the alpha of planes; where alpha is 0, the colour is too."""
    colour, alpha = _straightened(planes)
    return replace(layer, colour=colour, alpha=alpha)


def _straightened(planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return colour and alpha from planes: the colour is divided by alpha."""
    colour = np.empty((*planes.shape[:2], 3), np.int32)
    alpha = np.empty(planes.shape[:2], np.int32)
    blend_kernels().straighten(planes, colour, alpha)
    return colour, alpha


def blurred(planes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return planes (h, w, k) int32 weighted along rows and columns; the weights are whole numbers with sum
    4096.
    """
    if len(weights) == 1:
        return planes
    lines = np.empty_like(planes)
    out = np.empty_like(planes)
    blend_kernels().blur(planes, weights, lines, out)
    return out


def gaussian(sigma: float) -> np.ndarray:
    """Return the weights of a Gaussian with a standard deviation in pixels, cut at three deviations on each
    side, as whole numbers with sum 4096.

    >>> gaussian(0.5).tolist(), int(gaussian(2.0).sum())
    ([1, 436, 3222, 436, 1], 4096)
    """
    if not 0 <= sigma < np.inf:
        raise OptionError(f"the deviation of a Gaussian must be 0 pixels or more; got {sigma:g}")
    radius = int(3 * sigma + 0.5)
    if not radius:
        return np.array([WHOLE], np.int64)
    raw = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    rounded = np.rint(np.round(raw, 9) * 2**20).astype(np.int64)  # the last bit of exp does not matter
    weights = rounded * WHOLE // int(rounded.sum())
    weights[radius] += WHOLE - int(weights.sum())
    return weights


def resized(planes: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return planes (h, w, k) int32 at another size (height, width).

    >>> (
    ...     resized(np.array([[[0], [100]]], np.int32), (1, 1)).tolist(),
    ...     resized(np.array([[[0], [100]]], np.int32), (1, 4))[..., 0].tolist(),
    ... )
    ([[[50]]], [[0, 25, 75, 100]])
    """
    height, width = size
    if height < 1 or width < 1:
        raise ImageError(f"an object cannot have {width} x {height} pixels; expected at least 1 x 1")
    first_y, weights_y = _weights(planes.shape[0], height)
    first_x, weights_x = _weights(planes.shape[1], width)
    planes = np.ascontiguousarray(planes, np.int32)
    lines = np.empty((planes.shape[0], width, planes.shape[2]), np.int32)
    out = np.empty((height, width, planes.shape[2]), np.int32)
    blend_kernels().resample(planes, first_y, weights_y, first_x, weights_x, lines, out)
    return out


def _weights(old: int, new: int) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each new pixel, the first old pixel (new,) and the weights (new, K) int64 with sum 4096: a
    triangle as wide as the larger of the two pixels.
    """
    scale = max(old / new, 1.0)
    centre = (np.arange(new) + 0.5) * (old / new) - 0.5
    count = min(old, 2 * int(np.ceil(scale)) + 1)
    first = np.clip(np.ceil(centre - scale).astype(np.int64), 0, old - count)
    place = first[:, None] + np.arange(count)
    raw = np.maximum(0.0, 1.0 - np.abs(place - centre[:, None]) / scale)
    raw = np.rint(raw * 2**16).astype(np.int64)
    raw[:, 0] += raw.sum(1) == 0
    weights = raw * WHOLE // raw.sum(1, keepdims=True)
    weights[np.arange(new), raw.argmax(1)] += WHOLE - weights.sum(1)
    return first, weights
