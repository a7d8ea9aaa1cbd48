"""Boxes of PASCAL VOC: an XML file an image, with ``object`` elements of a name and a ``bndbox``.

Conventions: xmin, ymin, xmax and ymax are the first and last pixels of a box, counted from 1, so that xmin 1,
xmax 3 are the columns 0, 1 and 2. The classes that were boxed are those that appear in any file; an image
without an object shows none of them. An object marked ``difficult`` is an area in which one may lie. Parts of
objects are not read. A document type, which can define entities, is refused before it is parsed.
Source: Everingham et al. 2010, The PASCAL Visual Object Classes challenge; its development kit.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.parsers import expat

from faultscape.errors import LabellingError
from faultscape.formats.guard import read_bytes
from faultscape.formats.label_tools.boxes.said_boxes import MOST_BOXES, BoxFile, SaidBoxes, number, size_of
from faultscape.maps.boxes import Box

_MOST_BYTES = 16 << 20
_DEPTH = 16
_LONGEST = 4096  # characters of a text
_OBJECT = ("annotation", "object")
_TEXTS = {
    ("annotation", "filename"),
    ("annotation", "size", "width"),
    ("annotation", "size", "height"),
    (*_OBJECT, "name"),
    (*_OBJECT, "difficult"),
    *((*_OBJECT, "bndbox", side) for side in ("xmin", "ymin", "xmax", "ymax")),
}


def recognise(path: Path) -> bool:
    """Whether a file is VOC's XML, judged by its first bytes; never raises."""
    if path.suffix.lower() != ".xml" or not path.is_file():
        return False
    try:
        with open(path, "rb") as file:
            return b"<annotation>" in file.read(4096).replace(b"\0", b"")
    except OSError:
        return False


def read(path: Path) -> BoxFile:
    """Return the boxes of a file; LabellingError if it is not VOC's, or is too large."""
    reader = _Reader(path)
    try:
        reader.parser.Parse(read_bytes(path, LabellingError, limit=_MOST_BYTES), True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise LabellingError(f"{path}: is not valid XML: {' '.join(str(error).split())[:200]}") from None
    head = reader.head
    sides = [head.get(side, "") for side in ("width", "height")]
    whole = [int(side) if re.fullmatch("[0-9]{1,9}", side) else None for side in sides]
    said = SaidBoxes(head.get("filename") or path.stem, "", size_of(*whole), f"{path}")
    for k, held in enumerate(reader.objects):
        with said.reading():
            _add(held, said, f"{path}, object {k}")
    return BoxFile((), [said])


def _add(held: dict[str, str], said: SaidBoxes, where: str) -> None:
    if not held.get("name"):
        raise LabellingError(f"{where}: has no name")
    first_x, first_y, last_x, last_y = (
        round(number(held.get(side), side, where)) for side in ("xmin", "ymin", "xmax", "ymax")
    )
    if min(first_x, first_y) < 1:
        raise LabellingError(
            f"{where}: xmin {first_x}, ymin {first_y} lies outside of the image; VOC counts pixels from 1"
        )
    if last_x < first_x or last_y < first_y:
        raise LabellingError(
            f"{where}: the box is inside out: xmin {first_x}, xmax {last_x}, ymin {first_y}, ymax {last_y}"
        )
    whole = held.get("difficult", "0") in ("0", "")
    said.boxes.append((held["name"], Box(first_x - 1, first_y - 1, last_x, last_y, whole)))


class _Reader:
    """Reads the texts of a file that are needed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head: dict[str, str] = {}
        self.objects: list[dict[str, str]] = []
        self.above: list[str] = []
        self.text = ""
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def doctype(self, *_: object) -> None:
        raise LabellingError(
            f"{self.path}: has a document type, which may define entities, and VOC writes none; remove it"
        )

    def start(self, tag: str, _: dict[str, str]) -> None:
        if not self.above and tag != "annotation":
            raise LabellingError(
                f"{self.path}: is not a VOC file: it begins with <{tag[:40]}>; expected <annotation>"
            )
        if len(self.above) >= _DEPTH:
            raise LabellingError(f"{self.path}: its elements are nested more than {_DEPTH} deep")
        self.above.append(tag)
        self.text = ""
        if tuple(self.above) == _OBJECT:
            if len(self.objects) >= MOST_BOXES:
                raise LabellingError(f"{self.path}: has more than {MOST_BOXES:,} objects")
            self.objects.append({})

    def characters(self, text: str) -> None:
        if tuple(self.above) in _TEXTS and len(self.text) < _LONGEST:
            self.text += text[:_LONGEST]

    def end(self, tag: str) -> None:
        place = tuple(self.above)
        self.above.pop()
        if place in _TEXTS:
            held = self.objects[-1] if place[:2] == _OBJECT else self.head
            held.setdefault(tag, self.text.strip())
