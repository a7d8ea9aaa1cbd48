"""Conversion between label maps and named masks: one mask per class for export, masks painted over each other
for import.

Conventions: masks are (H, W) bool, named by `named_ids`. No mask is written for the id of pixels under no
mask. The cost of painting is summed first, in nanoseconds on an ordinary machine, so that no label takes too
long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats.guard import MAX_PIXELS
from faultscape.formats.label_tools.named_ids import covered, ground_of, known_ids, name_of_ids
from faultscape.formats.label_tools.tool_labels import DrawnImage
from faultscape.nouns import Classes

MOST_NANOSECONDS = 20e9  # of painting one label
MOST_MASK_PIXELS = 1 << 26  # of a PNG with colours: Pillow takes four bytes for each
Box = tuple[int, int, np.ndarray]


@dataclass(frozen=True, eq=False)
class Piece:
    """One mask of a label: its id, the approximate time to paint it, its place in the file (for errors), and
    the function that makes it: row and column of its first pixel and an (h, w) bool mask, all within the
    image.
    """

    id: int
    nanoseconds: float
    where: str
    draw: Callable[[], Box]


def class_masks(image: DrawnImage, classes: Classes, nothing: int | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the (H, W) mask of each class of an image's ids, in the order of the class list and
    void last, except for ``nothing``, the id of pixels under no mask. LabellingError for a wrong size, or an
    id without a class.

    >>> two = Classes(("sky", "sea"), (0, 1), ((0, 0, 1), (0, 0, 2)), void=(9,))
    >>> [
    ...     (name, mask.astype(int).tolist())
    ...     for name, mask in class_masks(DrawnImage("a", "a.png", (3, 1), np.array([[1, 9, 1]])), two, 9)
    ... ]
    [('sea', [[1, 0, 1]])]
    """
    if image.ids is None:
        return
    ids = known_ids(image.ids, classes, image.size, image.image)
    held = set(np.flatnonzero(np.bincount(ids.reshape(-1).astype(np.uint16))).tolist())
    for value, name in name_of_ids(classes).items():
        if value in held and value != nothing:
            yield name, ids == value


def painted(pieces: Sequence[Piece], size: tuple[int, int], classes: Classes, where: str) -> np.ndarray:
    """Return the (H, W) ids of an image of (width, height), with pieces painted over each other; uint8 if all
    ids of the classes fit, else uint16.

    LabellingError if it would take too long, a piece cannot be drawn, or a pixel is under none and the
    classes have neither background nor void.
    """
    check_size(size, where)
    if (seconds := sum(piece.nanoseconds for piece in pieces) / 1e9) > MOST_NANOSECONDS / 1e9:
        raise LabellingError(
            f"{where}: painting its {len(pieces):,} masks would take about {seconds:,.0f} s, and the limit is"
            f" {MOST_NANOSECONDS / 1e9:.0f} s; save it with fewer masks, one for each class"
        )
    ground = ground_of(classes)
    ids = np.full(
        (size[1], size[0]), ground, np.uint8 if max(ground, *classes.ids, *classes.void) < 256 else np.uint16
    )
    for piece in pieces:
        try:
            top, left, mask = piece.draw()
        except LabelMapError as error:
            raise LabellingError(f"{piece.where}: {error}") from None
        ids[top : top + mask.shape[0], left : left + mask.shape[1]][mask] = piece.id
    return covered(ids, classes, where)


def check_size(size: tuple[int, int], where: str) -> None:
    """Raise LabellingError if (width, height) is not a valid image size, or is too large."""
    width, height = size
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise LabellingError(
            f"{where}: width and height must be those of an image of at most {MAX_PIXELS:,} pixels; got"
            f" {str(width)[:20]} x {str(height)[:20]}"
        )
