"""COCO's panoptic format as label maps: PNG files whose colours are segment numbers, and a JSON file with the
category of each segment.

Conventions: a segment's number is red + 256 green + 65536 blue, with 0 for void. A label map is written as
panoptic.json and a folder panoptic/ with one segment per class, numbered like its category: 1, 2, ... in the
order of the classes, including the background. Reading uses the category of each segment, including crowds;
PNG files are in the folder named like the JSON file, in panoptic/, or beside it. If classes have no void,
pixels of segment 0 are background.
Source: the panoptic task's format, Kirillov et al. 2019, as COCO documents it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import LabellingError
from faultscape.formats.coco import TABLES
from faultscape.formats.guard import decoding, load_json, object_lists, open_picture, read_bytes
from faultscape.formats.label_tools.coco_masks import (
    categories_at_fault,
    categories_of,
    document_of,
    ends_of,
    photo_at_fault,
    twice,
)
from faultscape.formats.label_tools.named_masks import MOST_MASK_PIXELS, check_size, class_masks, id_of
from faultscape.formats.label_tools.tool_labels import DrawnImage, Format, ToolLabel
from faultscape.formats.labelme import wrong_size
from faultscape.formats.png import encode_pixels
from faultscape.maps.instances import Instances, of_numbers
from faultscape.maps.regions import bounding_box
from faultscape.nouns import UNKNOWN, Classes

NAME = "panoptic.json"
FOLDER = "panoptic"
_COLOURS = 1 << 24
_MOST_SEGMENTS = 100_000  # per PNG
_AT_ONCE = 1 << 20  # pixels
_NOUN = "a COCO panoptic file"


@dataclass(frozen=True, eq=False)
class _File:
    """A panoptic file: its lists, images by id, and names of categories by id."""

    path: Path
    tables: dict[str, list[dict[str, Any]]]
    images: dict[Any, dict[str, Any]]
    names: dict[int, str]


def write(folder: Path, images: Iterable[DrawnImage], classes: Classes) -> Iterator[tuple[Path, bytes]]:
    """Yield a PNG of segments for each image that has ids, and the JSON file last. LabellingError for values
    without a class.
    """
    categories = [
        entry | {"isthing": 0, "supercategory": entry["supercategory"] or "stuff", "color": [*colour]}
        for entry, colour in zip(categories_of(classes)[: len(classes)], classes.colours, strict=True)
    ]
    ids = {entry["name"]: entry["id"] for entry in categories}
    rows: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, image in enumerate(images, 1):
        rows.append({"id": number, "file_name": image.photo, "width": image.size[0], "height": image.size[1]})
        if image.ids is None:
            continue
        segments = np.zeros((image.size[1], image.size[0]), np.uint32)
        facts = []
        for name, mask in class_masks(image, classes, classes.void[0] if classes.void else None):
            segments[mask] = ids[name]
            facts.append({"id": ids[name], "category_id": ids[name], "iscrowd": 0, **_facts(mask)})
        name = f"{image.image}.png"
        annotations.append({"image_id": number, "file_name": name, "segments_info": facts})
        yield (
            folder / FOLDER / name,
            encode_pixels(np.stack([segments >> up & 255 for up in (0, 8, 16)], 2).astype(np.uint8)),
        )
    yield folder / NAME, document_of(rows, annotations, categories)


def recognise(path: Path) -> bool:
    """Whether a file is a COCO panoptic file, judged by its first and last million bytes; never raises."""
    head, tail = ends_of(path)
    data = head + tail
    return (
        head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{"
        and b'"segments_info"' in data
        and b'"annotations"' in data
    )


def read(path: Path) -> list[ToolLabel]:
    """Return a label for each annotation of a file, named like its image; LabellingError if the file cannot
    be read.
    """
    file = _loaded(path)
    labels = []
    for number, row in enumerate(file.tables["annotations"]):
        size = _size(_image(file, row))
        where = f"{path}, annotations[{number}]"
        drawn = bool(row.get("segments_info"))
        told = (file, row, size, where)
        labels.append(
            ToolLabel(
                _name(file, row),
                "",
                size,
                where,
                drawn,
                partial(_ids, *told),
                instances=partial(_instances, *told),
            )
        )
    return labels


@dataclass(frozen=True, eq=False)
class PanopticImage:
    """An image of a panoptic file: its name, its PNG ('' if that is not there), the categories of its
    segments, and a function of (height, width) and the value under no segment, which returns the map of
    categories (H, W) and the instances; LabellingError if its PNG cannot be read.
    """

    name: str
    file: str
    categories: frozenset[int]
    read: Callable[[tuple[int, int], int], tuple[np.ndarray, Instances]]


def is_panoptic(document: Any) -> bool:
    """Whether the parsed JSON of a file is a COCO panoptic file.

    >>> is_panoptic({"annotations": [{"segments_info": []}]}), is_panoptic([])
    (True, False)
    """
    rows = document.get("annotations") if isinstance(document, dict) else None
    first = rows[0] if isinstance(rows, list) and rows else None
    return isinstance(first, dict) and "segments_info" in first


def panoptic_images(document: Any, path: Path) -> tuple[list[PanopticImage], dict[int, str]]:
    """Return the images of a panoptic file whose JSON is parsed, and {category: its name}; LabellingError if
    it is not one.
    """
    file = _file(document, path)
    found = []
    for number, row in enumerate(file.tables["annotations"]):
        where = f"{path}, annotations[{number}]"
        infos = _infos(row, where)
        size = _size(_image(file, row))
        read = partial(_drawn, file, row, infos, size, where)
        categories = frozenset(info[1] for info in infos)
        found.append(PanopticImage(_name(file, row), _png_or_none(path, row, where), categories, read))
    return found, dict(file.names)


def check(path: Path) -> list[str]:
    """Return what COCO's tools would refuse or count wrongly in a panoptic file and its PNG files, a sentence
    each; images are searched beside it and in images/.
    """
    try:
        file = _loaded(path)
    except LabellingError as error:
        return [str(error)]
    said = categories_at_fault(file.tables["categories"], path)
    for name, key in (
        ("images", "id"),
        ("images", "file_name"),
        ("categories", "id"),
        ("categories", "name"),
        ("annotations", "image_id"),
    ):
        said += twice(file.tables[name], key, name, path)
    for image in file.images.values():
        said += photo_at_fault(
            path, _text(image.get("file_name")), (image.get("width", 0), image.get("height", 0))
        )
    for number, row in enumerate(file.tables["annotations"]):
        where = f"{path}, annotations[{number}]"
        image = _image(file, row)
        if not image:
            said.append(
                f"{where}: has the image_id {_text(row.get('image_id'))!r}, which is not an image of the file"
            )
        try:
            png = _png(path, row, where)
            segments = _segments(png)
        except LabellingError as error:
            said.append(str(error))
            continue
        size = (segments.shape[1], segments.shape[0])
        if image and size != (image.get("width"), image.get("height")):
            said.append(
                f"{png}: is {size[0]} x {size[1]} pixels, but in {path.name} {image.get('width')} x"
                f" {image.get('height')}"
            )
        said += _disagreements(segments, row, file, where)
    return said


def _loaded(path: Path) -> _File:
    return _file(load_json(path, _NOUN), path)


def _file(document: Any, path: Path) -> _File:
    lists = object_lists(document, TABLES, path, _NOUN)
    tables = dict(zip(TABLES, lists, strict=True))
    names = {}
    for k, entry in enumerate(tables["categories"]):
        if type(entry.get("id")) is not int or not isinstance(entry.get("name"), str):
            raise LabellingError(f"{path}: categories[{k}] needs a whole-number id and a name")
        names[entry["id"]] = entry["name"]
    images = {row["id"]: row for row in tables["images"] if type(row.get("id")) in (int, str)}
    return _File(path, tables, images, names)


def _image(file: _File, row: dict[str, Any]) -> dict[str, Any]:
    """Return the image of an annotation, {} if the file has none."""
    id_ = row.get("image_id")
    return file.images.get(id_, {}) if type(id_) in (int, str) else {}


def _name(file: _File, row: dict[str, Any]) -> str:
    name = _image(file, row).get("file_name")
    return name if isinstance(name, str) else _text(row.get("file_name"))


def _size(image: dict[str, Any]) -> tuple[int, int]:
    """Return the (width, height) of an image, 0 where the file has none."""
    width, height = (side if type(side := image.get(key)) is int else 0 for key in ("width", "height"))
    return width, height


def _text(value: Any) -> str:
    return value[:300] if isinstance(value, str) else "" if value is None else str(value)[:60]


def _png(path: Path, row: dict[str, Any], where: str) -> Path:
    """Return the path of an annotation's PNG; LabellingError if it is missing, or would be outside the
    folder.
    """
    name = row.get("file_name")
    if (
        not isinstance(name, str)
        or not name
        or "\0" in name
        or Path(name).is_absolute()
        or ".." in Path(name).parts
    ):
        raise LabellingError(f"{where}: its file_name {_text(name)[:80]!r} is not a file in the folder")
    places = (path.with_suffix("") / name, path.parent / FOLDER / name, path.parent / name)
    for place in places:
        if place.is_file():
            return place
    raise LabellingError(
        f"{where}: {name[:200]!r} not found in {path.with_suffix('').name}/, in {FOLDER}/ or beside"
        f" {path.name}"
    )


def _png_or_none(path: Path, row: dict[str, Any], where: str) -> str:
    """Return the path of an annotation's PNG, '' where `_png` refuses it."""
    try:
        return str(_png(path, row, where))
    except LabellingError:
        return ""


