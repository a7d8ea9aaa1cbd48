"""Cuts of an image around a pixel that people are asked about, with a ring around the pixel.

Conventions: images are (H, W, 3) uint8. The ring is white between two black lines, so that it shows on any
ground and needs no colour vision; it leaves the pixel itself visible.
"""

from __future__ import annotations

import numpy as np

from faultscape.reporting.pictures import fit

SIDE = 320  # pixels of a cut, or those that the image has
_RADIUS = 9  # of the ring: what it marks stays visible


def crop_around(
    image: np.ndarray, row: int, column: int, side: int = SIDE, longest: int | None = None
) -> np.ndarray:
    """Return the part (h, w, 3) of an image (H, W, 3) uint8 around a pixel, at most ``side`` pixels wide and
    high, with a ring around the pixel; shrunk if its longer side is more than ``longest``.

    >>> crop_around(np.zeros((400, 600, 3), np.uint8), 0, 599).shape
    (320, 320, 3)
    >>> crop_around(np.zeros((400, 600, 3), np.uint8), 0, 599, 600, 300).shape
    (200, 300, 3)
    """
    import cv2

    height, width = image.shape[:2]
    top = int(np.clip(row - side // 2, 0, max(0, height - side)))
    left = int(np.clip(column - side // 2, 0, max(0, width - side)))
    crop = image[top : top + side, left : left + side].copy()
    high, wide = crop.shape[:2]
    size = fit(wide, high, longest or side)
    if size != (wide, high):
        crop = cv2.resize(crop, size, interpolation=cv2.INTER_AREA)
    across = int((column - left + 0.5) * size[0] / wide)
    down = int((row - top + 0.5) * size[1] / high)
    for radius, grey in ((_RADIUS - 1, 0), (_RADIUS, 255), (_RADIUS + 1, 0)):  # visible on any ground
        cv2.circle(crop, (across, down), radius, (grey, grey, grey), 1)
    return crop
