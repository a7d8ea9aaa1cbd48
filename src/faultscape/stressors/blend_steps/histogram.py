"""Step 3, inverse colour histogram: the object's channels move towards the frame's distribution.

Conventions: channels are processed separately. The object's histogram is weighted by alpha; the frame's is
that of the object's box (and the few pixels that blurs reach beyond it). The histogram of the whole image,
which sky and shadows stretch, made objects easier to find than without the step (docs/how-to/blending.md).
Source: Blum et al. 2021, section 3.1, third step; the strength and the part are ours.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultscape.errors import ImageError
from faultscape.stressors.blend_steps.kernels.choice import blend_kernels
from faultscape.stressors.blend_steps.layer import GREY, WHITE, WHOLE, Layer

_SPREAD = 16  # grey levels to each side over which an object's histogram is smoothed


def match_histogram(layer: Layer, strength: float, counts: np.ndarray | None = None) -> tuple[Layer, float]:
    """Return the layer with each channel moved ``strength`` (0..1) of the way to the frame's distribution,
    and the mean change in grey levels.

    v -> v + strength (F'^-1(F(v)) - v), with the object's cumulative histogram F and the frame's F', whose
    ``counts`` (3, 256) are by default `channel_counts` of the layer's window.

    >>> layer = Layer(
    ...     np.full((1, 1, 3), 25600, np.int32),
    ...     np.array([[4096]], np.int32),
    ...     (0, 0),
    ...     np.full((1, 1, 3), 200, np.uint8),
    ...     (1, 1),
    ... )
    >>> match_histogram(layer, 1.0, channel_counts(np.full((8, 8, 3), 200, np.uint8)))[0].colour.tolist()
    [[[51200, 51200, 51200]]]
    """
    if counts is None:
        counts = channel_counts(layer.window)
    colour = layer.colour.copy()
    share = round(strength * WHOLE)
    inside = layer.alpha > 0
    weight = layer.alpha[inside]
    moved = 0
    for c in range(3):
        values = colour[inside, c]
        own = _smoothed(
            np.bincount((values + GREY // 2) >> 8, weights=weight, minlength=256).astype(np.int64)
        )
        table = np.append(_table(own, counts[c]), WHITE)
        place = values >> 8
        part = values & 255
        target = table[place] + ((table[place + 1] - table[place]) * part >> 8)
        change = (target - values) * share // WHOLE
        colour[inside, c] = np.clip(values + change, 0, WHITE)
        moved += int((np.abs(change) * weight).sum())
    return replace(layer, colour=colour), round(
        moved / (3 * GREY * max(1, int(weight.sum(dtype=np.int64)))), 6
    )


def channel_counts(image: np.ndarray) -> np.ndarray:
    """Return (3, 256) int64: how often each value occurs in each channel of an (H, W, 3) uint8 image.

    >>> channel_counts(np.full((2, 2, 3), 7, np.uint8))[:, 7].tolist()
    [4, 4, 4]
    """
    image = np.asarray(image)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        raise ImageError(f"expected an image, H x W x 3 uint8; got {image.dtype} of shape {image.shape}")
    return blend_kernels().count_values(image)


def _smoothed(counts: np.ndarray) -> np.ndarray:
    """Return the counts (256,) spread evenly over 33 values each, twice, so that a surface of one colour
    moves as a whole instead of splitting into the frame's colours.
    """
    for _ in range(2):
        sums = np.concatenate([[0], np.cumsum(np.pad(counts, _SPREAD))])
        counts = sums[2 * _SPREAD + 1 :] - sums[: -2 * _SPREAD - 1]
    return counts


def _table(own: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Return (256,) int64: the colour of the frame at the rank of the middle of each of the object's values;
    within a value, ranks rise evenly.
    """
    reach = np.cumsum(own)
    rank = (2 * reach - own) * int(frame.sum()) // (2 * max(1, int(reach[-1])))  # in the frame's pixels
    ends = np.cumsum(frame)
    value = np.minimum(np.searchsorted(ends, rank, side="right"), 255)
    begins = ends - frame
    part = np.clip((rank - begins[value]) * GREY // np.maximum(frame[value], 1), 0, GREY)
    return np.clip(value * GREY - GREY // 2 + part, 0, WHITE)