def _pixels(path: Path) -> np.ndarray:
    """Return the (H, W, 3) colours of a PNG."""
    data = read_bytes(path, LabellingError)
    with decoding(path, LabellingError):
        picture = open_picture(
            data, path, LabellingError, lossless="changes the numbers of segments; save them as PNG"
        )
        if picture.mode not in ("RGB", "RGBA"):
            raise LabellingError(
                f"{path}: has mode {picture.mode}; expected segment numbers in three channels"
            )
        if picture.size[0] * picture.size[1] > MOST_MASK_PIXELS:
            raise LabellingError(f"{path}: has more than {MOST_MASK_PIXELS:,} pixels")
        return np.asarray(picture)[..., :3]


def _segments(path: Path) -> np.ndarray:
    """Return the (H, W) numbers of segments of a PNG, int32."""
    pixels = _pixels(path)
    segments = pixels[..., 2].astype(np.int32)
    for channel in (1, 0):
        segments <<= 8
        segments |= pixels[..., channel]
    return segments


def _infos(row: dict[str, Any], where: str) -> list[tuple[int, int, dict[str, Any]]]:
    """Return number, category and all fields of each segment of an annotation."""
    rows = row.get("segments_info")
    seen = set[int]()
    if not isinstance(rows, list):
        raise LabellingError(f"{where}: has no list `segments_info`")
    infos = []
    for k, info in enumerate(rows):
        id_, category = (info.get(key) if isinstance(info, dict) else None for key in ("id", "category_id"))
        if type(id_) is not int or not 0 < id_ < _COLOURS or type(category) is not int:
            raise LabellingError(
                f"{where}, segment {k}: needs an id from 1 to {_COLOURS - 1} and a category_id, as whole"
                " numbers"
            )
        if id_ in seen:
            raise LabellingError(f"{where}, segment {k}: has the id {id_} of an earlier one")
        seen.add(id_)
        infos.append((id_, category, info))
    return infos


