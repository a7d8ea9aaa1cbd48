"""LabelMe's JSON, one file an image: written with mask shapes, read with every shape that has an area.

Conventions: a mask shape is an inclusive box and a PNG crop in base64, one shape a class; ids come from class names. Shapes are drawn in the order of the
list, later over earlier. Pixels under no shape are the background, or void where the classes have none. The file format is described in the project's notes
on labelling tools; nothing of LabelMe's own code is used.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.corpus.foreign_files import MAX_PIXELS
from faultscape.errors import LabellingError, closest
from faultscape.nouns import Classes
from faultscape.study.folder import put

VOID = "void"
_VOID_NAMES = frozenset({VOID, "__ignore__", "__void__", "ignore"})
_BACKGROUND_NAMES = frozenset({"_background_", "background"})
_POINTS = {"polygon": (2, None), "rectangle": (2, 2), "circle": (2, 2), "mask": (2, 2), "oriented_rectangle": (4, 4)}


def write(
    path: str | os.PathLike[str], *, image_path: str, size: tuple[int, int], label_map_ids: np.ndarray | None, classes: Classes
) -> None:
    """Write one file for an image of (width, height); without a map it holds no shapes, for a person to draw."""
    shapes = [] if label_map_ids is None else _shapes(np.asarray(label_map_ids), classes)
    width, height = size
    document = {
        "version": "5.5.0", "flags": {}, "shapes": shapes, "imagePath": image_path, "imageData": None, "imageHeight": height, "imageWidth": width,
    }  # fmt: skip
    put(Path(path), (json.dumps(document, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape"))


def read(path: str | os.PathLike[str], classes: Classes) -> tuple[np.ndarray, tuple[int, int]]:
    """Return the (H, W) ids of a file and its (width, height); LabellingError names the file, the shape and what is wrong."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise LabellingError(f"{path}: is no LabelMe file: {str(error)[:200]}") from None
    if not isinstance(document, dict) or not isinstance(document.get("shapes"), list):
        raise LabellingError(f"{path}: is no LabelMe file: it has no list `shapes`")
    width, height = (v if type(v) is int else 0 for v in (document.get("imageWidth"), document.get("imageHeight")))
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise LabellingError(
            f"{path}: imageWidth and imageHeight must be whole numbers of a picture; got {document.get('imageWidth')!r} and {document.get('imageHeight')!r}"
        )
    if classes.background is None and not classes.void:
        raise LabellingError(
            f"{path}: pixels under no shape need a background class or a void id, and the class list has neither"
        )
    ids = np.full((height, width), classes.background if classes.background is not None else classes.void[0], np.uint16)
    for number, shape in enumerate(document["shapes"]):
        where = f"{path}, shape {number}"
        if not isinstance(shape, dict) or not isinstance(shape.get("label"), str):
            raise LabellingError(f"{where}: has no label")
        _draw(ids, shape, _id(shape["label"], classes, where), where)
    return ids.astype(np.uint8) if ids.max() < 256 else ids, (width, height)


def is_one(path: str | os.PathLike[str]) -> bool:
    """Whether a JSON file is of LabelMe, or too damaged to tell; others (a class list, somebody's notes) are not."""
    document = _loaded(path)
    return document is None or (isinstance(document, dict) and "shapes" in document)


def is_empty(path: str | os.PathLike[str]) -> bool:
    """Whether nobody has drawn a shape in a file yet."""
    document = _loaded(path)
    return isinstance(document, dict) and document.get("shapes") == []


def _loaded(path: str | os.PathLike[str]) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _id(label: str, classes: Classes, where: str) -> int:
    if label in classes.names:
        return classes.ids[classes.names.index(label)]
    if label in _VOID_NAMES and classes.void:
        return classes.void[0]
    if label in _BACKGROUND_NAMES and classes.background is not None:
        return classes.background
    raise LabellingError(
        f"{where}: {label!r} is no class; known are {', '.join(classes.names[:12])}.{closest(label, classes.names)}"
    )


