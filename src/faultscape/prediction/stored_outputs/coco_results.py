"""A model that is a JSON file of COCO: its results, a list of masks with scores, a whole COCO file, or a
panoptic one with its PNG files.

Conventions: masks are run lengths or polygons; of a panoptic file, segments. They are kept as instances
beside the map that they draw. They are painted by score, the highest on top, masks without a
score first; among equal ones the later of the file lies on top. Pixels under no mask are the background of
the class list, else void. Values of the stored maps are category ids. What these mean: by the names of the
file's categories, or ``--labels``, or, in a list of results, which has no names, the ids of the class list.
An image is the one whose file a COCO file names, or, in a list of results, the one whose name is the
``image_id``; a number also matches a name of digits with zeros in front, as COCO's images have.

``path`` is the JSON file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.classes import mapping as label_names
from faultscape.classes.class_lists import allowed, table
from faultscape.corpus.matches import fit
from faultscape.corpus.sources import Found
from faultscape.errors import CorpusError, FaultscapeError, LabellingError, LabelMapError, ModelError
from faultscape.formats import coco
from faultscape.formats.guard import parse_json, read_bytes
from faultscape.formats.label_tools.coco_panoptic import (
    PanopticImage,
    is_panoptic,
    panoptic_images,
    recognise,
)
from faultscape.maps import instances, runs
from faultscape.maps.instances import Instances
from faultscape.nouns import Classes
from faultscape.prediction.batches import INSTANCES, Row
from faultscape.prediction.source import Opening, Origin, Request, Source
from faultscape.prediction.sources.folder import check_values, fingerprint
from faultscape.prediction.stored_outputs.each_map import OpenStored
from faultscape.study.parts import key_of
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Image

OPTIONS = ("unmapped",)
SEGMENTATION = "segmentation"
_MOST_ID = 65535
_FAR = 1 << 63
_WHAT = "a COCO file"


@dataclass(frozen=True)
class Mask:
    """One mask of a file, not yet checked: its place there, its category, its outline and its score."""

    number: int
    category: int
    outline: object
    score: float | None
    lacks: str = ""
    crowd: bool = False
    id: int = 0


@dataclass
class Results:
    """What a file holds: {name of an image: masks}, and {category: name} where it has names."""

    masks: dict[str, list[Mask]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    categories: set[int] = field(default_factory=set)
    is_list: bool = False
    segments: dict[str, PanopticImage] = field(default_factory=dict)  # of a panoptic file, instead of masks

    @property
    def images(self) -> list[str]:
        """The names of its images."""
        return [*(self.segments or self.masks)]


@dataclass(frozen=True)
class _Categories:
    """The names of categories, in the form in which networks name their channels."""

    channels: int | None
    class_names: list[str]


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is a JSON file, or a folder with a panoptic one.

    >>> recognised("results.json", "segmentation"), recognised("net.onnx", "segmentation")
    (True, False)
    """
    return source.lower().endswith(".json") or (task == SEGMENTATION and file_of(source) != source)


def file_of(source: str) -> str:
    """Return the file of a SOURCE: of a folder the only JSON file in it, if that is a panoptic one."""
    if not os.path.isdir(source):
        return source
    found = [entry.path for entry in os.scandir(source) if entry.name.lower().endswith(".json")]
    return found[0] if len(found) == 1 and recognise(Path(found[0])) else source


def read_results(path: str) -> Results:
    """Return the masks of a file; ModelError if it is neither a list of results nor a COCO file."""
    data = read_bytes(path, ModelError, limit=coco.MOST_BYTES)
    document = parse_json(
        data, path, _WHAT, ModelError, most_values=coco.MOST_VALUES, most_containers=coco.MOST_CONTAINERS
    )
    if isinstance(document, list):
        return _of_list(document, path)
    if is_panoptic(document):
        return _of_segments(document, path)
    return _of_document(document, path)


