"""The tuples of labels that maps give the pixels of a study: counted once for each shard, kept in the study,
and read block by block, so that no pool has to fit into memory.

Conventions: labels are places of classes, C for a model that says none of them; of a truth C is void, and
C + 1 stands for an image without a map of it. Pixels are those of maps at working size, numbered row by row
in each image; those nearer than the scope's ``border`` to a border of the maps of its ``bordering`` models
are left out. Boxes of an image without a map of the truth split its tuples by what they leave open
(`box_states`); other images cost nothing more. Images are in the order given, and an image's tuples in the
order in which its pixels show them. Kept files (``tuples/SCOPE/``) are a cache: the name of each says what it
was counted from, and whatever is missing, damaged or of something else is counted again.
"""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import zstandard

from faultscape.classes.class_lists import allowed, meaning, table
from faultscape.maps.borders import near_borders
from faultscape.maps.counts import joint_tuples
from faultscape.ranking.points.box_states import BoxStates, joined_states
from faultscape.reading.boxes.open_classes import OpenClasses, open_classes
from faultscape.reading.maps import StoredMaps
from faultscape.reading.study import Study
from faultscape.study.folder import put
from faultscape.study.parts import key_of
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name, read_corpus

if TYPE_CHECKING:
    from faultscape.study.tables.corpus import Image

FOLDER = "tuples"
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
METHOD_NUMBER = 2  # raised when tuples are counted or stored differently
AT_ONCE = 1 << 20  # tuples from which on a block is full
_SUM = hashlib.sha256().digest_size  # bytes of the checksum before the arrays


@dataclass(frozen=True)
class Scope:
    """Whose maps give the labels: those of ``models``, and of a ``truth`` ('' for none); and which pixels are
    left out, because they lie near a border.
    """

    models: tuple[str, ...]
    truth: str
    border: int
    bordering: tuple[str, ...]

    @property
    def name(self) -> str:
        """The folder of what is kept."""
        return key_of(astuple(self))[:16]


@dataclass(frozen=True, eq=False)
class Block:
    """The distinct tuples of some images, ``labels`` (J + 1, X) of the models and the truth, and their rows,
    one image after the other: the tuple (``place``, (R,)) and ``pixels`` (R,) of each row, and where those of
    each image end (``ends``, (I,)); ``first`` is the place of the first image among all, and ``boxes`` what
    they leave open in the tuples (X,).
    """

    first: int
    labels: np.ndarray
    place: np.ndarray
    pixels: np.ndarray
    ends: np.ndarray
    boxes: BoxStates | None = None

    @cached_property
    def images(self) -> np.ndarray:
        """The place (R,) of each tuple's image among all."""
        return self.first + np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))

    def of_tuples(self, rows: np.ndarray | float = 1.0) -> np.ndarray:
        """Return (X,) the pixels of each tuple, in all rows or in some ``rows`` (R,)."""
        return np.bincount(self.place, self.pixels * rows, self.labels.shape[1])


class Stack(NamedTuple):
    """What is known of each pixel of an image: what every model says, whether it is ``near`` a border, the
    map of the truth, and what boxes leave ``open``; None where there is none.
    """

    image: str
    maps: list[np.ndarray]
    near: np.ndarray | None
    truth: np.ndarray | None
    open: OpenClasses | None


def each_stack(
    study: Study, scope: Scope, number: int, images: Iterable[str], boxed: Mapping[str, str]
) -> Iterator[Stack]:
    """Yield what is known of images of a shard, some of which are ``boxed`` {image: its boxes as text}; those
    that lack a model's map are left out. Maps are overwritten by the next ones.
    """
    classes = study.classes
    settings = study.settings
    labels = [settings.models[model].labels for model in scope.models]
    folders = [label_maps.predictions(study.root, model) for model in scope.models]
    sources = [
        StoredMaps(folder, number, table(classes, of), allowed(classes, of))
        for folder, of in zip(folders, labels, strict=True)
    ]
    folder = label_maps.truth(study.root, scope.truth) if scope.truth else None
    if folder is not None and part_name(number) in study.manifest(folder):
        sources.append(StoredMaps(folder, number, table(classes), allowed(classes)))
    bordering = [scope.models.index(model) for model in scope.bordering]
    rows = _rows(study, number)
    for image in images:
        own = rows[image].width, rows[image].height
        size = settings.working_size or own
        stack = [source.read(image, size) for source in sources]
        maps = [label_map for label_map in stack[: len(scope.models)] if label_map is not None]
        if len(maps) < len(scope.models):
            continue
        near = None
        if scope.border:
            near = np.any([near_borders(maps[k], scope.border) for k in bordering], axis=0)
        truth = stack[-1] if len(stack) > len(maps) else None
        told = None  # a map of the truth says more than boxes
        if truth is None and image in boxed:
            told = open_classes(boxed[image], own, size, len(classes))
        yield Stack(image, maps, near, truth, told)


