"""Between label maps and masks that have a name: one mask a class on the way out, masks painted one over the other on the way back.

Conventions: masks are (H, W) bool. Pixels under no mask are the background, or void where the classes have none, and no mask is written for them; other void pixels are called ``void``, which names no class. Whatever is
painted is summed up first, in nanoseconds of an ordinary machine, so that no label takes longer than people wait.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.errors import LabellingError, LabelMapError, closest
from faultscape.formats.guard import MAX_PIXELS, read_bytes
from faultscape.nouns import UNKNOWN, Classes

MOST_BYTES = 256 << 20  # of a file of labels in JSON
MOST_VALUES = 50_000_000
MOST_CONTAINERS = 2_000_000  # lists and objects, which take most memory
VOID = "void"
BACKGROUND_NAMES = frozenset({"background", "_background_"})
MOST_NANOSECONDS = 20e9  # of painting one label
MOST_MASK_PIXELS = 1 << 26  # of a PNG with colours: Pillow takes four bytes for each
Box = tuple[int, int, np.ndarray]


@dataclass(frozen=True, eq=False)
class Piece:
    """What one mask of a label paints: an id, about how long it takes, where it stands (for errors), and how it is made: row and column of its first pixel and an (h, w) bool mask, all within the image."""

    id: int
    nanoseconds: float
    where: str
    draw: Callable[[], Box]


def unlabelled(classes: Classes) -> int | None:
    """Return the id of pixels under no mask: the background, else the first void id, else None.

    >>> unlabelled(Classes(("sky", "sea"), (0, 1), ((0, 0, 1), (0, 0, 2)), void=(7, 9)))
    7
    """
    return classes.background if classes.background is not None else classes.void[0] if classes.void else None


def class_masks(ids: np.ndarray, classes: Classes, where: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and mask of each class that an (H, W) map holds, in the order of the ids and void last, but of the one that unlabelled pixels get; all void ids are one. LabellingError names a value that is none of these.

    >>> two = Classes(("sky", "sea"), (0, 1), ((0, 0, 1), (0, 0, 2)), void=(9,))
    >>> [(name, mask.astype(int).tolist()) for name, mask in class_masks(np.array([[1, 9, 1]]), two, "a map")]
    [('sea', [[1, 0, 1]])]
    """
    ids = np.asarray(ids)
    nothing, void = unlabelled(classes), sorted(classes.void)
    names = dict(zip(classes.ids, classes.names, strict=True))
    values = _values(ids, where)
    if unknown := [value for value in values if value not in names and value not in void]:
        raise LabellingError(
            f"{where}: holds the value {unknown[0]}, which is no id of the class list; write it with the class list that it was made for"
        )
    for value in values:
        if value in names and value != nothing:
            yield names[value], ids == value
    if nothing not in void and not set(values).isdisjoint(void):
        yield VOID, np.isin(ids, void)


def id_of(label: str, classes: Classes, where: str) -> int:
    """Return the id that a label names: a class, ``void``, or the background by its usual names; LabellingError with the nearest class where it names none.

    >>> id_of("void", Classes(("sky",), (0,), ((0, 0, 1),), void=(9,)), "a map")
    9
    """
    for names in (classes.names, tuple(name.strip() for name in classes.names)):
        if label in names:
            return classes.ids[names.index(label)]
    if label.strip() == VOID and classes.void:
        return classes.void[0]
    if label in BACKGROUND_NAMES and classes.background is not None:
        return classes.background
    raise LabellingError(
        f"{where}: {label[:80]!r} is no class; known are {', '.join(classes.names[:12])}.{closest(label[:80], classes.names)}"
    )


def painted(pieces: Sequence[Piece], size: tuple[int, int], classes: Classes, where: str) -> np.ndarray:
    """Return the (H, W) ids of an image of (width, height), pieces painted one over the other; uint8 where all ids of the classes fit, else uint16.

    LabellingError where it would take too long, a piece cannot be drawn, or a pixel is under none and the classes have neither background nor void.
    """
    check_size(size, where)
    if (seconds := sum(piece.nanoseconds for piece in pieces) / 1e9) > MOST_NANOSECONDS / 1e9:
        raise LabellingError(
            f"{where}: painting its {len(pieces):,} masks would take some {seconds:,.0f} s, and at most {MOST_NANOSECONDS / 1e9:.0f} s are taken; "
            "save it with fewer masks, one for each class"
        )
    nothing = unlabelled(classes)
    kind = np.uint8 if max((*classes.ids, *classes.void)) < 255 + (nothing is not None) else np.uint16
    bare = UNKNOWN if kind is np.uint16 else 255  # no class has it where nothing is None
    ids = np.full((size[1], size[0]), bare if nothing is None else nothing, kind)
    for piece in pieces:
        try:
            top, left, mask = piece.draw()
        except LabelMapError as error:
            raise LabellingError(f"{piece.where}: {error}") from None
        ids[top : top + mask.shape[0], left : left + mask.shape[1]][mask] = piece.id
    if nothing is None and (uncovered := ids == bare).any():
        row, column = divmod(int(np.argmax(uncovered)), size[0])
        raise LabellingError(
            f"{where}: the pixel in column {column}, row {row} is under no mask, and the class list has neither a background nor a void id for it"
        )
    return ids


def load_json(path: str | os.PathLike[str], kind: str) -> Any:
    """Return what a file of labels in JSON holds, a ``kind`` such as "COCO file"; LabellingError where it is no JSON, or larger than is read."""
    data = read_bytes(path, LabellingError, limit=MOST_BYTES)
    values, containers = data.count(b","), data.count(b"[") + data.count(b"{")
    if values > MOST_VALUES or containers > MOST_CONTAINERS:
        raise LabellingError(
            f"{path}: holds some {values:,} values in {containers:,} lists and objects; at most {MOST_VALUES:,} in {MOST_CONTAINERS:,} are read; split it"
        )
    try:
        return json.loads(data)
    except (ValueError, RecursionError, MemoryError) as error:
        text = " ".join(str(error).split())[:200]
        raise LabellingError(f"{path}: is no {kind}: {text or 'it does not fit into memory'}") from None


def check_size(size: tuple[int, int], where: str) -> None:
    """Raise LabellingError where (width, height) is that of no image, or of a larger one than is read."""
    width, height = size
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise LabellingError(
            f"{where}: width and height must be those of an image of at most {MAX_PIXELS:,} pixels; got {str(width)[:20]} x {str(height)[:20]}"
        )


def _values(ids: np.ndarray, where: str) -> list[int]:
    """Return the values of a map, in order."""
    if ids.ndim != 2 or ids.dtype.kind not in "iu" or ids.min(initial=0) < 0 or ids.max(initial=0) > UNKNOWN:
        raise LabellingError(f"{where}: expected whole numbers 0-{UNKNOWN}, H x W; got {ids.dtype} of shape {ids.shape}")
    return np.flatnonzero(np.bincount(ids.reshape(-1).astype(np.uint16))).tolist()
