"""What each of a model's own labels means: by a file or pairs, by the network's class names for labels
missing there, by position, or as one of Cityscapes' codings.

Conventions: a mapping is {own label number as text: class name or ``void``}, many to one; the empty mapping
means the class list's own ids.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from faultscape.classes.built_in import cityscapes, cityscapes_label_ids
from faultscape.classes.class_lists import MAX_LABEL, table
from faultscape.classes.names import class_place, shared
from faultscape.errors import ClassesError, closest
from faultscape.nouns import Classes
from faultscape.study.settings import Settings

LABEL_IDS, TRAIN_IDS = "label-ids", "train-ids"  # what --labels takes besides files and pairs


class Channels(Protocol):
    """A network's description of its own labels."""

    @property
    def channels(self) -> int | None: ...
    @property
    def class_names(self) -> list[str]: ...


def of_network(
    name: str,
    network: Channels,
    settings: Settings,
    labels: str | None,
    held: dict[str, str],
    unmapped: str = "",
) -> dict[str, str]:
    """Return the label mapping of a network (``held``: one that was given before), by a file, by names and
    synonyms, or by the order of the class list.

    A file takes precedence, names map the rest. ``unmapped`` is "void" to make labels without a class void.
    ClassesError names every label without a class.
    """
    classes = settings.class_list
    names = network.class_names
    given = of_file(labels, classes, names)
    if names and (given or not held):
        mapping = given | _by_names(name, names, given, settings, labels, unmapped)
    elif given and unmapped:
        mapping = {str(place): "void" for place in range(network.channels or 0)} | given
    else:
        mapping = given or held
    if not mapping and network.channels is not None and network.channels != len(classes):
        raise ClassesError(
            f"{name}: the network has {network.channels} classes, the study {len(classes)}; give --labels"
            " FILE that maps each to a class or void"
        )
    if not mapping and network.channels is not None and classes.ids != tuple(range(len(classes))):
        # channels are in the order of the class list
        mapping = {str(place): n for place, n in enumerate(classes.names)}
    _need_class(labels or name, mapping, classes)
    own = dict(zip(map(str, classes.ids), classes.names, strict=True))
    return {} if settings.classifies and mapping == own else mapping  # a thousand lines without information


def _by_names(
    name: str,
    names: Sequence[str],
    given: dict[str, str],
    settings: Settings,
    labels: str | None,
    unmapped: str,
) -> dict[str, str]:
    """Return the mapping of the channels that a file leaves out, by their names; ClassesError if one matches
    no class and is not to be void.
    """
    classes = settings.class_list
    found = {
        str(place): (n, by_name(n, settings)) for place, n in enumerate(names) if str(place) not in given
    }
    lost = list(dict.fromkeys(n for n, one in found.values() if one is None))
    many = len(lost) > 1
    if lost and not given and len(lost) == len(set(names)):
        raise ClassesError(
            f"{name}: none of the network's {len(names)} classes ({_some(names)}) is a class of the study"
            f" ({_some(classes.names)}); give --labels FILE"
        )
    strange = "are not classes" if many else "is not a class"
    if lost and unmapped != "void" and given:
        raise ClassesError(
            f"{labels}: does not map the network's {'classes' if many else 'class'} {', '.join(lost)}, which"
            f" {strange} of the"
            f" study.{closest(lost[0], classes.names)} Map {'each' if many else 'it'} to a class or void, or"
            " give --unmapped void too"
        )
    if lost and unmapped != "void":
        raise ClassesError(
            f"{name}: {'these classes' if many else 'a class'} of the network {strange}"
            f" of the study: {', '.join(lost)}.{_near(lost, classes)} Give --labels FILE that maps"
            f" {'each of them' if many else 'it'} to a class or void, or give --unmapped"
            f" void{' for all of them' if many else ''}"
        )
    if lost:
        print(f"{name}: mapped to void (not classes of the study): {', '.join(lost)}")
    return {place: one or "void" for place, (_, one) in found.items()}


def _near(lost: Sequence[str], classes: Classes) -> str:
    """Return the classes that share an unknown word, or the class nearest to the first one."""
    doubtful = next(filter(None, (shared(word, classes) for word in lost)), "")
    return f" {doubtful.partition(';')[0]}." if doubtful else closest(lost[0], classes.names)


