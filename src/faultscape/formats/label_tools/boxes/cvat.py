"""Boxes of CVAT for images 1.1: the element ``box`` with its corners xtl, ytl, xbr, ybr, 0 at the left and
upper sides of the first pixel.

Conventions: the labels of ``meta`` are the classes that were boxed, or those that appear if it names none. An
image without a shape may not have been looked at, and is left out. Shapes without an area, and tags, say
nothing.
Source: the documentation of CVAT's XML format, version 1.1.
"""

from __future__ import annotations

from pathlib import Path

from faultscape.errors import LabellingError
from faultscape.formats.label_tools import cvat_images
from faultscape.formats.label_tools.boxes.said_boxes import BoxFile, SaidBoxes, number, pixel_box
from faultscape.formats.label_tools.cvat_images import SaidShape
from faultscape.formats.label_tools.cvat_shapes import without_area


def recognise(path: Path) -> bool:
    """Whether a file is CVAT's XML, or a zip with it; never raises."""
    return path.suffix.lower() in (".xml", ".zip") and cvat_images.recognise(path)


def read(path: Path) -> BoxFile:
    """Return the boxes of a file; LabellingError if it is not of CVAT for images, or is too large."""
    file = cvat_images.parsed(path)
    images = []
    untouched = 0
    for image in file.images:
        where = f"{path}: image {image.name[:80]!r}"
        annotator = file.annotators.get(image.task, file.annotators.get("", ""))
        said = SaidBoxes(image.name, annotator, image.size, where)
        shapes = [shape for shape in image.shapes if shape.kind != "tag"]
        for k, shape in enumerate(shapes):
            with said.reading():
                _add(shape, said, f"{where}, shape {k}")
        untouched += not shapes
        images += [said] if shapes else []
    return BoxFile(file.labels, images, untouched)


def _add(shape: SaidShape, said: SaidBoxes, where: str) -> None:
    if shape.kind != "box":
        if without_area(shape.kind, shape.said):
            return
        raise LabellingError(f"{where} ({shape.kind}): with --boxes only boxes are read")
    if number(shape.said.get("rotation", "0"), "rotation", where) % 360:
        raise LabellingError(
            f"{where}: the box is rotated by {shape.said['rotation'][:12]} degrees; draw it upright"
        )
    left, top, right, bottom = (
        number(shape.said.get(key), key, where) for key in ("xtl", "ytl", "xbr", "ybr")
    )
    said.boxes.append((shape.said.get("label", "").strip(), pixel_box(left, top, right, bottom, where)))