def tuples_of(
    maps: Sequence[np.ndarray], near: np.ndarray | None, n: int, told: OpenClasses | None = None
) -> tuple[np.ndarray, np.ndarray, BoxStates | None]:
    """Return the tuples (J, U) of maps (H, W) of labels below ``n``, how many pixels (U,) that are not
    ``near`` a border each has, and what boxes leave open there; pixels between which boxes differ are two
    tuples.

    >>> maps = [np.array([[0, 0, 1]], np.uint8)]
    >>> [found.tolist() for found in tuples_of(maps, np.array([[True, False, False]]), 2)[:2]]
    [[[0, 1]], [1, 1]]
    """
    # what is near a border, and what boxes leave open, are maps that split each tuple
    splits = ([] if near is None else [near.astype(np.uint8)]) + ([] if told is None else [told.rows])
    columns, pixels = joint_tuples([*maps, *splits], n if told is None else max(n, len(told.states)))
    kept = slice(None) if near is None else columns[len(maps)] == 0
    boxes = None if told is None else BoxStates(told.states, columns[-1, kept])
    return columns[: len(maps), kept], pixels[kept], boxes


def each_block(
    study: Study, scope: Scope, number: int, images: Sequence[str], boxed: Mapping[str, str]
) -> Iterator[Block]:
    """Yield the tuples of images of a shard, all of which have a map of every model: as they are kept, or
    counted and kept now.
    """

    def count() -> bytes:
        counted = counted_blocks(study, scope, number, images, boxed)
        return _stored({str(k): _packed(block) for k, block in enumerate(counted)})

    held = _kept(study, scope, number, ".tuples", [*images, *_boxes_of(images, boxed)], count)
    for name in held.files:
        with np.load(io.BytesIO(zstandard.decompress(held[name].tobytes()))) as block:
            first = int(block["first"])
            arrays = (block[name] for name in ("labels", "place", "pixels", "ends"))
            boxes = BoxStates(block["states"], block["open"]) if "states" in block else None
            yield replace(Block(first, *arrays), boxes=boxes)


def _boxes_of(images: Iterable[str], boxed: Mapping[str, str]) -> list[list[str]]:
    """Return the boxes of some images, none if none has any."""
    return [[image, boxed[image]] for image in dict.fromkeys(images) if image in boxed]


def labels_at(
    study: Study, scope: Scope, number: int, points: Sequence[tuple[str, int]], boxed: Mapping[str, str]
) -> dict[str, np.ndarray]:
    """Return of some ``points`` (image, pixel) of a shard what the models have ``said`` (J, P), 0 in images
    that lack a model's map, what a map of the truth has ``shown`` (P,), C + 1 where there is none, and, where
    there are boxes, the ``states`` (P, C) in which they leave the classes.
    """
    if not points:
        return {"said": np.zeros((len(scope.models), 0), np.int64), "shown": np.zeros(0, np.int64)}
    boxes = _boxes_of((image for image, _ in points), boxed)

    def read() -> bytes:
        asked: dict[str, list[int]] = {}
        for place, (image, _) in enumerate(points):
            asked.setdefault(image, []).append(place)
        said = np.zeros((len(scope.models), len(points)), np.int64)
        shown = np.full(len(points), len(study.classes) + 1, np.int64)
        states = np.zeros((len(points), len(study.classes)), np.uint8)
        for one in each_stack(study, scope, number, asked, boxed):
            places = asked[one.image]
            pixels = [points[place][1] for place in places]
            for row, label_map in zip(said, one.maps, strict=True):
                row[places] = label_map.ravel()[pixels]
            if one.truth is not None:
                shown[places] = one.truth.ravel()[pixels]
            if one.open is not None:
                states[places] = one.open.states[one.open.rows.ravel()[pixels]]
        return _stored({"said": said, "shown": shown} | ({"states": states} if boxes else {}))

    held = _kept(study, scope, number, ".points", [*points, *boxes], read)
    return {name: held[name] for name in held.files}


def forget_others(study: Study, scope: Scope) -> None:
    """Remove what is kept of all scopes but this one and those in which selections of points are read: the
    maps of the models that they were drawn for, alone or with those that came later.
    """
    used = {scope.name}
    for made in study.selections.values():
        if made.slots.points:
            left = tuple(model for model in made.slots.models if model in study.models)
            border = made.slots.definition.get("border", 0)
            for models in (left, tuple(dict.fromkeys((*left, *study.models)))):
                used |= {Scope(models, truth, border, left).name for truth in ("", *study.truths)}
    for folder in (study.root / FOLDER).glob("*"):
        if folder.name not in used:
            shutil.rmtree(folder, ignore_errors=True)


