"""Label Studio's masks: tasks with one mask per class, as brush runs, as PNG (bitmask) or as polygons, and
every shape with an area that people then drew.

Conventions: `write` makes label_config.xml and tasks.json, with a model's masks as
predictions for people to correct. Images are served by Label Studio's local storage, whose document root is
the output folder; the storage must be added to the project before tasks are imported. Results are painted in
list order, later over earlier; `studio.shapes` defines what each covers. Results without an area, such as key
points, are left out.
Source: Label Studio's documentation of its tags and exports; not tested against a running server.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import numpy as np
from PIL import Image

from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats.label_tools.label_studio_points import asks_points
from faultscape.formats.label_tools.named_masks import (
    check_size,
    class_masks,
    known_ids,
    name_of_ids,
    nothing_of,
    painted,
)
from faultscape.formats.label_tools.outlines import outlines as outlines_of
from faultscape.formats.label_tools.studio import brush
from faultscape.formats.label_tools.studio.shapes import (
    AREAS,
    PNG,
    check_bitmask,
    piece_of,
    type_of,
    without_area,
)
from faultscape.formats.label_tools.studio.tasks import (
    CONFIG,
    Config,
    Said,
    address,
    dumped,
    head_of,
    image_of,
    load,
    local_photo,
    read_config,
    said_of,
    task_name,
)
from faultscape.formats.label_tools.tool_labels import DrawnImage, Format, ToolLabel, told_once
from faultscape.formats.photos_beside import PhotosBeside
from faultscape.nouns import Classes

_OF_THE_WHOLE = frozenset(  # these describe the image, or another shape
    {
        "labels",
        "choices",
        "textarea",
        "rating",
        "taxonomy",
        "number",
        "datetime",
        "pairwise",
        "ranker",
        "relation",
    }
)
_LACKS = "lacks the label"
_HEAVY = 100  # brush masks in one task: the browser holds each at four or more bytes per pixel
_LOOKED_THROUGH = 8 << 20  # bytes of runs and PNG that are fully checked


def write(
    folder: Path,
    images: Iterable[DrawnImage],
    classes: Classes,
    *,
    masks: Literal["brush", "bitmask"] = "brush",
    outlines: bool = False,
) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of tasks with ``masks`` as brush runs, or as PNG, which are smaller, for versions of
    Label Studio with BitmaskLabels; as polygons with ``outlines``. Model output becomes predictions.
    LabellingError for values without a class.
    """
    shape = "polygon" if outlines else masks
    yield folder / CONFIG, _config(classes, shape)
    yield from dumped((_task(image, k, classes, shape) for k, image in enumerate(images, 1)), folder, "tasks")


def recognise(path: Path) -> bool:
    """Whether a file is JSON of Label Studio with masks or shapes, judged by its first million bytes; never
    raises.
    """
    head = b"" if asks_points(path) else head_of(path)
    drawn = any(f'"{name}"'.encode() in head for name in (*AREAS, "keypointlabels"))
    return bool(head) and (drawn or not any(f'"{name}"'.encode() in head for name in ("choices", "pairwise")))


def read(path: Path, *, predictions: bool = False) -> list[ToolLabel]:
    """Return each annotator's latest label of each image of a file, or with ``predictions`` each model's;
    LabellingError if the file cannot be read.

    A task without annotations becomes one label without an annotator, with nothing drawn.
    """
    labels = []
    for number, task in enumerate(load(path)):
        said = list(said_of(task, path, number, predictions=predictions))
        if not said:
            data = task.get("data")
            where = f"{path}, {task_name(task, number)}"
            said = [Said(data if isinstance(data, dict) else {}, "", [], where=where)]
        labels += [_label(each) for each in said]
    return labels


def check(path: Path) -> list[str]:
    """Return what Label Studio would refuse or show wrongly in a file of tasks, a sentence each;
    label_config.xml beside it and the images in images/ are checked too, if they exist.

    Runs are fully checked up to 8 million bytes of a file; beyond that, only the number of values is compared
    with the size.
    """
    try:
        tasks = load(path)
        config = read_config(path.parent / CONFIG) if (path.parent / CONFIG).is_file() else None
    except LabellingError as error:
        return [str(error)]
    said: list[str] = []
    seen: set[tuple[str, int]] = set()
    budget = _LOOKED_THROUGH
    photos = PhotosBeside(path)
    for number, task in enumerate(tasks):
        name = f"{path}, {task_name(task, number)}"
        said += _twice(seen, "task", task.get("id"), name)
        data = task.get("data")
        if not isinstance(data, dict) or not image_of(data):
            said.append(f"{name}: its data names no image")
        brushes = 0
        sizes = _sizes([data.get("meta")] if isinstance(data, dict) else [], "width", "height")
        for kind in ("annotation", "prediction"):
            rows = task.get(f"{kind}s")
            for k, row in enumerate(rows if isinstance(rows, list) else ()):
                place = f"{name}, {kind} number {k}"
                results: Any = row.get("result") if isinstance(row, dict) else None
                if not isinstance(results, list):
                    said.append(f"{place}: has no `result` list")
                    continue
                said += _twice(seen, kind, row.get("id"), place)
                sizes += _sizes(results, "original_width", "original_height")
                brushes = max(
                    brushes, sum(isinstance(r, dict) and AREAS.get(type_of(r)) == "brush" for r in results)
                )
                for sentence, cost in _faults(results, place, config, budget):
                    said += [sentence] if sentence else []
                    budget -= cost
        if isinstance(data, dict) and (photo := local_photo(data)):
            said += photos.faults(photo, *sizes)
        if brushes > _HEAVY:
            said.append(
                f"{name}: has {brushes} brush masks, so many that browsers run out of memory; write one"
                " mask per class, or bitmasks"
            )
    return told_once(said, _LACKS)


