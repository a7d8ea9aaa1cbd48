"""LabelMe's JSON, which X-AnyLabeling writes too, one file per image: written with mask shapes, read with
every shape that has an area.

Conventions: a mask shape is an inclusive box and a PNG crop in base64, one shape per class; ids come from
class names. On request, polygons are written instead, one per patch. Shapes are drawn in list order, later
over earlier. Pixels under no shape are the background, or void if the classes have none. The file format is
described in the project's notes on labelling tools; none of LabelMe's own code is used.

``image_path`` is the path of the image in the file.

Reading: shapes are checked and measured first, then painted over one map, each in its own box. x to the
right, y down; corners are truncated to whole pixels as in Pillow. Besides LabelMe's, the kinds of
X-AnyLabeling are known: its rectangles, rotated ones (`rotation`) and quadrilaterals have four corners. The
cost of drawing a file is summed first, in nanoseconds on an ordinary machine (measured: 3 per row and corner
of a polygon, 140 per crossing of a row and an edge, .3 to 20 per pixel of a box), so that no file takes too
long.

Checking is for what LabelMe would refuse or show differently: it loads the image that ``imagePath`` names,
relative to the file, and refuses one of a different size; it counts the points of each shape, and draws a
mask into its inclusive box.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import math
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats.guard import MAX_PIXELS, decoding, load_json
from faultscape.formats.label_tools.named_masks import (
    covered,
    ground_of,
    id_of,
    known_ids,
    name_of_ids,
    nothing_of,
)
from faultscape.formats.label_tools.outlines import outlines as polygons_of
from faultscape.formats.label_tools.tool_labels import Format
from faultscape.maps.regions import bounding_box
from faultscape.nouns import Classes

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
_COUNTS = {
    "polygon": (3, math.inf),
    "rectangle": (2, 2),
    "circle": (2, 2),
    "line": (2, 2),
    "linestrip": (2, math.inf),
    "point": (1, 1),
    "points": (1, math.inf),
    "mask": (2, 2),
    "oriented_rectangle": (4, 4),
}


def check(path: Path) -> list[str]:
    """Return what LabelMe would refuse or show differently in a file or a folder of files, a
    sentence each.
    """
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    labels = path / "labels.txt" if path.is_dir() else path.parent / "labels.txt"
    known = (
        set(labels.read_text(encoding="utf-8", errors="replace").split("\n")) - {""}
        if labels.is_file()
        else None
    )
    return [problem for file in files for problem in _problems(file, known)]


def _document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return a file that has a list of shapes; LabellingError for any other."""
    document = load_json(path, "a LabelMe file")
    if not isinstance(document, dict) or not isinstance(document.get("shapes"), list):
        raise LabellingError(f"{path}: is not a LabelMe file: it has no list `shapes`")
    return document


def _problems(path: Path, known: set[str] | None) -> Iterator[str]:
    try:
        document = _document(path)
    except LabellingError as error:
        yield str(error)
        return
    for name, kind in (("version", str), ("flags", dict), ("imagePath", str)):
        if not isinstance(document.get(name), kind):
            yield (
                f"{path}: {name} is {str(document.get(name))[:40]!r}; LabelMe expects"
                f" {'an object' if kind is dict else 'text'}"
            )
    size = document.get("imageWidth"), document.get("imageHeight")
    if not all(type(side) is int and side > 0 for side in size):
        yield (
            f"{path}: imageWidth and imageHeight are {size[0]!r} and {size[1]!r}; LabelMe expects whole"
            " numbers"
        )
    elif not document.get("imageData") and isinstance(document.get("imagePath"), str):
        yield from _photo(path, document["imagePath"], size)
    for number, shape in enumerate(document["shapes"]):
        yield from (f"{path}, shape {number}: {words}" for words in _shape(shape, known))


