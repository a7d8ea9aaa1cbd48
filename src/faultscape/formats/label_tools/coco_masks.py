"""COCO instances as label maps: one annotation per class and image, with its mask as run lengths; and back,
from any COCO file with masks or polygons.

Conventions: category ids are 1, 2, ... in the order of the classes, one more for void where unlabelled pixels
are background; ``file_name`` is the path of an image relative to the folder. Annotations, including crowds,
are painted in the order of the file, later over earlier; keypoints without a mask have no area and are left
out, an object of which only a box is known is an error of its image. COCO does not record annotators. Spaces
around category names are dropped, as in `coco`.
Source: the data format of Lin et al. 2014, Microsoft COCO; CVAT does not read category 0 (its issue 4750).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import CorpusError, LabellingError, LabelMapError
from faultscape.formats import coco
from faultscape.formats.guard import load_json
from faultscape.formats.label_tools.named_masks import (
    VOID,
    Box,
    Piece,
    check_size,
    class_masks,
    id_of,
    nothing_of,
    painted,
)
from faultscape.formats.label_tools.tool_labels import DrawnImage, Format, ToolLabel
from faultscape.formats.photos_beside import FOLDER, size_fault
from faultscape.maps.instances import Instances, make, runs_of_mask
from faultscape.nouns import Classes

NAME = "instances.json"
_END = 1 << 20
# with a box, pycocotools would take the box's area for that of the mask
_RESULT = ("image_id", "category_id", "segmentation", "score")
Rows = list[dict[str, Any]]


def categories_of(classes: Classes) -> list[dict[str, Any]]:
    """Return COCO categories for a class list: ids from 1 on in its order, and one for void if pixels under
    no mask are not void.

    >>> [
    ...     entry["name"]
    ...     for entry in categories_of(
    ...         Classes(("road", "car"), (0, 1), ((0, 0, 0), (1, 1, 1)), (255,), background=0)
    ...     )
    ... ]
    ['road', 'car', 'void']
    """
    void = (VOID,) if classes.void and nothing_of(classes) not in classes.void else ()
    group = {member: parent for parent, members in classes.parents.items() for member in members}
    return [
        {"id": k, "name": name, "supercategory": group.get(name, "")}
        for k, name in enumerate((*classes.names, *void), 1)
    ]


def write(folder: Path, images: Iterable[DrawnImage], classes: Classes) -> Iterator[tuple[Path, bytes]]:
    """Yield the file of images: their sizes and masks, and the classes as categories. LabellingError for
    values without a class.
    """
    yield folder / NAME, document_of(*_tables_of(images, classes))


@dataclass(frozen=True)
class CocoFiles:
    """A file of instances, of the images that have ids, a file of results for ``COCO.loadRes`` (b'' without a
    result), and the numbers of the images that have ids.
    """

    instances: bytes
    results: bytes
    numbers: frozenset[int]


def files_of(
    images: Iterable[DrawnImage], classes: Classes, *, score: float | None, judged: frozenset[int]
) -> CocoFiles:
    """Return the files of all images of a model, or of the labels (``score`` None); results are of the
    ``judged`` images alone, because pycocotools refuses those of images without a label. LabellingError for
    values without a class.
    """
    numbers = set[int]()

    def noted() -> Iterator[DrawnImage]:
        for number, image in enumerate(images, 1):
            if image.ids is not None:
                numbers.add(number)
            yield image

    rows, annotations, categories = _tables_of(noted(), classes)
    rows = [row for row in rows if row["id"] in numbers]
    if score is not None:
        annotations = [annotation | {"score": score} for annotation in annotations]
    results = [
        {name: annotation[name] for name in _RESULT}
        for annotation in annotations
        if score is not None and annotation["image_id"] in judged
    ]
    text = json.dumps(results, separators=(",", ":")) + "\n" if results else ""
    return CocoFiles(document_of(rows, annotations, categories), text.encode(), frozenset(numbers))


def _tables_of(images: Iterable[DrawnImage], classes: Classes) -> tuple[Rows, Rows, Rows]:
    """Return the images, annotations and categories of a COCO file."""
    categories = categories_of(classes)
    ids = {entry["name"]: entry["id"] for entry in categories}
    rows: Rows = []
    annotations: Rows = []
    for number, image in enumerate(images, 1):
        rows.append({"id": number, "file_name": image.photo, "width": image.size[0], "height": image.size[1]})
        for name, mask in class_masks(image, classes, nothing_of(classes)):
            runs = runs_of_mask(mask)
            area, box = _facts(runs, len(mask))
            segmentation = {"size": [*mask.shape], "counts": coco.text_of_runs(runs)}
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": ids[name],
                    "segmentation": segmentation,
                    "area": area,
                    "bbox": box,
                    "iscrowd": 0,
                }
            )
    return rows, annotations, categories


def recognise(path: Path) -> bool:
    """Whether a file is a COCO instances file, judged by its first and last million bytes; never raises."""
    head, tail = ends_of(path)
    return coco.is_coco(head + tail) and b'"segments_info"' not in head


def read(path: Path) -> list[ToolLabel]:
    """Return a label for each image of a file; LabellingError if the file cannot be read."""
    return [_label(image, path) for image in _images(load_json(path, "a COCO file"), path)]


def check(path: Path) -> list[str]:
    """Return what COCO's tools, or CVAT, would refuse or show wrongly in a file, a sentence each; images are
    searched beside it and in images/.
    """
    try:
        document = load_json(path, "a COCO file")
        images = _images(document, path)
    except LabellingError as error:
        return [str(error)]
    said = categories_at_fault(document["categories"], path)
    said += twice(document["annotations"], "id", "annotations", path)
    said += twice(document["images"], "file_name", "images", path)
    said += twice(document["categories"], "name", "categories", path)
    for image in images:
        said += photo_at_fault(path, image.file, _turned(image.size))
        for object_ in image.objects:
            where = f"{path}, annotations[{object_.number}]"
            row = document["annotations"][object_.number]
            said += [_undefined(object_, where)] if object_.lacks else []
            if object_.only == "box":
                said.append(f"{where}: {coco.NO_OUTLINE['box']}")
            if object_.only:
                continue
            try:
                check_size(_turned(image.size), where)
                coco.measure(object_.outline, image.size)
                if isinstance(object_.outline, dict):
                    area, box = _facts(coco.runs_of(object_.outline, image.size), image.size[0])
                    said += [
                        f"{where}: its {name} is {_short(row.get(name))}, its mask has {real}"
                        for name, real in (("area", area), ("bbox", box))
                        if not _same(row.get(name), real)
                    ]
            except LabelMapError as error:
                said.append(f"{where}: {error}")
            except LabellingError as error:
                said.append(str(error))
    return said


def document_of(images: Rows, annotations: Rows, categories: Rows) -> bytes:
    """Return the bytes of a COCO file."""
    document = {
        "info": {"description": "label maps of Faultscape"},
        "licenses": [],
        "images": images,
        "annotations": annotations,
        "categories": categories,
    }
    return (json.dumps(document, separators=(",", ":")) + "\n").encode()


def ends_of(path: Path) -> tuple[bytes, bytes]:
    """Return the first and the last million bytes of a file, empty if it is not a file or cannot be read."""
    try:
        if not os.path.isfile(path):
            return b"", b""
        with open(path, "rb") as file:
            head = file.read(_END)
            file.seek(max(os.path.getsize(path) - _END, 0))
            return head, file.read(_END)
    except OSError:
        return b"", b""


def categories_at_fault(categories: list[Any], path: Path) -> list[str]:
    """Return a sentence if a category has the id 0."""
    return [
        f"{path}, categories[{k}]: has the id 0, which CVAT treats as no label; start at 1"
        for k, entry in enumerate(categories)
        if isinstance(entry, dict) and entry.get("id") == 0
    ]


def twice(rows: list[Any], key: str, name: str, path: Path) -> list[str]:
    """Return a sentence for each value of a column that occurs in several rows."""
    held = Counter(
        str(row[key]) for row in rows if isinstance(row, dict) and isinstance(row.get(key), int | str)
    )
    return [
        f"{path}, {name}: {count} entries have the {key} {value[:80]!r}"
        for value, count in held.items()
        if count > 1
    ]


def photo_at_fault(path: Path, file: str, size: tuple[int, int]) -> list[str]:
    """Return a sentence if the image of an annotation file is missing, or has a different (width, height)."""
    parts = Path(file).parts
    if not file or Path(file).is_absolute() or ".." in parts or "\0" in file:
        return [f"{path}: the file_name {file[:80]!r} leads out of its folder"]
    photo = next((at for at in (path.parent / file, path.parent / FOLDER / file) if at.is_file()), None)
    if photo is None:
        return [f"{path}: image {file[:80]!r} not found beside it or in {FOLDER}/"]
    return [fault] if (fault := size_fault(photo, path, size)) else []


def _images(document: Any, path: Path) -> tuple[coco.CocoImage, ...]:
    try:
        return coco.images_of(document, path, each=True)
    except CorpusError as error:
        raise LabellingError(str(error)) from None


def _label(image: coco.CocoImage, path: Path) -> ToolLabel:
    where = f"{path}, image {image.file[:200]!r}"
    keypoints = sum(each.only == "keypoints" for each in image.objects)
    return ToolLabel(
        image.file,
        "",
        _turned(image.size),
        where,
        keypoints < len(image.objects),
        partial(_ids, image, path, where),
        {"keypoints": keypoints} if keypoints else {},
        partial(_instances, image, path),
    )


def _ids(image: coco.CocoImage, path: Path, where: str, classes: Classes) -> np.ndarray:
    check_size(_turned(image.size), where)
    return painted(
        [_piece(each, image.size, path, classes) for each in image.objects if each.only != "keypoints"],
        _turned(image.size),
        classes,
        where,
    )


def _instances(image: coco.CocoImage, path: Path, classes: Classes) -> Instances:
    """Return the objects of an image that have a mask; errors as `_ids`, which is read first."""
    objects = [each for each in image.objects if each.only != "keypoints"]
    return make(
        image.size,
        [coco.run_lengths(each.outline, image.size) for each in objects],
        [_class_of(each, path, classes) for each in objects],
        ids=[each.id for each in objects],
        crowd=[each.crowd for each in objects],
    )


def _piece(object_: coco.CocoObject, size: tuple[int, int], path: Path, classes: Classes) -> Piece:
    where = f"{path}, annotations[{object_.number}]"
    if object_.lacks:
        raise LabellingError(_undefined(object_, where))
    if object_.only == "box":
        raise LabellingError(f"{where}: {coco.NO_OUTLINE['box']}, or import boxes as boxes with --boxes")
    id_ = _class_of(object_, path, classes)
    try:
        box, nanoseconds = coco.measure(object_.outline, size)
    except LabelMapError as error:
        raise LabellingError(f"{where}: {error}") from None
    return Piece(id_, nanoseconds, where, partial(_draw, object_.outline, size, box))


def _class_of(object_: coco.CocoObject, path: Path, classes: Classes) -> int:
    """Return the id of the class of an object."""
    name = (
        object_.class_
        if object_.class_ in classes.names
        else {n.strip(): n for n in classes.names}.get(object_.class_)
    )
    return id_of(name or object_.class_, classes, f"{path}, annotations[{object_.number}]")


def _undefined(object_: coco.CocoObject, where: str) -> str:
    return f"{where}: has the {object_.lacks}, which is not defined in the file"


def _turned(size: tuple[int, int]) -> tuple[int, int]:
    return size[1], size[0]


def _draw(outline: object, size: tuple[int, int], box: tuple[int, int, int, int]) -> Box:
    return box[0], box[1], coco.crop_of(outline, size, box)


def _facts(runs: np.ndarray, height: int) -> tuple[int, list[int]]:
    """Return the area and [x, y, width, height] of run lengths, [0, 0, 0, 0] if they are empty."""
    ends = np.cumsum(runs)
    held = np.flatnonzero(runs[1::2]) * 2 + 1
    if not len(held):
        return 0, [0, 0, 0, 0]
    first = ends[held] - runs[held]
    last = ends[held] - 1
    left = first // height
    right = last // height
    one = left == right  # a run over several columns includes the first and last row
    top = int((first % height).min()) if one.all() else 0
    bottom = int((last % height).max()) if one.all() else height - 1
    x = int(left.min())
    width = int(right.max() - left.min()) + 1
    return int(runs[held].sum()), [x, top, width, bottom - top + 1]


def _same(said: Any, real: int | list[int]) -> bool:
    """Whether a stated number or list matches the real one; a missing one counts as a match."""
    if said is None:
        return True
    if isinstance(real, list):
        return (
            isinstance(said, list)
            and len(said) == len(real)
            and all(_same(a, b) for a, b in zip(said, real, strict=True))
        )
    return type(said) in (int, float) and said == real


def _short(value: Any) -> str:
    return str(value)[:60]


COCO = Format(
    "coco",
    title="COCO",
    says="draw the masks in a tool that knows COCO's format; export its JSON to {export}",
    kind="bundle",
    write=write,
    read=read,
    recognise=recognise,
    check=check,
    returned="export.json",
)