def _sizes(rows: list[Any], *names: str) -> list[tuple[int, int]]:
    """Return the (width, height) stored under two names in rows of JSON, if these are whole numbers."""
    pairs = [tuple(row.get(name) for name in names) for row in rows if isinstance(row, dict)]
    return [(wide, tall) for wide, tall in pairs if type(wide) is int and type(tall) is int]


def _config(classes: Classes, shape: str) -> bytes:
    """Return the labelling configuration of a class list: all its names, and void if pixels under no mask are
    not void.
    """
    tag = f"{shape.capitalize()}Labels"
    colours = dict(zip(classes.names, classes.colours, strict=True))
    nothing = nothing_of(classes)
    names = list(
        dict.fromkeys(
            name
            for id_, name in name_of_ids(classes).items()
            if name in colours or nothing not in classes.void
        )
    )
    lines = [
        "<View>",
        '  <Image name="image" value="$image" zoom="true" zoomControl="true"/>',
        f'  <{tag} name="label" toName="image">',
        *(
            f'    <Label value={quoteattr(n)} background="#{bytes(colours.get(n, (0, 0, 0))).hex()}"/>'
            for n in names
        ),
        f"  </{tag}>",
        "</View>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _task(image: DrawnImage, number: int, classes: Classes, shape: str) -> dict[str, Any]:
    width, height = image.size
    meta = {"image": image.image, "width": width, "height": height}
    task: dict[str, Any] = {"id": number, "data": {"image": address(image.photo), "meta": meta}}
    if image.ids is None:
        return task
    results = [
        {
            "id": f"t{number}m{k}",
            "type": f"{shape}labels",
            "from_name": "label",
            "to_name": "image",
            "original_width": width,
            "original_height": height,
            "image_rotation": 0,
            "value": {**value, f"{shape}labels": [name]},
        }
        for k, (name, value) in enumerate(_values(image, classes, shape), 1)
    ]
    return {**task, "predictions": [{"model_version": "faultscape", "result": results}]}


def _values(image: DrawnImage, classes: Classes, shape: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the masks of an image in Label Studio's format, or the polygons in painting order, each with its
    label.
    """
    nothing = nothing_of(classes)
    if shape == "polygon" and image.ids is not None:
        names = name_of_ids(classes)
        ids = known_ids(image.ids, classes, image.size, image.image)
        for value, corners in outlines_of(ids, nothing):
            points = [[100 * x / image.size[0], 100 * y / image.size[1]] for x, y in corners]
            yield names[value], {"points": points, "closed": True}
        return
    for name, mask in class_masks(image, classes, nothing):
        yield (
            name,
            (
                {"format": "rle", "rle": list(brush.encode(mask))}
                if shape == "brush"
                else {"imageDataURL": _png(mask)}
            ),
        )


def _png(mask: np.ndarray) -> str:
    """Return a mask as PNG in base64: black where something is drawn, transparent elsewhere."""
    picture = Image.frombytes("P", (mask.shape[1], mask.shape[0]), mask.astype(np.uint8).tobytes())
    picture.putpalette(bytes(6))
    out = io.BytesIO()
    picture.save(out, format="PNG", bits=1, transparency=b"\x00\xff")
    return PNG + base64.b64encode(out.getvalue()).decode()


def _label(said: Said) -> ToolLabel:
    """Return a label from an answer, painted when its ids are requested."""
    drawn = [
        (k, result)
        for k, result in enumerate(said.results)
        if not isinstance(result, dict) or type_of(result) not in _OF_THE_WHOLE
    ]
    without = Counter(kind for _, result in drawn if (kind := without_area(result)))
    areas = [(k, result) for k, result in drawn if not without_area(result)]
    meta = said.data.get("meta")
    source = next((r for _, r in [*areas, *drawn] if isinstance(r, dict) and "original_width" in r), None)
    pair = (source.get("original_width"), source.get("original_height")) if source else ()
    if not source and isinstance(meta, dict):
        pair = (meta.get("width"), meta.get("height"))
    sides = [side if type(side) is int else 0 for side in (*pair, 0, 0)]
    image = image_of(said.data)
    size = (sides[0], sides[1])
    return ToolLabel(
        image, said.annotator, size, said.where, bool(areas), partial(_ids, said, areas, size), without
    )


def _ids(said: Said, areas: list[tuple[int, Any]], size: tuple[int, int], classes: Classes) -> np.ndarray:
    if not areas and size == (0, 0):
        raise LabellingError(f"{said.where}: nothing is drawn, and the image size is not given")
    check_size(size, said.where)
    beside = {
        r.get("id"): value.get("labels")
        for r in said.results
        if isinstance(r, dict)
        and type_of(r) == "labels"
        and isinstance(r.get("id"), str)
        and isinstance(value := r.get("value"), dict)
    }
    pieces = [piece_of(result, size, beside, classes, f"{said.where}, result {k}") for k, result in areas]
    return painted(pieces, size, classes, said.where)


def _faults(results: list[Any], place: str, config: Config | None, budget: int) -> Iterator[tuple[str, int]]:
    """Yield what is wrong with the results of an annotation, and how many bytes of runs were
    checked for it.
    """
    ids: dict[tuple[str, str], int] = {}
    for k, result in enumerate(results):
        where = f"{place}, result {k}"
        value = result.get("value") if isinstance(result, dict) else None
        kind = type_of(result) if isinstance(result, dict) else ""
        if kind in _OF_THE_WHOLE:
            continue
        if not isinstance(value, dict):
            yield f"{where}: has no value", 0
            continue
        if isinstance(id_ := result.get("id"), str):
            if (id_, kind) in ids:
                yield (
                    (
                        f"{where}: has the id {id_[:40]!r} of result {ids[id_, kind]}; one of the two is not"
                        " shown"
                    ),
                    0,
                )
            ids.setdefault((id_, kind), k)
        labels = value.get(kind)
        labels = [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
        yield from ((text, 0) for text in _unknown(result.get("from_name"), kind, labels, config, where))
        width = result.get("original_width")
        height = result.get("original_height")
        if type(width) is not int or type(height) is not int or width < 1 or height < 1:
            yield f"{where}: needs original_width and original_height as whole numbers", 0
            continue
        try:
            check_size((width, height), where)
            if AREAS.get(kind) == "brush" and isinstance(runs := value.get("rle"), list):
                cost = len(runs) if len(runs) <= budget else 0
                if cost or brush.values_of(runs) != 4 * width * height:
                    brush.check(runs, width * height)
            elif AREAS.get(kind) == "bitmask" and isinstance(text := value.get("imageDataURL"), str):
                cost = len(text) if len(text) <= budget else 0
                if cost:
                    check_bitmask(text, (width, height), where)
            else:
                cost = 0
            budget -= cost
            yield "", cost
        except LabelMapError as error:
            yield f"{where}: {error}", 0
        except LabellingError as error:
            yield str(error), 0


def _unknown(control: Any, kind: str, labels: list[str], config: Config | None, where: str) -> Iterator[str]:
    """Yield the names in a result that the configuration does not know."""
    if config is None:
        return
    if not isinstance(control, str) or control not in config.controls:
        yield f"{where}: {CONFIG} has no control named {str(control)[:40]!r} (from_name)"
        return
    tag, known = config.controls[control]
    if tag != kind:
        yield f"{where}: has type {kind[:40]!r}, but {control[:40]!r} in {CONFIG} has type {tag!r}"
    for label in labels:
        if label not in known:
            yield f"{where}: {CONFIG} {_LACKS} {label[:80]!r}"


def _twice(seen: set[tuple[str, int]], kind: str, id_: Any, place: str) -> list[str]:
    """Return a sentence if an id occurred before."""
    if type(id_) is not int:
        return []
    before = (kind, id_) in seen
    seen.add((kind, id_))
    return (
        [f"{place}: has the {kind} id {id_} of an earlier {kind}; import the two separately"]
        if before
        else []
    )


LABEL_STUDIO = Format(
    "label-studio",
    title="Label Studio",
    says="make a project in Label Studio with the labelling interface of label_config.xml, serve {out} as"
    " local files, and import tasks.json; export it as JSON to {export}",
    kind="bundle",
    write=write,
    read=read,
    recognise=recognise,
    check=check,
    outlines=True,
    returned="export.json",
)
LABEL_STUDIO_BITMASK = replace(
    LABEL_STUDIO,
    name="label-studio-bitmask",
    title="Label Studio with bitmasks",
    write=partial(write, masks="bitmask"),
    outlines=False,
)
