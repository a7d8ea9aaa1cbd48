"""Check LabelMe files for what LabelMe would refuse or show differently, before they are opened.

Conventions: a path is one JSON file, or a folder of them. LabelMe loads the image that ``imagePath`` names,
relative to the file, and refuses one of a different size; it counts the points of each shape, and draws a
mask into its inclusive box.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from faultscape.errors import LabellingError
from faultscape.formats.guard import decoding, load_json

_POINTS = {
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


def _problems(path: Path, known: set[str] | None) -> Iterator[str]:
    try:
        document = load_json(path, "a LabelMe file")
    except LabellingError as error:
        yield str(error)
        return
    if not isinstance(document, dict) or not isinstance(document.get("shapes"), list):
        yield f"{path}: is not a LabelMe file: it has no list `shapes`"
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
    if kind not in _POINTS:
        yield f"the shape_type {str(kind)[:40]!r} is not known; LabelMe supports {', '.join(_POINTS)}"
        return
    good = isinstance(points, list) and all(
        isinstance(p, list) and len(p) == 2 and all(type(v) in (int, float) and math.isfinite(v) for v in p)
        for p in points
    )
    least, most = _POINTS[kind]
    if not isinstance(points, list) or not good or not least <= len(points) <= most:
        yield f"a {kind} needs {least if least == most else f'{least} or more'} points of two finite numbers"
    elif kind == "mask":
        yield from _mask(shape.get("mask"), points)
    if not (shape.get("group_id") is None or type(shape["group_id"]) is int):
        yield f"its group_id is {str(shape['group_id'])[:40]!r}; LabelMe expects a whole number or null"


def _mask(text: Any, points: list[list[float]]) -> Iterator[str]:
    """Yield what is wrong with the mask of a shape."""
    try:
        with Image.open(io.BytesIO(base64.b64decode(text or "", validate=True)), formats=("PNG",)) as picture:
            size = picture.size
    except (binascii.Error, OSError, ValueError, TypeError, SyntaxError, Image.DecompressionBombError):
        yield "its mask is not a PNG in base64"
        return
    (x1, y1), (x2, y2) = points
    box = (abs(int(x2) - int(x1)) + 1, abs(int(y2) - int(y1)) + 1)  # LabelMe truncates each corner
    if size != box:
        yield f"its mask is {size[0]} x {size[1]} pixels, its inclusive box {box[0]} x {box[1]}"
