"""Label Studio's masks: tasks that hold one mask a class, as runs of its brush or as PNG (bitmask), and whatever people then drew that has an area.

Conventions: `write_brush` and `write_bitmask` write label_config.xml and tasks.json: masks of a model as predictions, which people correct. Photos are served by Label Studio's local storage, whose document root is the
folder that is written; the storage must be added to the project before tasks are imported. Results are painted in the order of the list, later over earlier; `label_studio_shapes` says what each covers.
Source: Label Studio's documentation of its tags and exports; a running server was not at hand.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import numpy as np
from PIL import Image

from faultscape.errors import LabellingError, LabelMapError
from faultscape.formats.label_tools import brush, label_studio_tasks
from faultscape.formats.label_tools.label_studio_shapes import AREAS, PNG, bitmask, piece_of, type_of
from faultscape.formats.label_tools.label_studio_tasks import CONFIG, Said
from faultscape.formats.label_tools.named_masks import VOID, check_size, class_masks, painted, unlabelled
from faultscape.formats.label_tools.tool_labels import DrawnImage, ToolLabel
from faultscape.nouns import Classes

_OF_THE_WHOLE = frozenset(  # they say something of the image, or of a shape that stands beside them
    {"labels", "choices", "textarea", "rating", "taxonomy", "number", "datetime", "pairwise", "ranker", "relation"}
)
_HEAVY = 100  # masks of a brush in one task: each is held at four bytes a pixel, or more, by the browser
_LOOKED_THROUGH = 64 << 20  # bytes of runs that are decoded to be checked


def write_brush(
    folder: Path, images: Iterable[DrawnImage], classes: Classes, *, annotated: bool = False
) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of tasks with masks as runs of the brush; what models filled in are predictions, or annotations where ``annotated``. LabellingError for values of no class."""
    yield from _write(folder, images, classes, "brush", annotated=annotated)


