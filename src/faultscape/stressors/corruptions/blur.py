"""Corruptions that smear an image: a lens out of focus, frosted glass, motion, zoom.

Source: Hendrycks and Dietterich 2019, appendix B, unless a function names another.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from faultscape.stressors.corruptions.loops import filter_loops, geometry_loops
from faultscape.stressors.corruptions.smooth import beyond, exact_exp, gaussian_pixels, line_weights
from faultscape.stressors.definition import Corruption, Parameters
from faultscape.stressors.streams import Stream


def defocus_blur(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Defocus blur: a lens out of focus spreads each point into a disc.

    x' = x * d, where d is a disc of the given radius, blurred with a Gaussian of `alias` pixels over 3 x 3 (5
    x 5 from radius 9 on) so that its rim is smooth; the image is mirrored at its border pixels. As in the
    reference, the disc is in a square that just holds it, mirrored at its own border, so that discs of radius
    8 and more sum to a little more than 1.

    Return (H, W, C) pixels; parameters are the radius and the blur of its rim.

    >>> image = np.zeros((9, 9, 1), np.uint8)
    >>> image[4, 4] = 255
    >>> defocus_blur(image, (3, 0.1), 0)[4].ravel()
    array([0, 8, 8, 8, 8, 8, 8, 8, 0], dtype=uint8)
    """
    del start
    small = pixels.dtype == np.uint8
    bits = 20 if small else 32
    kernel = disc_kernel(int(parameters[0]), float(parameters[1]), bits).astype(
        np.int32 if small else np.int64
    )
    high, wide, channels = pixels.shape
    radius = kernel.shape[0] // 2
    out = np.empty((high, wide * channels), pixels.dtype)
    up = beyond(high, radius, "about")
    across = beyond(wide, radius, "about")
    filter_loops().disc(
        pixels.reshape(high, -1), channels, up, across, kernel, bits, int(np.iinfo(pixels.dtype).max), out
    )
    return out.reshape(pixels.shape)


@functools.lru_cache(maxsize=10)
def disc_kernel(radius: int, alias: float, bits: int) -> np.ndarray:
    """Return the weights (2 R + 1, 2 R + 1) int64 in steps of 2^-bits, without rows and columns of zeros
    around them.

    >>> disc_kernel(3, 0.1, 10)[:, 3].tolist(), disc_kernel(3, 0.1, 10)[0].tolist()
    ([35, 35, 35, 44, 35, 35, 35], [0, 0, 0, 35, 0, 0, 0])
    """
    reach, rim = (8, 1) if radius <= 8 else (radius, 2)
    line = np.arange(-reach, reach + 1)
    disc = ((line[:, None] ** 2 + line**2) <= radius**2).astype(float)
    disc /= int(disc.sum())
    side = [exact_exp(-d * d / (2.0 * alias * alias)) for d in range(rim + 1)]
    side = [value / (side[0] + 2.0 * sum(side[1:])) for value in side]
    places = beyond(len(line), rim, "about")
    for _ in range(2):  # rows, then, after transposing, columns
        padded = disc[places]
        total = side[0] * disc
        for d in range(1, rim + 1):
            total = total + side[d] * (
                padded[rim - d : rim - d + len(line)] + padded[rim + d : rim + d + len(line)]
            )
        disc = total.T
    weights = np.rint(disc * 2.0**bits).astype(np.int64)
    # the remainder of rounding
    weights[reach, reach] += round(math.fsum(disc.ravel().tolist()) * 2.0**bits) - int(weights.sum())
    used = int(np.flatnonzero(weights.any(axis=1))[0])
    return weights[used : len(line) - used, used : len(line) - used]


DEFOCUS_BLUR = Corruption(
    "defocus_blur",
    "Defocus blur",
    "blur",
    ("radius", "rim"),
    ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
    defocus_blur,
    random=False,
)