def _photo(path: Path, named: str, size: tuple[Any, ...]) -> Iterator[str]:
    """Yield what is wrong with the image that a file names."""
    place = os.path.join(path.parent, named.replace("\\", "/"))
    if not os.path.isfile(place):
        yield f"{path}: image {named!r} not found"
        return
    try:
        with decoding(place, LabellingError), Image.open(place) as photo:
            turned = photo.getexif().get(0x0112, 1) in (5, 6, 7, 8)  # LabelMe first turns images upright
            found = photo.size[::-1] if turned else photo.size
    except LabellingError as error:
        yield str(error)
        return
    if found != size:
        yield (
            f"{path}: is {size[0]} x {size[1]} pixels, its image {found[0]} x {found[1]}; LabelMe refuses it"
        )


def _shape(shape: Any, known: set[str] | None) -> Iterator[str]:
    """Yield what is wrong with one shape."""
    if not isinstance(shape, dict) or not isinstance(shape.get("label"), str):
        yield "has no label"
        return
    if known is not None and shape["label"] not in known:
        yield f"its label {shape['label'][:60]!r} is not in labels.txt"
    kind = shape.get("shape_type", "polygon")
    points = shape.get("points")
    if kind not in _COUNTS:
        yield f"the shape_type {str(kind)[:40]!r} is not known; LabelMe supports {', '.join(_COUNTS)}"
        return
    good = isinstance(points, list) and all(
        isinstance(p, list) and len(p) == 2 and all(type(v) in (int, float) and math.isfinite(v) for v in p)
        for p in points
    )
    least, most = _COUNTS[kind]
    if not isinstance(points, list) or not good or not least <= len(points) <= most:
        yield f"a {kind} needs {least if least == most else f'{least} or more'} points of two finite numbers"
    elif kind == "mask":
        yield from _mask(shape.get("mask"), points)
    if not (shape.get("group_id") is None or type(shape["group_id"]) is int):
        yield f"its group_id is {str(shape['group_id'])[:40]!r}; LabelMe expects a whole number or null"


def _mask(text: Any, points: list[list[float]]) -> Iterator[str]:
    """Yield what is wrong with the mask of a shape."""
    try:
        with _mask_picture(text, "its mask") as picture:
            size = picture.size
    except LabellingError as error:
        yield str(error)
        return
    (x1, y1), (x2, y2) = points
    box = (abs(int(x2) - int(x1)) + 1, abs(int(y2) - int(y1)) + 1)  # LabelMe truncates each corner
    if size != box:
        yield f"its mask is {size[0]} x {size[1]} pixels, its inclusive box {box[0]} x {box[1]}"


@dataclass(frozen=True)
class _Shape:
    """One shape that can be drawn: its kind, its corners, its id, its cost, the text of a mask, and its name
    in errors (``where``).
    """

    kind: str
    corners: tuple[Point, ...]
    id: int
    nanoseconds: float
    mask: Any
    where: str


def without_area(shape: Any) -> str:
    """Return the kind of a ``shape`` of a file that covers no pixels, '' for any other.

    >>> without_area({"shape_type": "point"}), without_area({"shape_type": "polygon"}), without_area(3)
    ('point', '', '')
    """
    kind = shape.get("shape_type") if isinstance(shape, dict) else None
    return kind if isinstance(kind, str) and kind in _NO_AREA else ""


