"""The steps that make a pasted object look as if the frame's camera had seen it, in the paper's order.

Conventions: a step takes the object's layer and its own numbers, and returns the layer and one number that
describes what it did.
Source: Blum et al. 2021, section 3.1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultscape.errors import ImageError
from faultscape.stressors.blend_steps.kernels.choice import blend_kernels
from faultscape.stressors.blend_steps.layer import (
    GREY,
    WHITE,
    WHOLE,
    Layer,
    blurred,
    gaussian,
    planes_of,
    resized,
    with_planes,
)

_LEAST_WEIGHT = WHOLE // 64  # with less weight, colours would be rounding errors
_LARGEST_FACTOR = WHOLE * 3 // 2  # factor of colours
_HISTOGRAM_SPREAD = 16  # grey levels to each side over which an object's histogram is smoothed
_MOST_POINTS = 33  # maximum number of points averaged for a pixel
_NOISE_BLOCK = 8
_MEAN_OF_NORMAL = (
    4.7873073648  # 6 sqrt(2 / pi): the mean size of the response to noise with a standard deviation of 1
)
# for pure noise, the quietest quarter of blocks reaches up to this share of the mean; by simulation
_QUIET_SHARE = 0.883
BRIGHT = 225  # grey levels: above it a pixel is overexposed
_GLOW_BLOCK = 4  # glow is smooth: it is computed on blocks of 4 x 4 pixels


def smooth_alpha(layer: Layer, sigma: float) -> tuple[Layer, float]:
    """Return the layer with alpha smoothed by a Gaussian of ``sigma`` pixels, and that sigma; colours well
    inside do not change.

    alpha = G * mask; colour = (G * (inner colour)) / (G * inner) where alpha is below 9/10 and the Gaussian
    reaches ``inner``, the pixels where it is not.

    The border stays in place: alpha is 1/2 on it. Near and beyond it, colours come from the object's pixels
    further inside, because the outermost pixels of a mask contain some background of the original image.
    Source: Blum et al. 2021, section 3.1, first step; the width is ours.

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
    reached = around[..., 3] >= _LEAST_WEIGHT
    colour = np.where(reached[..., None], with_planes(layer, around).colour, soft.colour)
    own = inner | (~reached & (layer.alpha > 0))
    colour[own] = layer.colour[own]
    return replace(soft, colour=colour), sigma