def glass_blur(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Glass blur: a blur, pixels replaced by nearby ones, and the blur again, as through frosted glass.

    From the last row and column to the first, `rounds` times, pixel (y, x) becomes (y + dy, x + dx), both
    drawn from -reach..reach - 1. The paper's code leaves out +reach. It intends to swap the two pixels, but
    on colour images its NumPy swap of two views writes only the first, and the published images were made
    that way. Both blurs are truncated to grey levels.

    Return (H, W, C) pixels; parameters are the blur's deviation, the reach and the rounds.

    >>> image = np.zeros((9, 9, 1), np.uint8)
    >>> image[4, 4] = 255
    >>> int(glass_blur(image, (0.7, 1, 2), 0).sum()) > 150
    True
    """
    sigma = float(parameters[0])
    reach = int(parameters[1])
    rounds = int(parameters[2])
    high, wide, channels = pixels.shape
    order = geometry_loops().scatter(high, wide, reach, rounds, np.uint64(start))
    moved = geometry_loops().gather(gaussian_pixels(pixels, sigma).reshape(-1, channels), order)
    return gaussian_pixels(moved.reshape(pixels.shape), sigma)


def move_by_glass_blur(
    high: int, wide: int, parameters: Parameters, start: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column (H, W) from which each pixel was taken; the blurs do not move labels.

    >>> rows, columns = move_by_glass_blur(9, 9, (0.7, 1, 2), 0)
    >>> int(abs(rows - np.arange(9)[:, None]).max()), rows[0].tolist()
    (2, [0, 0, 0, 0, 0, 0, 0, 0, 0])
    """
    order = (
        geometry_loops()
        .scatter(high, wide, int(parameters[1]), int(parameters[2]), np.uint64(start))
        .reshape(high, wide)
    )
    return order // wide, order % wide


GLASS_BLUR = Corruption(
    "glass_blur",
    "Glass blur",
    "blur",
    ("deviation", "reach", "rounds"),
    ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
    glass_blur,
    random=True,
    move=move_by_glass_blur,
)


def motion_blur(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Motion blur: the camera moved along a line of a random direction while the image was taken.

    x'(p) = sum over i = 0..2 r of w_i x(p - round(i u)), w_i ~ exp(-i^2 / (2 sigma^2)), u the direction of an
    angle of -45..45 degrees; the border is repeated. It is one-sided, like ImageMagick's, and heaviest where
    the motion begins. Unlike the reference, which drops the rest and darkens, an image smaller than the
    motion also repeats its border. Source: Hendrycks and Dietterich 2019, appendix B; the package
    imagecorruptions for the sum of moved images.

    Return (H, W, C) pixels; parameters are the radius and the deviation of the motion.

    >>> image = np.zeros((1, 16, 1), np.uint8)
    >>> image[0, 15] = 255
    >>> motion_blur(image, (10, 3), 0)[0, 11:].ravel()
    array([ 54,  90, 138, 195, 255], dtype=uint8)
    """
    angle = Stream(start, "angle").uniform(-45.0, 45.0)
    small = pixels.dtype == np.uint8
    return blur_along(pixels, int(parameters[0]), float(parameters[1]), angle, 0, 20 if small else 32)


def blur_along(
    pixels: np.ndarray, radius: int, sigma: float, angle: float, half: int, bits: int
) -> np.ndarray:
    """Return (H, W, C) pixels blurred along an angle in degrees, with weights in steps of 2^-``bits``;
    ``half`` is added before the result is shifted down.
    """
    down, right, weights = motion_steps(radius, sigma, angle, bits)
    high, wide, channels = pixels.shape
    out = np.empty((high, wide * channels), pixels.dtype)
    wider = weights.astype(np.int32 if bits <= 20 else np.int64)
    filter_loops().shifts(pixels.reshape(high, -1), channels, down, right, wider, half, bits, out)
    return out.reshape(pixels.shape)


def motion_steps(
    radius: int, sigma: float, angle: float, bits: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the moves down and to the right and their weights, 2^bits in total; padded to a multiple of 4
    with weight 0.

    >>> [part[:3].tolist() for part in motion_steps(10, 3.0, -45.0, 8)]
    [[0, 1, 1], [0, -1, -1], [60, 57, 48]]
    """
    width = 2 * radius + 1
    weights = line_weights([exact_exp(-i * i / (2.0 * sigma * sigma)) for i in range(width)], bits)
    sine, cosine = (round(part(math.radians(angle)) * 2.0**40) / 2.0**40 for part in (math.sin, math.cos))
    down = [-math.ceil(i * sine - 0.5) for i in range(width)]
    right = [-math.ceil(i * cosine - 0.5) for i in range(width)]
    more = [0] * (-width % 4)
    return np.array(down + more), np.array(right + more), np.array(weights + more, np.int64)


MOTION_BLUR = Corruption(
    "motion_blur",
    "Motion blur",
    "blur",
    ("radius", "deviation"),
    ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
    motion_blur,
    random=True,
)


def zoom_blur(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Zoom blur: the camera moves towards what it sees while the image is taken.

    x' = (x + sum over zooms z of zoom(x, z)) / (n + 1), z from 1 in n steps; zoom(x, z) is the middle ceil(H
    / z) x ceil(W / z) pixels enlarged to round(z ceil(H / z)) rows by linear interpolation, corner to corner,
    of which the first H x W are taken; truncated to grey levels. Labels: a pixel of the result is a mixture
    of all layers; its label is the one at the mean of its layers' source positions. Source: Hendrycks and
    Dietterich 2019, appendix B; the package imagecorruptions for images of any shape.

    Return (H, W, C) pixels; parameters are the end and the step of the zoom.

    >>> zoom_blur(np.array([[[0], [0], [0], [255], [0], [0], [0]]], np.uint8), (1.11, 0.01), 0).ravel()
    array([  0,   0,   0, 221,  44,   0,   0], dtype=uint8)
    """
    del start
    high, wide, channels = pixels.shape
    zooms = zoom_factors(*parameters)
    y0, fy = (np.stack(part) for part in zip(*(zoomed_places(high, zoom) for zoom in zooms[1:]), strict=True))
    x0, fx = (np.stack(part) for part in zip(*(zoomed_places(wide, zoom) for zoom in zooms[1:]), strict=True))
    out = np.empty((high, wide * channels), pixels.dtype)
    factor = -(-(2**32) // (len(zooms) + 1))
    geometry_loops().zoom_layers(pixels.reshape(high, -1), channels, y0, fy, x0, fx, 2, factor, out)
    return out.reshape(pixels.shape)


def move_by_zoom_blur(
    high: int, wide: int, parameters: Parameters, start: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the row and the column (H, W) of the mean source position of each pixel's layers.

    >>> move_by_zoom_blur(8, 8, (1.31, 0.03), 0)[0][:, 0]
    array([0, 1, 2, 3, 4, 4, 5, 6])
    >>> move_by_zoom_blur(64, 64, (1.31, 0.03), 0)[0][[0, 20, 40, 63], 0]
    array([ 3, 21, 39, 59])
    """
    del start
    zooms = zoom_factors(*parameters)
    means = []
    for count in (high, wide):
        total = 2 * 16384 * np.arange(count)
        for zoom in zooms[1:]:
            places, weights = zoomed_places(count, zoom)
            total = total + places * 16384 + weights
        layers = 16384 * (len(zooms) + 1)
        means.append((2 * total + layers) // (2 * layers))
    return np.repeat(means[0][:, None], wide, axis=1), np.repeat(means[1][None], high, axis=0)


def zoom_factors(end: float, step: float) -> list[float]:
    """Return the zooms 1, 1 + step, ... below ``end``, as in numpy.arange(1, end, step).

    >>> zoom_factors(1.11, 0.05)
    [1.0, 1.05, 1.1]
    """
    each = (1.0 + step) - 1.0
    return [1.0 + k * each for k in range(math.ceil((end - 1.0) / step))]


def zoomed_places(count: int, zoom: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (count,) the source positions of an enlarged line of ``count`` pixels, and the weights of the
    next pixels in steps of 2^-14.

    >>> zoomed_places(4, 2.0)
    (array([1, 1, 1, 2]), array([    0,  5461, 10923,     0]))
    """
    part = math.ceil(count / zoom)
    return enlarged_places(part, round(part * zoom), count, (count - part) // 2)


def enlarged_places(part: int, size: int, count: int, first: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the first ``count`` places of ``part`` pixels from ``first`` on, enlarged to ``size`` corner to
    corner, and their weights.
    """
    steps = np.arange(count) * max(part - 1, 0)
    last = max(size - 1, 1)
    places = steps // last
    rest = steps % last
    return first + places, (2 * rest * 16384 + last) // (2 * last)


ZOOM_BLUR = Corruption(
    "zoom_blur",
    "Zoom blur",
    "blur",
    ("end", "step"),
    ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03)),
    zoom_blur,
    random=False,
    move=move_by_zoom_blur,
)


def gaussian_blur(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Gaussian blur.

    x' = x * g, g(d) ~ exp(-d^2 / (2 sigma^2)), cut at 4 sigma, the border repeated; truncated to grey levels.
    Source: Hendrycks and Dietterich 2019, appendix B (skimage.filters.gaussian).

    Return (H, W, C) pixels blurred with a deviation of parameters[0] pixels.

    >>> gaussian_blur(np.array([[[0], [0], [255], [0], [0]]], np.uint8), (1,), 0).ravel()
    array([ 13,  61, 101,  61,  13], dtype=uint8)
    """
    del start
    return gaussian_pixels(pixels, float(parameters[0]))


GAUSSIAN_BLUR = Corruption(
    "gaussian_blur",
    "Gaussian blur",
    "blur",
    ("deviation",),
    ((1,), (2,), (3,), (4,), (6,)),
    gaussian_blur,
    random=False,
)
