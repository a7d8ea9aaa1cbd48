"""Cuts of an image around a pixel that people are asked about, with a ring around the pixel.

Conventions: images are (H, W, 3) uint8. The ring is white between two black lines, so that it shows on any
ground and needs no colour vision; it leaves the pixel itself visible. Near an edge of the image the cut has a
grey margin, so that the ring is whole. Small images are enlarged by whole numbers first, pixel by pixel.
"""

from __future__ import annotations

import numpy as np

from faultscape.reporting.pictures import fit

SIDE = 320  # pixels of a cut, or those that the image and its margin have
WHOLE = 1 << 30  # as the side of a cut: the whole image
_RADIUS = 10  # of the ring: what it marks stays visible
_BLACK = 5  # pixels of the line, of which the middle ones are white
_WHITE = 2
_RING = _RADIUS + _BLACK // 2 + 1  # pixels from the marked one to the outside of the ring
_MARGIN = 128  # grey


def crop_size(size: tuple[int, int], row: int, column: int) -> tuple[int, int]:
    """Return the width and height of the cut around a pixel of an image of a ``size`` (width, height).

    >>> crop_size((600, 400), 200, 300), crop_size((600, 400), 0, 599), crop_size((40, 30), 15, 20)
    ((320, 320), (320, 320), (320, 240))
    """
    times = _enlargement(size)
    _, width = _span(size[0] * times, column * times + times // 2, SIDE)
    _, height = _span(size[1] * times, row * times + times // 2, SIDE)
    return width, height


def _enlargement(size: tuple[int, int]) -> int:
    return max(1, SIDE // max(size))


def _span(length: int, at: int, side: int) -> tuple[int, int]:
    first = min(0, at - _RING)
    last = max(length, at + _RING + 1)
    width = min(side, last - first)
    return min(max(at - side // 2, first), last - width), width


def crop_around(
    image: np.ndarray, row: int, column: int, side: int = SIDE, longest: int | None = None
) -> np.ndarray:
    """Return the part (h, w, 3) of an image (H, W, 3) uint8 around a pixel, at most ``side`` pixels wide and
    high, with a ring around the pixel; shrunk if its longer side is more than ``longest``.

    >>> crop_around(np.zeros((400, 600, 3), np.uint8), 0, 599).shape
    (320, 320, 3)
    >>> crop_around(np.zeros((400, 600, 3), np.uint8), 0, 599, 613, 300).shape
    (202, 300, 3)
    """
    import cv2

    times = _enlargement(image.shape[:2])
    image = image.repeat(times, 0).repeat(times, 1) if times > 1 else image
    row, column = (at * times + times // 2 for at in (row, column))
    height, width = image.shape[:2]
    left, wide = _span(width, column, side)
    top, high = _span(height, row, side)
    crop = np.full((high, wide, 3), _MARGIN, np.uint8)
    there = image[max(0, top) : top + high, max(0, left) : left + wide]
    crop[max(0, -top) :, max(0, -left) :][: there.shape[0], : there.shape[1]] = there
    size = fit(wide, high, longest or side)
    if size != (wide, high):
        crop = cv2.resize(crop, size, interpolation=cv2.INTER_AREA)
    across = int((column - left + 0.5) * size[0] / wide)
    down = int((row - top + 0.5) * size[1] / high)
    for thickness, grey in ((_BLACK, 0), (_WHITE, 255)):  # visible on any ground
        cv2.circle(crop, (across, down), _RADIUS, (grey, grey, grey), thickness)
    return crop
