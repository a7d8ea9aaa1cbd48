"""LabelMe's JSON, which X-AnyLabeling writes too, one file per image: written with mask shapes, read with
every shape that has an area.

Conventions: a mask shape is an inclusive box and a PNG crop in base64, one shape per class; ids come from
class names. On request, polygons are written instead, one per patch. Shapes are drawn in list order, later
over earlier. Pixels under no shape are the background, or void if the classes have none. The file format is
described in the project's notes on labelling tools; none of LabelMe's own code is used.

``image_path`` is the path of the image in the file.
"""

from __future__ import annotations

import base64
import io
import json
import os
from collections import Counter
from typing import Any

import numpy as np
from PIL import Image

from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats import shapes as drawing
from faultscape.formats.guard import MAX_PIXELS, load_json
from faultscape.formats.label_tools.labelme_rules import check
from faultscape.formats.label_tools.named_ids import (
    covered,
    ground_of,
    id_of,
    known_ids,
    name_of_ids,
    nothing_of,
)
from faultscape.formats.label_tools.outlines import outlines as polygons_of
from faultscape.formats.label_tools.tool_labels import Format
from faultscape.nouns import Classes


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
    document = load_json(path, "a LabelMe file")
    if not isinstance(document, dict) or not isinstance(document.get("shapes"), list):
        raise LabellingError(f"{path}: is not a LabelMe file: it has no list `shapes`")
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
    if len(document["shapes"]) > drawing.MOST:
        raise LabellingError(
            f"{path}: has {len(document['shapes']):,} shapes; at most {drawing.MOST:,} are read"
        )
    drawn = []
    for number, shape in enumerate(document["shapes"]):
        where = f"{path}, shape {number}"
        if kind := drawing.without_area(shape):
            if left_out is not None:
                left_out[kind] += 1
            continue
        if not isinstance(shape, dict) or not isinstance(shape.get("label"), str):
            raise LabellingError(f"{where}: has no label")
        drawn.append(drawing.checked(shape, id_of(shape["label"], classes, where), size, where))
    if (seconds := sum(shape.nanoseconds for shape in drawn) / 1e9) > drawing.MOST_NANOSECONDS / 1e9:
        raise LabellingError(
            f"{path}: drawing its {len(drawn):,} shapes would take about {seconds:,.0f} s, and the limit is"
            f" {drawing.MOST_NANOSECONDS / 1e9:.0f} s; save it with fewer points or shapes, or as a"
            " mask"
        )
    return covered(drawing.painted(drawn, size, ground_of(classes)), classes, f"{path}"), size


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
    return "empty" if isinstance(shapes, list) and all(map(drawing.without_area, shapes)) else "drawn"


def _masks(ids: np.ndarray, classes: Classes) -> list[dict[str, Any]]:
    """Return one mask shape for each class in the map, except the one for unlabelled pixels."""
    nothing = nothing_of(classes)
    names = name_of_ids(classes)
    shapes = []
    for value in np.unique(ids).tolist():
        if value == nothing:
            continue
        inside = ids == value
        ys = np.flatnonzero(inside.any(1))
        xs = np.flatnonzero(inside.any(0))
        box = (int(xs[0]), int(ys[0]), int(xs[-1]), int(ys[-1]))
        out = io.BytesIO()
        Image.fromarray(inside[box[1] : box[3] + 1, box[0] : box[2] + 1].astype(np.uint8) * 255).convert(
            "1"
        ).save(out, format="PNG")
        shapes.append(
            {
                "label": names[value],
                "points": [[box[0], box[1]], [box[2], box[3]]],
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