def _ids(file: _File, row: dict[str, Any], size: tuple[int, int], where: str, classes: Classes) -> np.ndarray:
    check_size(size, where)
    infos = _infos(row, where)
    meant = _meaning(file, infos, where, classes)
    segments, png = _numbers(file, row, size, where)
    meant[0] = _void(classes, segments == 0, where)
    return _with_values(segments, meant, max((*classes.ids, *classes.void)), png)


def _meaning(
    file: _File, infos: list[tuple[int, int, dict[str, Any]]], where: str, classes: Classes
) -> dict[int, int]:
    """Return {segment: id of its class}."""
    meant = dict[int, int]()
    for id_, category, _ in infos:
        if category not in file.names:
            raise LabellingError(
                f"{where}: segment {id_} has the category_id {category}, which is not defined in the file"
            )
        meant[id_] = id_of(file.names[category], classes, where)
    return meant


def _numbers(file: _File, row: dict[str, Any], size: tuple[int, int], where: str) -> tuple[np.ndarray, Path]:
    """Return the (H, W) numbers of segments of an annotation, of the size that the file says, and its PNG."""
    png = _png(file.path, row, where)
    segments = _segments(png)
    if segments.shape != size[::-1]:
        raise LabellingError(
            f"{png}: is {segments.shape[1]} x {segments.shape[0]} pixels, but in {file.path.name} {size[0]} x"
            f" {size[1]}"
        )
    return segments, png