def write_bitmask(
    folder: Path, images: Iterable[DrawnImage], classes: Classes, *, annotated: bool = False
) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of tasks with masks as PNG, which are smaller than runs; for versions of Label Studio that know BitmaskLabels. Otherwise as `write_brush`."""
    yield from _write(folder, images, classes, "bitmask", annotated=annotated)


def recognise(path: Path) -> bool:
    """Whether a file is JSON of Label Studio with masks or shapes; from its first million bytes, never raising."""
    head = label_studio_tasks.head_of(path)
    drawn = any(f'"{name}"'.encode() in head for name in (*AREAS, "keypointlabels"))
    return bool(head) and (drawn or not any(f'"{name}"'.encode() in head for name in ("choices", "pairwise")))


def read(path: Path, *, predictions: bool = False) -> list[ToolLabel]:
    """Return what each annotator last said of each image of a file, or with ``predictions`` what each model did; LabellingError where the file cannot be read.

    A task that nobody annotated is one label of nobody, with nothing drawn.
    """
    labels = []
    for number, task in enumerate(label_studio_tasks.load(path)):
        said = list(label_studio_tasks.said_of(task, path, number, predictions=predictions))
        if not said:
            data = task.get("data")
            where = f"{path}, {label_studio_tasks.task_name(task, number)}"
            said = [Said(data if isinstance(data, dict) else {}, "", list[Any](), float("nan"), skipped=False, where=where)]
        labels += [_label(each) for each in said]
    return labels


def check(path: Path) -> list[str]:
    """Return what Label Studio would refuse or show wrongly of a file of tasks, a sentence each; label_config.xml beside it is looked at where it is there."""
    try:
        tasks = label_studio_tasks.load(path)
        config = label_studio_tasks.read_config(path.parent / CONFIG) if (path.parent / CONFIG).is_file() else None
    except LabellingError as error:
        return [str(error)]
    said: list[str] = []
    seen: dict[tuple[str, int], str] = {}
    budget = _LOOKED_THROUGH
    for number, task in enumerate(tasks):
        name = f"{path}, {label_studio_tasks.task_name(task, number)}"
        said += _twice(seen, "task", task.get("id"), name)
        data = task.get("data")
        if not isinstance(data, dict) or not label_studio_tasks.image_of(data):
            said.append(f"{name}: its data name no image")
        brushes = 0
        for kind in ("annotation", "prediction"):
            rows = task.get(f"{kind}s")
            for k, row in enumerate(rows if isinstance(rows, list) else ()):
                place = f"{name}, {kind} number {k}"
                results = row.get("result") if isinstance(row, dict) else None
                if not isinstance(results, list):
                    said.append(f"{place}: has no list `result`")
                    continue
                said += _twice(seen, kind, row.get("id"), place)
                brushes = max(brushes, sum(isinstance(r, dict) and AREAS.get(type_of(r)) == "brush" for r in results))
                for sentence, cost in _faults(results, place, config, budget):
                    said += [sentence] if sentence else []
                    budget -= cost
        if brushes > _HEAVY:
            said.append(
                f"{name}: has {brushes} masks of the brush, for which browsers run out of memory; write one mask a class, or bitmasks"
            )
    return said


def _write(
    folder: Path, images: Iterable[DrawnImage], classes: Classes, shape: Literal["brush", "bitmask"], *, annotated: bool
) -> Iterator[tuple[Path, bytes]]:
    yield folder / CONFIG, _config(classes, shape)
    yield from label_studio_tasks.dumped(
        (_task(image, number, classes, shape, annotated=annotated) for number, image in enumerate(images, 1)), folder, "tasks"
    )


def _config(classes: Classes, shape: str) -> bytes:
    """Return the labelling configuration of a class list: all its names, and void where pixels under no mask are not void."""
    tag = f"{shape.capitalize()}Labels"
    names = list(zip(classes.names, classes.colours, strict=True))
    if classes.void and unlabelled(classes) not in classes.void:
        names.append((VOID, (0, 0, 0)))
    lines = [
        "<View>",
        '  <Image name="image" value="$image" zoom="true" zoomControl="true"/>',
        f'  <{tag} name="label" toName="image">',
        *(f'    <Label value={quoteattr(name)} background="#{bytes(colour).hex()}"/>' for name, colour in names),
        f"  </{tag}>",
        "</View>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _task(image: DrawnImage, number: int, classes: Classes, shape: str, *, annotated: bool) -> dict[str, Any]:
    width, height = image.size
    task: dict[str, Any] = {
        "id": number,
        "data": {
            "image": label_studio_tasks.address(image.photo),
            "meta": {"image": image.image, "width": width, "height": height},
        },
    }
    if image.ids is None:
        return task
    if image.ids.shape != (height, width):
        raise LabellingError(f"{image.image}: its map has the shape {image.ids.shape}, its photo {width} x {height} pixels")
    results = [
        {
            "id": f"t{number}m{k}", "type": f"{shape}labels", "from_name": "label", "to_name": "image", "original_width": width, "original_height": height, "image_rotation": 0,
            "value": {**_value(mask, shape), f"{shape}labels": [name]},
        }
        for k, (name, mask) in enumerate(class_masks(image.ids, classes, image.image), 1)
    ]  # fmt: skip
    said = {"result": results} if annotated else {"model_version": "faultscape", "result": results}
    return {**task, "annotations" if annotated else "predictions": [said]}


def _value(mask: np.ndarray, shape: str) -> dict[str, Any]:
    """Return a mask as Label Studio keeps it."""
    if shape == "brush":
        return {"format": "rle", "rle": list(brush.encode(mask))}
    picture = Image.frombytes("P", (mask.shape[1], mask.shape[0]), mask.astype(np.uint8).tobytes())
    picture.putpalette(bytes(6))
    out = io.BytesIO()
    picture.save(out, format="PNG", bits=1, transparency=b"\x00\xff")  # black where something is drawn, nothing elsewhere
    return {"imageDataURL": PNG + base64.b64encode(out.getvalue()).decode()}


def _label(said: Said) -> ToolLabel:
    """Return a label of what was said, drawn when its ids are asked for."""
    results = [result for result in said.results if not isinstance(result, dict) or type_of(result) not in _OF_THE_WHOLE]
    meta = said.data.get("meta")
    source = next((r for r in results if isinstance(r, dict) and "original_width" in r), None)
    pair = (source.get("original_width"), source.get("original_height")) if source else ()
    if not source and isinstance(meta, dict):
        pair = (meta.get("width"), meta.get("height"))
    sides = [side if type(side) is int else 0 for side in (*pair, 0, 0)]
    image, size = label_studio_tasks.image_of(said.data), (sides[0], sides[1])
    return ToolLabel(image, said.annotator, size, said.where, bool(results), partial(_ids, said, results, size))


def _ids(said: Said, results: list[Any], size: tuple[int, int], classes: Classes) -> np.ndarray:
    if not results and size == (0, 0):
        raise LabellingError(f"{said.where}: nothing is drawn, and nothing says how large the image is")
    check_size(size, said.where)
    beside = {
        r.get("id"): value.get("labels")
        for r in said.results
        if isinstance(r, dict)
        and type_of(r) == "labels"
        and isinstance(r.get("id"), str)
        and isinstance(value := r.get("value"), dict)
    }
    pieces = [piece_of(result, size, beside, classes, f"{said.where}, result {k}") for k, result in enumerate(results)]
    return painted(pieces, size, classes, said.where)


def _faults(results: list[Any], place: str, config: label_studio_tasks.Config | None, budget: int) -> Iterator[tuple[str, int]]:
    """Yield what is wrong with the results of an annotation, and how many bytes of runs were looked through for it."""
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
                yield f"{where}: has the id {id_[:40]!r} of result {ids[id_, kind]}; one of the two is not shown", 0
            ids.setdefault((id_, kind), k)
        labels = value.get(kind)
        labels = [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
        yield from ((text, 0) for text in _unknown(result.get("from_name"), kind, labels, config, where))
        width, height = result.get("original_width"), result.get("original_height")
        if type(width) is not int or type(height) is not int or width < 1 or height < 1:
            yield f"{where}: has no original_width and original_height in whole numbers", 0
            continue
        try:
            check_size((width, height), where)
            if AREAS.get(kind) == "brush" and isinstance(runs := value.get("rle"), list):
                cost = len(runs) if len(runs) <= budget else 0
                if cost or brush.values_of(runs) != 4 * width * height:
                    brush.decode(runs, width * height)
            elif AREAS.get(kind) == "bitmask" and isinstance(text := value.get("imageDataURL"), str):
                cost = len(text) if len(text) <= budget else 0
                if cost:
                    bitmask(text, (width, height), where)
            else:
                cost = 0
            budget -= cost
            yield "", cost
        except LabelMapError as error:
            yield f"{where}: {error}", 0
        except LabellingError as error:
            yield str(error), 0


def _unknown(control: Any, kind: str, labels: list[str], config: label_studio_tasks.Config | None, where: str) -> Iterator[str]:
    """Yield what a result names that the configuration does not know."""
    if config is None:
        return
    if not isinstance(control, str) or control not in config.controls:
        yield f"{where}: {CONFIG} has no control called {str(control)[:40]!r} (from_name)"
        return
    tag, known = config.controls[control]
    if tag != kind:
        yield f"{where}: is of type {kind[:40]!r}, and {control[:40]!r} in {CONFIG} is of type {tag!r}"
    for label in labels:
        if label not in known:
            yield f"{where}: {CONFIG} lacks the label {label[:80]!r}"


def _twice(seen: dict[tuple[str, int], str], kind: str, id_: Any, place: str) -> list[str]:
    """Return a sentence where an id was there before."""
    if type(id_) is not int:
        return []
    before = seen.setdefault((kind, id_), place)
    return [] if before == place else [f"{place}: has the {kind} id {id_} of an earlier {kind}; import the two apart"]
