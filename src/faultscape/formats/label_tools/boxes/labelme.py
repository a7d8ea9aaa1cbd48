"""Boxes of LabelMe: shapes of the type ``rectangle``, by two opposite corners.

Conventions: a corner lies in a pixel, and that pixel belongs to the box, as in LabelMe's own conversion to
masks. The classes that were boxed are those that appear in any file. A file without a shape may not have been
looked at, and is left out; points and lines say nothing.
Source: LabelMe's JSON and its label_file.py.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError
from faultscape.formats.guard import load_json
from faultscape.formats.label_tools.boxes.said_boxes import FAR, BoxFile, SaidBoxes, number, size_of
from faultscape.formats.labelme import state, without_area
from faultscape.maps.boxes import Box


def recognise(path: Path) -> bool:
    """Whether a file is LabelMe's."""
    return path.suffix.lower() == ".json" and path.is_file() and state(path) != "other"


def read(path: Path) -> BoxFile:
    """Return the boxes of a file; LabellingError if it is not LabelMe's."""
    document = load_json(path, "JSON")
    shapes = document.get("shapes") if isinstance(document, dict) else None
    if not isinstance(shapes, list):
        raise LabellingError(f"{path}: is not a LabelMe file: it has no list `shapes`")
    if not shapes:
        return BoxFile((), [], 1)
    size = size_of(document.get("imageWidth"), document.get("imageHeight"))
    if size is None:
        raise LabellingError(f"{path}: imageWidth and imageHeight must be the image's size in pixels")
    said = SaidBoxes(path.stem, "", size, f"{path}")
    for k, shape in enumerate(shapes):
        with said.reading():
            _add(shape, said, f"{path}, shape {k}")
    return BoxFile((), [said])


def _add(shape: Any, said: SaidBoxes, where: str) -> None:
    if without_area(shape):
        return
    kind = (shape.get("shape_type") or "polygon") if isinstance(shape, dict) else "nothing"
    if kind != "rectangle":
        raise LabellingError(f"{where} ({str(kind)[:40]}): with --boxes only rectangles are read")
    points = shape.get("points")
    if not isinstance(points, list) or len(points) not in (2, 4):
        raise LabellingError(f"{where}: a rectangle needs 2 or 4 points [x, y]")
    if not all(isinstance(point, list) and len(point) == 2 for point in points):
        raise LabellingError(f"{where}: a rectangle needs 2 or 4 points [x, y]")
    xs, ys = ([number(point[axis], "a point", where) for point in points] for axis in (0, 1))
    if len(points) == 4 and (len(set(xs)) != 2 or len(set(ys)) != 2):
        raise LabellingError(f"{where}: the rectangle is rotated; draw it upright")
    if max(map(abs, (*xs, *ys))) > FAR or not isinstance(shape.get("label"), str):
        raise LabellingError(f"{where}: has no label, or a point far outside of the image")
    # a corner on the right or lower side of the image is in its last pixel
    wide, tall = said.size or (0, 0)
    right = math.floor(max(xs)) + (max(xs) != wide)
    bottom = math.floor(max(ys)) + (max(ys) != tall)
    box = Box(math.floor(min(xs)), math.floor(min(ys)), right, bottom)
    said.boxes.append((shape["label"].strip(), box))