def checked(shape: dict[str, Any], id_: int, size: tuple[int, int], where: str) -> _Shape:
    """Return a ``shape`` of a file with its class ``id_`` if it can be drawn on a map of (width, height);
    LabellingError says ``where`` and why it cannot.
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
    return _Shape(kind, corners, id_, _nanoseconds(kind, corners, size), shape.get("mask"), where)


def painted(shapes: list[_Shape], size: tuple[int, int], nothing: int) -> np.ndarray:
    """Return the (H, W) ids of ``shapes`` drawn over each other on a map of ``nothing``; uint8 if all ids
    fit, else uint16. LabellingError names an invalid shape.
    """
    wide = max((nothing, *(shape.id for shape in shapes))) > 255
    canvas = Image.new("I" if wide else "L", size, nothing)
    pen = ImageDraw.Draw(canvas)
    for shape in shapes:
        with decoding(shape.where, LabellingError):
            _draw(canvas, pen, shape)
    ids = np.array(canvas)
    return ids.astype(np.uint16 if wide and ids.max() > 255 else np.uint8, copy=False)


def _draw(canvas: Image.Image, pen: ImageDraw.ImageDraw, shape: _Shape) -> None:
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


def _paste(canvas: Image.Image, shape: _Shape) -> None:
    """Paint a mask, a PNG in base64 with its first pixel in the corner of its box."""
    xs, ys = zip(*shape.corners, strict=True)
    # a mask that was dragged has a box of fractions, which LabelMe truncates
    left = int(min(xs))
    top = int(min(ys))
    wide = int(max(xs)) - left + 1
    tall = int(max(ys)) - top + 1
    with _mask_picture(shape.mask, f"{shape.where}: its mask") as picture:
        if picture.size[0] > wide + 1 or picture.size[1] > tall + 1 or math.prod(picture.size) > MAX_PIXELS:
            raise LabellingError(
                f"{shape.where}: its mask is {picture.size[0]} x {picture.size[1]} pixels, its box {wide} x"
                f" {tall}"
            )
        crop = np.asarray(picture.convert("L")) > 0
    x1 = max(left, 0)
    y1 = max(top, 0)
    x2 = min(left + crop.shape[1], canvas.width)
    y2 = min(top + crop.shape[0], canvas.height)
    if x1 < x2 and y1 < y2:
        canvas.paste(
            shape.id, (x1, y1, x2, y2), Image.fromarray(crop[y1 - top : y2 - top, x1 - left : x2 - left])
        )


@contextmanager
def _mask_picture(text: Any, what: str) -> Iterator[Image.Image]:
    """Open the mask of a shape; LabellingError if it is not a PNG in base64, which may show only when it is
    decoded.
    """
    try:
        with Image.open(io.BytesIO(base64.b64decode(text or "", validate=True)), formats=("PNG",)) as picture:
            yield picture
    except (binascii.Error, OSError, ValueError, TypeError, SyntaxError, Image.DecompressionBombError):
        raise LabellingError(f"{what} is not a PNG in base64") from None


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


def encode(
    image_path: str,
    size: tuple[int, int],
    label_map_ids: np.ndarray | None,
    classes: Classes,
    *,
    outlines: bool = False,
) -> bytes:
    """Return the file for an image of (width, height); without an (H, W) map of ids it has no shapes, for
    drawing from scratch.

    With ``outlines``, the shapes are editable polygons instead of masks. LabellingError for ids without a
    class.
    """
    width, height = size
    shapes = []
    if label_map_ids is not None:
        ids = known_ids(label_map_ids, classes, np.shape(label_map_ids)[::-1], image_path)
        shapes = _polygons(ids, classes) if outlines else _masks(ids, classes)
    document = {
        "version": "5.5.0",
        "flags": {},
        "shapes": shapes,
        "imagePath": image_path,
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
    }
    return (json.dumps(document, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape")


def read(
    path: str | os.PathLike[str],
    classes: Classes,
    photo: tuple[int, int] | None = None,
    *,
    left_out: Counter[str] | None = None,
) -> tuple[np.ndarray, tuple[int, int]]:
    """Return the (H, W) ids of a file and its (width, height); everything is checked before anything is
    drawn. Shapes without an area are left out, and counted by their kind in ``left_out``.

    LabellingError names the file, the shape and the fault; LabelMapError if the file's size is not that of
    its ``photo``, (width, height).
    """
    document = _document(path)
    said = document.get("imageWidth"), document.get("imageHeight")
    width, height = (v if type(v) is int else 0 for v in said)
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        got = " and ".join(repr(v)[:40] for v in said)
        raise LabellingError(
            f"{path}: imageWidth and imageHeight must be the image's size in pixels; got {got}"
        )
    size = (width, height)
    if photo is not None and size != photo:
        raise LabelMapError(f"{path}: {wrong_size(size, photo)}")
    if len(document["shapes"]) > MOST:
        raise LabellingError(f"{path}: has {len(document['shapes']):,} shapes; at most {MOST:,} are read")
    drawn = []
    for number, shape in enumerate(document["shapes"]):
        where = f"{path}, shape {number}"
        if kind := without_area(shape):
            if left_out is not None:
                left_out[kind] += 1
            continue
        if not isinstance(shape, dict) or not isinstance(shape.get("label"), str):
            raise LabellingError(f"{where}: has no label")
        drawn.append(checked(shape, id_of(shape["label"], classes, where), size, where))
    if (seconds := sum(shape.nanoseconds for shape in drawn) / 1e9) > MOST_NANOSECONDS / 1e9:
        raise LabellingError(
            f"{path}: drawing its {len(drawn):,} shapes would take about {seconds:,.0f} s, and the limit is"
            f" {MOST_NANOSECONDS / 1e9:.0f} s; save it with fewer points or shapes, or as a"
            " mask"
        )
    return covered(painted(drawn, size, ground_of(classes)), classes, f"{path}"), size


def wrong_size(size: tuple[int, int], image_size: tuple[int, int]) -> str:
    """Describe a label whose size is not its image's (width, height)."""
    own, image = (f"{width} x {height}" for width, height in (size, image_size))
    return f"is {own} pixels, its image {image}; both must have the same size"


