"""The content of a CVAT XML file, element by element: only the structure and the sizes are checked here.

Conventions: the file is parsed as it is read. A document type, which can define expanding or external
entities, is refused before it is parsed. Attributes that no reader needs are dropped.
Source: the documentation of CVAT's XML format, version 1.1.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from xml.parsers import expat

from faultscape.errors import LabellingError
from faultscape.formats.label_tools.archive import is_zip, opened
from faultscape.formats.label_tools.cvat_shapes import AREAS, KEYS, NO_AREAS

NAME = "annotations.xml"  # the file in the zip that CVAT exports
MOST_BYTES = 512 << 20  # of a file
MOST_IMAGES = 100_000
MOST_SHAPES = 500_000  # of a file
MOST_HELD = 128 << 20  # characters of all kept attributes
MOST_ELEMENT = 32 << 20  # bytes
_DEPTH = 32
_CHUNK = 1 << 20
_SHAPES = {*AREAS, *NO_AREAS, "tag"}
_META = ("annotations", "meta")


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
        if self.above[:2] == [*_META] and self.texts < 4096:  # longer texts are not names
            self.text.append(text)
            self.texts += len(text)

    def end(self, tag: str) -> None:
        del tag
        path = tuple(self.above[2:]) if self.above[:2] == [*_META] else ()
        self.above.pop()
        text = "".join(self.text)[:4096]
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
