"""What the values in a folder of label maps mean, where they allow two readings: Cityscapes' label ids or
train ids, and 255 as void or as a class.

Conventions: ``where`` is the folder or model in messages, ``files`` are paths. A reading is a label mapping
{value: class or void}; the empty one means the class list's ids. A question is an error that names what was
found and the option for each answer; what a person has answered is never asked again.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from faultscape.classes.built_in import cityscapes, cityscapes_label_ids
from faultscape.classes.class_lists import table
from faultscape.classes.mapping import LABEL_IDS, TRAIN_IDS
from faultscape.classes.placed_maps import PlacedMaps
from faultscape.errors import FaultscapeError, LabelMapError, counted
from faultscape.formats.label_maps import read_map
from faultscape.nouns import UNKNOWN, Classes

SPREAD = 64  # files whose values are looked at where all are too many
_VOID = 255  # void in most data sets, and white in masks of two values
_FEW = 3  # of many classes, fewer maps may well hold one class and void
_NAMED = {LABEL_IDS: "label ids", TRAIN_IDS: "train ids"}


def is_cityscapes(classes: Classes) -> bool:
    """Return whether these are Cityscapes' 19 classes, whose masks exist in two codings."""
    return classes.names == cityscapes().names


def named_reading(labels: Mapping[str, str]) -> str:
    """Return ``label-ids`` or ``train-ids`` if a mapping is one of Cityscapes' codings, else ''.

    >>> named_reading({}), named_reading(cityscapes_label_ids()), named_reading({"3": "road"})
    ('train-ids', 'label-ids', '')
    """
    return TRAIN_IDS if not labels else LABEL_IDS if labels == cityscapes_label_ids() else ""


def spread(files: Sequence[str]) -> Sequence[str]:
    """Return at most 64 files, spread over a list."""
    return files[:: max(1, math.ceil(len(files) / SPREAD))]


def of_label_ids(
    where: str,
    classes: Classes,
    files: Sequence[str],
    *,
    every: bool = False,
    before: str = "",
    again: str = "",
    otherwise: str = f"--labels {LABEL_IDS} reads label ids",
) -> tuple[dict[str, str], str]:
    """Return the reading of a folder's maps and a note on it, '' if there is nothing to say: Cityscapes'
    label ids if names or values show them, else the coding of the maps read ``before`` (a `named_reading`),
    else train ids. Values of ``every`` file are looked at, or of a few.

    LabelMapError for names of both codings, and if the maps read before have the other one; ``again`` says
    what to do then, and ``otherwise`` how maps that fit both are read as label ids.
    """
    if not is_cityscapes(classes) or not files:
        return {}, ""
    names = {coding: next((f for f in files if _is_named(f, coding)), "") for coding in _NAMED}
    if all(names.values()):
        raise LabelMapError(
            f"{where}: {names[LABEL_IDS]} is named as Cityscapes' label ids, {names[TRAIN_IDS]} as train ids;"
            " give folders of one coding"
        )
    said = next((coding for coding, file in names.items() if file), "")
    values, shown = (set[int](), "") if said else _values(files if every else spread(files))
    found = said or (LABEL_IDS if shown else "")
    if before and found and found != before:
        what = f"{names[said]} is named as" if said else f"{shown} holds {max(values)}, which is one of"
        raise LabelMapError(
            f"{where}: {what} Cityscapes' {_NAMED[found]}, but earlier maps were read as {_NAMED[before]};"
            f" {again}"
        )
    coding = found or before or TRAIN_IDS
    note = ""
    if coding == LABEL_IDS:
        note = "these maps hold Cityscapes label ids (0-33); they are mapped to the 19 classes"
    elif values and _VOID not in values and not found and not before:  # label ids have no 255
        note = f"all values fit Cityscapes' train ids and label ids alike; read as train ids ({otherwise})"
    return (cityscapes_label_ids() if coding == LABEL_IDS else {}), note


def _is_named(file: str, coding: str) -> bool:
    plain = os.path.basename(file).lower().replace("_", "").replace("-", "")
    return coding.replace("-", "").removesuffix("s") in plain  # BDD100K's end in _train_id


def _values(files: Sequence[str]) -> tuple[set[int], str]:
    """Return the values of maps up to the first file with one that only label ids have, and this file, or
    ''; none for maps that are coded by colour.
    """
    values = set[int]()
    for file in files:
        try:
            held = np.flatnonzero(np.bincount(read_map(file).ravel())).tolist()
        except LabelMapError:
            continue  # by colour, or damaged, which its reader reports
        values.update(held)
        if any(18 < value < 34 for value in held):
            return {value for value in values if value < 34}, file
    return values, ""


class TwoReadings(NamedTuple):
    """What a folder's maps hold that may mean two things: in words, the value, and as ``--labels`` takes it,
    the class that it may be.
    """

    found: str
    value: int
    pair: str
    class_: str