def _with_values(segments: np.ndarray, meant: dict[int, int], highest: int, png: Path) -> np.ndarray:
    """Return the (H, W) map of the value that each segment has; LabellingError for one that has none."""
    numbers = list(meant)
    most = max(*meant, int(segments.max(initial=0))) + 1
    ids = np.empty(segments.shape, np.uint8 if highest < 256 else np.uint16)
    table = np.full(most, UNKNOWN).astype(ids.dtype)
    known = np.zeros(most, bool)
    table[numbers], known[numbers] = np.array(list(meant.values())).astype(ids.dtype), True
    if not (good := _look_up(known, segments, np.empty(segments.shape, bool))).all():
        y, x = divmod(int(np.argmin(good)), segments.shape[1])
        raise LabellingError(
            f"{png}: holds the segment {segments[y, x]} at column {x}, row {y}, which is missing in"
            " segments_info"
        )
    return _look_up(table, segments, ids)


def _drawn(
    file: _File,
    row: dict[str, Any],
    infos: list[tuple[int, int, dict[str, Any]]],
    size: tuple[int, int],
    where: str,
    wanted: tuple[int, int],
    under_none: int,
) -> tuple[np.ndarray, Instances]:
    """Return the map of categories and the instances of an annotation, for an image of a ``wanted`` (height,
    width).
    """
    check_size(size, where)
    if size != (wanted[1], wanted[0]):
        raise LabellingError(f"{where}: {wrong_size(size, (wanted[1], wanted[0]))}")
    segments, png = _numbers(file, row, size, where)
    meant = {id_: category for id_, category, _ in infos} | {0: under_none}
    values = _with_values(segments, meant, max(meant.values()), png)
    return values, _as_instances(segments, infos, [category for _, category, _ in infos], where)


def _instances(
    file: _File, row: dict[str, Any], size: tuple[int, int], where: str, classes: Classes
) -> Instances:
    infos = _infos(row, where)
    meant = _meaning(file, infos, where, classes)
    return _as_instances(_numbers(file, row, size, where)[0], infos, [*meant.values()], where)


def _as_instances(
    segments: np.ndarray, infos: list[tuple[int, int, dict[str, Any]]], labels: list[int], where: str
) -> Instances:
    """Return the segments of a map (H, W) as instances, with the scores that their entries have."""
    scores = [info.get("score", np.nan) for _, _, info in infos]
    if bad := next((s for s in scores if isinstance(s, bool) or not isinstance(s, int | float)), None):
        raise LabellingError(f"{where}: has the score {_text(bad)!r}; expected a number")
    crowd = [bool(info.get("iscrowd", 0)) for _, _, info in infos]
    return of_numbers(segments, [id_ for id_, _, _ in infos], labels, scores=scores, crowd=crowd)