def state(path: str | os.PathLike[str]) -> str:
    """Return the state of a JSON file: ``drawn``, ``empty`` if no shape with an area is drawn yet, or
    ``other`` (a class list, notes). A file too damaged to tell counts as drawn.
    """
    try:
        document = load_json(path, "a LabelMe file")
    except LabellingError:
        return "drawn"
    if not isinstance(document, dict) or "shapes" not in document:
        return "other"
    shapes = document["shapes"]
    return "empty" if isinstance(shapes, list) and all(map(without_area, shapes)) else "drawn"


def _masks(ids: np.ndarray, classes: Classes) -> list[dict[str, Any]]:
    """Return one mask shape for each class in the map, except the one for unlabelled pixels."""
    nothing = nothing_of(classes)
    names = name_of_ids(classes)
    shapes = []
    for value in np.unique(ids).tolist():
        if value == nothing:
            continue
        inside = ids == value
        rows, columns = bounding_box(inside)
        out = io.BytesIO()
        crop = Image.fromarray(inside[rows, columns].astype(np.uint8) * 255)
        crop.convert("1").save(out, format="PNG")
        shapes.append(
            {
                "label": names[value],
                "points": [[columns.start, rows.start], [columns.stop - 1, rows.stop - 1]],
                "group_id": None,
                "description": "",
                "shape_type": "mask",
                "flags": {},
                "mask": base64.b64encode(out.getvalue()).decode(),
            }
        )
    return shapes


def _polygons(ids: np.ndarray, classes: Classes) -> list[dict[str, Any]]:
    """Return the polygons that give the map when drawn over each other in order."""
    names = name_of_ids(classes)
    return [
        {
            "label": names[value],
            "points": [[*corner] for corner in corners],
            "group_id": None,
            "description": "",
            "shape_type": "polygon",
            "flags": {},
        }
        for value, corners in polygons_of(ids, nothing_of(classes))
    ]


def _write(
    _label: os.PathLike[str],
    photo: os.PathLike[str],
    size: tuple[int, int],
    ids: np.ndarray | None,
    classes: Classes,
    *,
    outlines: bool = False,
) -> bytes:
    return encode(os.path.basename(photo), size, ids, classes, outlines=outlines)


def _read(path: str, classes: Classes, size: tuple[int, int], left_out: Counter[str]) -> np.ndarray:
    return read(path, classes, size, left_out=left_out)[0]


def _prepare(classes: Classes) -> dict[str, bytes]:
    """Return labels.txt, the list that LabelMe reads, void included; classes.json could be an image's own
    file there.
    """
    names = dict.fromkeys(name_of_ids(classes).values())
    return {"labels.txt": "".join(f"{name}\n" for name in names).encode()}


LABELME = Format(
    "labelme",
    title="LabelMe",
    says="draw the shapes in LabelMe",
    kind="masks",
    write=_write,
    read=_read,
    recognise=state,
    check=check,
    endings=frozenset({".json"}),
    photo="{image}.png",
    label="{image}.json",
    prepare=_prepare,
    outlines=True,
    counts=True,
)