class OpenResults(OpenStored):
    """A file of masks, drawn image by image."""

    batch = 16

    def __init__(self, opening: Opening, settings: Settings) -> None:
        self._path = file_of(opening.source)
        self._results = read_results(self._path)
        self._places = table(settings.class_list, opening.labels)
        self._allowed = allowed(settings.class_list, opening.labels)
        self._under_none = uncovered(self._results, settings)

    def read(self, image: Image, stored: str) -> Row:
        """Return the map of an image, or why it cannot be used."""
        size = (image.height, image.width)
        try:
            if segments := self._results.segments.get(stored):
                drawn, held = segments.read(size, self._under_none)
            else:
                masks = self._results.masks.get(stored, [])
                drawn = draw(self._path, size, masks, self._under_none)
                held = instances_of(masks, size)
            code, labels = runs.encode_with_labels(drawn)
            check_values(self._path, labels, self._places, self._allowed)
        except FaultscapeError as error:
            return Row(image.id, None, problem=str(error))
        return Row(image.id, code, {INSTANCES: (instances.encode(held),)})


def instances_of(masks: Sequence[Mask], size: tuple[int, int]) -> Instances:
    """Return the instances that masks are, in the order of the file; LabelMapError as for `draw`."""
    return instances.make(
        size,
        [coco.run_lengths(mask.outline, size) for mask in masks],
        [mask.category for mask in masks],
        ids=[mask.id for mask in masks],
        scores=[math.nan if mask.score is None else mask.score for mask in masks],
        crowd=[mask.crowd for mask in masks],
    )


def draw(path: str, size: tuple[int, int], masks: Sequence[Mask], under_none: int) -> np.ndarray:
    """Return the map (height, width) that masks draw, the highest score on top; LabelMapError names the mask
    that cannot be drawn.
    """
    drawn = np.full(size, under_none, np.uint16)
    for mask in sorted(masks, key=lambda mask: mask.score or 0.0):
        if mask.lacks:
            raise LabelMapError(f"{path}, mask {mask.number}: {coco.NO_OUTLINE[mask.lacks]}")
        try:
            top, left, bottom, right = box = coco.measure(mask.outline, size)[0]
            inside = coco.crop_of(mask.outline, size, box)
        except LabelMapError as error:
            raise LabelMapError(f"{path}, mask {mask.number}: {error}") from None
        if inside.size:
            drawn[top:bottom, left:right][inside] = mask.category
    return drawn.astype(np.uint8) if drawn.max(initial=0) < 256 else drawn


def uncovered(results: Results, settings: Settings) -> int:
    """Return the value of pixels under no mask: 0, or the lowest number that is neither a category nor a
    class.
    """
    taken = results.categories | results.names.keys()
    if results.is_list:
        taken = taken | {*settings.class_list.ids}
    return next(value for value in range(_MOST_ID + 1) if value not in taken)


def with_nothing(mapping: Mapping[str, str], nothing: int, classes: Classes) -> dict[str, str]:
    """Return a mapping that also has the value of pixels under no mask: the background, else void."""
    if str(nothing) in mapping:
        return dict(mapping)
    if classes.background is None:
        return {**mapping, str(nothing): "void"}
    return {**mapping, str(nothing): classes.names[classes.ids.index(classes.background)]}


def origin(source: Source, request: Request) -> Origin:
    """Return what the maps of a file depend on: its size and time, and what its categories mean."""
    path = file_of(request.source)
    settings = request.settings
    notes = list[str]()
    results = read_results(path)
    drawn = [image.file for image in results.segments.values()]
    ids = [image.id for _, images in request.shards() for image in images if not image.parent]
    named = _by_number(results, ids) if results.is_list else {}
    found = [Found(os.path.splitext(name)[0], name) for name in results.images if name not in named.values()]
    if found and not named:
        named = fit(path, found, ids, say=notes.append)
    if not named:
        raise ModelError(f"{request.name}={path}: holds no masks")
    mapping = _meaning(results, request)
    about = key_of(source.name, mapping)
    rules = key_of(mapping, settings.classes.ids, settings.classes.void)
    stamp = f"{fingerprint(os.path.dirname(path), [path, *drawn])}-{about}:{rules}"
    stamps = {}
    by_shard = {}
    for shard, images in request.shards():
        stamps[shard] = f"{stamp}-{key_of([image.id for image in images if image.id in named])}"
        by_shard[shard] = {image.id: named[image.id] for image in images if image.id in named}
    return Origin(request.options, mapping, stamps, by_shard, notes=tuple(notes), source=request.source)


