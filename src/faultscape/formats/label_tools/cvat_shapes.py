"""CVAT's shapes with an area, from their XML attributes: first checked and measured, then painted over each
other.

Conventions: x = 0 is the left side of the first pixel, and a pixel is inside where its centre is. Run lengths
go along the rows of a mask's own box and begin with pixels outside, so the first is 0 if the box begins
inside. Rotations are in degrees, clockwise about the centre. Shapes drawn later, by z_order and then document
order, are on top.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats.coco import mask_of
from faultscape.formats.guard import MAX_PIXELS

AREAS = ("mask", "polygon", "box", "ellipse")
NO_AREAS = ("polyline", "points", "cuboid", "skeleton")
KEYS = {
    "label",
    "z_order",
    "rle",
    "left",
    "top",
    "width",
    "height",
    "points",
    "xtl",
    "ytl",
    "xbr",
    "ybr",
    "cx",
    "cy",
    "rx",
    "ry",
    "rotation",
}
MOST = 100_000  # shapes per image
MOST_NANOSECONDS = 20e9  # of painting them
_BAND = 1 << 24  # pixels of a shape computed at once
_FAR = 1e7  # coordinates beyond this are not pixels
_WHOLE = re.compile(r"-?[0-9]{1,9}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?")
# possessive: no backtracking, and no memory for it
_RUNS = re.compile(r"(?:\s*+[0-9]{1,9}+\s*+,)*+\s*+[0-9]{1,9}+\s*+")
_PAIR = r"\s*+[+-]?+[0-9]{1,12}+(?:\.[0-9]{0,20}+)?+\s*+,\s*+[+-]?+[0-9]{1,12}+(?:\.[0-9]{0,20}+)?+\s*+"
_POINTS = re.compile(f"(?:{_PAIR};)*+{_PAIR}")
Attributes = Mapping[str, str]
Box = tuple[int, int, int, int]  # left, top, right, bottom; the last two exclusive


@dataclass(frozen=True)
class Area:
    """A shape that can be painted: its kind, its attributes, the part of the image that it may cover, its
    layer, its id, the approximate time to paint it, and its name in errors.
    """

    kind: str
    said: Attributes
    box: Box
    layer: int
    id: int
    nanoseconds: float
    where: str


def runs_of(inside: np.ndarray) -> str:
    """Return the run lengths of an (H, W) mask as CVAT writes them: along its rows, pixels outside first.

    >>> runs_of(np.array([[0, 1, 1], [1, 0, 0]], bool)), runs_of(np.array([[1, 0]], bool))
    ('1, 3, 2', '0, 1, 1')
    """
    flat = np.ascontiguousarray(inside).reshape(-1).astype(bool, copy=False)
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    runs = np.diff(np.concatenate(([0], edges, [len(flat)]))).tolist()
    return ", ".join(map(str, [0, *runs] if flat[0] else runs))


def inside_of(runs: str, width: int, height: int, where: str) -> np.ndarray:
    """Return the (height, width) mask of run lengths; LabellingError, which begins with ``where``, names a
    fault.

    >>> inside_of("1, 3, 2", 3, 2, "a").astype(int).tolist()
    [[0, 1, 1], [1, 0, 0]]
    """
    if len(runs) > 12 * (width * height + 2) or not _RUNS.fullmatch(runs):
        raise LabellingError(
            f"{where}: its rle must be a list of run lengths, whole numbers separated by commas; got"
            f" {runs[:40]!r}"
        )
    lengths = np.fromstring(runs, np.int64, sep=",")
    if (total := int(lengths.sum())) != width * height:
        raise LabellingError(
            f"{where}: its run lengths add up to {total:,} pixels, but its box of {width} x {height} has"
            f" {width * height:,}"
        )
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths).reshape(height, width)


def without_area(kind: str, said: Attributes) -> bool:
    """Return whether a shape covers no pixels: of a kind without an area, a radius of 0, or a box without a
    width or height.

    >>> without_area("points", {}), without_area("ellipse", {"rx": "0.0", "ry": "3"})
    (True, True)
    """
    if kind == "ellipse":
        radii = [said.get(key, "") for key in ("rx", "ry")]
        return all(map(_NUMBER.fullmatch, radii)) and min(map(float, radii)) == 0
    if kind == "box":
        return any(
            _NUMBER.fullmatch(said.get(low, "")) and said[low] == said.get(high)
            for low, high in (("xtl", "xbr"), ("ytl", "ybr"))
        )
    return kind in NO_AREAS


def checked(kind: str, said: Attributes, id_: int, size: tuple[int, int], where: str) -> Area:
    """Return a shape of an image of (width, height) if it can be painted; LabellingError says why it
    cannot.
    """
    if kind not in AREAS:
        raise LabellingError(f"{where}: a {kind} has no area; use masks, polygons, boxes or ellipses")
    layer = layer_of(said, where)
    if kind == "mask":
        box = mask_box(said, size, where)
        cost = 4.0 * _pixels(box) + 10.0 * len(said.get("rle", ""))
    elif kind == "polygon":
        xy = _corners(said, where)
        box = _clipped(xy, size)
        cost = _cost_of_polygon(xy, box)
    elif kind == "box":
        xy = _rectangle(said, where)
        box = _clipped(xy, size)
        cost = _cost_of_polygon(xy, box)
    else:
        x, y, rx, ry, turn = _ellipse(said, where)
        wide = math.hypot(rx * math.cos(turn), ry * math.sin(turn))
        tall = math.hypot(rx * math.sin(turn), ry * math.cos(turn))
        box = _clipped(np.array([[x - wide, y - tall], [x + wide, y + tall]]), size)
        cost = 4.0 * _pixels(box) + 100.0 * max(box[3] - box[1], 0)
    return Area(kind, said, box, layer, id_, 20_000 + cost, where)


def painted(areas: Iterable[Area], size: tuple[int, int], ground: int) -> np.ndarray:
    """Return the (H, W) ids, uint16, of shapes painted over each other on ``ground``, by layer and then in
    order. LabellingError names an invalid shape, or says that it would take too long.
    """
    areas = sorted(areas, key=lambda area: area.layer)
    too_long(areas)
    ids = np.full(size[::-1], ground, np.uint16)
    for area in areas:
        for box in bands(area):
            left, top, right, bottom = box
            np.copyto(ids[top:bottom, left:right], area.id, where=pixels_of(area, box), casting="unsafe")
    return ids


def bands(area: Area) -> Iterator[Box]:
    """Yield the box of a shape in parts small enough for memory while their pixels are computed; run lengths
    are decoded at once.
    """
    left, top, right, bottom = area.box
    if left < right:
        rows = bottom - top if area.kind == "mask" else max(_BAND // (right - left), 1)
        yield from ((left, row, right, min(row + rows, bottom)) for row in range(top, bottom, rows))


def too_long(areas: list[Area]) -> None:
    """Raise LabellingError if painting the shapes of an image would take too long."""
    if (total := sum(area.nanoseconds for area in areas)) > MOST_NANOSECONDS:
        raise LabellingError(
            f"{areas[0].where}: painting the {len(areas):,} shapes of its image would take about"
            f" {total / 1e9:,.0f} s, and the limit is {MOST_NANOSECONDS / 1e9:.0f} s; save it with fewer"
            " points or shapes, or as masks"
        )


def pixels_of(area: Area, box: Box) -> np.ndarray:
    """Return the pixels that a shape covers in one of its `bands`, bool."""
    left, top, right, bottom = box
    if area.kind == "mask":
        return inside_of(area.said.get("rle", ""), right - left, bottom - top, area.where)
    if area.kind == "ellipse":
        return _inside_ellipse(*_ellipse(area.said, area.where), box)
    xy = _corners(area.said, area.where) if area.kind == "polygon" else _rectangle(area.said, area.where)
    try:
        return mask_of([(xy - (left, top)).reshape(-1).tolist()], (bottom - top, right - left))
    except LabelMapError as error:
        raise LabellingError(f"{area.where}: {error}") from None


def mask_box(said: Attributes, size: tuple[int, int], where: str) -> Box:
    """Return the box of a mask; LabellingError if it is invalid, or leaves the image of (width, height)."""
    left, top, width, height = (_whole(said, key, where) for key in ("left", "top", "width", "height"))
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise LabellingError(f"{where}: its box of {width} x {height} pixels is empty")
    if left < 0 or top < 0 or left + width > size[0] or top + height > size[1]:
        raise LabellingError(
            f"{where}: extends beyond the image: columns {left} to {left + width - 1} and rows {top} to"
            f" {top + height - 1} of {size[0]} x {size[1]} pixels"
        )
    return left, top, left + width, top + height


def layer_of(said: Attributes, where: str) -> int:
    """Return the z_order of a shape, 0 by default."""
    return _whole(said, "z_order", where) if "z_order" in said else 0


def _whole(said: Attributes, key: str, where: str) -> int:
    text = said.get(key, "")
    if not _WHOLE.fullmatch(text.strip()):
        raise LabellingError(f"{where}: its {key} must be a whole number; got {text[:40]!r}")
    return int(text)


def _number(said: Attributes, key: str, where: str) -> float:
    text = said.get(key, "")
    if not _NUMBER.fullmatch(text.strip()) or not abs(value := float(text)) < _FAR:
        raise LabellingError(f"{where}: its {key} must be a finite number; got {text[:40]!r}")
    return value


def _corners(said: Attributes, where: str) -> np.ndarray:
    """Return the (N, 2) corners of a polygon."""
    text = said.get("points", "")
    if not _POINTS.fullmatch(text) or text.count(";") < 2:
        raise LabellingError(
            f"{where}: a polygon needs three or more points x,y separated by semicolons; got {text[:40]!r}"
        )
    return _places(text, where)


def points_of(said: Attributes, where: str) -> list[tuple[float, float]]:
    """Return the places (x, y) of a shape of points.

    >>> points_of({"points": "3.50,4.00;1,2"}, "a shape")
    [(3.5, 4.0), (1.0, 2.0)]
    """
    text = said.get("points", "")
    if not _POINTS.fullmatch(text):
        raise LabellingError(f"{where}: needs places x,y separated by semicolons; got {text[:40]!r}")
    return [(x, y) for x, y in _places(text, where).tolist()]


def _places(text: str, where: str) -> np.ndarray:
    """Return the (N, 2) places of a text in which all are numbers."""
    xy = np.fromstring(text.replace(";", ","), np.float64, sep=",").reshape(-1, 2)
    if not (np.abs(xy) < _FAR).all():
        raise LabellingError(f"{where}: its points are outside any possible image; got {text[:40]!r}")
    return xy


def _rectangle(said: Attributes, where: str) -> np.ndarray:
    """Return the four corners of a box rotated about its centre."""
    left, top, right, bottom = (_number(said, key, where) for key in ("xtl", "ytl", "xbr", "ybr"))
    middle = np.array([(left + right) / 2, (top + bottom) / 2])
    turn = math.radians(_number(said, "rotation", where)) if "rotation" in said else 0.0
    xy = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    if turn:
        xy = (xy - middle) @ np.array(
            [[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]]
        ) + middle
    return xy


def _ellipse(said: Attributes, where: str) -> tuple[float, float, float, float, float]:
    """Return the centre, the radii and the rotation, in radians, of an ellipse."""
    x, y, rx, ry = (_number(said, key, where) for key in ("cx", "cy", "rx", "ry"))
    if rx <= 0 or ry <= 0:
        raise LabellingError(f"{where}: the radii of an ellipse must be above 0; got {rx:g} and {ry:g}")
    return x, y, rx, ry, math.radians(_number(said, "rotation", where)) if "rotation" in said else 0.0


def _inside_ellipse(x: float, y: float, rx: float, ry: float, turn: float, box: Box) -> np.ndarray:
    """Return the pixels of a box whose centres are inside an ellipse: in each row, those between the roots of
    a quadratic equation.
    """
    left, top, right, bottom = box
    cos = math.cos(turn)
    sin = math.sin(turn)
    dy = np.arange(top, bottom) + 0.5 - y
    a = (cos / rx) ** 2 + (sin / ry) ** 2
    b = 2 * cos * sin * (1 / rx**2 - 1 / ry**2) * dy
    c = ((sin / rx) ** 2 + (cos / ry) ** 2) * dy**2 - 1
    root = b**2 - 4 * a * c
    half = np.sqrt(np.maximum(root, 0))
    first = np.ceil(x + (-b - half) / (2 * a) - 0.5)
    last = np.floor(x + (-b + half) / (2 * a) - 0.5)
    last[root < 0] = -np.inf
    columns = np.arange(left, right, dtype=np.float64)
    return (columns >= first[:, None]) & (columns <= last[:, None])


def _clipped(xy: np.ndarray, size: tuple[int, int]) -> Box:
    """Return the bounding box of some corners, clipped to the image."""
    low = np.clip(np.floor(xy.min(0)), 0, size).astype(int)
    high = np.clip(np.ceil(xy.max(0)), 0, size).astype(int)
    return int(low[0]), int(low[1]), int(high[0]), int(high[1])


def _pixels(box: Box) -> float:
    return float(max(box[2] - box[0], 0)) * max(box[3] - box[1], 0)


def _cost_of_polygon(xy: np.ndarray, box: Box) -> float:
    """Return about how many nanoseconds painting a polygon takes: 6 per pixel of its box, 100 per row crossed
    by an edge, 300 per corner.
    """
    ys = np.clip(xy[:, 1], box[1], box[3])
    return 6.0 * _pixels(box) + 100.0 * float(np.abs(np.diff(ys, append=ys[:1])).sum()) + 300.0 * len(xy)