def two_readings(
    files: Collection[str],
    classes: Classes,
    labels: Mapping[str, str] | None = None,
    *,
    known: Iterable[int] = (),
) -> TwoReadings | None:
    """Return what may mean two things if all maps hold one class and one value that is void or unknown: a
    mask of two values, 0 and 255, in which 255 may well be the other class. ``known`` are values that a
    person has declared.
    """
    places = table(classes, labels)
    held = set[int]()
    others = set[int]()
    if len(classes) < 2 or (len(classes) > 2 and len(files) < _FEW):
        return None
    maps = PlacedMaps(classes, labels)
    for file in files:
        values = _held(maps, file)
        held.update(values[places[values] < len(classes)].tolist())
        others.update(values[places[values] >= len(classes)].tolist())
        if len({*places[[*held]].tolist()}) > 1 or len(others) > 1:
            return None
    if not held or not others or others <= {*known}:
        return None
    value = others.pop()
    if places[value] == UNKNOWN and value != _VOID:
        return None  # a mistake of another kind, which the reader reports
    place = int(places[min(held)])
    other = classes.names[1 - place] if len(classes) == 2 else ""
    also = "void" if places[value] != UNKNOWN else "not in the class list"
    found = (
        f"{counted(len(files), 'map holds', 'maps hold')} only {classes.names[place]!r}"
        f" ({', '.join(map(str, sorted(held)))}) and {value} ({also})"
    )
    return TwoReadings(
        found, value, shlex.quote(f"{value}={other}") if other else f"{value}=CLASS", repr(other or "a class")
    )


def _held(maps: PlacedMaps, file: str) -> np.ndarray:
    """Return the values of a map; none if it cannot be read, which its reader reports."""
    try:
        return np.flatnonzero(np.bincount(maps.values(file).ravel()))
    except FaultscapeError:
        return np.array([], np.int64)


def ask_about_void(
    where: str,
    files: Collection[str],
    classes: Classes,
    labels: Mapping[str, str] | None = None,
    *,
    known: Iterable[int] = (),
    if_void: str = "--labels {}=void",
) -> None:
    """Raise LabelMapError, a question, if a value of a folder's maps has `two_readings`; ``if_void`` is the
    option that declares it void.
    """
    if asked := two_readings(files, classes, labels, known=known):
        value = asked.value
        raise LabelMapError(
            f"{where}: {asked.found}: if {value} is {asked.class_}, give --labels {asked.pair}; if it is"
            f" void, give {if_void.format(value)}"
        )


def not_meant(
    folders: Mapping[str, Sequence[str]], classes: Classes, given: Mapping[str, str], pairs: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return {folder: {value: class}} of the ``pairs`` of --labels that answer for other folders of a line:
    those of `own_beside` that some folder, with at most one class beside the value, may be meant for.

    ``given`` is the whole mapping. LabelMapError if another folder holds several other classes beside it, so
    that nothing shows which reading is right.
    """
    out: dict[str, dict[str, str]] = {where: {} for where in folders}
    wanted = _about_void(classes, pairs)
    beside = {where: _beside(files, classes, given, wanted) for where, files in folders.items()}
    for value, name in wanted.items():
        others = {where: of[value] for where, of in beside.items() if value in of and name not in of[value]}
        meant = [where for where, names in others.items() if len(names) < 2]
        several = [where for where in others if where not in meant]
        if meant and several:
            raise LabelMapError(
                f"{several[0]}: holds {value} beside several classes, {meant[0]} beside no more than one, so"
                f" --labels {shlex.quote(f'{value}={name}')} may be meant for one of them only: if {value} is"
                f" {name!r} in both, give --labels FILE with a class for each value; if not, replace {value}"
                " by the class's id in a copy of the maps in which it is one"
            )
        for where in folders if meant else ():
            if value in beside[where] and where not in others:
                out[where][str(value)] = name
    return out


def own_beside(
    files: Sequence[str], classes: Classes, given: Mapping[str, str], pairs: Mapping[str, str]
) -> dict[int, str]:
    """Return {value: class} of the ``pairs`` of --labels that make 255 or a void value a class which these
    maps hold under its own value too; ``given`` is the whole mapping.
    """
    wanted = _about_void(classes, pairs)
    beside = _beside(files, classes, given, wanted)
    return {value: name for value, name in wanted.items() if name in beside.get(value, ())}


def _about_void(classes: Classes, pairs: Mapping[str, str]) -> dict[int, str]:
    """Return the pairs that make 255 or a void value of the class list a class."""
    numbers = {int(value): name for value, name in pairs.items()}
    return {v: name for v, name in numbers.items() if name != "void" and v in (*classes.void, _VOID)}


def _beside(
    files: Sequence[str], classes: Classes, given: Mapping[str, str], values: Collection[int]
) -> dict[int, set[str]]:
    """Return {value: classes that these maps hold under other values} for those of the values that they
    hold.
    """
    if not values:
        return {}
    maps = PlacedMaps(classes, given, given=True)
    held = {value for file in files for value in _held(maps, file).tolist()}
    return {
        value: {given.get(str(other), "void") for other in held - {value}} - {"void"}
        for value in held.intersection(values)
    }
