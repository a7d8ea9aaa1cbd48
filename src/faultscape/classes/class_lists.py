"""Class lists: built in, from a file, or made from a number; and the tables from label values to places.

Conventions: a place is a class's number 0..C-1 in the order of its list; void is place C. ``UNKNOWN`` marks
pixel values that a map must not contain.

``classes`` are the classes in any form. ``background`` and ``void`` are ids, if the class list is a number.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.arguments import ClassList
from faultscape.classes import built_in
from faultscape.errors import ClassesError, closest, reason
from faultscape.nouns import UNKNOWN, Classes

MAX_CLASSES = 65_534
MAX_LABEL = 65_535
# ends the message of a function of arrays about a value that is not allowed
SAY_OTHERWISE = "; say otherwise with classes= and void="
FORMS = "a .txt file with one class per line, or a JSON or TOML file of classes"
_KEYS = ("classes", "ignore_index", "void", "background", "parents", "synonyms")


def resolve(
    classes: ClassList, *, background: int | None = None, void: int | tuple[int, ...] = ()
) -> Classes:
    """Return classes from a Classes, a built-in name, a JSON or TOML file, a list of names, or a number C
    (ids 0..C-1, no background or void unless given).

    >>> resolve(3, void=255)
    Classes(3: class-0, class-1, class-2; void [255])
    """
    if isinstance(classes, Classes):
        return classes
    if isinstance(classes, int | np.integer):
        ids = tuple(range(int(classes)))
        voids = (void,) if isinstance(void, int) else tuple(void)
        return checked(
            Classes(tuple(f"class-{i}" for i in ids), ids, palette(len(ids)), voids, background), "classes"
        )
    if isinstance(classes, list | tuple):
        named = parse([*classes])
        voids = (void,) if isinstance(void, int) else tuple(void)
        return checked(replace(named, void=voids or named.void, background=background), "classes")
    if not isinstance(classes, str | os.PathLike):
        raise ClassesError(
            "classes: expected a Classes, a built-in name, a file, a list of names or a number of classes;"
            f" got {type(classes).__name__}"
        )
    if str(classes) in built_in.BUILT_IN:
        return built_in.BUILT_IN[str(classes)]()
    path = Path(classes)
    if not path.is_file():
        known = sorted(built_in.BUILT_IN)
        raise ClassesError(
            f"classes {str(classes)!r} is neither a file nor a built-in class list; built in are"
            f" {', '.join(known)}.{closest(str(classes), known)}"
        )
    return read(path)


def read(path: Path) -> Classes:
    """Return the classes of a JSON or TOML file, or of a .txt file with one name per line; ClassesError names
    the file and what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if not text.strip():
            raise ClassesError(f"{path}: is empty; expected {FORMS}")
        if path.suffix.lower() == ".txt":
            return parse([line.strip() for line in text.splitlines() if line.strip()], str(path))
        raw = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except UnicodeDecodeError:
        raise ClassesError(f"{path}: is not text in UTF-8; expected {FORMS}") from None
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        form = "TOML" if path.suffix.lower() == ".toml" else "JSON"
        place = f" ({error})" if path.suffix.lower() in (".toml", ".json") else ""
        raise ClassesError(
            f"{path}: cannot be read as a class list: it is not {form}{place}; expected {FORMS}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ClassesError(f"{path}: cannot be read as a class list: {reason(error)}") from None
    return parse(raw, str(path))


def parse(raw: Any, where: str = "classes") -> Classes:
    """Return Classes from a list of names or of tables with index or id, name, color or colour, ignored,
    wnid, gloss; or from a table of such ``classes`` and _KEYS.
    """
    entries = raw.get("classes") if isinstance(raw, Mapping) else raw
    if not isinstance(entries, list) or not entries:
        raise ClassesError(
            f"{where}: expected a list `classes` of tables with name and id (and colour for label maps)"
        )
    names = []
    ids = []
    colours = []
    wnids = []
    glosses = {}
    about = raw if isinstance(raw, Mapping) else {}
    if misspelt := [key for key in about if key not in _KEYS and closest(key, _KEYS)]:
        # keys of other tools are ignored
        raise ClassesError(f"{where}: {misspelt[0]!r} is not known.{closest(misspelt[0], _KEYS)}")
    listed = [*_listed(about.get("ignore_index")), *_listed(about.get("void"))]
    if not all(isinstance(v, int) and not isinstance(v, bool) for v in listed):
        raise ClassesError(f"{where}: void ids must be whole numbers from 0 to {UNKNOWN}; got {listed}")
    void = set(listed)
    groups = about.get("parents") or {}
    if not isinstance(groups, Mapping) or not all(isinstance(members, list) for members in groups.values()):
        raise ClassesError(f"{where}: parents must be {{group: [class names]}}; got {groups!r}")
    parents: dict[str, list[str]] = {str(group): list(members) for group, members in groups.items()}
    words = about.get("synonyms") or {}
    if not isinstance(words, Mapping):
        raise ClassesError(f"{where}: synonyms must be {{class name: [words]}}; got {words!r}")
    synonyms: dict[str, Any] = {str(name): others for name, others in words.items()}
    named = [{"name": entry} if isinstance(entry, str) else entry for entry in entries]
    for place, entry in enumerate(named):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise ClassesError(f"{where}: class {place} needs a name; got {entry!r}")
        id_ = entry.get("id", entry.get("index", place))
        if not isinstance(id_, int) or isinstance(id_, bool) or not 0 <= id_ < UNKNOWN:
            raise ClassesError(
                f"{where}: the id of class {entry['name']!r} is {id_!r}; ids are whole numbers from 0 to"
                f" {UNKNOWN - 1}"
            )
        if entry.get("ignored") or id_ in void:
            void.add(id_)
            continue
        names.append(entry["name"])
        ids.append(id_)
        colours.append(
            _colour(entry.get("colour", entry.get("color")), where, entry["name"])
            or palette(len(entries))[place]
        )
        wnids += [str(entry["wnid"])] if entry.get("wnid") else []
        if entry.get("gloss"):
            glosses[entry["name"]] = " ".join(str(entry["gloss"]).split())
        if isinstance(entry.get("parent"), str):
            parents.setdefault(entry["parent"], []).append(entry["name"])
        if "synonyms" in entry:
            synonyms[entry["name"]] = entry["synonyms"]
    given = about.get("background")
    background: Any = ids[names.index(given)] if isinstance(given, str) and given in names else given
    grouped = {name: tuple(members) for name, members in parents.items()}
    if wnids and len(wnids) != len(names):
        raise ClassesError(
            f"{where}: {len(wnids)} of {len(names)} classes have a wnid; give each its own, or none"
        )
    made = Classes(
        tuple(names),
        tuple(ids),
        tuple(colours),
        tuple(sorted(void)),
        background,
        grouped,
        _synonyms(synonyms, names, where),
        tuple(wnids),
        glosses,
    )
    return checked(made, where)


def _synonyms(given: Mapping[str, Any], names: list[str], where: str) -> dict[str, tuple[str, ...]]:
    """Return the synonyms of classes, in the order of the classes."""
    for name, words in given.items():
        if name not in names:
            raise ClassesError(
                f"{where}: synonyms are given for {name!r}, which is not a class.{closest(name, names)}"
            )
        if not isinstance(words, list) or not all(
            isinstance(w, str) and w.strip() and w.isprintable() for w in words
        ):
            raise ClassesError(f"{where}: the synonyms of {name!r} must be a list of words; got {words!r}")
    return {name: tuple(given[name]) for name in names if given.get(name)}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def checked(classes: Classes, where: str) -> Classes:
    """Return the classes if they are valid; ClassesError names the first problem."""
    if not 1 <= len(classes) <= MAX_CLASSES:
        raise ClassesError(f"{where}: {len(classes)} classes; expected 1 to {MAX_CLASSES}")
    for name in classes.names:
        if not name.strip() or name == "void" or any(ord(c) < 32 for c in name):
            raise ClassesError(
                f"{where}: {name!r} cannot name a class; give it a non-empty name on one line (void is"
                " reserved)"
            )
    for wnid in classes.wnids:
        if not re.fullmatch(r"n\d{8}", wnid):
            raise ClassesError(
                f"{where}: {wnid!r} is not a WordNet id; expected n and eight digits, for example n02084071"
            )
    owned = [
        ("name", classes.names),
        ("id", classes.ids),
        ("colour", classes.colours),
        ("wnid", classes.wnids),
    ]
    for what, values in (own for own in owned if own[1]):
        seen: dict[Any, str] = {}
        for name, value in zip(classes.names, values, strict=True):
            if value in seen:
                raise ClassesError(
                    f"{where}: two classes have the {what} {value!r}: {seen[value]!r} and {name!r}; give each"
                    " its own"
                )
            seen[value] = name
    if any(not isinstance(v, int) or isinstance(v, bool) or not 0 <= v <= UNKNOWN for v in classes.void):
        raise ClassesError(
            f"{where}: void ids must be whole numbers from 0 to {UNKNOWN}; got {list(classes.void)}"
        )
    if both := set(classes.void) & set(classes.ids):
        raise ClassesError(f"{where}: {sorted(both)} are both void and a class")
    if classes.background is not None and classes.background not in classes.ids:
        raise ClassesError(f"{where}: background {classes.background!r} is not the id of a class")
    for parent, members in classes.parents.items():
        for member in members:
            if member not in classes.names:
                raise ClassesError(
                    f"{where}: parent group {parent!r} names {member!r}, which is not a"
                    f" class.{closest(member, classes.names)}"
                )
    return classes


def table(classes: Classes, labels: Mapping[str, str] | None = None) -> np.ndarray:
    """Return the uint16 table of 65,536 places by pixel value: places, C for void, UNKNOWN elsewhere.

    ``labels`` maps a model's own values to class names or ``void`` (many to one); by default values are the
    class list's ids.
    """
    places = np.full(65536, UNKNOWN, np.uint16)
    if labels:
        names = {name: place for place, name in enumerate(classes.names)}
        for value, name in labels.items():
            if not value.isdecimal() or int(value) > 65535:
                raise ClassesError(f"label mapping: {value!r} is not a label number")
            if name != "void" and name not in names:
                raise ClassesError(
                    f"label mapping: {value} maps to {name!r}, which is not a"
                    f" class.{closest(name, list(names))}"
                )
            places[int(value)] = names.get(name, len(classes))
    else:
        places[list(classes.ids)] = np.arange(len(classes), dtype=np.uint16)
    if classes.void:
        voids = np.array(classes.void)
        places[voids[places[voids] == UNKNOWN]] = len(classes)
    return places


def meaning(classes: Classes, labels: Mapping[str, str] | None = None) -> str:
    """Return a digest of what each pixel value means, however it was specified.

    >>> meaning(resolve(2)) == meaning(resolve(2), {"0": "class-0", "1": "class-1"})
    True
    """
    try:
        return hashlib.sha256(table(classes, labels).tobytes()).hexdigest()[:16]
    except ClassesError:
        # a mapping to a class that no longer exists has no known meaning; code that needs it reports that
        return f"unknown {sorted((labels or {}).items())}"


def narrow(places: np.ndarray) -> np.ndarray:
    """Return a table of places in the smallest type; its largest value marks what a map must not contain.

    >>> narrow(table(resolve(3)))[[0, 2, 7]]
    array([  0,   2, 255], dtype=uint8)
    """
    if int(places[places != UNKNOWN].max(initial=0)) >= np.iinfo(np.uint8).max:
        return places
    return np.where(places == UNKNOWN, np.iinfo(np.uint8).max, places).astype(np.uint8)


def allowed(classes: Classes, labels: Mapping[str, str] | None = None) -> str:
    """Return in words which pixel values a map may contain.

    >>> allowed(resolve(3, void=255))
    '0-2, 255 (void)'
    """
    values = np.flatnonzero(table(classes, labels) < len(classes))
    spans = np.split(values, np.flatnonzero(np.diff(values) > 1) + 1) if len(values) else []
    words = [str(s[0]) if len(s) == 1 else f"{s[0]}-{s[-1]}" for s in spans]
    return ", ".join(words + [f"{v} (void)" for v in classes.void])


def palette(count: int) -> tuple[tuple[int, int, int], ...]:
    """Return ``count`` distinct colours: the bits of the number spread over red, green and blue, most
    significant first.
    """
    colours = []
    for number in range(1, count + 1):
        rgb = [0, 0, 0]
        for bit in range(24):
            rgb[bit % 3] |= ((number >> bit) & 1) << (7 - bit // 3)
        colours.append((rgb[0], rgb[1], rgb[2]))
    return tuple(colours)


def _colour(given: Any, where: str, name: str) -> tuple[int, int, int] | None:
    if given is None:
        return None
    if isinstance(given, str) and len(given) == 7 and given[0] == "#":
        try:
            given = list(bytes.fromhex(given[1:]))
        except ValueError:
            given = None
    if (
        not isinstance(given, list | tuple)
        or len(given) != 3
        or not all(type(v) is int and 0 <= v <= 255 for v in given)
    ):
        raise ClassesError(f"{where}: the colour of {name!r} must be three numbers 0-255 or #rrggbb")
    return given[0], given[1], given[2]
