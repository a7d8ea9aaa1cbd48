"""Random shapes, of noise or of the texture of an image: objects that resemble no thing, in any number.

Conventions: a shape is a few round, long and flat parts that are connected; its proportions, colours, noise
and place in an image come from the seed and its number. ``count`` is the number of shapes, ``images`` are
what they are cut out of. Shapes have no class of their own.
Source: ours; parts of unrelated images as unknown objects are in Blum et al. 2021, section 4.3 (Bevandic et
al. 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np

from faultscape.errors import ImageError, OptionError
from faultscape.maps import checked_arrays
from faultscape.stressors.objects.cutout import Cutout
from faultscape.stressors.objects.ink import Ink
from faultscape.stressors.streams import Stream

_PARTS = (2, 7)  # of a shape, at least and at most
_REACH = 0.3  # of a part from that on which it hangs


def noise_shapes(count: int, seed: int = 0) -> list[Cutout]:
    """Return shapes of noise in random colours.

    Errors: OptionError for fewer than 1.

    >>> noise_shapes(1)
    [Cutout('noise shape 0', no class, anomaly, 149 x 219)]
    """
    _check(count)
    return [_shape("noise shape", number, seed) for number in range(count)]


def texture_shapes(images: Sequence[np.ndarray], count: int, seed: int = 0) -> list[Cutout]:
    """Return shapes cut out of images (H, W, 3) uint8, each in turn, from a random place.

    Errors: OptionError for fewer than 1 shape, ImageError without images.

    >>> texture_shapes([np.zeros((40, 60, 3), np.uint8)], 1)
    [Cutout('texture 0', no class, anomaly, 83 x 108)]
    """
    _check(count)
    images = [_checked(image) for image in checked_arrays.sequence(images, "images", ImageError)]
    if not images:
        raise ImageError("textures need at least one image")
    made = []
    for number in range(count):
        shape = _shape("texture", number, seed)
        image = images[number % len(images)]
        pixels = _piece(image, shape.alpha.shape, Stream(seed, "texture", "piece", number))
        made.append(replace(shape, pixels=pixels, family="textures"))
    return made


def _check(count: int) -> None:
    if count < 1:
        raise OptionError(f"count: expected 1 or more shapes; got {count}")


def _checked(image: np.ndarray) -> np.ndarray:
    pixels = np.asarray(image)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or not pixels.size:
        raise ImageError(
            f"an image to cut shapes out of must be (H, W, 3) uint8; got {pixels.dtype} of shape"
            f" {pixels.shape}; convert it to RGB levels 0 to 255"
        )
    return pixels


def _shape(name: str, number: int, seed: int) -> Cutout:
    """Return a shape, of parts that each begin where an earlier one has its middle or its end."""
    stream = Stream(seed, name, "shape", number)
    ink = Ink(Stream(seed, name, "noise of a shape", number))
    colours = [_colour(stream) for _ in range(1 + stream.integer(3))]
    anchors = [(0.5, 0.5)]
    for _ in range(_PARTS[0] + stream.integer(_PARTS[1] - _PARTS[0] + 1)):
        x, y = anchors[stream.integer(len(anchors))]
        across, down = (min(max(at + stream.uniform(-_REACH, _REACH), 0.15), 0.85) for at in (x, y))
        colour = colours[stream.integer(len(colours))]
        rough = stream.uniform(0.1, 1.0)
        kind = stream.integer(3)
        if kind == 0:
            radii = (stream.uniform(0.05, 0.15), stream.uniform(0.05, 0.15))
            grain = stream.uniform(0.01, 0.08)
            ink.body((x, y), radii, colour, turn=stream.uniform(0, 180), rough=rough, grain=grain)
        if kind == 1 or (kind == 0 and (across, down) != (x, y)):
            widths = (stream.uniform(0.015, 0.07), stream.uniform(0.015, 0.07))
            ink.limb(((x, y), (across, down)), widths, colour, rough=rough)
        if kind == 2:
            wide = max(abs(across - x), 0.05)
            tall = max(abs(down - y), 0.05)
            lean = stream.uniform(-0.5, 0.5) * wide
            corners = (
                (x - wide / 2 + lean, y - tall / 2),
                (x + wide / 2 + lean, y - tall / 2),
                (x + wide / 2, y + tall / 2),
                (x - wide / 2, y + tall / 2),
            )
            ink.face(corners, colour, rough=rough, grain=stream.uniform(0.01, 0.08))
        else:
            anchors.append((across, down))
    if stream.uniform() < 0.5:
        ink.patches(_colour(stream), stream.uniform(0.2, 0.6), stream.uniform(0.02, 0.1))
    return replace(ink.cutout(f"{name} {number}", ""), family="noise")


def _colour(stream: Stream) -> list[float]:
    """Return a colour, anything from grey to pure."""
    grey = stream.uniform(20, 235)
    strength = stream.uniform()
    return [grey + strength * (stream.uniform(0, 255) - grey) for _ in range(3)]


def _piece(image: np.ndarray, sides: tuple[int, ...], stream: Stream) -> np.ndarray:
    """Return a random piece of an image, of half to all of its shorter side, resized to sides (h, w)."""
    height, width = image.shape[:2]
    tall, wide = sides
    largest = min(height / tall, width / wide)
    factor = largest * stream.uniform(0.5, 1.0)
    rows = max(1, int(tall * factor))
    columns = max(1, int(wide * factor))
    top = stream.integer(height - rows + 1)
    left = stream.integer(width - columns + 1)
    piece = np.ascontiguousarray(image[top : top + rows, left : left + columns])
    how = cv2.INTER_AREA if factor > 1 else cv2.INTER_CUBIC
    return cv2.resize(piece, (wide, tall), interpolation=how)
