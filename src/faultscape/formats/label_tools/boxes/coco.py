"""Boxes of COCO instances: ``bbox`` of each annotation, [x, y, width, height] in pixels, 0 at the left and
upper sides of the first pixel.

Conventions: the categories of the file are the classes that were boxed; an image without an annotation shows
none of them. A crowd (``iscrowd``) is an area in which objects lie.
Source: the data format of Lin et al. 2014, Microsoft COCO.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError
from faultscape.formats import coco
from faultscape.formats.guard import load_json, object_lists
from faultscape.formats.label_tools.boxes.said_boxes import BoxFile, SaidBoxes, number, pixel_box, size_of
from faultscape.formats.label_tools.coco_masks import ends_of

TABLES = ("images", "annotations", "categories")


def recognise(path: Path) -> bool:
    """Whether a file is COCO's, judged by its first and last million bytes; never raises."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    head, tail = ends_of(path)
    return coco.is_coco(head + tail) and b'"segments_info"' not in head


def read(path: Path) -> BoxFile:
    """Return the boxes of a file; LabellingError if it is not COCO's."""
    images, annotations, categories = object_lists(
        load_json(path, "a COCO file"), TABLES, path, "a COCO file"
    )
    names = dict[int | str, str]()
    for k, row in enumerate(categories):
        if not isinstance(name := row.get("name"), str) or not name.strip():
            raise LabellingError(f"{path}: categories[{k}] has no name")
        names[_id(row, "id", f"{path}: categories[{k}]")] = name.strip()
    found = dict[Any, SaidBoxes]()
    for k, row in enumerate(images):
        where = f"{path}: images[{k}]"
        if not isinstance(row.get("file_name"), str):
            raise LabellingError(f"{where}: has no file_name")
        size = size_of(row.get("width"), row.get("height"))
        found[_id(row, "id", where)] = SaidBoxes(row["file_name"], "", size, where)
    for k, row in enumerate(annotations):
        where = f"{path}: annotations[{k}]"
        image = found.get(_id(row, "image_id", where))
        if image is None:
            raise LabellingError(f"{where}: has the image_id {row['image_id']!r}, which is not in the file")
        with image.reading():
            name = names.get(_id(row, "category_id", where))
            if name is None:
                raise LabellingError(f"{where}: its category_id {row['category_id']!r} is not in the file")
            box = row.get("bbox")
            if not isinstance(box, list) or len(box) != 4:
                raise LabellingError(f"{where}: has no bbox [x, y, width, height]")
            x, y, wide, tall = (number(value, "bbox", where) for value in box)
            whole = not row.get("iscrowd", 0)
            image.boxes.append((name, pixel_box(x, y, x + wide, y + tall, where, whole=whole)))
    return BoxFile(tuple(names.values()), [*found.values()])


def _id(row: dict[str, Any], name: str, where: str) -> int | str:
    if type(id_ := row.get(name)) not in (int, str):
        raise LabellingError(f"{where}: needs {name}, a whole number or text")
    return id_  # pyright: ignore[reportReturnType] - it is one of these
