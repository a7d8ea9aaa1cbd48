"""Boxes around objects: where they lie in an image, and in a map of another size.

Conventions: a box is half-open in pixels, from 0 at the top left of the image: ``left`` <= column <
``right``, ``top`` <= row < ``bottom``. ``whole``: it is drawn around one object, which touches its four
sides; else it is an area in which objects of the class may lie (a crowd, an object marked as difficult, a box
of a map of another size).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

import numpy as np

from faultscape.errors import LabelMapError
from faultscape.maps.checked_arrays import label_map


class Box(NamedTuple):
    """A box of one class in an image."""

    left: int  # its first column
    top: int  # its first row
    right: int  # the column after its last one
    bottom: int  # the row after its last one
    whole: bool = True  # whether it is around one object, which touches its four sides


def fault_of(box: Box, size: tuple[int, int]) -> str:
    """Return what is wrong with a box in an image of (width, height), '' for nothing.

    >>> fault_of(Box(2, 0, 1, 5), (8, 6)), fault_of(Box(0, 0, 8, 6), (8, 6))
    ('is inside out: columns 2 to 1, rows 0 to 5', '')
    >>> fault_of(Box(0, 0, 9, 6), (8, 6))
    'lies outside of its image of 8 x 6: columns 0 to 9, rows 0 to 6'
    """
    width, height = size
    at = f"columns {box.left} to {box.right}, rows {box.top} to {box.bottom}"
    if box.right < box.left or box.bottom < box.top:
        return f"is inside out: {at}"
    if box.right == box.left or box.bottom == box.top:
        return f"has no area: {at}"
    if box.left < 0 or box.top < 0 or box.right > width or box.bottom > height:
        return f"lies outside of its image of {width} x {height}: {at}"
    return ""


def scaled(boxes: Iterable[Box], size: tuple[int, int], to: tuple[int, int]) -> list[Box]:
    """Return boxes of an image of (width, height) in a map ``to`` another size, which takes the pixels that
    `resize.nearest` does; boxes without a pixel in it are left out. They are not ``whole``: the pixels that
    touched a side may not be among those that the map takes.

    >>> scaled([Box(0, 0, 3, 4), Box(3, 0, 4, 4)], (4, 4), (2, 2))
    [Box(left=0, top=0, right=1, bottom=2, whole=False), Box(left=1, top=0, right=2, bottom=2, whole=False)]
    """
    if size == to:
        return list(boxes)
    sides = np.array([box[:4] for box in boxes], np.int64).reshape(-1, 4)
    return [
        Box(left, top, right, bottom, whole=False)
        for left, top, right, bottom in scaled_sides(sides, size, to).tolist()
        if left < right and top < bottom
    ]


def scaled_sides(sides: np.ndarray, size: tuple[int, int], to: tuple[int, int]) -> np.ndarray:
    """Return (N, 4) the sides (left, top, right, bottom) of boxes (N, 4) as `scaled` moves them.

    >>> scaled_sides(np.array([[0, 0, 3, 4], [3, 0, 4, 4]]), (4, 4), (2, 2)).tolist()
    [[0, 0, 1, 2], [1, 0, 2, 2]]
    """
    taken = [((2 * np.arange(new) + 1) * old) // (2 * new) for old, new in zip(size, to, strict=True)]
    columns, rows = (np.searchsorted(at, sides[:, k::2]) for k, at in enumerate(taken))
    return np.stack([columns[:, 0], rows[:, 0], columns[:, 1], rows[:, 1]], 1)


def covered(boxes: Iterable[Box], shape: tuple[int, int]) -> np.ndarray:
    """Return (H, W) bool: the pixels inside any of the boxes; LabelMapError for a box that is not in a map of
    this shape (H, W).

    >>> covered([Box(0, 0, 2, 1), Box(1, 0, 2, 2)], (2, 3)).astype(int).tolist()
    [[1, 1, 0], [0, 1, 0]]
    """
    inside = np.zeros(shape, bool)
    for box in boxes:
        if fault := fault_of(box, (shape[1], shape[0])):
            raise LabelMapError(f"{tuple(box[:4])}: the box {fault}")
        inside[box.top : box.bottom, box.left : box.right] = True
    return inside


def boxes_of_mask(mask: np.ndarray) -> list[Box]:
    """Return a box around each piece of a ``mask`` (H, W) bool, whose pixels touch by sides or corners;
    LabelMapError for anything else.

    >>> boxes_of_mask(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]], bool))
    [Box(left=0, top=0, right=2, bottom=2, whole=True), Box(left=0, top=3, right=1, bottom=4, whole=True)]
    """
    from scipy import ndimage

    shown = label_map(mask, "mask") > 0
    pieces, _ = cast("tuple[np.ndarray, int]", ndimage.label(shown, np.ones((3, 3), int)))
    slices = (found for found in ndimage.find_objects(pieces) if found is not None)
    return [Box(columns.start, rows.start, columns.stop, rows.stop) for rows, columns in slices]