def _draw(ids: np.ndarray, shape: dict[str, Any], id_: int, where: str) -> None:
    """Draw one shape over the map."""
    from PIL import Image, ImageDraw

    kind, points = shape.get("shape_type") or "polygon", shape.get("points") or []
    if kind not in _POINTS:
        raise LabellingError(f"{where}: a {kind!r} has no area; use {', '.join(_POINTS)}")
    good = isinstance(points, list) and all(
        isinstance(p, list) and len(p) == 2 and all(isinstance(v, int | float) and math.isfinite(v) and abs(v) < 1e7 for v in p)
        for p in points
    )
    least, most = _POINTS[kind]
    if not good or len(points) < least or (most is not None and len(points) > most):
        raise LabellingError(
            f"{where}: a {kind} needs {least if most == least else f'{least} or more'} points [x, y] of finite numbers"
        )
    if kind == "mask":
        _draw_mask(ids, shape, points, id_, where)
        return
    canvas = Image.new("1", (ids.shape[1], ids.shape[0]))
    pen = ImageDraw.Draw(canvas)
    corners = [(float(x), float(y)) for x, y in points]
    if kind == "rectangle":
        (x1, y1), (x2, y2) = corners
        pen.rectangle((min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)), fill=1, outline=1)
    elif kind == "circle":
        (x, y), edge = corners
        r = math.dist((x, y), edge)
        pen.ellipse((x - r, y - r, x + r, y + r), fill=1, outline=1)
    elif len(corners) == 2:
        pen.line(corners, fill=1)
    else:
        pen.polygon(corners, fill=1, outline=1)
    ids[np.asarray(canvas)] = id_


def _draw_mask(ids: np.ndarray, shape: dict[str, Any], points: list[list[float]], id_: int, where: str) -> None:
    from PIL import Image

    try:
        data = base64.b64decode(shape.get("mask") or "", validate=True)
        picture = Image.open(io.BytesIO(data))
        if picture.size[0] * picture.size[1] > MAX_PIXELS:
            raise LabellingError(f"{where}: its mask is {picture.size[0]} x {picture.size[1]} pixels")
        crop = np.asarray(picture.convert("L")) > 0
    except (binascii.Error, OSError, ValueError, TypeError, SyntaxError, Image.DecompressionBombError):
        raise LabellingError(f"{where}: its mask is no PNG in base64") from None
    left, top = round(min(p[0] for p in points)), round(min(p[1] for p in points))
    h, w = ids.shape
    x1, y1, x2, y2 = max(left, 0), max(top, 0), min(left + crop.shape[1], w), min(top + crop.shape[0], h)
    if x1 < x2 and y1 < y2:
        ids[y1:y2, x1:x2][crop[y1 - top : y2 - top, x1 - left : x2 - left]] = id_


def _shapes(ids: np.ndarray, classes: Classes) -> list[dict[str, Any]]:
    """Return one mask shape for each class that the map holds, but the one that unlabelled pixels get."""
    from PIL import Image

    nothing = classes.background if classes.background is not None else (classes.void[0] if classes.void else None)
    names = dict(zip(classes.ids, classes.names, strict=True)) | dict.fromkeys(classes.void, VOID)
    shapes = []
    for value in np.unique(ids).tolist():
        if value == nothing:
            continue
        inside = ids == value
        ys, xs = np.flatnonzero(inside.any(1)), np.flatnonzero(inside.any(0))
        box = (int(xs[0]), int(ys[0]), int(xs[-1]), int(ys[-1]))
        out = io.BytesIO()
        Image.fromarray(inside[box[1] : box[3] + 1, box[0] : box[2] + 1].astype(np.uint8) * 255).convert("1").save(
            out, format="PNG"
        )
        shapes.append(
            {
                "label": names[value], "points": [[box[0], box[1]], [box[2], box[3]]], "group_id": None, "description": "", "shape_type": "mask",
                "flags": {}, "mask": base64.b64encode(out.getvalue()).decode(),
            }
        )  # fmt: skip
    return shapes
