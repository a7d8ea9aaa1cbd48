"""COCO instances: one JSON file of images, annotations and categories, with an outline or run lengths per
object. Both are read; run lengths are also written.

Conventions: everything is checked before anything is allocated; a mask is (height, width) bool. A polygon is
x1, y1, x2, y2, ... with x = 0 at the left side of the first pixel, so that a pixel is inside where its centre
is (even-odd rule); several polygons of an object are combined. Run lengths go down the columns, from left to
right, and begin with pixels outside. As text, each is written in 5-bit digits, lowest first, from character
48 on, where bit 32 says that more follow, and from the fourth on as the difference to the last but one.
Source: the data format of Lin et al. 2014, Microsoft COCO, as its API documents it; none of its
code is used.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from faultscape.errors import CorpusError, LabelMapError
from faultscape.formats.guard import MAX_PIXELS, object_lists, parse_json
from faultscape.maps.instances import runs_of_mask

MOST_BYTES = 512 << 20  # per file: the largest of COCO itself has 450 MB
MOST_VALUES = 100_000_000
MOST_CONTAINERS = 10_000_000  # lists and objects, which take most memory
MOST_CROSSINGS = 20_000_000  # by an object's edges with rows of pixels
TABLES: tuple[str, ...] = ("images", "annotations", "categories")
_MARKS = tuple(f'"{name}"'.encode() for name in TABLES)
_FAR = 1e7  # coordinates beyond this are not pixels
_MOST_ID = 1 << 63
_DIGITS = 6  # per run length: 2^29 pixels either way
NO_OUTLINE = {  # what is said of an object by what it has instead of an outline
    only: f"has only {what}, no segmentation, so which pixels the object covers is not known; export its"
    " outline or mask (instance segmentation, not object detection)"
    for only, what in (("box", "a box"), ("keypoints", "keypoints"))
}
Id = int | str


@dataclass(frozen=True)
class CocoObject:
    """One annotation: its number in the file, its class, whether it is a crowd, and its outline from the
    file, not yet checked; ``lacks`` says what the file does not define for it, and ``only`` what it has
    instead of an outline; ``id`` is that of the file, or the number where it has none.
    """

    number: int
    class_: str
    crowd: bool
    outline: object
    lacks: str = ""
    only: Literal["", "keypoints", "box"] = ""
    id: int = 0


@dataclass(frozen=True)
class CocoImage:
    """One image: its file's name, (height, width), and the objects on it."""

    file: str
    size: tuple[int, int]
    objects: tuple[CocoObject, ...]


def is_coco(data: bytes) -> bool:
    """Whether the bytes of a file may be COCO's instances.

    >>> is_coco(b'{"images": [], "annotations": [], "categories": []}'), is_coco(b'{"shapes": []}')
    (True, False)
    """
    return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and all(mark in data for mark in _MARKS)


def coco_of(data: bytes, path: str | os.PathLike[str]) -> tuple[CocoImage, ...]:
    """Return the images that a file's bytes name, in its order; CorpusError if it is not a COCO file, or too
    large. Outlines are checked by `mask_of`.

    >>> image = b'{"id": 1, "file_name": "a.jpg", "width": 4, "height": 3}'
    >>> coco_of(b'{"images": [' + image + b'], "annotations": [], "categories": []}', "a.json")
    (CocoImage(file='a.jpg', size=(3, 4), objects=()),)
    """
    document = parse_json(
        data,
        path,
        "a COCO file",
        CorpusError,
        most_values=MOST_VALUES,
        most_containers=MOST_CONTAINERS,
    )
    return images_of(document, path)


