"""What was given to a question: models, images and labels in memory, each image under one key.

Conventions: the key of an image is its id where maps are {id: map}, otherwise its place, 0..I-1; a label is
asked for by it. Maps are checked once, and all of them, before anything is chosen. ``name`` is a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from faultscape.arguments import ClassList, shown
from faultscape.choices import Task
from faultscape.classes.class_lists import SAY_OTHERWISE, allowed, resolve
from faultscape.errors import LabellingError, ModelError, OptionError, counted
from faultscape.formats import from_memory
from faultscape.maps.checked_arrays import label_map
from faultscape.nouns import Classes
from faultscape.study.settings import CLASSIFICATION

Key = int | str
_VOID = 255  # the value for void in most data sets


@dataclass(frozen=True)
class Given:
    """Models and images in memory: ``maps`` {model: its maps or answers in the order of ``keys``, or the
    function that is asked}; ``images`` are the images or their paths, None without any.
    """

    task: Task
    classes: Classes
    keys: tuple[Key, ...]
    maps: Mapping[str, Any]
    images: Sequence[Any] | None

    def sizes(self) -> list[tuple[int, int]]:
        """Return (width, height) of each image, which is that of its maps; ModelError if models differ."""
        (first, maps), *others = self.maps.items()
        for name, theirs in others:
            for key, one, other in zip(self.keys, maps, theirs, strict=True):
                if one.shape != other.shape:
                    raise ModelError(
                        f"image {key}: the map of {first} is {_size(one)}, that of {name} {_size(other)};"
                        " give maps of one size, or images=, to whose size they belong"
                    )
        return [one.shape[::-1] for one in maps]


@dataclass(frozen=True)
class Models:
    """The arguments of a question that say what its models are."""

    maps: Any
    images: Any
    classes: ClassList | None
    void: int | Sequence[int]
    task: Task | None

    def read(self) -> Given:
        """Return what was given; ModelError for models that cannot be used, or are of different images."""
        if not isinstance(self.maps, Mapping):
            raise ModelError(
                f"maps: expected a dict, {{name: maps or a function}}; got {type(self.maps).__name__}"
            )
        if len(self.maps) < 2:
            raise ModelError(f"maps: {counted(len(self.maps), 'model')}; give at least two, to compare them")
        if self.task is not None and self.task not in get_args(Task):
            raise OptionError(f"task must be {' or '.join(get_args(Task))}; got {self.task!r}")
        models = {str(name): value for name, value in self.maps.items()}
        held = {name: value for name, value in models.items() if not from_memory.is_function(value)}
        self._refuse(models, held)
        classifies = any(map(from_memory.are_answers, held.values())) or self.task == CLASSIFICATION
        found = {name: _values(name, value, classifies=classifies) for name, value in held.items()}
        keys, images = _keys(found, self.images)
        values = [one for _, of_one in found.values() for one in of_one]
        classes = _classes(self.classes, self.void, values)
        for name, (_, of_one) in found.items():
            _refuse_other_classes(name, keys, of_one, classes)
        return Given(
            CLASSIFICATION if classifies else "segmentation",
            classes,
            keys,
            {name: found[name][1] if name in found else value for name, value in models.items()},
            images,
        )

    def _refuse(self, models: Mapping[str, Any], held: Mapping[str, Any]) -> None:
        """Raise ModelError for models in files, and for functions without what they need."""
        if place := next((name for name, value in models.items() if from_memory.is_place(value)), None):
            raise ModelError(
                f"{place}: expected maps in memory or a function; got {models[place]!r}; models in files are"
                " compared by `fs.run`, in a study"
            )
        asked = next((name for name in models if name not in held), None)
        if asked is not None and self.images is None:
            raise ModelError(f"{asked}: a function or module is shown images; give them as images=")
        if asked is not None and self.classes is None:
            raise ModelError(f"{asked}: a function or module does not say its classes; give classes=")


def _values(name: str, value: Any, *, classifies: bool) -> tuple[tuple[str, ...] | None, list[Any]]:
    """Return the ids of a model's maps or answers, None without ids, and these."""
    if value is None or isinstance(value, bytes | int | float):
        raise ModelError(f"{name}: expected maps, answers or a function; got {shown(value)}")
    if getattr(value, "ndim", 0) == 2 and "float" in str(value.dtype):
        raise ModelError(
            f"{name}: expected maps (I, H, W) or class ids (I,); got {value.dtype} of shape"
            f" {tuple(value.shape)}; of scores (I, C), give the class of the largest: .argmax(1)"
        )
    if classifies and not from_memory.are_answers(value):
        raise ModelError(
            f"{name}: gives maps or scores, and classifiers give one class id an image, (I,), for example"
            " scores.argmax(1); compare models of a kind"
        )
    if classifies:
        return from_memory.answers(value, name)
    rows = [
        (id_, from_memory.one_map(one, f"{name}, image {place if id_ is None else id_}"))
        for place, (id_, one) in enumerate(from_memory.with_ids(value, name))
    ]
    ids = [id_ for id_, _ in rows]
    return from_memory.all_or_none(ids, name), [one for _, one in rows]


