"""Points in CVAT for images 1.1: each is drawn at its pixel with the label `unanswered`, and people change
its label to what they see there.

Conventions: labels are the classes, void, `cannot tell` and `unanswered`, all for points. On a border the
label is one class, and the text `border with` of the point the other. CVAT's coordinates are 0 at the left
and upper sides of the first pixel, so that a pixel's centre is half a pixel further, and CVAT writes them
with two decimals; a point that lies within a pixel of a drawn one is that one. A file belongs here if its
task has the label `unanswered`, or if it has points and nothing with an area.
Source: the documentation of CVAT's XML format, version 1.1, and what its server and its editor of labels
accept; none of its code is used. Not tested against a live server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from xml.sax.saxutils import quoteattr

from faultscape.errors import LabellingError
from faultscape.formats.label_tools import cvat_images
from faultscape.formats.label_tools.cvat_images import NAME, SaidFile, SaidShape
from faultscape.formats.label_tools.cvat_shapes import AREAS, points_of
from faultscape.formats.label_tools.named_masks import distinct_colours
from faultscape.formats.label_tools.point_labels import (
    NEITHER,
    AskedPoint,
    PointLines,
    SaidPoint,
    Unusable,
)
from faultscape.formats.label_tools.tool_labels import Format, told_once
from faultscape.formats.photos_beside import PhotosBeside
from faultscape.nouns import BORDER, Classes

UNANSWERED = "unanswered"
_OTHER = "border with"
_SHAPE = "points"  # CVAT's name of a shape
_OFF = 1.0  # pixels that a point may lie from the drawn one
_LACKS = "is not among the labels of meta"
_LONGEST = 64  # letters of the name of a label in CVAT's database


def write(points: Sequence[AskedPoint], classes: Classes) -> dict[str, bytes]:
    """Return the files of a task, by name; points of images without a file are left out. LabellingError for a
    class that CVAT could not tell from a point without an answer, or a name that XML cannot hold.
    """
    if UNANSWERED in classes.names:
        raise LabellingError(
            f"{NAME}: the class {UNANSWERED!r} is what CVAT calls a point without an answer; use --format"
            " points or label-studio"
        )
    named = distinct_colours(classes, (*NEITHER, UNANSWERED))
    colours = {name: named[name] for name in dict.fromkeys((*classes.names, *NEITHER, UNANSWERED))}
    of_image: dict[str, list[AskedPoint]] = {}
    for point in points:
        if point.photo:
            of_image.setdefault(point.image, []).append(point)
    images = []
    for number, (image, mine) in enumerate(of_image.items()):
        name = image + PurePosixPath(mine[0].photo).suffix
        lines = (_element(point) for point in mine)
        images.append(cvat_images.image_element(number, name, mine[0].size, lines, f"image {image[:80]!r}"))
    head = cvat_images.head_of_task(len(images), colours, _SHAPE)
    return {
        NAME: b"".join([head, *images, b"</annotations>\n"]),
        cvat_images.LABELS: cvat_images.labels_json(colours, _SHAPE, dict.fromkeys(classes.names, _OTHER)),
    }


def recognise(path: Path) -> int | None:
    """Return how many points are answered in a file of CVAT for images, or a zip with one; None for any other
    file, and for one of areas. LabellingError if it is damaged.
    """
    if not cvat_images.recognise(path):
        return None
    file = cvat_images.parsed(path)
    kinds = {shape.kind for _, _, shape in _shapes(file)}
    if UNANSWERED not in file.labels and (_SHAPE not in kinds or kinds & {*AREAS}):
        return None
    return len(_lines(file).answers)


def read(path: Path) -> PointLines:
    """Return the answers in a file; LabellingError if it is not of CVAT for images, or is too large."""
    return _lines(cvat_images.parsed(path))


def check(path: Path) -> list[str]:
    """Return what CVAT would refuse in a file of points, or show differently than meant, a sentence each.
    Images are searched in images/ beside it.
    """
    try:
        file = cvat_images.parsed(path)
    except LabellingError as error:
        return [str(error)]
    photos = PhotosBeside(path)
    found = [
        f"{path}: the label {name[:80]!r} has more than the {_LONGEST} letters that CVAT stores"
        for name in file.labels
        if len(name) > _LONGEST
    ]
    stems: dict[tuple[str, str], str] = {}
    for image in file.images:
        where = f"{path}: image {image.name[:80]!r}"
        stem = (image.task, os.path.splitext(image.name)[0])
        if (other := stems.setdefault(stem, image.name)) != image.name:
            found.append(f"{where} has the name of {other[:80]!r} except for the ending, which CVAT ignores")
        found += photos.faults(image.name, *([image.size] if image.size else []))
    for number, image, shape in _shapes(file):
        place = f"{path}: image {image[:80]!r}, shape {number}"
        if (label := shape.said.get("label", "")) not in file.labels:
            found.append(f"{place}: its label {label[:80]!r} {_LACKS}")
    return told_once(found, _LACKS)


def _shapes(file: SaidFile) -> Iterator[tuple[int, str, SaidShape]]:
    """Yield (number in the file, name of the image, shape), without tags."""
    number = 0
    for image in file.images:
        for shape in image.shapes:
            if shape.kind != "tag":
                number += 1
                yield number, image.name, shape


def _lines(file: SaidFile) -> PointLines:
    answers: list[tuple[int, SaidPoint]] = []
    wrong: list[Unusable] = []
    task_of = {image.name: image.task for image in file.images}
    for number, image, shape in _shapes(file):
        label = shape.said.get("label", "").strip()
        who = file.annotators.get(task_of[image], file.annotators.get("", ""))
        other = shape.said.get(f"attribute {_OTHER}", "")
        answer = f"{label}{BORDER}{other}" if other else label
        try:
            places = _places_of(shape)
        except LabellingError as error:
            wrong.append((number, image, str(error)))
            continue
        if label != UNANSWERED:
            answers += [(number, SaidPoint(image, y - 0.5, x - 0.5, who, answer)) for x, y in places]
    sizes = {image.name: image.size or (0, 0) for image in file.images}
    return PointLines(answers, wrong, "shape", _OFF, sizes)


def _places_of(shape: SaidShape) -> list[tuple[float, float]]:
    if shape.kind != _SHAPE:
        raise LabellingError(f"a {shape.kind} is not a point; delete it, and change the labels of points")
    if not shape.said.get("label", "").strip():
        raise LabellingError("a point has no label")
    return points_of(shape.said, "a point")


def _element(point: AskedPoint) -> str:
    return (
        f'    <points label={quoteattr(UNANSWERED)} source="manual" occluded="0"'
        f' points="{point.column + 0.5:.2f},{point.row + 0.5:.2f}" z_order="0">\n    </points>\n'
    )


CVAT_POINTS = Format(
    "cvat",
    title="CVAT for images 1.1",
    says="make a task of images/ in CVAT with the labels of labels.json, upload annotations.xml, and change"
    f" the label {UNANSWERED} of each point; export the task as CVAT for images 1.1 to {{export}}",
    kind="points",
    write=write,
    read=read,
    recognise=recognise,
    check=check,
    endings=frozenset({".xml", ".zip"}),
    returned="export.zip",
)
