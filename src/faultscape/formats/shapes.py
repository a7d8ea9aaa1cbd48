"""Shapes that people drew: checked and measured first, then painted over one map, each in its own box.

Conventions: x to the right, y down; corners are truncated to whole pixels as in Pillow. Besides LabelMe's,
the kinds of X-AnyLabeling are known, which saves the same files: its rectangles, rotated ones (`rotation`)
and quadrilaterals have four corners. The cost of drawing a
file is summed first, in nanoseconds on an ordinary machine (measured: 3 per row and corner of a polygon, 140
per crossing of a row and an edge, .3 to 20 per pixel of a box), so that no file takes too long.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from faultscape.errors import LabellingError
from faultscape.formats.guard import MAX_PIXELS, decoding

MOST = 100_000  # shapes per file
MOST_NANOSECONDS = 20e9  # of drawing them
_FAR = 1e7  # coordinates beyond this are not pixels
_RADIUS = 27_000  # beyond this, Pillow's 64-bit integers overflow and it draws no circle
_POINTS: dict[str, tuple[int, ...] | None] = {  # how many points a shape may have, two or more if None
    "polygon": None,
    "rectangle": (2, 4),
    "circle": (2,),
    "mask": (2,),
    "oriented_rectangle": (4,),
    "rotation": (4,),
    "quadrilateral": (4,),
}
_NO_AREA = frozenset({"point", "points", "line", "linestrip", "cuboid"})
Point = tuple[float, float]


@dataclass(frozen=True)
class Shape:
    """One shape that can be drawn: its kind, its corners, its id, its cost, the text of a mask, and its name
    in errors.
    """

    kind: str
    corners: tuple[Point, ...]
    id: int
    nanoseconds: float
    mask: Any
    where: str


def without_area(shape: Any) -> str:
    """Return the kind of a shape of a file that covers no pixels, '' for any other.

    >>> without_area({"shape_type": "point"}), without_area({"shape_type": "polygon"}), without_area(3)
    ('point', '', '')
    """
    kind = shape.get("shape_type") if isinstance(shape, dict) else None
    return kind if isinstance(kind, str) and kind in _NO_AREA else ""


def checked(shape: dict[str, Any], id_: int, size: tuple[int, int], where: str) -> Shape:
    """Return a shape of a file if it can be drawn on a map of (width, height); LabellingError says why it
    cannot.
    """
    kind = shape.get("shape_type") or "polygon"
    points = shape.get("points") or []
    if not isinstance(kind, str) or kind not in _POINTS:
        raise LabellingError(
            f"{where}: the shape_type {repr(kind)[:80]} is not known; use {', '.join(_POINTS)}"
        )
    good = isinstance(points, list) and all(
        isinstance(p, list) and len(p) == 2 and all(isinstance(v, int | float) and abs(v) < _FAR for v in p)
        for p in points
    )
    numbers = _POINTS[kind]
    if not good or (len(points) < 2 if numbers is None else len(points) not in numbers):
        wanted = "2 or more" if numbers is None else " or ".join(map(str, numbers))
        raise LabellingError(f"{where}: a {kind} needs {wanted} points [x, y] of finite numbers")
    corners = tuple((float(x), float(y)) for x, y in points)
    if kind == "circle" and (radius := math.dist(*corners)) > _RADIUS:
        raise LabellingError(
            f"{where}: a circle of radius {radius:,.0f} is larger than any image; at most {_RADIUS:,} is"
            " supported"
        )
    return Shape(kind, corners, id_, _nanoseconds(kind, corners, size), shape.get("mask"), where)


def painted(shapes: list[Shape], size: tuple[int, int], nothing: int) -> np.ndarray:
    """Return the (H, W) ids of shapes drawn over each other on a map of ``nothing``; uint8 if all ids fit,
    else uint16. LabellingError names an invalid shape.
    """
    wide = max((nothing, *(shape.id for shape in shapes))) > 255
    canvas = Image.new("I" if wide else "L", size, nothing)
    pen = ImageDraw.Draw(canvas)
    for shape in shapes:
        with decoding(shape.where, LabellingError):
            _draw(canvas, pen, shape)
    ids = np.array(canvas)
    return ids.astype(np.uint16 if wide and ids.max() > 255 else np.uint8, copy=False)


def _draw(canvas: Image.Image, pen: ImageDraw.ImageDraw, shape: Shape) -> None:
    """Paint one shape in its id."""
    corners = shape.corners
    ink = shape.id
    if shape.kind == "mask":
        _paste(canvas, shape)
    elif shape.kind == "rectangle" and len(corners) == 2:
        (x1, y1), (x2, y2) = corners
        pen.rectangle((min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)), fill=ink, outline=ink)
    elif shape.kind == "circle":
        (x, y), r = corners[0], math.dist(*corners)
        pen.ellipse((x - r, y - r, x + r, y + r), fill=ink, outline=ink)
    elif len(corners) == 2:
        pen.line(corners, fill=ink)
    else:
        pen.polygon(corners, fill=ink, outline=ink)


def _paste(canvas: Image.Image, shape: Shape) -> None:
    """Paint a mask, a PNG in base64 with its first pixel in the corner of its box."""
    xs, ys = zip(*shape.corners, strict=True)
    # a mask that was dragged has a box of fractions, which LabelMe truncates
    left = int(min(xs))
    top = int(min(ys))
    wide = int(max(xs)) - left + 1
    tall = int(max(ys)) - top + 1
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(shape.mask or "", validate=True)), formats=("PNG",))
        if picture.size[0] > wide + 1 or picture.size[1] > tall + 1 or math.prod(picture.size) > MAX_PIXELS:
            raise LabellingError(
                f"{shape.where}: its mask is {picture.size[0]} x {picture.size[1]} pixels, its box {wide} x"
                f" {tall}"
            )
        crop = np.asarray(picture.convert("L")) > 0
    except (binascii.Error, OSError, ValueError, TypeError, SyntaxError, Image.DecompressionBombError):
        raise LabellingError(f"{shape.where}: its mask is not a PNG in base64") from None
    x1 = max(left, 0)
    y1 = max(top, 0)
    x2 = min(left + crop.shape[1], canvas.width)
    y2 = min(top + crop.shape[0], canvas.height)
    if x1 < x2 and y1 < y2:
        canvas.paste(
            shape.id, (x1, y1, x2, y2), Image.fromarray(crop[y1 - top : y2 - top, x1 - left : x2 - left])
        )


def _nanoseconds(kind: str, corners: tuple[Point, ...], size: tuple[int, int]) -> float:
    """Return the approximate time to draw a shape."""
    xy = np.array(corners)
    if kind == "circle":
        r = math.dist(*corners)
        xy = np.array([xy[0] - r, xy[0] + r])
        return 300 * r + _box(xy, size)
    if kind == "mask":  # decoded as a whole, wherever it is
        return 20 * float(np.prod(np.ptp(xy, axis=0) + 1))
    if kind == "rectangle" and len(corners) == 2:
        return _box(xy, size)
    if len(corners) == 2:
        return 20 * float(np.ptp(xy, axis=0).max())
    ys = np.clip(xy[:, 1], 0, size[1])
    rows = float(np.ptp(ys))
    crossing = float(np.abs(np.diff(ys, append=ys[:1])).sum())
    return 3 * rows * len(corners) + 140 * max(crossing - 2 * rows, 0) + _box(xy, size)


def _box(xy: np.ndarray, size: tuple[int, int]) -> float:
    """Return the approximate time to fill the part of a box inside a map."""
    low = np.clip(xy.min(0), 0, size)
    high = np.clip(xy.max(0), 0, size)
    return 10_000 + 0.3 * float(np.prod(high - low))