def images_of(document: Any, path: str | os.PathLike[str], *, each: bool = False) -> tuple[CocoImage, ...]:
    """Return the images of a file whose JSON is already parsed, as `coco_of` does; with ``each``, an
    annotation with an undefined category has no class, so that it affects only its own image.
    """
    if isinstance(document, dict) and "samples" in document and "images" not in document:
        raise CorpusError(
            f"{path}: is of a FiftyOne data set, not of COCO; give the folder of one of its fields,"
            " fields/NAME, or export it as ImageSegmentationDirectory"
        )
    images, annotations, categories = object_lists(document, TABLES, path, "a COCO file", CorpusError)
    names: dict[Id, str] = {}
    for k, category in enumerate(categories):
        if (
            not isinstance(name := category.get("name"), str)
            or not name.strip()
            or not name.isprintable()
            or len(name) > 200
        ):
            raise CorpusError(f"{path}: categories[{k}] needs a name of printable characters")
        names[_id(category, "id", f"categories[{k}]", path)] = name.strip()
    objects: dict[Id, list[CocoObject]] = {}
    heads: dict[Id, tuple[str, tuple[int, int]]] = {}
    for k, image in enumerate(images):
        id_ = _id(image, "id", f"images[{k}]", path)
        file = image.get("file_name")
        size = (image.get("height"), image.get("width"))
        if not isinstance(file, str) or not all(
            type(side) is int and 0 < side <= MAX_PIXELS for side in size
        ):
            raise CorpusError(
                f"{path}: images[{k}] needs a file_name, and width and height as whole numbers above 0"
            )
        if id_ in heads:
            raise CorpusError(f"{path}: images[{k}] has the id {id_!r} of an earlier one")
        width, height = (cast("int", side) for side in size)
        heads[id_], objects[id_] = (file, (width, height)), []
    for k, annotation in enumerate(annotations):
        image, category = (
            _id(annotation, name, f"annotations[{k}]", path) for name in ("image_id", "category_id")
        )
        lacks = ""
        if image not in objects or category not in names:
            lacks = (f"image_id {image!r}" if image not in objects else f"category_id {category!r}")[:80]
            if not each or image not in objects:
                raise CorpusError(
                    f"{path}: annotations[{k}] has the {lacks}, which is not defined in the file"
                )
        crowd = bool(annotation.get("iscrowd", 0))
        outline = annotation.get("segmentation")
        only = "" if outline else _only(annotation)
        own = annotation.get("id")
        own = own if type(own) is int and abs(own) < _MOST_ID else k
        objects[image].append(CocoObject(k, names.get(category, ""), crowd, outline, lacks, only, own))
    return tuple(CocoImage(file, size, tuple(objects[id_])) for id_, (file, size) in heads.items())


