"""Conversion between label maps and named masks: one mask per class for export, masks painted over each other
for import.

Conventions: masks are (H, W) bool, named by `named_ids`. No mask is written for the id of pixels under no
mask. The cost of painting is summed first, in nanoseconds on an ordinary machine, so that no label takes too
long.

Ids by the names that tools show: every class has its own name, the first void id is called ``void``, and
undrawn pixels are the background, or void if there is none.

Conventions: a class name overrides every other meaning of that name. Colours are (red, green, blue); black is
for undrawn pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import LabellingError, LabelMapError, closest, shortened
from faultscape.formats.guard import MAX_PIXELS
from faultscape.formats.label_tools.tool_labels import DrawnImage
from faultscape.nouns import Classes

MOST_NANOSECONDS = 20e9  # of painting one label
MOST_MASK_PIXELS = 1 << 26  # of a PNG with colours: Pillow takes four bytes for each
Box = tuple[int, int, np.ndarray]
VOID = "void"
_VOID_NAMES = frozenset({VOID, "__ignore__", "__void__", "ignore"})
_BACKGROUND_NAMES = frozenset({"_background_", "background"})
_VOID_COLOUR = (224, 224, 192)  # outlines of PASCAL VOC
Colour = tuple[int, int, int]


def nothing_of(classes: Classes) -> int | None:
    """Return the id of undrawn pixels: the background, else the first void id, else None.

    >>> nothing_of(Classes(("a", "b"), (3, 5), ((1, 1, 1), (2, 2, 2)), void=(255, 254)))
    255
    """
    if classes.background is not None:
        return classes.background
    return classes.void[0] if classes.void else None


def name_of_ids(classes: Classes) -> dict[int, str]:
    """Return each id's name in tools, in the order of the class list; all void ids share one name, and come
    last.
    """
    return dict(zip(classes.ids, classes.names, strict=True)) | dict.fromkeys(classes.void, VOID)


def id_of(name: str, classes: Classes, where: str) -> int:
    """Return the id of a tool's label; LabellingError, which begins with ``where``, for a label that is not a
    class.

    >>> id_of("void", Classes(("a",), (0,), ((1, 1, 1),), void=(255,)), "a.json, shape 0")
    255
    """
    if name in classes.names:
        return classes.ids[classes.names.index(name)]
    if name in _VOID_NAMES and classes.void:
        return classes.void[0]
    if name in _BACKGROUND_NAMES and classes.background is not None:
        return classes.background
    raise LabellingError(
        f"{where}: {name[:80]!r} is not a class; known are"
        f" {shortened(classes.names, name[:80])}.{closest(name[:80], classes.names)}"
    )


def ground_of(classes: Classes) -> int:
    """Return the value of an empty canvas: the id of undrawn pixels, or, if the class list has none, a value
    that is not an id.
    """
    if (nothing := nothing_of(classes)) is not None:
        return nothing
    taken = set(classes.ids)
    return next(value for value in range(len(taken) + 1) if value not in taken)


def covered(ids: np.ndarray, classes: Classes, where: str) -> np.ndarray:
    """Return (H, W) ids painted on `ground_of`, uint8 where all fit; LabellingError names the first pixel
    under no shape, if such pixels have no id.
    """
    if nothing_of(classes) is None and (bare := ids == ground_of(classes)).any():
        y, x = np.unravel_index(int(bare.argmax()), bare.shape)
        raise LabellingError(
            f"{where}: pixels outside all shapes need a background class or a void id, but the class list has"
            f" neither; the first is at column {x}, row {y}"
        )
    return ids.astype(np.uint8 if ids.max(initial=0) < 256 else np.uint16, copy=False)


def known_ids(ids: np.ndarray, classes: Classes, size: tuple[int, int], where: str) -> np.ndarray:
    """Return the (H, W) ids of an image of (width, height) to export, with all void ids as the first;
    LabellingError for a wrong size, or an id without a class.
    """
    ids = np.asarray(ids)
    if ids.ndim != 2 or ids.dtype.kind not in "iu" or ids.shape[::-1] != tuple(size):
        raise LabellingError(
            f"{where}: expected whole numbers, {size[1]} x {size[0]}; got {ids.dtype} of shape {ids.shape}"
        )
    if len(classes.void) > 1 and (others := np.isin(ids, classes.void[1:])).any():
        ids = np.where(others, classes.void[0], ids)
    names = name_of_ids(classes)
    for value in np.unique(ids).tolist():
        if value not in names:
            raise LabellingError(f"{where}: holds the id {value}, which is neither a class nor void")
    return ids


def distinct_colours(classes: Classes, more: Iterable[str] = ()) -> dict[str, Colour]:
    """Return a different colour for each name of `name_of_ids`, and for ``more`` names, none of them black.

    A class keeps the colour of the class list unless it is black or an earlier class has it; the others take,
    in the order of the class list, the next unused colour of PASCAL VOC. Void is cream, or the next such
    colour.

    >>> distinct_colours(Classes(("a", "b"), (0, 1), ((0, 0, 0), (128, 0, 0)), void=(9,)))
    {'a': (0, 128, 0), 'b': (128, 0, 0), 'void': (224, 224, 192)}
    """
    colours: dict[str, Colour] = {}
    taken = {(0, 0, 0)}
    wanted = dict(zip(classes.names, classes.colours, strict=False)) | (
        {VOID: _VOID_COLOUR} if classes.void else {}
    )
    for name, colour in wanted.items():
        if (own := (int(colour[0]), int(colour[1]), int(colour[2]))) not in taken:
            colours[name] = own
            taken.add(own)
    free = (colour for colour in voc_colours() if colour not in taken)
    return {
        name: colours[name] if name in colours else next(free)
        for name in dict.fromkeys((*name_of_ids(classes).values(), *more))
    }


def voc_colours() -> Iterator[Colour]:
    """Yield the colours of PASCAL VOC in their order, black first: bits 0, 3, 6, ... of a number make red, 1,
    4, ... green and 2, 5, ... blue, highest first.

    >>> colours = voc_colours()
    >>> [next(colours) for _ in range(4)]
    [(0, 0, 0), (128, 0, 0), (0, 128, 0), (128, 128, 0)]
    """
    for number in range(1 << 24):
        red, green, blue = (sum((number >> 3 * k + c & 1) << 7 - k for k in range(8)) for c in range(3))
        yield red, green, blue


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
