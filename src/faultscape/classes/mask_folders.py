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


def ask_about_void(
    where: str,
    files: Collection[str],
    classes: Classes,
    labels: Mapping[str, str] | None = None,
    *,
    known: Iterable[int] = (),
    if_void: str = "--labels {}=void",
) -> None:
    """Raise LabelMapError, a question, if all maps hold one class and one value that is void or unknown: a
    mask of two values, 0 and 255, in which 255 may well be the other class.

    ``known`` are values that a person has declared, which are not asked about; ``if_void`` is the option that
    declares one void.
    """
    places = table(classes, labels)
    held, others = set[int](), set[int]()
    if len(classes) < 2 or (len(classes) > 2 and len(files) < _FEW):
        return
    maps = PlacedMaps(classes, labels)
    for file in files:
        try:
            values = np.flatnonzero(np.bincount(maps.values(file).ravel()))
        except FaultscapeError:
            continue  # its reader reports it
        held.update(values[places[values] < len(classes)].tolist())
        others.update(values[places[values] >= len(classes)].tolist())
        if len({*places[[*held]].tolist()}) > 1 or len(others) > 1:
            return
    if not held or not others or others <= {*known}:
        return
    value = others.pop()
    if places[value] == UNKNOWN and value != _VOID:
        return  # a mistake of another kind, which the reader reports
    place = int(places[min(held)])
    other = classes.names[1 - place] if len(classes) == 2 else ""
    also = "void" if places[value] != UNKNOWN else "not in the class list"
    mapped = shlex.quote(f"{value}={other}") if other else f"{value}=CLASS"
    raise LabelMapError(
        f"{where}: {counted(len(files), 'map holds', 'maps hold')} only {classes.names[place]!r}"
        f" ({', '.join(map(str, sorted(held)))}) and {value} ({also}): if {value} is"
        f" {repr(other) if other else 'a class'}, give --labels {mapped}; if it is void, give"
        f" {if_void.format(value)}"
    )
