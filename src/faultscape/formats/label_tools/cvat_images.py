"""CVAT for images 1.1, one XML file for a whole job: written with one mask per class, read with every shape
that has an area; tags, and shapes without an area, are left out.

Conventions: ids come from class names. Masks of one image do not overlap, and have z_order 0; polygons, which
are painted over each other, have their nesting depth as z_order. Shapes are painted by z_order, then in the
order of the file (`cvat_shapes`). An image is named by its id and its file's extension, as CVAT names the
frames of a task made from the folder of images; CVAT finds the frame by that name without its ending. The
annotator is the assignee of a job, or else of its task, not the owner. Labels are read only from the shapes,
as CVAT itself does.
Source: the documentation of CVAT's XML format, version 1.1, and what its server writes and reads; none of its
code is used. Not tested against a live server; datumaro 1.13, an independent reader of the format, gives the
same maps from our files, from masks and from polygons.

The content of a CVAT XML file, element by element: only the structure and the sizes are checked here.

Conventions: the file is parsed as it is read. A document type, which can define expanding or external
entities, is refused before it is parsed. Attributes that no reader needs are dropped.
Source: the documentation of CVAT's XML format, version 1.1.
"""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from faultscape.errors import LabellingError
from faultscape.formats.guard import MAX_PIXELS, decoding
from faultscape.formats.label_tools import cvat_shapes as shapes
from faultscape.formats.label_tools.archive import is_zip, opened
from faultscape.formats.label_tools.cvat_shapes import AREAS, KEYS, NO_AREAS
from faultscape.formats.label_tools.named_masks import (
    Colour,
    covered,
    distinct_colours,
    ground_of,
    id_of,
    known_ids,
    name_of_ids,
    nothing_of,
)
from faultscape.formats.label_tools.outlines import nested_outlines
from faultscape.formats.label_tools.tool_labels import DrawnImage, Format, ToolLabel, told_once
from faultscape.formats.photos_beside import PhotosBeside
from faultscape.maps.regions import bounding_box
from faultscape.nouns import Classes

_LACKS = "is not among the labels of meta"
_NO_LABEL = "has no label"
NAME = "annotations.xml"  # the file in the zip that CVAT exports
LABELS = "labels.json"
MOST_BYTES = 512 << 20  # of a file
MOST_IMAGES = 100_000
MOST_SHAPES = 500_000  # of a file
MOST_HELD = 128 << 20  # characters of all kept attributes
MOST_ELEMENT = 32 << 20  # bytes
_DEPTH = 32
_CHUNK = 1 << 20
_SHAPES = {*AREAS, *NO_AREAS, "tag"}
_META = ("annotations", "meta")
_POINT = ["annotations", "image", "points"]


@dataclass(frozen=True)
class SaidShape:
    """A shape from the file: its kind and the attributes that readers need."""

    kind: str
    said: dict[str, str]


@dataclass(frozen=True)
class SaidImage:
    """An image from the file: number, name, task (in a project export, else empty), (width, height) or None
    if they are not whole numbers, and shapes in order.
    """

    number: str
    name: str
    task: str
    size: tuple[int, int] | None
    shapes: list[SaidShape] = field(default_factory=list)


@dataclass(frozen=True)
class SaidFile:
    """A file: the labels in its meta, the assignee of each task (key "" if the file is for one task or job),
    and its images.
    """

    labels: tuple[str, ...]
    annotators: dict[str, str]
    images: tuple[SaidImage, ...]


def parsed(path: str | os.PathLike[str]) -> SaidFile:
    """Return the content of a file, or of the zip that CVAT exports; LabellingError if it is not XML of CVAT
    for images, or is too large.
    """
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise LabellingError(f"{path}: is not a regular file")
        if (size := os.path.getsize(path)) > MOST_BYTES:
            raise LabellingError(
                f"{path}: has {size:,} bytes; at most {MOST_BYTES:,} are read; export fewer images at once"
            )
        reader = _Reader(path)
        with _xml(path) as file:
            fed = 0
            while chunk := file.read(_CHUNK):
                fed += len(chunk)
                reader.parser.Parse(chunk, False)
                if fed - max(reader.parser.CurrentByteIndex, 0) > MOST_ELEMENT:
                    raise LabellingError(f"{path}: one element has more than {MOST_ELEMENT:,} bytes")
            reader.parser.Parse(b"", True)
    except OSError as fault:
        raise LabellingError(f"{path}: {fault.strerror}") from None
    except (expat.ExpatError, ValueError, LookupError, MemoryError) as fault:
        text = " ".join(str(fault).split())[:200] or "it does not fit into memory"
        raise LabellingError(f"{path}: is not valid XML: {text}") from None
    return reader.file()