def counted_blocks(
    study: Study, scope: Scope, number: int, images: Sequence[str], boxed: Mapping[str, str]
) -> Iterator[Block]:
    """Count the tuples of images of a shard, and yield them in blocks; nothing is kept."""
    unknown = len(study.classes) + 1
    kind = np.uint8 if unknown < 256 else np.uint16
    held: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    parts: list[BoxStates | None] = []
    place = 0
    for image, maps, near, truth, told in each_stack(study, scope, number, images, boxed):
        assert image == images[place + len(held)]
        labels, pixels, boxes = tuples_of(maps if truth is None else [*maps, truth], near, unknown, told)
        if truth is None:
            labels = np.concatenate([labels, np.full((1, len(pixels)), unknown, labels.dtype)])
        held.append(labels.astype(kind))
        weights.append(pixels.astype(np.uint32))
        parts.append(boxes)
        if sum(map(len, weights)) >= AT_ONCE or place + len(held) == len(images):
            sizes = [len(own) for own in weights]
            open_ = joined_states(parts, sizes, len(study.classes))
            labels, rows, open_ = _distinct(np.concatenate(held, axis=1), open_)
            pixels = np.concatenate(weights)
            yield Block(place, labels, rows.astype(np.uint32), pixels, np.cumsum(sizes), open_)
            place += len(held)
            held = []
            weights = []
            parts = []


def _distinct(labels: np.ndarray, boxes: BoxStates | None) -> tuple[np.ndarray, np.ndarray, BoxStates | None]:
    """Return the distinct tuples of labels (J, R) and what boxes leave open, which of them (R,) each is, and
    their boxes.
    """
    rows = [*labels, *([] if boxes is None else [boxes.place])]
    key = np.zeros(labels.shape[1], np.uint64)
    for own in rows:
        key = key * _FACTOR + own  # modulo 2^64
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    if any((own[first[place]] != own).any() for own in rows):  # two share a key: some occur more than once
        return labels, np.arange(labels.shape[1]), boxes
    return labels[:, first], place, boxes and boxes.of(first)


def _kept(
    study: Study,
    scope: Scope,
    number: int,
    ending: str,
    about: Sequence[object],
    make: Callable[[], bytes],
) -> np.lib.npyio.NpzFile:
    """Return the arrays kept of a shard, made now unless they were made from the same maps ``about`` the same
    images or points.
    """
    folder = study.root / FOLDER / scope.name
    part = part_name(number)
    path = folder / f"{part}-{_made_from(study, scope, number, about)}{ending}"
    data = path.read_bytes() if path.exists() else b""
    if data[:_SUM] != _sum(data[_SUM:]):
        arrays = make()
        data = _sum(arrays) + arrays
        put(path, data)
        for other in folder.glob(f"{part}-*{ending}"):
            if other != path:
                other.unlink(missing_ok=True)
    return np.load(io.BytesIO(data[_SUM:]))


def _made_from(study: Study, scope: Scope, number: int, about: Sequence[object]) -> str:
    """Return a key of everything that tuples depend on."""
    part = part_name(number)
    folders: list[Path] = [label_maps.predictions(study.root, model) for model in scope.models]
    folders += [label_maps.truth(study.root, scope.truth)] if scope.truth else []
    parts = [study.manifest(folder).get(part) for folder in folders]
    maps = [made and made.sha256 for made in parts]
    settings = study.settings
    labels = [meaning(study.classes, settings.models[model].labels) for model in scope.models]
    size = settings.size
    sizes = (
        [] if settings.working_size else [(i.id, i.width, i.height) for i in _rows(study, number).values()]
    )
    return key_of(METHOD_NUMBER, maps, labels, len(study.classes), size, sizes, list(about))


def _rows(study: Study, number: int) -> dict[str, Image]:
    key = "rows of tuples", number
    if key not in study.computed:
        study.computed[key] = {image.id: image for image in read_corpus(study.root, number)}
    return study.computed[key]


def _packed(block: Block) -> np.ndarray:
    sink = io.BytesIO()
    arrays = {name: getattr(block, name) for name in ("first", "labels", "place", "pixels", "ends")}
    if block.boxes is not None:
        arrays |= {"states": block.boxes.states, "open": block.boxes.place}
    np.savez(sink, **arrays)  # type: ignore[arg-type]
    return np.frombuffer(zstandard.ZstdCompressor(level=1).compress(sink.getvalue()), np.uint8)


def _stored(arrays: dict[str, np.ndarray]) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, **arrays)  # type: ignore[arg-type]
    return sink.getvalue()


def _sum(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
