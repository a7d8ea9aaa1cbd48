"""Types of arguments that are text on the command line and may also be objects in Python.

Conventions: light. A type checker sees what Python accepts; at run time each name is text, or a list of
texts, which is what the command line reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, overload

from faultscape.errors import OptionError
from faultscape.nouns import Classes, Scale

if TYPE_CHECKING:
    Place: TypeAlias = str | os.PathLike[str]
    # a built-in name, a file, names of classes, or their number
    ClassList: TypeAlias = Classes | Place | Sequence[str] | int
    Source: TypeAlias = str | Mapping[str, Place]  # NAME=SOURCE, or {NAME: SOURCE}
    Sources: TypeAlias = str | Mapping[str, Place] | Sequence[Source]  # one or more of these
    Renames: TypeAlias = str | Mapping[str, str] | Sequence[str]  # OLD=NEW, {OLD: NEW}, or several words
    GroupRule: TypeAlias = Place | Mapping[str, str]  # a pattern, a file, or {image: group}
    Size: TypeAlias = str | Sequence[int]  # WIDTHxHEIGHT, or (width, height)
    ScaleFile: TypeAlias = Scale | Place
    LabelMeanings: TypeAlias = Place  # VALUE=CLASS pairs, a file, or a coding's name
    Costs: TypeAlias = str | Mapping[str, float]  # mask=5400,choice=10, or {kind of work: seconds}
    # NAME=VALUE, {NAME: value}, or several words
    NamedValues: TypeAlias = str | Mapping[str, float | int | bool | str] | Sequence[str]
else:
    Place = ClassList = Source = GroupRule = Size = ScaleFile = LabelMeanings = Costs = str
    Sources = Renames = NamedValues = list[str]

_Named = str | Mapping[str, str | os.PathLike[str]]
_NAMED = "NAME=SOURCE, or {NAME: SOURCE}"
IN_PYTHON: Mapping[str, object] = {  # what each name above accepts in Python, as messages say it
    "Place": Annotated[str | os.PathLike[str], "the name of a file or folder, text or a path"],
    "ClassList": Annotated[
        Classes | str | os.PathLike[str] | Sequence[str] | int,
        "a Classes, a built-in name, a file, a list of names, or a number of classes",
    ],
    "Source": Annotated[_Named, _NAMED],
    "Sources": Annotated[_Named | Sequence[_Named], f"{_NAMED}, or a list of these"],
    "Renames": Annotated[
        str | Mapping[str, str] | Sequence[str], "OLD=NEW, {OLD: NEW}, or a list of OLD=NEW"
    ],
    "NamedValues": Annotated[  # whose values are read by themselves
        str | Mapping[str, Any] | Sequence[str], "NAME=VALUE, {NAME: value}, or a list of NAME=VALUE"
    ],
    "GroupRule": Annotated[
        str | os.PathLike[str] | Mapping[str, str], "a pattern, a file, or {image: group}"
    ],
    "Size": Annotated[str | Sequence[int], "WIDTHxHEIGHT, or (width, height)"],
    "ScaleFile": Annotated[Scale | str | os.PathLike[str], "a Scale, or the name of its file"],
    "LabelMeanings": Annotated[str | os.PathLike[str], "VALUE=CLASS,VALUE=CLASS, or the name of a file"],
    # whose seconds are read by themselves
    "Costs": Annotated[str | Mapping[str, Any], "mask=5400,choice=10, or {kind of work: seconds}"],
}


@overload
def place_text(place: None, option: str = "") -> None: ...
@overload
def place_text(place: Place, option: str = "") -> str: ...
def place_text(place: Place | None, option: str = "") -> str | None:
    """Return the name of a file or folder as text, given as text or as a path; None for None. OptionError,
    which names the option, for anything else.

    >>> from pathlib import Path
    >>> place_text("maps/unet"), place_text(Path("maps") / "unet"), place_text(None)
    ('maps/unet', 'maps/unet', None)
    """
    if isinstance(place, str):
        return place  # an empty name is refused by the check of options
    return None if place is None else needed_text(place, option)


def needed_text(place: Place, option: str) -> str:
    """Return the name of a required file or folder as text; OptionError, which names the option, for anything
    else and for an empty name.

    >>> needed_text(None, "study")
    Traceback (most recent call last):
    faultscape.errors.OptionError: study: expected the name of a file or folder, text or a path; got None
    """
    if isinstance(place, str | os.PathLike):
        if not (text := os.fspath(place)).strip():
            raise OptionError(f"{option} is empty; give the name of a file or folder")
        return text
    more = "; a list is written *LIST" if isinstance(place, list | tuple) else ""
    of = f"{option}: " if option else ""
    raise OptionError(f"{of}expected the name of a file or folder, text or a path; got {shown(place)}{more}")


def several(given: Any) -> Any:
    """Return one value, or several, as a tuple, with paths as text. Anything else is returned unchanged, for
    the check of options to refuse.

    >>> several("main"), several(["main", "drawn"]), several(None), several(5)
    (('main',), ('main', 'drawn'), (), 5)
    """
    if given is None:
        return ()
    if isinstance(given, str | os.PathLike):
        return (os.fspath(given),)
    if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
        return given
    return tuple(os.fspath(one) if isinstance(one, os.PathLike) else one for one in given)


def shown(value: object) -> str:
    """Return a value as a message shows it: on one line and shortened if long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:97]}..."