def _xml(path: str | os.PathLike[str]) -> BinaryIO:
    if is_zip(Path(path)):
        return io.BytesIO(opened(path, NAME, LabellingError).read(NAME, MOST_BYTES))
    return open(path, "rb")


class _Reader:
    """Reads a document element by element."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.above: list[str] = []
        self.text: list[str] = []
        self.texts = self.shapes = self.held = 0
        self.attribute = ""  # the name of the one of a point that is being read
        self.task = ""  # in a project: the number of the task whose meta is being read
        self.labels: list[str] = []
        self.annotators: dict[str, str] = {}
        self.images: list[SaidImage] = []

    def file(self) -> SaidFile:
        return SaidFile(tuple(self.labels), self.annotators, tuple(self.images))

    def doctype(self, *_: object) -> None:
        raise LabellingError(
            f"{self.path}: has a document type, which CVAT does not write and which may define entities;"
            " remove it"
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        above = self.above
        if not above and tag != "annotations":
            raise LabellingError(
                f"{self.path}: is not a CVAT file: it begins with <{tag[:40]}>; expected <annotations>"
            )
        if len(above) >= _DEPTH:
            raise LabellingError(f"{self.path}: its elements are nested more than {_DEPTH} deep")
        if above == ["annotations"]:
            if tag == "track":
                raise LabellingError(
                    f"{self.path}: is CVAT for video, which is not supported; export the task as CVAT for"
                    " images 1.1"
                )
            if tag == "image":
                self.image(attributes)
        elif above == ["annotations", "image"] and tag in _SHAPES:
            self.shape(tag, attributes)
        elif above == _POINT and tag == "attribute":
            self.attribute = attributes.get("name", "")[:80]
        above.append(tag)
        self.text = []
        self.texts = 0

    def image(self, said: dict[str, str]) -> None:
        if len(self.images) >= MOST_IMAGES:
            raise LabellingError(f"{self.path}: has more than {MOST_IMAGES:,} images; export fewer at once")
        if not said.get("name"):
            raise LabellingError(f"{self.path}: image {len(self.images)} of the file has no name")
        sides = [said.get(key, "") for key in ("width", "height")]
        whole = all(side.isascii() and side.isdigit() and len(side) < 10 and int(side) > 0 for side in sides)
        self.hold(said["name"])
        size = (int(sides[0]), int(sides[1])) if whole else None
        self.images.append(
            SaidImage(said.get("id", "")[:40], said["name"], said.get("task_id", "")[:40], size)
        )

    def shape(self, tag: str, said: dict[str, str]) -> None:
        self.shapes += 1
        if self.shapes > MOST_SHAPES:
            raise LabellingError(
                f"{self.path}: has more than {MOST_SHAPES:,} shapes; export fewer images at once"
            )
        kept = {key: value for key, value in said.items() if key in KEYS}
        self.hold(*kept.values())
        self.images[-1].shapes.append(SaidShape(tag, kept))

    def hold(self, *texts: str) -> None:
        self.held += sum(len(text) if text.isascii() else 4 * len(text) for text in texts)
        if self.held > MOST_HELD:
            raise LabellingError(
                f"{self.path}: its shapes take more than {MOST_HELD:,} characters; export fewer images at"
                " once"
            )

    def characters(self, text: str) -> None:
        if self.above[:2] in ([*_META], _POINT[:2]) and self.texts < 4096:  # longer texts are not names
            self.text.append(text)
            self.texts += len(text)

    def end(self, tag: str) -> None:
        path = tuple(self.above[2:]) if self.above[:2] == [*_META] else ()
        self.above.pop()
        text = "".join(self.text)[:4096]
        if tag == "attribute" and self.above == _POINT and text.strip():
            self.hold(self.attribute, text)
            self.images[-1].shapes[-1].said[f"attribute {self.attribute}"] = text.strip()
        if path[-3:] == ("labels", "label", "name"):
            if len(self.labels) >= 65_536:
                raise LabellingError(f"{self.path}: names more than 65,536 labels")
            self.labels.append(text.strip())
        elif path == ("project", "tasks", "task", "id"):
            self.task = text.strip()[:40]
        elif path[-2:] == ("assignee", "username") and path[:-2] in {
            ("job",),
            ("task",),
            ("project", "tasks", "task"),
        }:
            key = self.task if path[:1] == ("project",) else ""
            if (name := text.strip()) and name.isprintable() and len(name) <= 200:
                self.annotators[key] = name
        self.text = []


def write(
    folder: Path, images: Iterable[DrawnImage], classes: Classes, *, outlines: bool = False
) -> Iterator[tuple[Path, bytes]]:
    """Yield annotations.xml, to be uploaded to a task, and labels.json, for CVAT's raw label editor; with
    ``outlines``, polygons instead of masks.

    LabellingError names an image whose ids do not fit it, or a name that XML cannot hold.
    """
    names = name_of_ids(classes)
    told = []
    for number, image in enumerate(images):
        name = image.image + PurePosixPath(image.photo).suffix
        where = f"image {_short(image.image)}"
        lines = []
        if image.ids is not None:
            ids = known_ids(image.ids, classes, image.size, where)
            lines = _polygons(ids, classes, names) if outlines else _masks(ids, classes, names)
        told.append(image_element(number, name, image.size, lines, where))
    colours = distinct_colours(classes)
    yield folder / NAME, b"".join([head_of_task(len(told), colours), *told, b"</annotations>\n"])
    yield folder / LABELS, labels_json(colours)


def labels_json(
    colours: Mapping[str, Colour], kind: str = "any", attributes: Mapping[str, str] | None = None
) -> bytes:
    """Return the labels of a task, {name: colour}, for CVAT's raw label editor, all of one ``kind`` of shape.
    Some have a text to fill in, {label: the name of its attribute}.
    """
    texts = {
        label: {"name": name, "mutable": False, "input_type": "text", "default_value": "", "values": [""]}
        for label, name in (attributes or {}).items()
    }
    labels = [
        {
            "name": name,
            "color": _hexadecimal(colour),
            "type": kind,
            "attributes": [texts[name]] if name in texts else [],
        }
        for name, colour in colours.items()
    ]
    return (json.dumps(labels, ensure_ascii=False, indent=1) + "\n").encode()


def image_element(number: int, name: str, size: tuple[int, int], lines: Iterable[str], where: str) -> bytes:
    """Return the element of an image of (width, height) with the lines of its shapes; LabellingError, which
    begins with ``where``, for a name that XML cannot hold.
    """
    head = f'  <image id="{number}" name={_quoted(name, where)} width="{size[0]}" height="{size[1]}">\n'
    return (head + "".join(lines) + "  </image>\n").encode()


def recognise(path: Path) -> bool:
    """Whether a file is CVAT's XML, or a zip with annotations.xml: it is XML that begins with <annotations>
    and a <version>.
    """
    try:
        if is_zip(path):
            return NAME in opened(path, NAME, LabellingError).names
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            start = file.read(4096).replace(b"\0", b"")  # handles UTF-16 too
    except (LabellingError, OSError):
        return False
    return (
        start.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"<")
        and b"<annotations>" in start
        and b"<version>" in start
    )


def read(path: Path) -> list[ToolLabel]:
    """Return the images of a file, in its order; LabellingError if the file is not of CVAT for images, or is
    too large.
    """
    file = parsed(path)
    labels = []
    for image in file.images:
        drawn = [shape for shape in image.shapes if shape.kind != "tag"]
        without = Counter(shape.kind for shape in drawn if shapes.without_area(shape.kind, shape.said))
        where = f"{path}: image {_short(image.name)}"
        labels.append(
            ToolLabel(
                image=image.name,
                annotator=file.annotators.get(image.task, file.annotators.get("", "")),
                size=image.size or (0, 0),
                where=where,
                drawn=without.total() < len(drawn),
                read=partial(_ids, image, where),
                without_area=without,
            )
        )
    return labels


def _ids(image: SaidImage, where: str, classes: Classes) -> np.ndarray:
    """Return the (H, W) ids of an image; every shape is checked before any is painted."""
    with decoding(where, LabellingError):
        size = _size(image, where)
        areas = []
        for number, shape in enumerate(image.shapes):
            if shape.kind == "tag" or shapes.without_area(shape.kind, shape.said):
                continue
            place = f"{where}, shape {number}"
            if "label" not in shape.said:
                raise LabellingError(f"{place}: has no label")
            areas.append(
                shapes.checked(
                    shape.kind, shape.said, id_of(shape.said["label"], classes, place), size, place
                )
            )
        return covered(shapes.painted(areas, size, ground_of(classes)), classes, where)


def check(path: Path) -> list[str]:
    """Return what CVAT would refuse in a file, or show differently than meant, a sentence each with its
    place; empty if it accepts everything. Images are searched in images/ beside it.
    """
    try:
        file = parsed(path)
    except LabellingError as error:
        return [str(error)]
    found = (
        []
        if file.labels
        else [f"{path}: names no labels in meta; the task must have the labels of its shapes"]
    )
    stems: dict[tuple[str, str], str] = {}
    numbers: dict[tuple[str, str], str] = {}
    labels = set(file.labels)
    photos = PhotosBeside(path)
    for image in file.images:
        where = f"{path}: image {_short(image.name)}"
        stem = (image.task, os.path.splitext(image.name)[0])
        if stem in stems:
            other = stems[stem]
            how = (
                "is listed twice"
                if other == image.name
                else f"has the same name as {_short(other)} except for the extension, which CVAT ignores"
            )
            found.append(f"{where} {how}")
        if (image.task, image.number) in numbers:
            found.append(
                f"{where} has the id {image.number[:20]!r} of {_short(numbers[image.task, image.number])}"
            )
        stems.setdefault(stem, image.name)
        numbers.setdefault((image.task, image.number), image.name)
        found += photos.faults(image.name, *([image.size] if image.size else []))
        try:
            with decoding(where, LabellingError):
                found += _of_image(image, labels, where)
        except LabellingError as error:
            found.append(str(error))
    return told_once(told_once(found, _LACKS), _NO_LABEL)


def _of_image(image: SaidImage, labels: set[str], where: str) -> list[str]:
    """Return what is wrong with the shapes of one image."""
    found = []
    areas = []
    size = _size(image, where)
    for number, shape in enumerate(image.shapes):
        place = f"{where}, shape {number}"
        label = shape.said.get("label")
        if label is None:
            found.append(f"{place}: {_NO_LABEL}")
        elif labels and label not in labels:
            found.append(f"{place}: its label {_short(label)} {_LACKS}")
        if shape.kind in shapes.AREAS:
            try:
                areas.append(shapes.checked(shape.kind, shape.said, number, size, place))
            except LabellingError as error:
                found.append(str(error))
    try:
        shapes.too_long(areas)
    except LabellingError as error:
        return [*found, str(error)]
    good = []
    for area in areas:
        try:
            if any(shapes.pixels_of(area, box).any() for box in shapes.bands(area)):
                good.append(area)
            else:
                found.append(f"{area.where}: a {area.kind} that covers no pixels")
        except LabellingError as error:
            found.append(str(error))
    return found + _overlaps(good, size, where)


def _overlaps(areas: list[shapes.Area], size: tuple[int, int], where: str) -> list[str]:
    """Return a sentence about the first two shapes with one layer and different labels that overlap, because
    CVAT then decides which is on top.
    """
    top = np.full(size[::-1], -1, np.int16)
    for place, area in enumerate(areas[: 1 << 15]):
        for box in shapes.bands(area):
            part = top[box[1] : box[3], box[0] : box[2]]
            inside = shapes.pixels_of(area, box)
            for other in sorted(
                {
                    value
                    for row, mask in zip(part, inside, strict=True)
                    for value in np.unique(row[mask]).tolist()
                }
            ):
                below = areas[other]
                if (
                    other >= 0
                    and below.layer == area.layer
                    and below.said.get("label") != area.said.get("label")
                ):
                    pair = " and ".join(
                        f"{one.id} ({_short(one.said.get('label', ''))})" for one in (below, area)
                    )
                    return [
                        (
                            f"{where}: shapes {pair} overlap and have the same z_order, {area.layer}, so an"
                            " export as masks may show either on top; give each its own z_order"
                        )
                    ]
            np.copyto(part, place, where=inside)
    return []


def _size(image: SaidImage, where: str) -> tuple[int, int]:
    if image.size is None or image.size[0] * image.size[1] > MAX_PIXELS:
        raise LabellingError(f"{where}: its width and height must be valid whole numbers")
    if len(image.shapes) > shapes.MOST:
        raise LabellingError(f"{where}: has {len(image.shapes):,} shapes; at most {shapes.MOST:,} are read")
    return image.size


def head_of_task(count: int, colours: Mapping[str, Colour], kind: str = "any") -> bytes:
    """Return the file up to the first of ``count`` images, with its labels {name: colour}, all of one
    ``kind`` of shape.
    """
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        "<annotations>",
        "  <version>1.1</version>",
        "  <meta>",
        "    <task>",
    ]
    lines += [f"      <size>{count}</size>", "      <mode>annotation</mode>", "      <labels>"]
    for name, colour in colours.items():
        text = escape(_allowed(name, f"the class {_short(name)}"))
        lines += [
            "        <label>",
            f"          <name>{text}</name>",
            f"          <color>{_hexadecimal(colour)}</color>",
        ]
        lines += [f"          <type>{kind}</type>", "          <attributes></attributes>", "        </label>"]
    lines += ["      </labels>", "    </task>", "  </meta>", ""]
    return "\n".join(lines).encode()


def _masks(ids: np.ndarray, classes: Classes, names: dict[int, str]) -> list[str]:
    """Return a mask for each class in the map, except the one for pixels under no shape."""
    lines = []
    for value in np.unique(ids).tolist():
        if value == nothing_of(classes):
            continue
        inside = ids == value
        box = bounding_box(inside)
        runs = shapes.runs_of(inside[box])
        top, left = (side.start for side in box)
        height, width = inside[box].shape
        lines.append(
            f'    <mask label={quoteattr(names[value])} source="manual" occluded="0" rle="{runs}"'
            f' left="{left}" top="{top}" width="{width}" height="{height}" z_order="0">\n   '
            " </mask>\n"
        )
    return lines


def _polygons(ids: np.ndarray, classes: Classes, names: dict[int, str]) -> list[str]:
    """Return the polygons that give the map when painted over each other in order."""
    return [
        f'    <polygon label={quoteattr(names[value])} source="manual" occluded="0"'
        f' points="{";".join(f"{x:.2f},{y:.2f}" for x, y in corners)}" z_order="{depth}">\n    </polygon>\n'
        for depth, value, corners in nested_outlines(ids, nothing_of(classes))
    ]


def _quoted(text: str, where: str) -> str:
    return quoteattr(_allowed(text, where))


def _allowed(text: str, where: str) -> str:
    """Return a text that XML can hold; LabellingError for control characters and bytes that are not text."""
    if any(
        (ord(c) < 32 and c not in "\t\n\r") or 0xD800 <= ord(c) < 0xE000 or ord(c) in (0xFFFE, 0xFFFF)
        for c in text
    ):
        raise LabellingError(
            f"{where}: its name has characters that XML does not allow; rename it: {_short(text)}"
        )
    return text


def _hexadecimal(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _short(text: str) -> str:
    return repr(text) if len(text) <= 80 else repr(text[:80]) + "..."


CVAT = Format(
    "cvat",
    title="CVAT for images 1.1",
    says="make a task of images/ in CVAT with the labels of labels.json; export it as CVAT for images 1.1 to"
    " {export}",
    says_prefilled="make a task of images/ in CVAT with the labels of labels.json, and upload"
    " annotations.xml; export it as CVAT for images 1.1 to {export}",
    kind="bundle",
    write=write,
    read=read,
    recognise=recognise,
    check=check,
    outlines=True,
    returned="export.zip",
)