def _meaning(results: Results, request: Request) -> dict[str, str]:
    """Return {category or the value of pixels under no mask: class or void}."""
    settings = request.settings
    classes = settings.class_list
    held = request.held if "labels" in request.options else {}
    if results.names:
        numbers = sorted(results.names)
        network = _Categories(len(numbers), [results.names[number] for number in numbers])
        by_place = label_names.of_network(
            request.name, network, settings, request.labels, {}, request.options.get("unmapped", "")
        )
        mapping = {str(numbers[int(place)]): name for place, name in by_place.items()}
    elif request.labels or held:
        mapping = label_names.of_file(request.labels, classes, []) if request.labels else dict(held)
    else:
        mapping = dict(zip(map(str, classes.ids), classes.names, strict=True))
    if lost := sorted(results.categories - {int(label) for label in mapping}):
        raise ModelError(
            f"{request.name}={request.source}: category {lost[0]} is not in the class list; give --labels"
            f" FILE that says what category ids mean, for example --labels {lost[0]}={classes.names[0]}"
        )
    return with_nothing(mapping, uncovered(results, settings), classes)


def _by_number(results: Results, ids: Sequence[str]) -> dict[str, str]:
    """Return {image id: its name in the results} by numbers and equal names; ModelError if an image has none
    or two.
    """
    numbers: dict[str, list[str]] = {}
    for id_ in ids:
        stem = id_.rsplit("/", 1)[-1]
        numbers.setdefault(str(int(stem)) if stem.isascii() and stem.isdigit() else stem, []).append(id_)
    known = set(ids)
    named: dict[str, str] = {}
    for name in results.masks:
        fitting = [name] if name in known else numbers.get(name, [])
        if len(fitting) > 1:
            raise ModelError(
                f"image_id {name!r} may be {fitting[0]} or {fitting[1]}; give a COCO file whose `images` name"
                " the files"
            )
        if fitting:
            named[fitting[0]] = name
    return named


def _of_list(rows: list[Any], path: str) -> Results:
    out = Results(is_list=True)
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or "image_id" not in row or "category_id" not in row:
            raise ModelError(
                f"{path}: entry {number} has no image_id and category_id; expected COCO's results:"
                ' [{"image_id": 1, "category_id": 3, "segmentation": {...}, "score": 0.9}, ...]'
            )
        image = row["image_id"]
        if isinstance(image, bool) or not isinstance(image, int | str) or len(str(image)) > 1000:
            raise ModelError(f"{path}: entry {number} has an image_id that is neither a number nor a name")
        _add(out, str(image), number, row, path)
    return out


def _of_document(document: Any, path: str) -> Results:
    try:
        images = coco.images_of(document, path)
    except CorpusError as error:
        raise ModelError(str(error)) from None
    out = Results(names={row["id"]: row["name"].strip() for row in document["categories"]})
    if bad := next((id_ for id_ in out.names if not _is_label(id_)), None):
        raise ModelError(f"{path}: has the category id {bad!r}; expected numbers from 0 to {_MOST_ID}")
    rows = document["annotations"]
    for image in images:
        out.masks.setdefault(image.file, [])
        for object_ in image.objects:
            _add(out, image.file, object_.number, rows[object_.number], path, object_.only)
    return out


def _of_segments(document: Any, path: str) -> Results:
    try:
        found, names = panoptic_images(document, Path(path))
    except LabellingError as error:
        raise ModelError(str(error)) from None
    out = Results(names=names, segments={image.name: image for image in found})
    out.categories = {category for image in found for category in image.categories}
    if bad := next((id_ for id_ in {*out.names, *out.categories} if not _is_label(id_)), None):
        raise ModelError(f"{path}: has the category id {bad!r}; expected numbers from 0 to {_MOST_ID}")
    return out


def _add(out: Results, image: str, number: int, row: dict[str, Any], path: str, lacks: str = "") -> None:
    category = row["category_id"]
    if not _is_label(category):
        raise ModelError(
            f"{path}: entry {number} has the category_id {str(category)[:40]!r}; expected a number from 0 to"
            f" {_MOST_ID}"
        )
    score = row.get("score")
    if score is not None and (
        isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score)
    ):
        raise ModelError(f"{path}: entry {number} has the score {str(score)[:40]!r}; expected a number")
    outline = row.get("segmentation")
    only = lacks or ("" if outline else "box")
    out.categories.add(category)
    score = None if score is None else float(score)
    own = row.get("id")
    id_ = own if type(own) is int and abs(own) < _FAR else number
    crowd = bool(row.get("iscrowd", 0))
    out.masks.setdefault(image, []).append(Mask(number, category, outline, score, only, crowd, id_))


def _is_label(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST_ID