def _need_class(where: str, mapping: dict[str, str], classes: Classes) -> None:
    """Raise ClassesError for a mapping that makes every label void: nothing would be compared."""
    if mapping and set(mapping.values()) == {"void"}:
        raise ClassesError(
            f"{where}: every label is mapped to void; map at least one to a class of the study"
            f" ({_some(classes.names)})"
        )


def by_name(word: str, settings: Settings) -> str | None:
    """Return the study's class for a network's class name: the same words, or one of several words separated
    by commas or semicolons if no other is a different class's, or a synonym of only one class, or the class's
    name before it was renamed.
    """
    classes = settings.class_list
    aliases = [
        (plain_name(alias), name)
        for name, words in (getattr(classes, "synonyms", None) or {}).items()
        for alias in words
    ]
    of_several = {alias for alias, times in Counter(alias for alias, _ in {*aliases}).items() if times > 1}
    # old names, which tables still use
    known = {plain_name(first): name for name, first in settings.classes.first_name_of.items()}
    known |= {alias: name for alias, name in aliases if alias not in of_several}
    known |= {plain_name(part): name for name in classes.names for part in re.split(r"[,;]", name)[1:]}
    known |= {plain_name(re.split(r"[,;]", name)[0]): name for name in classes.names} | {
        plain_name(name): name for name in classes.names
    }
    if plain_name(word) in ("void", "ignore", "unlabeled", "unlabelled") and plain_name(word) not in known:
        return "void"
    if plain_name(word) in known:
        return known[plain_name(word)]
    meant = {known[part] for part in map(plain_name, re.split(r"[,;]", word)) if part in known}
    # words that mean two classes, or occur in two lines, are mistakes
    return meant.pop() if len(meant) == 1 and not re.search(r"[\r\n]", word) else None


def class_named(word: str, settings: Settings) -> tuple[str, str]:
    """Return what is wrong with the name of a class in a file of answers, or '' and the class: also by its
    first name, if it was renamed since, or a synonym.
    """
    if not word:
        return "it has no class", ""
    classes = settings.class_list
    try:
        return "", classes.names[class_place(word, classes, "the answer")]
    except ClassesError as error:
        name = by_name(word, settings)
        return ("", name) if name and name != "void" else (str(error).removeprefix("the answer: "), "")


def plain_name(word: str) -> str:
    """Return a class name without meaningless differences: case, and - or _ instead of a blank."""
    return re.sub(r"[\s_-]+", " ", word.strip().casefold())


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def never_named(mapping: Mapping[str, str], classes: Classes) -> list[str]:
    """Return the classes that no label of a mapping means; none for the empty mapping, whose labels are the
    classes' own ids.
    """
    meant = set(mapping.values())
    return [name for name in classes.names if name not in meant] if mapping else []


def tell_never_named(name: str, mapping: Mapping[str, str], classes: Classes) -> None:
    """Report which classes a model never predicts, if its labels are fewer than the classes."""
    if never := never_named(mapping, classes):
        print(
            f"note: {name}: cannot predict {len(never)} of {len(classes)} classes, because none of its"
            f" labels maps to them: {_some(never)}"
        )


def checked(name: str, mapping: dict[str, str], settings: Settings) -> None:
    """Raise ClassesError with what to do if an earlier mapping names a class that no longer exists."""
    try:
        table(settings.class_list, mapping)
    except ClassesError as error:
        raise ClassesError(
            f"{name}: {error} Give --labels FILE with a mapping to the current classes"
        ) from None