def match_brightness(layer: Layer, strength: float) -> tuple[Layer, float]:
    """Return the layer with its mean brightness moved ``strength`` (0..1) of the way to that of the covered
    pixels, and the change in grey levels.

    m + strength (m' - m), with the object's mean m and the covered pixels' mean m'.

    Brightness is (77 R + 150 G + 29 B) / 256; means are weighted by alpha. Light is multiplicative, so
    colours are multiplied, by up to 1.5; beyond that they are lifted towards white, as against an overexposed
    sky, because larger factors clip and look garish.
    Source: Blum et al. 2021, section 3.1, second step; the strength and the method are ours.

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
    factor = min(target * WHOLE // max(own, 1), _LARGEST_FACTOR)
    colour = np.minimum((layer.colour * np.int64(factor) + WHOLE // 2) // WHOLE, WHITE)
    lifted = mean_brightness(colour, layer.alpha)
    if factor == _LARGEST_FACTOR and lifted < target:
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


def match_histogram(layer: Layer, strength: float, counts: np.ndarray | None = None) -> tuple[Layer, float]:
    """Return the layer with each channel moved ``strength`` (0..1) of the way to the frame's distribution,
    and the mean change in grey levels.

    v -> v + strength (F'^-1(F(v)) - v), with the object's cumulative histogram F and the frame's F', whose
    ``counts`` (3, 256) are by default `channel_counts` of the layer's window.

    Channels are processed separately. The object's histogram is weighted by alpha; the frame's is that of the
    object's box (and the few pixels that blurs reach beyond it). The histogram of the whole image, which sky
    and shadows stretch, made objects easier to find than without the step (docs/how-to/blending.md).
    Source: Blum et al. 2021, section 3.1, third step; the strength and the part are ours.

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
        own = _smoothed_counts(
            np.bincount((values + GREY // 2) >> 8, weights=weight, minlength=256).astype(np.int64)
        )
        table = np.append(_histogram_table(own, counts[c]), WHITE)
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


def _smoothed_counts(counts: np.ndarray) -> np.ndarray:
    """Return the counts (256,) spread evenly over 33 values each, twice, so that a surface of one colour
    moves as a whole instead of splitting into the frame's colours.
    """
    for _ in range(2):
        sums = np.concatenate([[0], np.cumsum(np.pad(counts, _HISTOGRAM_SPREAD))])
        counts = sums[2 * _HISTOGRAM_SPREAD + 1 :] - sums[: -2 * _HISTOGRAM_SPREAD - 1]
    return counts


def _histogram_table(own: np.ndarray, frame: np.ndarray) -> np.ndarray:
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


def blur_motion(layer: Layer, focus: tuple[int, int], share: float) -> tuple[Layer, float]:
    """Return the layer blurred along the rays from the focus (x, y) of the frame, over ``share`` of each
    pixel's distance, and the longest blur in pixels, 0 if it changes nothing.

    The blur is proportional to the distance from that point (the focus). Where it is shorter than a pixel in
    the whole layer, as in small frames, two points a quarter of its length to each side stand for it:
    interpolated between pixels, they have exactly the mean over its whole length. ``focus`` (x, y) is that
    point of the frame.
    Source: Blum et al. 2021, section 3.1, fourth step; the focus and the share are ours.

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
    taps = min(_MOST_POINTS, int(longest) + 1)
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


def blur_depth(layer: Layer, sigma: float) -> tuple[Layer, float]:
    """Return the layer blurred by a Gaussian of ``sigma`` pixels, and that sigma.

    An object's distance is estimated from the row it stands on: farthest at the horizon and above, nearest at
    the frame's lower border.
    Source: Blum et al. 2021, section 3.1, fifth step; the horizon and the widths are ours.

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


def add_colour_noise(layer: Layer, start: int, factor: float) -> tuple[Layer, float]:
    """Return the layer with independent noise in each channel, and the largest channel's standard deviation
    in grey levels.

    sigma^2 = factor^2 max(0, s'^2 - s^2), with the frame's noise s' around the object and the object's own s.
    ``start`` is the start of the random stream.

    The noise of an image is estimated from its second differences, which smooth shading and straight edges do
    not change, in blocks of 8 x 8 pixels; only the quietest quarter counts, so that texture does not. The
    object's existing noise is subtracted: variances add. ``factor`` is how noisy the object becomes: 1 for as
    noisy as the frame. ``colour`` (h, w, 3) are the pixels.
    Source: Blum et al. 2021, section 3.1, sixth step; Immerkær 1996 (the estimate). That the variance follows
    the frame's is ours.

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
    """Return (3,) float64: the noise's standard deviation in each channel of ``colour`` (h, w, 3), where
    ``inside`` (h, w) is true; 0 if there are too few pixels.

    >>> noise_levels(np.zeros((20, 20, 3), np.int32), np.ones((20, 20), bool)).tolist()
    [0.0, 0.0, 0.0]
    """
    height = (inside.shape[0] - 2) // _NOISE_BLOCK
    width = (inside.shape[1] - 2) // _NOISE_BLOCK
    if height < 1 or width < 1:
        return np.zeros(3)
    part = colour[: height * _NOISE_BLOCK + 2, : width * _NOISE_BLOCK + 2].astype(np.int32)
    lines = part[:-2] - 2 * part[1:-1] + part[2:]
    response = np.abs(lines[:, :-2] - 2 * lines[:, 1:-1] + lines[:, 2:])
    sums = response.reshape(height, _NOISE_BLOCK, width, _NOISE_BLOCK, 3).sum((1, 3), dtype=np.int64)
    whole = (
        inside[1:-1, 1:-1][: height * _NOISE_BLOCK, : width * _NOISE_BLOCK]
        .reshape(height, _NOISE_BLOCK, width, _NOISE_BLOCK)
        .all((1, 3))
    )
    if not whole.any():
        return np.zeros(3)
    found = np.sort(sums[whole], axis=0)
    return found[len(found) // 4] / (_NOISE_BLOCK * _NOISE_BLOCK * _MEAN_OF_NORMAL * _QUIET_SHARE)


def add_glow(layer: Layer, sigma: float, strength: float) -> tuple[Layer, float]:
    """Return the layer with the frame's light on its rim and the light that it sheds, and the maximum of both
    in grey levels.

    Light on the object: strength G * ((1 - alpha) max(0, frame - 225)); around it: strength G * (alpha max(0,
    object - 225)), with a Gaussian G of ``sigma`` pixels.

    Glow goes both ways: from bright pixels of the frame (a sky) onto the object's rim, and from bright pixels
    of the object onto the frame around it. The frame's own glow is already in its pixels. ``strength`` is how
    bright the glow is.
    Source: Blum et al. 2021, section 3.1, last step; the threshold, the width and the strength are ours.

    >>> window = np.full((16, 16, 3), 255, np.uint8)
    >>> alpha = np.zeros((16, 16), np.int32)
    >>> alpha[4:12, 4:12] = 4096
    >>> add_glow(Layer(np.zeros((16, 16, 3), np.int32), alpha, (0, 0), window, (16, 16)), 2.0, 1.0)[0].colour[
    ...     4, 4, 0
    ... ] > 0
    np.True_
    """
    height, width = layer.alpha.shape
    rows = -(-height // _GLOW_BLOCK)
    columns = -(-width // _GLOW_BLOCK)
    coarse = np.empty((rows, columns, 6), np.int32)
    if not blend_kernels().overexposed(layer.colour, layer.alpha, layer.window, BRIGHT, _GLOW_BLOCK, coarse):
        return layer, 0.0
    spread = resized(
        blurred(coarse, gaussian(sigma / _GLOW_BLOCK)), (rows * _GLOW_BLOCK, columns * _GLOW_BLOCK)
    )[:height, :width]
    spread = spread * round(strength * GREY) // GREY
    onto = spread[..., :3]
    light = spread[..., 3:]
    colour = np.minimum(layer.colour + onto, WHITE)
    most = max(int(onto[layer.alpha > 0].max(initial=0)), int(light[layer.alpha < WHOLE].max(initial=0)))
    return replace(layer, colour=colour, light=np.ascontiguousarray(light)), round(most / GREY, 6)