def mask_of(outline: object, size: tuple[int, int]) -> np.ndarray:
    """Return the pixels of an annotation's ``segmentation`` on an image of (height, width), bool;
    LabelMapError says what is wrong with it.

    >>> mask_of([[1, 0, 3, 0, 3, 2, 1, 2]], (2, 4)).astype(int).tolist()
    [[0, 1, 1, 0], [0, 1, 1, 0]]
    >>> mask_of({"size": [2, 2], "counts": [1, 2, 1]}, (2, 2)).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    if isinstance(outline, list) and outline:
        return _polygons(outline, size)
    runs = runs_of(outline, size)
    inside = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
    return np.ascontiguousarray(inside.reshape(size[1], size[0]).T)


def runs_of(outline: object, size: tuple[int, int]) -> np.ndarray:
    """Return the run lengths of an annotation's ``segmentation`` that is not an outline, int64; LabelMapError
    if they do not fit an image of (height, width).

    >>> runs_of({"size": [2, 2], "counts": "121"}, (2, 2)).tolist()
    [1, 2, 1]
    """
    if not isinstance(outline, dict) or "counts" not in outline:
        raise LabelMapError("its segmentation is neither polygons nor run lengths")
    if outline.get("size") != [*size]:
        raise LabelMapError(
            f"its run lengths have the size {str(outline.get('size'))[:40]}, its image [{size[0]}, {size[1]}]"
        )
    counts = outline["counts"]
    if isinstance(counts, str):
        runs = runs_of_text(counts, size[0] * size[1])
    elif isinstance(counts, list) and all(type(v) is int and 0 <= v <= MAX_PIXELS for v in counts):
        runs = np.array(counts, np.int64)
    else:
        raise LabelMapError("its run lengths must be text or whole numbers, 0 or more")
    if (total := int(runs.sum())) != size[0] * size[1]:
        raise LabelMapError(f"its run lengths cover {total:,} pixels, its image has {size[0] * size[1]:,}")
    return runs


def run_lengths(outline: object, size: tuple[int, int]) -> np.ndarray:
    """Return the run lengths of any ``segmentation``: as they are, or of the pixels within its polygons;
    LabelMapError as for `mask_of`.
    """
    if isinstance(outline, list) and outline:
        return runs_of_mask(_polygons(outline, size))
    return runs_of(outline, size)


def text_of_runs(runs: np.ndarray) -> str:
    """Return COCO's text for run lengths: the shortest form, which its own tool writes.

    >>> text_of_runs(np.array([5, 2, 2, 2, 5]))
    '52203'
    """
    values = np.array(runs, np.int64)
    values[3:] -= values[1:-2].copy()
    digits = np.ones(len(values), np.int64)
    for d in range(1, _DIGITS):
        digits += (values + (1 << 5 * d - 1)) >> 5 * d != 0  # d digits hold numbers from -2^(5d - 1) on
    place = np.arange(int(digits.sum())) - np.repeat(np.cumsum(digits) - digits, digits)
    more = place < np.repeat(digits, digits) - 1
    codes = (np.repeat(values, digits) >> 5 * place & 31) + 32 * more + 48
    return codes.astype(np.uint8).tobytes().decode()


def runs_of_text(text: str, pixels: int) -> np.ndarray:
    """Return the run lengths from COCO's text, int64; LabelMapError for invalid text, or a run of more than
    ``pixels``.

    >>> runs_of_text("52203", 100).tolist()
    [5, 2, 2, 2, 5]
    """
    wrong = LabelMapError("its run lengths are damaged: the text is not in COCO's encoding")
    if len(text) > 4 * pixels + 4 or not text.isascii():
        # a run has at least a pixel for one digit, and many for more digits
        raise wrong
    codes = np.frombuffer(text.encode(), np.uint8).astype(np.int64) - 48
    if not len(codes):
        return codes
    last = (codes & 32) == 0
    if codes.min() < 0 or codes.max() > 63 or not last[-1]:
        raise wrong
    ends = np.flatnonzero(last)
    starts = np.concatenate(([0], ends[:-1] + 1))
    digits = ends - starts + 1
    if digits.max() > _DIGITS:
        raise wrong
    place = np.arange(len(codes)) - np.repeat(starts, digits)
    runs = np.add.reduceat((codes & 31) << (5 * place), starts)
    runs -= np.where(codes[ends] & 16, np.int64(1) << (5 * digits), 0)  # the highest bit is the sign
    runs[1::2], runs[2::2] = np.cumsum(runs[1::2]), np.cumsum(runs[2::2])
    if runs.min() < 0 or runs.max() > pixels:
        raise wrong
    return runs


def measure(outline: object, size: tuple[int, int]) -> tuple[tuple[int, int, int, int], float]:
    """Return the box (top, left, bottom, right; the last two exclusive) of an annotation's ``segmentation``,
    and about how many nanoseconds `crop_of` will take; LabelMapError as for `mask_of`.

    >>> (
    ...     measure([[1, 0, 3, 0, 3, 2, 1, 2]], (2, 4))[0],
    ...     measure({"size": [2, 4], "counts": [2, 3, 3]}, (2, 4))[0],
    ... )
    ((0, 1, 2, 3), (0, 1, 2, 3))
    """
    height, width = size
    if isinstance(outline, list) and outline:
        corners, crossings = _corners(outline, size)
        xy = np.concatenate(corners)
        left, top = np.clip(np.floor(xy.min(0)), 0, (width, height)).astype(int).tolist()
        right, bottom = np.clip(np.ceil(xy.max(0)), 0, (width, height)).astype(int).tolist()
        return (top, left, bottom, right), 20_000 + 150 * crossings + 3 * max(bottom - top, 0) * max(
            right - left, 0
        )
    runs = runs_of(outline, size)
    ends = np.cumsum(runs)
    inside = np.flatnonzero(runs[1::2]) * 2 + 1
    if not len(inside):
        return (0, 0, 0, 0), 20_000 + 50 * len(runs)
    left = int(ends[inside[0] - 1]) // height
    right = (int(ends[inside[-1]]) - 1) // height + 1
    return (0, left, height, right), 20_000 + 50 * len(runs) + 3 * height * (right - left)


def crop_of(outline: object, size: tuple[int, int], box: tuple[int, int, int, int]) -> np.ndarray:
    """Return the mask of `mask_of` only within the ``box`` from `measure`.

    >>> crop_of([[1, 0, 3, 0, 3, 2, 1, 2]], (2, 4), (0, 1, 2, 3)).astype(int).tolist()
    [[1, 1], [1, 1]]
    """
    top, left, bottom, right = box
    if top >= bottom or left >= right:
        return np.zeros((0, 0), bool)
    if isinstance(outline, list):
        inside = np.zeros((bottom - top, right - left), bool)
        for xy in _corners(outline, size)[0]:
            _fill(inside, xy, (left, top))
        return inside
    ends = np.clip(np.cumsum(runs_of(outline, size)) - left * size[0], 0, (right - left) * size[0])
    down = np.repeat(np.arange(len(ends)) % 2 == 1, np.diff(ends, prepend=0))
    return down.reshape(right - left, size[0]).T


def _polygons(outline: Sequence[Any], size: tuple[int, int]) -> np.ndarray:
    """Return the pixels whose centres are in any polygon."""
    inside = np.zeros(size, bool)
    for xy in _corners(outline, size)[0]:
        _fill(inside, xy)
    return inside


def _corners(outline: Sequence[Any], size: tuple[int, int]) -> tuple[list[np.ndarray], float]:
    """Return the corners of polygons, each (N, 2), and about how many rows of pixels their edges cross."""
    crossings = 0.0
    corners = []
    for polygon in outline:
        good = isinstance(polygon, list) and len(polygon) >= 6 and len(polygon) % 2 == 0
        if not good or not all(type(v) in (int, float) and abs(v) < _FAR for v in polygon):
            raise LabelMapError(
                "a polygon of its segmentation needs three or more pairs of finite numbers x, y"
            )
        corners.append(np.array(polygon, np.float64).reshape(-1, 2))
        box = np.clip(corners[-1], 0, (size[1], size[0]))
        crossings += (
            float(np.abs(np.diff(box[:, 1], append=box[:1, 1])).sum())
            + len(box)
            + float(np.prod(np.ptp(box, axis=0))) / 100
        )
    if crossings > MOST_CROSSINGS:
        raise LabelMapError(
            f"drawing its polygons would take too long: they cross about {crossings:,.0f} pixel rows, and"
            f" at most {MOST_CROSSINGS:,} are supported"
        )
    return corners, crossings


def _fill(inside: np.ndarray, xy: np.ndarray, corner: tuple[int, int] = (0, 0)) -> None:
    """Add a polygon to a mask whose first pixel is at (column, row) ``corner``: each edge toggles the pixels
    to its right in the rows whose centres it crosses.
    """
    x_first, y_first = corner
    height, width = inside.shape
    low = xy[:, 1].min()
    high = xy[:, 1].max()
    top = max(math.ceil(low - 0.5), y_first)
    bottom = min(math.ceil(high - 0.5), y_first + height)
    left = max(math.ceil(xy[:, 0].min() - 0.5), x_first)
    right = min(math.ceil(xy[:, 0].max() - 0.5), x_first + width)
    if top >= bottom or left >= right:
        return
    x0 = xy[:, 0]
    y0 = xy[:, 1]
    x1 = np.roll(x0, -1)
    y1 = np.roll(y0, -1)
    up = y0 > y1
    x0, y0, x1, y1 = np.where(up, x1, x0), np.where(up, y1, y0), np.where(up, x0, x1), np.where(up, y0, y1)
    # row r is crossed where y0 <= r + 1/2 < y1
    first = np.clip(np.ceil(y0 - 0.5), top, bottom).astype(np.int64)
    count = np.clip(np.ceil(y1 - 0.5), top, bottom).astype(np.int64) - first
    edge = np.repeat(np.arange(len(xy)), count)
    row = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + first[edge]
    x = x0[edge] + (row + 0.5 - y0[edge]) * ((x1 - x0)[edge] / (y1 - y0)[edge])
    column = np.clip(np.ceil(x - 0.5), left, right).astype(np.int64)
    toggles = np.zeros((bottom - top, right - left + 1), np.uint8)
    np.add.at(toggles, (row - top, column - left), np.uint8(1))  # wraps at 256, which keeps parity
    inside[top - y_first : bottom - y_first, left - x_first : right - x_first] |= (
        np.cumsum(toggles[:, :-1], axis=1, dtype=np.uint8) & 1
    ).astype(bool)


def _only(annotation: dict[str, Any]) -> Literal["", "keypoints", "box"]:
    """Return what an annotation has instead of an outline: keypoints come with a box around them."""
    return "keypoints" if annotation.get("keypoints") else "box" if annotation.get("bbox") else ""


def _id(row: dict[str, Any], name: str, where: str, path: str | os.PathLike[str]) -> Id:
    if type(id_ := row.get(name)) not in (int, str):
        raise CorpusError(f"{path}: {where} needs {name}, a whole number or text")
    return id_  # pyright: ignore[reportReturnType] - it is one of these