def of_file(labels: str | None, classes: Classes, names: list[str] | None) -> dict[str, str]:
    """Return {own label number: class name} of a mapping file, whose labels are numbers or ``names`` of
    channels; ClassesError names what cannot be mapped.

    Instead of a file, ``labels`` may be pairs, 255=car,254=void: without ``names`` other labels are then ids
    of the class list. Or it names one of Cityscapes' codings.

    >>> from faultscape.classes.class_lists import resolve
    >>> of_file("255=class-1,7=void", resolve(2), None)
    {'0': 'class-0', '1': 'class-1', '255': 'class-1', '7': 'void'}
    """
    if labels is None:
        return {}
    if labels in (LABEL_IDS, TRAIN_IDS) and not Path(labels).exists():
        return _of_coding(labels, classes)
    known = classes.names
    pairs = pairs_of(labels)
    out = dict[str, str]()
    for key, value in (pairs or _read(labels)).items():
        if value != "void" and value not in known:
            raise ClassesError(
                f"{labels}: maps {key!r} to {value!r}, which is not one of the classes"
                f" ({_some(known)}).{closest(value, known)}"
            )
        places = [str(place) for place, n in enumerate(names or []) if n == key]
        if not places and not (key.isdecimal() and int(key) <= MAX_LABEL):
            own = f", nor a class of the network ({_some(names)})" if names else ""
            raise ClassesError(
                f"{labels}: {key!r} is not a label, a number from 0 to"
                f" {MAX_LABEL}{own}.{closest(key, names or [])}"
            )
        out |= dict.fromkeys(places or [str(int(key))], value)
    if pairs and names is None:
        ids = {str(id_): name for id_, name in zip(classes.ids, known, strict=True)}
        out = ids | {str(id_): "void" for id_ in classes.void} | out
    if not names:
        _need_class(labels, out, classes)
    return out


def pairs_of(labels: str) -> dict[str, str]:
    """Return {label: class} of pairs as an option takes them; none if this is a file's name.

    >>> pairs_of("0=road, wet,255=void"), pairs_of("labels.json")
    ({'0': 'road, wet', '255': 'void'}, {})
    """
    found = re.split(r"(?:^|,)\s*(\d+)=", labels)
    if found[0] or Path(labels).exists():
        return {}
    return {label: name.strip() for label, name in zip(found[1::2], found[2::2], strict=True)}


def _of_coding(coding: str, classes: Classes) -> dict[str, str]:
    """Return the mapping of one of Cityscapes' codings; ClassesError if the classes are others."""
    if classes.names != cityscapes().names:
        raise ClassesError(
            f"--labels {coding} is for Cityscapes' 19 classes; the classes here are {_some(classes.names)}"
        )
    ids = {str(id_): name for id_, name in zip(classes.ids, classes.names, strict=True)}
    voids = {str(id_): "void" for id_ in classes.void}
    return cityscapes_label_ids() if coding == LABEL_IDS else ids | voids


def _read(labels: str) -> dict[str, str]:
    """Return the content of a mapping file, unchanged; ClassesError if it holds no mapping."""
    try:
        text = Path(labels).read_text(encoding="utf-8")
        raw = tomllib.loads(text) if labels.endswith(".toml") else json.loads(text)
    except OSError as error:
        raise ClassesError(
            f"{labels}: cannot be read as a label mapping: {(error.strerror or str(error)).lower()}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ClassesError(f"{labels}: cannot be read as a label mapping: {error}") from None
    raw = raw.get("labels", raw) if isinstance(raw, dict) else raw
    if not isinstance(raw, dict) or not all(isinstance(value, str | int) for value in raw.values()):
        raise ClassesError(
            f'{labels}: is not a label mapping; expected a class for each label, for example {{"0": "road",'
            ' "3": "void"}'
        )
    return {str(key): str(value) for key, value in raw.items()}


def of_words(labels: str | None, settings: Settings) -> dict[str, str]:
    """Return {word: class name or ``void``} of a mapping file whose labels are words of a table; ClassesError
    names what cannot be mapped.

    A file may map void alone: words that it leaves out keep their meaning.
    """
    known = settings.class_list.names
    out = {} if labels is None else _read(labels)
    for key, value in out.items():
        if value != "void" and value not in known:
            raise ClassesError(
                f"{labels}: maps {key!r} to {value!r}, which is not a class of the study"
                f" ({_some(known)}).{closest(value, known)}"
            )
    return out


def of_colours(settings: Settings) -> dict[str, str]:
    """Return the mapping of maps that are coded by class colours: the current ids of the class list, so that
    a different list finds them by name.
    """
    classes = settings.class_list
    voids = {str(classes.void[0]): "void"} if classes.void else {}
    return {str(id_): name for id_, name in zip(classes.ids, classes.names, strict=True)} | voids
