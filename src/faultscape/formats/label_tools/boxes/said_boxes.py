"""What files of boxes say: the boxes of each image, with the names of classes that the file uses.

Conventions: a pixel belongs to a box if its centre lies inside; corners in numbers that are not whole are
thereby rounded, and a box that holds no centre is the pixel in which its own centre lies. Sizes are (width,
height). Faults of one image are in its ``wrong``, so that the others can still be used: without one of its
boxes, an image says less than it seems to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from faultscape.errors import LabellingError
from faultscape.maps.boxes import Box

FAR = 1e7  # pixels
MOST_BOXES = 100_000  # of an image


@dataclass
class SaidBoxes:
    """The boxes of one image: its name in the file, who drew them if known, its size if stated, its place in
    the file for errors, (class, box) of each, and what is wrong with one of them, '' for nothing.
    """

    image: str
    annotator: str
    size: tuple[int, int] | None
    where: str
    boxes: list[tuple[str, Box]] = field(default_factory=list)
    wrong: str = ""

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Keep the first LabellingError as what is wrong."""
        try:
            yield
        except LabellingError as error:
            self.wrong = self.wrong or str(error)


@dataclass(frozen=True)
class BoxFile:
    """What a file, or a folder of files, says: the names of the classes that people were to box, () if it
    does not say so, its images, and how many images without a box are left out, because nothing shows that
    anybody looked at them.
    """

    classes: tuple[str, ...]
    images: list[SaidBoxes]
    untouched: int = 0


def pixel_box(left: float, top: float, right: float, bottom: float, where: str, *, whole: bool = True) -> Box:
    """Return the pixels whose centres lie between corners; LabellingError for corners that are not finite
    numbers, or inside out.

    >>> pixel_box(473.07, 395.93, 511.72, 424.6, "a.json")
    Box(left=473, top=396, right=512, bottom=425, whole=True)
    >>> pixel_box(2.2, 0, 2.4, 1, "a.json")
    Box(left=2, top=0, right=3, bottom=1, whole=True)
    """
    if not all(abs(side) < FAR for side in (left, top, right, bottom)):
        raise LabellingError(f"{where}: the corners of a box must be finite numbers of pixels")
    if right < left or bottom < top:
        raise LabellingError(
            f"{where}: the box is inside out: columns {left:g} to {right:g}, rows {top:g} to {bottom:g}"
        )
    if right == left or bottom == top:
        raise LabellingError(
            f"{where}: the box has no area: columns {left:g} to {right:g}, rows {top:g} to {bottom:g}"
        )
    ends = []
    for low, high in ((left, right), (top, bottom)):
        first, last = math.ceil(low - 0.5), math.ceil(high - 0.5)
        if first == last:
            first = math.floor((low + high) / 2)
            last = first + 1
        ends.append((first, last))
    return Box(ends[0][0], ends[1][0], ends[0][1], ends[1][1], whole)


def number(value: object, what: str, where: str) -> float:
    """Return a number of a file; LabellingError for anything else.

    >>> number(3, "x", "a.json"), number("4.5", "x", "a.json")
    (3.0, 4.5)
    """
    try:
        found = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        given = "nothing" if value is None else repr(str(value)[:40])
        raise LabellingError(f"{where}: {what} must be a finite number; got {given}")
    return found


def size_of(width: object, height: object) -> tuple[int, int] | None:
    """Return an image's size if a file states it in whole numbers above 0.

    >>> size_of(4, 3), size_of("4", 3)
    ((4, 3), None)
    """
    if type(width) is int and type(height) is int and width > 0 and height > 0:
        return width, height
    return None