def _look_up(table: np.ndarray, segments: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write the table's value for each segment to ``out``, and return it; in parts, because NumPy uses eight
    bytes per index.
    """
    flat = segments.reshape(-1)
    into = out.reshape(-1)
    for k in range(0, flat.size, _AT_ONCE):
        into[k : k + _AT_ONCE] = table[flat[k : k + _AT_ONCE]]
    return out


def _void(classes: Classes, where_void: np.ndarray, where: str) -> int:
    """Return the id of segment 0; LabellingError if a pixel has it and the classes have neither void nor
    background.
    """
    if classes.void:
        return classes.void[0]
    if classes.background is not None:
        return classes.background
    if where_void.any():
        row, column = divmod(int(np.argmax(where_void)), where_void.shape[1])
        raise LabellingError(
            f"{where}: the pixel at column {column}, row {row} belongs to no segment, and the class list has"
            " neither a void id nor a background for it"
        )
    return UNKNOWN


def _facts(mask: np.ndarray) -> dict[str, Any]:
    """Return the area and box of a non-empty mask."""
    return {"area": int(np.count_nonzero(mask)), "bbox": _sides(bounding_box(mask))}


def _sides(box: tuple[slice, slice]) -> list[int]:
    """Return [x, y, width, height] of a box."""
    down, across = box
    return [across.start, down.start, across.stop - across.start, down.stop - down.start]


def _disagreements(segments: np.ndarray, row: dict[str, Any], file: _File, where: str) -> Iterator[str]:
    """Yield where a PNG and its segments_info disagree."""
    from scipy import ndimage

    try:
        infos = _infos(row, where)
    except LabellingError as error:
        yield str(error)
        return
    flat = segments.reshape(-1)
    parts = [np.unique(flat[k : k + _AT_ONCE], return_counts=True) for k in range(0, flat.size, _AT_ONCE)]
    numbers, place = np.unique(np.concatenate([part for part, _ in parts]), return_inverse=True)
    areas = np.bincount(place, np.concatenate([counts for _, counts in parts])).astype(np.int64).tolist()
    if len(numbers) > _MOST_SEGMENTS:
        yield (f"{where}: its PNG holds {len(numbers):,} segments; at most {_MOST_SEGMENTS:,} are checked")
        return
    for k in range(0, flat.size, _AT_ONCE):
        flat[k : k + _AT_ONCE] = np.searchsorted(numbers, flat[k : k + _AT_ONCE]) + 1
    boxes = ndimage.find_objects(segments)
    found = {number: (area, box) for number, area, box in zip(numbers.tolist(), areas, boxes, strict=True)}
    listed = {id_ for id_, _, _ in infos}
    for number in sorted(found.keys() - listed - {0}):
        yield f"{where}: its PNG holds the segment {number}, which is missing in segments_info"
    for id_, category, info in infos:
        if category not in file.names:
            yield f"{where}: segment {id_} has the category_id {category}, which is not defined in the file"
        if id_ not in found:
            yield f"{where}: segments_info has the segment {id_}, but its PNG has no pixels of it"
            continue
        area, box = found[id_]
        for name, real in (("area", area), ("bbox", _sides(box))):
            if info.get(name) != real:
                yield f"{where}: segment {id_} has the {name} {str(info.get(name))[:60]}, in its PNG {real}"


COCO_PANOPTIC = Format(
    "coco-panoptic",
    title="COCO panoptic",
    says="draw the segments in a tool that knows COCO's panoptic format; export its JSON and masks to"
    " {export}",
    kind="bundle",
    write=write,
    read=read,
    recognise=recognise,
    check=check,
    returned="export/",
)
