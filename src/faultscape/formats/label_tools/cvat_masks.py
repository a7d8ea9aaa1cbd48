"""CVAT's Segmentation mask 1.1: a zip of PNG files in the colours of its labelmap.txt, one of classes and one
of instances per image; an unpacked folder is read through its labelmap.txt.

Conventions: a line of the labelmap is NAME:RED,GREEN,BLUE:: (followed by PASCAL VOC's parts and actions,
which stay empty); when reading, its colours override those of the class list. Written are the colours of
`distinct_colours`, and black, named background, for undrawn pixels, as CVAT itself does; if a class other
than the background has that name, black is named after what it means. Instances have the colours of PASCAL
VOC in order, one per class; black means none, and CVAT does not import it. There are 255 such colours, so an
image with more classes has no instances. Images are RGB, because a grey image is read as places in the
labelmap. CVAT splits a line at its colons, drops spaces around it, and skips lines that begin with #, so
classes or images with such names cannot be written. Everything that CVAT imports has one z_order, so shapes
that people draw over it may end up below (issue 9713 of its repository): to correct model predictions, CVAT
for images is the better format.
Source: the documentation of CVAT's format and what its server, with its reader of PASCAL VOC, writes and
reads; none of its code is used. Not tested against a live server; datumaro 1.13, a relative of the library
that CVAT uses for the format, reads our files to the same maps, and its files are read correctly here.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from faultscape.errors import LabellingError
from faultscape.formats.guard import decoding, open_picture
from faultscape.formats.label_maps import stored_values
from faultscape.formats.label_tools.archive import Archive, is_zip, opened
from faultscape.formats.label_tools.named_masks import (
    Colour,
    distinct_colours,
    id_of,
    known_ids,
    name_of_ids,
    nothing_of,
    voc_colours,
)
from faultscape.formats.label_tools.tool_labels import DrawnImage, Format, ToolLabel
from faultscape.formats.photos_beside import PhotosBeside
from faultscape.nouns import Classes

NAME = "cvat-masks.zip"
LABELMAP = "labelmap.txt"
BACKGROUND = "background"
_LISTS = "ImageSets/Segmentation/"
_CLASSES = "SegmentationClass/"
_OBJECTS = "SegmentationObject/"
_PHOTOS = "JPEGImages/"
_MOST_TEXT = 16 << 20  # bytes per list
_MOST_PNG = 512 << 20
_MOST_LABELS = 65_536
_MOST_IMAGES = 30_000  # per zip
_BAND = 1 << 22  # pixels looked up at once
_INSTANCES = tuple(itertools.islice(voc_colours(), 256))


@dataclass(frozen=True, eq=False)
class LabelMap:
    """The content of a labelmap: the names in order, and the packed colours, sorted, with the place of each
    one's name.
    """

    names: tuple[str, ...]
    packed: np.ndarray
    places: np.ndarray


def write(
    folder: Path, images: Iterable[DrawnImage], classes: Classes, *, outlines: bool = False
) -> Iterator[tuple[Path, bytes]]:
    """Yield the zip, to be uploaded to a task; LabellingError for ``outlines``, which the format lacks, and
    for names of classes and images that it cannot hold.
    """
    if outlines:
        raise LabellingError("CVAT masks have no outlines; use CVAT for images")
    colours = _colours(classes)
    table = np.zeros((1 << 16, 3), np.uint8)
    for value, name in name_of_ids(classes).items():
        table[value] = colours[name]
    if (nothing := nothing_of(classes)) is not None:
        table[nothing] = (0, 0, 0)
    order = [value for value in dict.fromkeys((*classes.ids, *classes.void[:1])) if value != nothing]
    out = io.BytesIO()
    names: dict[str, None] = {}
    with zipfile.ZipFile(out, "w") as archive:
        _put(archive, LABELMAP, _labelmap(colours))
        for image in images:
            where = f"image {image.image[:200]!r}"
            if (name := _line(image.image, where, "\\")) in names or len(names) >= _MOST_IMAGES:
                raise LabellingError(
                    f"{where}: is given twice"
                    if name in names
                    else f"a zip holds at most {_MOST_IMAGES:,} images"
                )
            names[name] = None
            if image.ids is None:
                continue
            ids = known_ids(image.ids, classes, image.size, where)
            _put(archive, f"{_CLASSES}{image.image}.png", _png(table[ids]))
            present = set(np.unique(ids).tolist())
            if len(instances := [value for value in order if value in present]) < len(_INSTANCES):
                of_id = np.zeros((1 << 16, 3), np.uint8)
                for number, value in enumerate(instances, 1):
                    of_id[value] = _INSTANCES[number]
                _put(archive, f"{_OBJECTS}{image.image}.png", _png(of_id[ids]))
        _put(archive, f"{_LISTS}default.txt", "".join(f"{name}\n" for name in names).encode())
    yield folder / NAME, out.getvalue()


def recognise(path: Path) -> bool:
    """Whether a file is a zip with a labelmap.txt, or a labelmap.txt itself beside a folder
    SegmentationClass.
    """
    try:
        if os.path.basename(path) == LABELMAP:
            return os.path.isfile(path) and os.path.isdir(os.path.join(os.path.dirname(path), _CLASSES))
        return is_zip(path) and LABELMAP in opened(path, LABELMAP, LabellingError).names
    except (LabellingError, OSError):
        return False


def read(path: Path) -> list[ToolLabel]:
    """Return the images in the lists, then those of masks that are not listed; an image without a mask counts
    as not drawn, with size (0, 0). LabellingError if the archive or its labelmap cannot be read.
    """
    archive = opened(path, LABELMAP, LabellingError)
    labelmap = _read_labelmap(archive, path)
    masks = _pictures(archive, _CLASSES)
    found = []
    for name in dict.fromkeys((*_listed(archive, path), *masks)):
        where = f"{path}: {masks.get(name, _CLASSES + name + '.png')[:200]}"
        size = _size(archive, masks[name], where) if name in masks else (0, 0)
        reads = partial(_ids, archive, labelmap, masks.get(name), where)
        found.append(
            ToolLabel(image=name, annotator="", size=size, where=where, drawn=name in masks, read=reads)
        )
    return found


def check(path: Path) -> list[str]:
    """Return what CVAT would refuse in an archive, or show differently than meant, a sentence each with its
    place; empty if it accepts everything.
    """
    try:
        archive = opened(path, LABELMAP, LabellingError)
        labelmap = _read_labelmap(archive, path)
        listed = _listed(archive, path)
    except LabellingError as error:
        return [str(error)]
    found = []
    for first, second in itertools.pairwise(range(len(labelmap.packed))):
        if labelmap.packed[first] == labelmap.packed[second]:
            pair = " and ".join(repr(labelmap.names[labelmap.places[k]][:80]) for k in (first, second))
            found.append(
                f"{path}: {LABELMAP} gives {pair} the same colour, {_unpacked(int(labelmap.packed[first]))}"
            )
    masks, objects, photos = (_pictures(archive, where) for where in (_CLASSES, _OBJECTS, _PHOTOS))
    times = Counter(listed)
    beside = PhotosBeside(path)
    found += [f"{path}: {name[:200]!r} is listed twice" for name, count in times.items() if count > 1]
    found += [
        f"{path}: {name[:200]!r} is listed but has no {_CLASSES}{name[:200]}.png"
        for name in times
        if name not in masks
    ]
    found += [
        f"{path}: {masks[name][:200]} is in no list of {_LISTS}, so CVAT ignores it"
        for name in masks
        if name not in times
    ]
    found += [
        f"{path}: {file[:200]} has no {_CLASSES}{name[:200]}.png"
        for name, file in objects.items()
        if name not in masks
    ]
    for name, file in masks.items():
        try:
            with decoding(f"{path}: {file[:200]}", LabellingError):
                found += _of_image(archive, labelmap, file, objects.get(name), photos.get(name), path, beside)
        except LabellingError as error:
            found.append(str(error))
    return found


def _of_image(
    archive: Archive,
    labelmap: LabelMap,
    file: str,
    instances: str | None,
    photo: str | None,
    path: Path,
    beside: PhotosBeside,
) -> list[str]:
    """Return what is wrong with the masks of one image."""
    where = f"{path}: {file[:200]}"
    places = _decoded(archive, file, where, labelmap)
    found = beside.faults(file[len(_CLASSES) :], (places.shape[1], places.shape[0])) if photo is None else []
    if photo is not None and (size := _size(archive, photo, f"{path}: {photo[:200]}")) != places.shape[::-1]:
        found.append(
            f"{where}: is {places.shape[1]} x {places.shape[0]} pixels, its image {size[0]} x {size[1]}"
        )
    if instances is None:
        return [
            *found,
            f"{where}: has no {_OBJECTS}, so CVAT makes a mask of each colour, including {BACKGROUND}",
        ]
    there = f"{path}: {instances[:200]}"
    numbers = _decoded(archive, instances, there, None)
    if numbers.shape != places.shape:
        return [
            *found,
            (
                f"{there}: is {numbers.shape[1]} x {numbers.shape[0]} pixels, {file[:200]} {places.shape[1]}"
                f" x {places.shape[0]}"
            ),
        ]
    black = set(labelmap.places[labelmap.packed == 0].tolist())
    under: dict[int, list[int]] = {}  # the places of the labels under each instance
    pairs = {
        pair
        for rows in _bands(places.shape)
        for pair in np.unique(numbers[rows].astype(np.uint32) << 16 | places[rows]).tolist()
    }
    for pair in sorted(pairs):
        under.setdefault(pair >> 16, []).append(pair & 0xFFFF)
    for number, labels in under.items():
        lost = [place for place in labels if place not in black and labelmap.names[place] != BACKGROUND]
        names = [repr(labelmap.names[place][:80]) for place in labels]
        if number == 0 and lost:
            y, x = np.argwhere((numbers == 0) & (places == lost[0]))[0]
            lacks = repr(labelmap.names[lost[0]][:80])
            found.append(
                f"{there}: is black at column {x}, row {y}, where {lacks} is drawn; CVAT imports nothing"
                " there"
            )
        elif number and len(names) > 1:
            found.append(
                f"{there}: the instance of the colour {_INSTANCES[number]} covers {names[0]} and {names[1]};"
                " an instance must have one class"
            )
    return found + _holes(
        numbers, {number: labelmap.names[labels[0]][:80] for number, labels in under.items() if number}, there
    )


def _holes(numbers: np.ndarray, names: dict[int, str], where: str) -> list[str]:
    """Return a sentence about the first instance with a hole."""
    for number, name in names.items():
        contours, levels = cv2.findContours(
            (numbers == number).astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE
        )
        inner = [k for k in range(len(contours)) if levels[0][k][3] >= 0]
        if inner:
            x, y = contours[inner[0]][0][0]
            return [
                (
                    f"{where}: {name!r} has a hole near column {x}, row {y}, which CVAT loses or makes a"
                    " shape of when it turns masks into polygons; switch that off when uploading, or use"
                    " CVAT for images"
                )
            ]
    return []


def _ids(archive: Archive, labelmap: LabelMap, file: str | None, where: str, classes: Classes) -> np.ndarray:
    """Return the (H, W) ids of one image."""
    if file is None:
        raise LabellingError(f"{where}: is missing: nobody labelled this image")
    with decoding(where, LabellingError):
        places = _decoded(archive, file, where, labelmap)
        values = np.zeros(len(labelmap.names), np.uint16)
        for place in _values_of(places):
            values[place] = _value(labelmap.names[place], classes, where)
            _hold_one_meaning(labelmap, place, int(values[place]), classes, where)
        ids = np.empty(places.shape, np.uint8 if values.max(initial=0) < 256 else np.uint16)
        for rows in _bands(places.shape):
            ids[rows] = values[places[rows]]
    return ids


def _bands(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield the rows of an (H, W) map in parts small enough for lookups with little memory."""
    each = max(_BAND // max(shape[1], 1), 1)
    yield from (slice(top, min(top + each, shape[0])) for top in range(0, shape[0], each))


def _values_of(values: np.ndarray) -> list[int]:
    """Return the values in an (H, W) map, in order."""
    return sorted({value for rows in _bands(values.shape) for value in np.unique(values[rows]).tolist()})


def _hold_one_meaning(labelmap: LabelMap, place: int, value: int, classes: Classes, where: str) -> None:
    """Raise LabellingError if another label has the colour of this one but means a different id."""
    for colour in labelmap.packed[labelmap.places == place]:
        for other in labelmap.places[labelmap.packed == colour].tolist():
            with contextlib.suppress(LabellingError):
                if other == place or _value(labelmap.names[other], classes, where) == value:
                    continue
            pair = f"{labelmap.names[place][:80]!r} and {labelmap.names[other][:80]!r}"
            raise LabellingError(
                f"{where}: the colour {_unpacked(int(colour))} belongs to both {pair} in {LABELMAP}"
            )


def _value(name: str, classes: Classes, where: str) -> int:
    """Return the id of a label in the labelmap: CVAT calls undrawn pixels ``background``, whatever the name
    of the background class.
    """
    if name == BACKGROUND and name not in classes.names:
        if (nothing := nothing_of(classes)) is None:
            raise LabellingError(
                f"{where}: has pixels of {name!r}, which need a background class or a void id, but the class"
                " list has neither"
            )
        return nothing
    return id_of(name, classes, f"{where}, label of {LABELMAP}")


def _decoded(archive: Archive, file: str, where: str, labelmap: LabelMap | None) -> np.ndarray:
    """Return the (H, W) places of an image's colours in the labelmap, or among those of PASCAL VOC;
    LabellingError names an unknown colour and its first pixel.
    """
    with decoding(where, LabellingError):
        picture = open_picture(
            archive.read(file, _MOST_PNG),
            where,
            LabellingError,
            lossless="changes colours; save masks as PNG",
        )
        if picture.mode not in ("P", "RGB", "L"):
            raise LabellingError(f"{where}: has mode {picture.mode}; expected RGB or a palette")
        grey = stored_values(picture) if picture.mode == "L" else None
        picture.load()
        width, height = picture.size
        packed, of_colour = (labelmap.packed, labelmap.places) if labelmap else _packed(_INSTANCES)
        count = len(labelmap.names) if labelmap else len(_INSTANCES)
        places = np.empty((height, width), np.uint16)
        for rows in _bands(places.shape):
            if grey is not None:
                values = grey[rows].astype(np.uint32)
                found = values
                unknown = values >= count
            else:
                part = picture.crop((0, rows.start, width, rows.stop))
                values = np.asarray(part.convert("RGB"), np.uint32)
                values = values[..., 0] << 16 | values[..., 1] << 8 | values[..., 2]
                nearest = np.minimum(np.searchsorted(packed, values), len(packed) - 1)
                found = of_colour[nearest]
                unknown = packed[nearest] != values
            if unknown.any():
                y, x = np.unravel_index(int(unknown.argmax()), unknown.shape)
                value = (
                    f"the grey value {values[y, x]}"
                    if grey is not None
                    else f"the colour {_unpacked(int(values[y, x]))}"
                )
                known = LABELMAP if labelmap else "the 256 of PASCAL VOC, which CVAT uses for instances"
                raise LabellingError(
                    f"{where}: {value} at column {x}, row {y + rows.start} is not in {known}"
                )
            places[rows] = found
    return places


def _size(archive: Archive, file: str, where: str) -> tuple[int, int]:
    """Return (width, height) of an image, (0, 0) if it is invalid: reading it reports why."""
    try:
        with decoding(where, LabellingError):
            return open_picture(archive.read(file, _MOST_PNG), where, LabellingError).size
    except LabellingError:
        return 0, 0


def _pictures(archive: Archive, folder: str) -> dict[str, str]:
    """Return the files of a folder by name without ending; for masks, only PNG files."""
    endings = (".png",) if folder != _PHOTOS else (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp")
    files = [name for name in archive.names if name.startswith(folder) and name.lower().endswith(endings)]
    return {os.path.splitext(name[len(folder) :])[0]: name for name in files}


def _listed(archive: Archive, path: Path) -> list[str]:
    """Return the names in the image lists; CVAT skips lines that begin with #."""
    names: list[str] = []
    for file in archive.names:
        if file.startswith(_LISTS) and file.endswith(".txt"):
            lines = (line.strip() for line in _text(archive, file, path).split("\n"))
            names += [line for line in lines if line and not line.startswith("#")]
    return names


def _text(archive: Archive, file: str, path: Path) -> str:
    try:
        return archive.read(file, _MOST_TEXT).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise LabellingError(f"{path}: {file[:200]} is not text in UTF-8") from None


def _read_labelmap(archive: Archive, path: Path) -> LabelMap:
    """Return what labelmap.txt says; LabellingError names its line."""
    colours: dict[str, Colour | None] = {}
    for number, line in enumerate(_text(archive, LABELMAP, path).split("\n"), 1):
        if not (line := line.strip()) or line.startswith("#"):
            continue
        where = f"{path}: {LABELMAP}, line {number}"
        fields = line.split(":")
        if len(fields) != 4:
            raise LabellingError(
                f"{where}: has {len(fields)} fields separated by colons; expected NAME:RED,GREEN,BLUE::"
            )
        name, said = fields[:2]
        if name in colours:
            raise LabellingError(f"{where}: names {name[:80]!r} a second time")
        parts = [part.strip() for part in said.split(",")] if said else []
        if said and (
            len(parts) != 3
            or not all(p.isascii() and p.isdigit() and len(p) < 4 and int(p) < 256 for p in parts)
        ):
            raise LabellingError(
                f"{where}: expected a colour, three numbers 0-255 separated by commas; got {said[:40]!r}"
            )
        colours[name] = (int(parts[0]), int(parts[1]), int(parts[2])) if said else None
        if len(colours) > _MOST_LABELS:
            raise LabellingError(f"{where}: has more than {_MOST_LABELS:,} labels")
    if not colours:
        raise LabellingError(f"{path}: {LABELMAP} names no labels")
    if not any(colours.values()):
        colours = dict(zip(colours, voc_colours(), strict=False))
    return LabelMap(tuple(colours), *_packed(tuple(colours.values())))


def _packed(colours: tuple[Colour | None, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the present colours as integers, sorted, and the place of each; equal ones keep their order."""
    there = sorted((c[0] << 16 | c[1] << 8 | c[2], place) for place, c in enumerate(colours) if c is not None)
    return np.array([c for c, _ in there], np.uint32), np.array([place for _, place in there], np.uint16)


def _unpacked(colour: int) -> Colour:
    return colour >> 16, colour >> 8 & 255, colour & 255


def _colours(classes: Classes) -> dict[str, Colour]:
    """Return the colours of a labelmap: black first, for undrawn pixels."""
    colours = distinct_colours(classes)
    if (nothing := nothing_of(classes)) is None:
        return colours
    own = name_of_ids(classes)[nothing]
    black = own if BACKGROUND in classes.names else BACKGROUND
    return {black: (0, 0, 0)} | {name: colour for name, colour in colours.items() if name != black}


def _labelmap(colours: dict[str, Colour]) -> bytes:
    lines = [
        f"{_line(name, f'the class {name[:80]!r}', ':')}:{','.join(map(str, colour))}::\n"
        for name, colour in colours.items()
    ]
    return ("# label:color_rgb:parts:actions\n" + "".join(lines)).encode()


def _line(name: str, where: str, without: str) -> str:
    """Return a name that can begin a line; LabellingError for one that CVAT would misread."""
    if name != name.strip() or name.startswith("#") or without in name or len(name.splitlines()) != 1:
        raise LabellingError(
            f"{where}: its name cannot be in a CVAT list: it is empty, begins with #, has spaces around"
            f" it, or holds {without!r} or the end of a line; rename it, or use CVAT for images"
        )
    if not name.isprintable() and any(0xD800 <= ord(c) < 0xE000 for c in name):
        raise LabellingError(f"{where}: its name is not text in UTF-8; rename it")
    return name


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), data)  # stored: a PNG is already compressed; dated 1980


def _png(rgb: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(rgb).save(out, format="PNG")
    return out.getvalue()


CVAT_MASKS = Format(
    "cvat-masks",
    title="CVAT Segmentation mask 1.1",
    says="make a task of images/ in CVAT with your classes as labels; export it as Segmentation mask 1.1 to"
    " {export}",
    says_prefilled="make a task of images/ in CVAT with your classes as labels, and upload cvat-masks.zip;"
    " export it as Segmentation mask 1.1 to {export}",
    kind="bundle",
    write=write,
    read=read,
    recognise=recognise,
    check=check,
    returned="export.zip",
)
