"""What each of a model's own labels means: by a file, by the network's class names, by position, or as Cityscapes' label ids.

Conventions: a mapping is {own label number as text: class name or ``void``}, many to one; the empty mapping means the class list's own ids.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faultscape.errors import ClassesError, LabelMapError, closest
from faultscape.nouns import Classes
from faultscape.prediction.network import Network


def of_network(
    name: str, network: Network, settings: Any, labels: str | None, held: dict[str, str], unmapped: str = ""
) -> dict[str, str]:
    """Return the label mapping of a network (``held``: one that was given before), by a file, by names and synonyms, or by the order of the class list.

    ``unmapped`` is "void" where classes that the study does not have are to be void. ClassesError names every class that finds no place.
    """
    classes, names = settings.class_list, network.class_names
    mapping = of_file(labels, settings, names) or held
    if not mapping and names:
        found = {n: by_name(n, settings) for n in names}
        lost = [n for n, one in found.items() if one is None]
        if len(lost) == len(names):
            raise ClassesError(
                f"{name}: not one of the network's {len(names)} classes ({_some(names)}) is a class of the study ({_some(classes.names)}); give --labels FILE"
            )
        if lost and unmapped != "void":
            raise ClassesError(
                f"{name}: {'these classes' if len(lost) > 1 else 'a class'} of the network {'are' if len(lost) > 1 else 'is'} no class of the study: {', '.join(lost)}."
                f"{closest(lost[0], classes.names)} Give --labels FILE that says which class each is, or void, or --unmapped void for all of them"
            )
        if lost:
            print(f"{name}: void, since they are no classes of the study: {', '.join(lost)}")
        mapping = {str(place): found[n] or "void" for place, n in enumerate(names)}
    if not mapping and network.channels is not None and network.channels != len(classes):
        raise ClassesError(
            f"{name}: the network has {network.channels} classes, the study {len(classes)}; give --labels FILE that says which class each is, or void"
        )
    if not mapping and network.channels is not None and classes.ids != tuple(range(len(classes))):
        mapping = {str(place): n for place, n in enumerate(classes.names)}  # channels stand in the order of the class list
    return mapping


def by_name(word: str, settings: Any) -> str | None:
    """Return the study's class that a network's class name means: the same words, or one of several words parted by commas or semicolons, or a synonym."""
    classes = settings.class_list
    known = {_plain(alias): name for name, aliases in (getattr(classes, "synonyms", None) or {}).items() for alias in aliases}
    known |= {_plain(part): name for name in classes.names for part in re.split(r"[,;]", name)[1:]}
    known |= {_plain(re.split(r"[,;]", name)[0]): name for name in classes.names} | {_plain(name): name for name in classes.names}
    words = [word, *re.split(r"[,;]", word)]
    if _plain(word) in ("void", "ignore", "unlabeled", "unlabelled") and _plain(word) not in known:
        return "void"
    return next((known[_plain(part)] for part in words if _plain(part) in known), None)


def _plain(word: str) -> str:
    """Return a class name without the differences that mean nothing: case, and - or _ for a blank."""
    return re.sub(r"[\s_-]+", " ", word.strip().casefold())


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def checked(name: str, mapping: dict[str, str], settings: Any) -> None:
    """ClassesError with what to do when a mapping that was given before names a class that is gone."""
    from faultscape.corpus.classes import table

    try:
        table(settings.class_list, mapping)
    except ClassesError as error:
        raise ClassesError(f"{name}: {error} Give --labels FILE with a mapping to today's classes") from None


def of_file(labels: str | None, settings: Any, names: list[str] | None) -> dict[str, str]:
    """Return {own label number: class name} of a mapping file; ClassesError names what cannot be mapped."""
    from faultscape.corpus.classes import table

    if labels is None:
        return {}
    try:
        text = Path(labels).read_text(encoding="utf-8")
        raw = tomllib.loads(text) if labels.endswith(".toml") else json.loads(text)
        raw = {str(k): str(v) for k, v in (raw.get("labels", raw)).items()}
    except (OSError, ValueError, AttributeError) as error:
        raise ClassesError(f"{labels}: cannot be read as a label mapping: {error}") from None
    by_name = {n: str(place) for place, n in enumerate(names or [])}
    out = {by_name.get(key, key): value for key, value in raw.items()}
    unmapped = [n for n, place in by_name.items() if place not in out]
    if unmapped:
        raise ClassesError(
            f"{labels}: says nothing of the model's class {unmapped[0]!r}; map every class, to void where there is none"
        )
    table(settings.class_list, out)
    return out


def of_colours(settings: Any) -> dict[str, str]:
    """Return the mapping of maps that are coded by class colours: the ids of today's class list, so that another list finds them by name."""
    classes = settings.class_list
    voids = {str(classes.void[0]): "void"} if classes.void else {}
    return {str(id_): name for id_, name in zip(classes.ids, classes.names, strict=True)} | voids


def of_label_ids(classes: Classes, files: dict[str, str]) -> dict[str, str]:
    """Return the mapping for Cityscapes' label ids when a folder of maps holds them."""
    from faultscape.corpus.class_lists import cityscapes, cityscapes_label_ids
    from faultscape.corpus.map_files import read_map

    if classes.names != cityscapes().names or not files:
        return {}
    first = next(iter(files.values()))
    named = "labelids" in os.path.basename(first).lower()
    try:
        values = set() if named else {int(v) for path in list(files.values())[:8] for v in set(read_map(path).ravel().tolist())}
    except LabelMapError:
        values = set()
    if not named and not values & set(range(19, 34)):
        return {}
    print("these maps hold Cityscapes label ids (0-33); they are mapped to the 19 classes")
    return cityscapes_label_ids()
