"""Open untrusted files within bounds, never as pickled objects, and report every fault as a sentence in the
reader's own error class.

Conventions: ``error`` is the class of FaultscapeError to raise. An image above ``MAX_PIXELS`` is refused
before it is decoded, and JSON of too many values before it is parsed. Only regular files are read, because
a pipe would block.
"""

from __future__ import annotations

import io
import json
import logging
import lzma
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image, TiffImagePlugin

from faultscape.errors import FaultscapeError, LabellingError, library_text
from faultscape.process.library_warnings import without_warnings

MAX_PIXELS = 178_956_970  # twice Pillow's limit: above it, Pillow also reports a decompression bomb
MOST_JSON_BYTES = 256 << 20  # per file of labels, which may contain its image
MOST_JSON_VALUES = 50_000_000
MOST_JSON_CONTAINERS = 2_000_000  # lists and objects, which take most memory
UNREADABLE = (  # what NumPy, Pillow and zip raise for damaged or malicious files
    OSError,
    ValueError,
    EOFError,
    MemoryError,
    ArithmeticError,
    RuntimeError,
    SyntaxError,
    TypeError,
    LookupError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
_DRAWINGS = ("EPS", "WMF", "EMF")  # Pillow runs these through Ghostscript or Windows
_BANDS = 277  # the TIFF tag of samples per pixel
# formats whose pages or frames are separate images; in others (MPO, of phones) they are previews of one
_OF_PAGES = ("TIFF", "GIF", "PNG", "WEBP")
_MOST_PAGES = 1000  # counted at most
# TIFF tag with the bits of a page that is a smaller copy (1) or a transparency mask (4) of another
_PAGE_KIND = 254
_NO_OWN_IMAGE = 1 | 4
_TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
Path = str | os.PathLike[str]
logging.getLogger("PIL").addHandler(logging.NullHandler())  # its errors are ours to say, not a line beside


def read_bytes(path: Path, error: type[FaultscapeError], *, limit: int | None = None) -> bytes:
    """Return the content of a regular file, or of a file within another (`packed.places`); one larger than
    ``limit`` bytes is refused before it is read.
    """
    if "#" in os.fspath(path):
        from faultscape.formats.packed.places import packed_of, read_packed

        if packed := packed_of(os.fspath(path)):
            return read_packed(packed, error)
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise error(f"{path}: is not a regular file")
        if limit is not None and os.path.getsize(path) > limit:
            raise error(f"{path}: has {os.path.getsize(path):,} bytes; at most {limit:,} are read")
        with open(path, "rb") as file:
            return file.read()
    except OSError as fault:
        raise error(f"{path}: {fault.strerror}") from None


def load_json(path: Path, kind: str) -> Any:
    """Return the content of a JSON file of labels, in any Unicode encoding; LabellingError if it is too large
    or not JSON, and so not of its ``kind``, for example "a COCO file".
    """
    return parse_json(read_bytes(path, LabellingError, limit=MOST_JSON_BYTES), path, kind)


def parse_json(
    data: bytes,
    path: Path,
    kind: str,
    error: type[FaultscapeError] = LabellingError,
    *,
    most_values: int = MOST_JSON_VALUES,
    most_containers: int = MOST_JSON_CONTAINERS,
) -> Any:
    """Return the content of a file's bytes; ``error`` if they are not JSON, or hold too much.

    >>> parse_json(b"{}", "a.json", "a COCO file"), parse_json("3".encode("utf-16"), "b.json", "a number")
    ({}, 3)
    """
    values = data.count(b",")
    containers = data.count(b"[") + data.count(b"{")
    if values > most_values or containers > most_containers:
        raise error(
            f"{path}: holds about {values:,} values in {containers:,} lists and objects; at most"
            f" {most_values:,} in {most_containers:,} are supported; split it"
        )
    try:
        return json.loads(data)
    except (ValueError, RecursionError, MemoryError) as fault:
        text = " ".join(str(fault).split())[:200]
        raise error(f"{path}: is not {kind}: {text or 'it does not fit in memory'}") from None


def object_lists(
    document: Any,
    names: tuple[str, ...],
    path: Path,
    kind: str,
    error: type[FaultscapeError] = LabellingError,
) -> list[list[dict[str, Any]]]:
    """Return the lists of objects that a parsed file has under ``names``; ``error`` if it lacks one."""
    found = []
    for name in names:
        rows = document.get(name) if isinstance(document, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise error(f"{path}: is not {kind}: it has no list of objects `{name}`")
        found.append(rows)
    return found


@contextmanager
def decoding(path: Path, error: type[FaultscapeError]) -> Iterator[None]:
    """Turn any exception of a library about a file into ``error``, and suppress its warnings."""
    try:
        with without_warnings():
            yield
    except Image.DecompressionBombError:
        raise error(
            f"{path}: it has more than {MAX_PIXELS} pixels, the most that is read; shrink it"
        ) from None
    except Image.UnidentifiedImageError:
        raise error(f"{path}: it is not a readable image") from None
    except UNREADABLE as fault:
        raise error(f"{path}: {getattr(fault, 'strerror', None) or library_text(fault)}") from None


def open_picture(
    data: bytes, path: Path, error: type[FaultscapeError], *, lossless: str = "", whole: bool = True
) -> Image.Image:
    """Return an image of bounded size, not yet decoded; ``lossless`` says why lossy formats are refused. Use
    it within `decoding`.

    A file of several pages or frames is refused, because which of them is meant is unknown; they are counted
    only if ``data`` is the ``whole`` file.
    """
    try:
        picture = Image.open(io.BytesIO(data))
    except Image.UnidentifiedImageError:
        if data[:4] not in _TIFF:
            raise
        if (bands := _bands(data)) not in (0, 1, 3, 4):
            raise error(
                f"{path}: this TIFF has {bands} bands; images of 1 band (grey), 3 (red, green, blue) or 4"
                " (with alpha) are read, and labels or scores of 1; save the bands that are meant as PNG, or"
                " scores as .npy"
            ) from None
        raise error(
            f"{path}: this TIFF is damaged, or has 64-bit pixels or more than 16 bits per colour; convert an"
            " image to 8-bit PNG, scores to .npy"
        ) from None
    if picture.format in _DRAWINGS:
        raise error(
            f"{path}: {picture.format} is a vector format, which needs another program; save it as PNG"
        )
    width, height = picture.size
    if width * height > MAX_PIXELS:
        raise error(
            f"{path}: {width} x {height} is more than {MAX_PIXELS} pixels, the most that is read; shrink it"
        )
    if lossless and picture.format in ("JPEG", "WEBP"):
        raise error(f"{path}: {picture.format} {lossless}")
    if picture.format == "BMP" and picture.mode == "L" and data[28:30] == b"\4\0":
        # Pillow takes two of its pixels for one, or fails
        raise error(f"{path}: is a grey BMP of 4 bits, which cannot be read; save it as PNG")
    if whole and (pages := _pages(picture)) > 1:
        many = f"more than {_MOST_PAGES}" if pages > _MOST_PAGES else str(pages)
        raise error(f"{path}: has {many} pages; only one can be read: save each as a file of its own")
    return picture


def _bands(data: bytes) -> int:
    """Return how many bands a TIFF says that it has; 0 if that cannot be read."""
    try:
        stream = io.BytesIO(data)
        header = 16 if b"+" in data[2:4] else 8  # of files above 4 GB, else
        tags = TiffImagePlugin.ImageFileDirectory_v2(stream.read(header))
        stream.seek(tags.next)
        tags.load(stream)
        return int(tags.get(_BANDS, 1))
    except UNREADABLE:
        return 0


def _pages(picture: Image.Image) -> int:
    """Return how many images a file holds; smaller copies of its first page, and masks, are not counted."""
    if picture.format not in _OF_PAGES:
        return 1
    if picture.format != "TIFF":
        return int(getattr(picture, "n_frames", 1))
    pages = 1
    try:
        for number in range(1, _MOST_PAGES + 1):
            picture.seek(number)
            pages += not getattr(picture, "tag_v2", {}).get(_PAGE_KIND, 0) & _NO_OWN_IMAGE
    except UNREADABLE:
        pass  # the end of the file, or a page that cannot be read: the first one can
    finally:
        picture.seek(0)
    return pages