def _keys(
    found: dict[str, tuple[tuple[str, ...] | None, list[Any]]], images: Any
) -> tuple[tuple[Key, ...], Sequence[Any] | None]:
    """Return the keys of the images, and the images in their order; maps are put into this order too.
    ModelError if models, or images, are not for the same.
    """
    first = next(iter(found), "images")
    ids, values = found.get(first, (None, []))
    keys: tuple[Key, ...] = ids or tuple(range(len(values)))
    if images is not None:
        if isinstance(images, Mapping):
            ids = tuple(map(str, images)) if not found else ids
            keys = ids or keys
            images = _in_order("images", tuple(map(str, images)), list(images.values()), ids, first)
        else:
            if from_memory.is_place(images) or not isinstance(images, Iterable):
                raise ModelError(
                    "images: expected arrays, PIL images or paths, one for each image; got"
                    f" {shown(images)}; the files of a folder: sorted(Path(FOLDER).iterdir())"
                )
            images = list(images)
        keys = keys if found else tuple(range(len(images))) if ids is None else keys
        if len(images) != len(keys):
            raise ModelError(
                f"images: got {counted(len(images), 'image')}, and {first} has"
                f" {counted(len(keys), 'map or answer', 'maps or answers')}; give one image for each"
            )
    for name, (theirs, maps) in found.items():
        if len(maps) != len(keys):
            raise ModelError(
                f"{name}: has {counted(len(maps), 'image')}, and {first} has {len(keys)}; give each model the"
                " same images"
            )
        found[name] = (theirs, _in_order(name, theirs, maps, ids, first))
    if not keys:
        raise ModelError(f"{first}: has no image; give one map for each")
    return keys, images


def _in_order(
    name: str, ids: tuple[str, ...] | None, values: list[Any], wanted: tuple[str, ...] | None, first: str
) -> list[Any]:
    """Return values in the order of the ``wanted`` ids, those of the ``first`` model."""
    if (ids is None) != (wanted is None):
        raise ModelError(
            f"{name}: {'has no ids' if ids is None else 'has ids'}, and {first}"
            f" {'has none' if wanted is None else 'has'}; give all as {{id: map}}, or none"
        )
    if ids is None or wanted is None:
        return values
    if lost := next((id_ for id_ in wanted if id_ not in set(ids)), None):
        raise ModelError(f"{name}: has no image {lost!r}, which {first} has; give each model the same images")
    by_id = dict(zip(ids, values, strict=True))
    return [by_id[id_] for id_ in wanted]


