"""Pieces of other images pasted into training crops: pixels without a class, from which a network learns to
tell what it does not know.

Conventions: a crop gets 1 to ``MOST`` pieces. A piece is a part of an image, of random place and extent,
resized to a random size: its area is a share between ``AREAS`` of the crop's, even in its logarithm, and one
side at most twice the other. Half of the pieces are rectangles, half star-shaped polygons. Their pixels
replace those of the crop, later ones those of earlier ones, and are OUTSIDE. Randomness comes from a
generator.
Source: Bevandic et al. 2019 paste images of other things into training images, of random size in one of the
variants that Blum et al. 2021 (section 4.3) submitted; neither prints sizes or numbers, which are ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from faultscape.uncertainty.training.labels import OUTSIDE

MOST = 3
AREAS = (0.002, 0.1)  # down to small things far away: a twentieth of the crop's sides
_LEAST_SIDE = 2
_LEAST_EXTENT = 0.25  # of the largest part of an image that has the shape of the piece
_NARROW = 0.4  # the least radius of a polygon, as a share of the largest


@dataclass(frozen=True)
class Photos:
    """Images to paste pieces of: their number, and how one is ``read``, as (H, W, 3) uint8."""

    number: int
    read: Callable[[int], np.ndarray]


def paste(
    seen: np.ndarray, said: np.ndarray, photos: Photos, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a crop (h, w, 3) uint8 and its labels (h, w) int16 with pieces of other images pasted in.

    >>> violet = Photos(1, lambda _: np.full((9, 9, 3), 200, np.uint8))
    >>> crop = np.zeros((64, 64, 3), np.uint8), np.zeros((64, 64), np.int16)
    >>> seen, said = paste(*crop, violet, np.random.default_rng(0))
    >>> bool(((said == OUTSIDE) == (seen == 200).all(2)).all()), np.unique(said).tolist()
    (True, [-1, 0])
    """
    seen = seen.copy()
    said = said.copy()
    tall, wide = said.shape
    for _ in range(int(rng.integers(1, MOST + 1))):
        photo = photos.read(int(rng.integers(photos.number)))
        area = math.exp(rng.uniform(math.log(AREAS[0]), math.log(AREAS[1]))) * tall * wide
        narrowness = math.exp(rng.uniform(-math.log(2), math.log(2)) / 2)
        height, width = (
            min(max(_LEAST_SIDE, round(math.sqrt(area) * factor)), most)
            for factor, most in ((narrowness, tall), (1 / narrowness, wide))
        )
        piece = _piece(photo, height, width, rng)
        shape = _polygon(height, width, rng) if rng.random() < 0.5 else np.ones((height, width), bool)
        top, left = (int(rng.integers(most - side + 1)) for most, side in ((tall, height), (wide, width)))
        here = slice(top, top + height), slice(left, left + width)
        seen[here][shape] = piece[shape]
        said[here][shape] = OUTSIDE
    return seen, said


def _piece(photo: np.ndarray, height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Return a random part of an image, resized to (height, width, 3)."""
    most = min(photo.shape[0] / height, photo.shape[1] / width) * rng.uniform(_LEAST_EXTENT, 1)
    rows, columns = (
        max(1, min(length, int(most * side)))
        for length, side in ((photo.shape[0], height), (photo.shape[1], width))
    )
    top, left = (
        int(rng.integers(length - side + 1))
        for length, side in ((photo.shape[0], rows), (photo.shape[1], columns))
    )
    part = photo[top : top + rows, left : left + columns]
    how = cv2.INTER_AREA if rows >= height else cv2.INTER_LINEAR
    return cv2.resize(part, (width, height), interpolation=how)


def _polygon(height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Return (height, width), true in a polygon around the centre."""
    corners = int(rng.integers(5, 13))
    angles = (np.arange(corners) + rng.uniform(0, 0.8, corners)) * (2 * np.pi / corners)
    radii = rng.uniform(_NARROW, 1, corners)
    columns = (width - 1) / 2 * (1 + radii * np.cos(angles))
    rows = (height - 1) / 2 * (1 + radii * np.sin(angles))
    mask = np.zeros((height, width), np.uint8)
    cv2.fillPoly(mask, [np.rint(np.stack([columns, rows], 1)).astype(np.int32)], 1)
    return mask > 0
