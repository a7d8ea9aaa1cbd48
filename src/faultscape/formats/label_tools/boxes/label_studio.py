"""Boxes of Label Studio: rectangles, whose x, y, width and height are percents of the image's sides.

Conventions: the labels of label_config.xml beside the file are the classes that were boxed, or those that
appear without one. A task that someone answered without a rectangle shows none of them; one without an
answer is left out. Of one person's answers to a task the latest counts. Results that describe the whole image
say nothing.
Source: Label Studio's documentation of its JSON export.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError
from faultscape.formats.label_tools.boxes.said_boxes import BoxFile, SaidBoxes, number, pixel_box, size_of
from faultscape.formats.label_tools.studio.shapes import AREAS, type_of
from faultscape.formats.label_tools.studio.tasks import (
    CONFIG,
    Said,
    head_of,
    image_of,
    load,
    read_config,
    said_of,
    task_name,
)

_TAG = "rectanglelabels"


def recognise(path: Path) -> bool:
    """Whether a file is JSON of Label Studio, judged by its first million bytes; never raises."""
    return path.suffix.lower() == ".json" and bool(head_of(path))


def read(path: Path) -> BoxFile:
    """Return the boxes of a file; LabellingError if it cannot be read."""
    images = []
    untouched = 0
    for k, task in enumerate(load(path)):
        answers = list(said_of(task, path, k))
        untouched += not answers
        for answer in answers:
            if image := image_of(answer.data):
                images.append(_boxes(image, answer))
            else:
                raise LabellingError(f"{path}, {task_name(task, k)}: its data names no image")
    return BoxFile(_labels(path.parent / CONFIG), images, untouched)


def _labels(config: Path) -> tuple[str, ...]:
    if not config.is_file():
        return ()
    controls = read_config(config).controls.values()
    return tuple(sorted({label for tag, labels in controls if tag == _TAG for label in labels}))


def _boxes(image: str, answer: Said) -> SaidBoxes:
    said = SaidBoxes(image, answer.annotator, None, answer.where)
    for k, result in enumerate(answer.results):
        with said.reading():
            _add(result, said, f"{answer.where}, result {k}")
    return said


def _add(result: Any, said: SaidBoxes, where: str) -> None:
    kind = type_of(result) if isinstance(result, dict) else ""
    if kind not in AREAS:
        return
    if AREAS[kind] != "rectangle":
        raise LabellingError(f"{where} ({AREAS[kind]}): with --boxes only rectangles are read")
    value = result.get("value")
    if not isinstance(value, dict):
        raise LabellingError(f"{where}: has no value")
    size = size_of(result.get("original_width"), result.get("original_height"))
    if size is None:
        raise LabellingError(f"{where}: original_width and original_height must be the image's size")
    wide, tall = size
    said.size = said.size or size
    if said.size != size:
        raise LabellingError(f"{where}: belongs to an image of {wide} x {tall} pixels, others do not")
    for name, turn in (("box", value.get("rotation")), ("image", result.get("image_rotation"))):
        if number(turn or 0, "rotation", where) % 360:
            raise LabellingError(f"{where}: the {name} is rotated by {turn} degrees; turn it upright")
    x, y, w, h = (number(value.get(key), key, where) / 100 for key in ("x", "y", "width", "height"))
    box = pixel_box(x * wide, y * tall, (x + w) * wide, (y + h) * tall, where)
    labels = value.get(_TAG) or value.get("labels")
    if not isinstance(labels, list) or not labels or not all(isinstance(one, str) for one in labels):
        raise LabellingError(f"{where}: has no label")
    said.boxes += [(label.strip(), box) for label in labels]