def _classes(classes: ClassList | None, void: int | Sequence[int], values: list[Any]) -> Classes:
    """Return the class list: as given, or as many classes as the largest id in what models say needs."""
    voids = (void,) if isinstance(void, int | str) else tuple(void)
    if classes is not None:
        return resolve(classes, void=voids)
    held = (
        {int(value) for one in values for value in (one.max(), np.partition(one, -1, None)[-1])}
        if (values and isinstance(values[0], np.ndarray))
        else set(values)
    )
    most = max(held - set(voids), default=0)
    if most >= _VOID:
        raise ModelError(
            f"maps: hold the value {most}; say what is a class, classes=, and what is void, void={_VOID}"
        )
    return resolve(most + 1, void=voids)


def _refuse_other_classes(name: str, keys: Sequence[Key], values: Sequence[Any], classes: Classes) -> None:
    """Raise ModelError for a map, or an answer, of a model with a value that is neither a class nor void."""
    known = {*classes.ids, *classes.void}
    for key, one in zip(keys, values, strict=True):
        held = np.flatnonzero(np.bincount(np.ravel(one))).tolist()
        odd = next((value for value in held if value not in known), None)
        if odd is not None:
            raise ModelError(
                f"{name}, image {key}: holds the value {odd}; allowed are {allowed(classes)}{SAY_OTHERWISE}"
            )


def _size(label_map_: np.ndarray) -> str:
    height, width = label_map_.shape
    return f"{width} x {height}"


class Labels:
    """The labels of the chosen images alone: a function that is asked for one at a time, or a truth of which
    only these are read.
    """

    def __init__(self, label: Any, given: Given) -> None:
        if label is None or from_memory.is_place(label) or isinstance(label, bytes | int | float):
            more = "; labels in files are read by `fs.label.import_`, in a study" * from_memory.is_place(
                label
            )
            raise LabellingError(
                f"label: expected a function of one image, or the truth (an array, a list, {{id: mask}}); got"
                f" {shown(label)}{more}"
            )
        if given.task != CLASSIFICATION and getattr(label, "ndim", 3) == 2 and len(given.keys) == 1:
            label = [label]  # the mask of the one image, as its maps are given
        number = len(label) if hasattr(label, "__len__") and not callable(label) else len(given.keys)
        if number != len(given.keys) and not isinstance(label, Mapping):
            raise LabellingError(
                f"label: a truth of {counted(number, 'image')}, and models have {len(given.keys)}; give one"
                " for each, or {id: mask}"
            )
        self._label = label
        self._given = given
        self._places = {key: place for place, key in enumerate(given.keys)}

    def of(self, key: Key, size: tuple[int, int]) -> Any | None:
        """Return the label of an image of (width, height), a mask or a class id; None if there is none.
        LabellingError for one that does not fit it.
        """
        name = f"label, image {key}"
        found = self._asked(key)
        if found is None:
            return None
        if self._given.task == CLASSIFICATION:
            return from_memory.answers([found], name, LabellingError)[1][0]
        found = from_memory.as_array(found)
        if getattr(found, "ndim", 2) == 3 and callable(self._label):
            raise LabellingError(
                f"{name}: the function returned {found.dtype} of shape {found.shape}; return the mask of this"
                " image alone, H x W"
            )
        mask = label_map(found, name, LabellingError)
        if mask.shape[::-1] != size:
            raise LabellingError(
                f"{name}: is {_size(mask)} pixels, its image {size[0]} x {size[1]}; both must have the same"
                " size"
            )
        known = {*self._given.classes.ids, *self._given.classes.void}
        if odd := sorted(set(np.unique(mask).tolist()) - known):
            raise LabellingError(
                f"{name}: holds the value {odd[0]}; allowed are {allowed(self._given.classes)}{SAY_OTHERWISE}"
            )
        return mask

    def _asked(self, key: Key) -> Any:
        if isinstance(self._label, Mapping):
            if key not in self._label:
                raise LabellingError(f"label: has no image {key!r}, which was chosen")
            return self._label[key]
        if callable(self._label):
            return self._label(key)
        return self._label[self._places[key]]
