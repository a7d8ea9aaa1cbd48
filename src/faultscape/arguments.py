"""What options accept: types that are text on the command line and may also be objects in Python, and every
other annotation's kind of value, so that Python rejects what the command line rejects.

Conventions: light, because verbs pass options on before anything else is loaded. A type checker sees what
Python accepts; at run time each name is text, or a list of texts, which is what the command line reads. A
message names an option as Python writes it. A bool is not a number, a whole number is accepted where a number
is expected, and numbers of NumPy count as numbers.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from faultscape.errors import OptionError
from faultscape.nouns import Classes, Scale

if TYPE_CHECKING:
    Place: TypeAlias = str | os.PathLike[str]
    # a file or folder, or what would be in it: arrays, tensors, PIL images, {ID: map}, pairs (ID, map)
    PlaceOrMaps: TypeAlias = Any
    # a built-in name, a file, names of classes, or their number
    ClassList: TypeAlias = Classes | Place | Sequence[str] | int
    # NAME=SOURCE, or {NAME: SOURCE}, where SOURCE may also be arrays, tensors, a function or a torch module
    Source: TypeAlias = str | Mapping[str, Any]
    Sources: TypeAlias = str | Mapping[str, Any] | Sequence[Source]  # one or more of these
    Renames: TypeAlias = str | Mapping[str, str] | Sequence[str]  # OLD=NEW, {OLD: NEW}, or several words
    GroupRule: TypeAlias = Place | Mapping[str, str]  # a pattern, a file, or {image: group}
    Size: TypeAlias = str | Sequence[int]  # WIDTHxHEIGHT, or (width, height)
    ScaleFile: TypeAlias = Scale | Place
    LabelMeanings: TypeAlias = Place  # VALUE=CLASS pairs, a file, or a coding's name
    Costs: TypeAlias = str | Mapping[str, float]  # mask=5400,choice=10, or {kind of work: seconds}
    # NAME=VALUE, {NAME: value}, or several words
    NamedValues: TypeAlias = str | Mapping[str, float | int | bool | str] | Sequence[str]
else:
    Place = PlaceOrMaps = ClassList = Source = GroupRule = Size = ScaleFile = LabelMeanings = Costs = str
    Sources = Renames = NamedValues = list[str]


class _Held(type):
    def __instancecheck__(cls, value: object) -> bool:
        return value is not None and not isinstance(value, bool | int | float | complex | bytes)


class InMemory(metaclass=_Held):
    """The kind of what may hold maps or be a model: arrays, tensors, lists, images, functions, modules, known
    without importing their libraries; all but single numbers, bytes and None.

    >>> isinstance([1, 2], InMemory), isinstance(len, InMemory), isinstance(5, InMemory)
    (True, True, False)
    """


_Named = str | Mapping[str, str | os.PathLike[str] | InMemory]
_NAMED = "NAME=SOURCE, or {NAME: SOURCE}"
IN_PYTHON: Mapping[str, object] = {  # what each name above accepts in Python, as messages say it
    "Place": Annotated[str | os.PathLike[str], "the name of a file or folder, text or a path"],
    "PlaceOrMaps": Annotated[
        str | os.PathLike[str] | InMemory, "the name of a file or folder, text or a path, or maps in memory"
    ],
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


_IN_MEMORY = {  # {option: the function of arrays that does the same}
    "masks": "fs.selection.scale",
    "scores": "fs.ranking.rank_table",
}


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
    more = "; a list is written *LIST" if _is_short_list(place) else ""
    if option in _IN_MEMORY and place is not None:
        more = f"; what is in memory goes to {_IN_MEMORY[option]}"
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


_WORDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "texts"),
    bool: ("True or False", ""),
}


def refuse_other_kind(option: str, value: object, hint: Any) -> None:
    """Raise OptionError for a value that does not fit the annotation of its option.

    >>> refuse_other_kind("per_class", "1", int | None)
    Traceback (most recent call last):
    faultscape.errors.OptionError: per_class must be a whole number; got '1'
    """
    if not fits(value, hint):
        raise OptionError(_refusal(option, value, hint))


def fits(value: Any, hint: Any) -> bool:
    """Whether a value fits an annotation; annotations of kinds that options do not have accept any value.

    >>> (
    ...     fits(1, float),
    ...     fits(1.5, int),
    ...     fits(True, int),
    ...     fits(["a"], tuple[str, ...]),
    ...     fits("a", Literal["a", "b"]),
    ... )
    (True, False, False, True, True)
    """
    of = get_origin(hint)
    parts = get_args(hint)
    if of is Annotated:
        return fits(value, parts[0])
    if of in (Union, UnionType):
        return any(fits(value, one) for one in parts)
    if of is Literal:
        return any(fits(value, type(word)) for word in parts)  # other words are refused later
    if of is os.PathLike:
        return isinstance(value, os.PathLike)
    if isinstance(of, type) and issubclass(of, Mapping):
        return isinstance(value, Mapping) and all(
            fits(k, parts[0]) and fits(v, parts[1]) for k, v in value.items()
        )
    if isinstance(of, type) and issubclass(of, Collection):
        return _is_list(value) and all(fits(one, parts[0]) for one in value)
    if hint is bool:
        return isinstance(value, bool) or (_is_numpy(value) and type(value).__name__ in ("bool", "bool_"))
    if hint in (int, float):
        return isinstance(value, numbers.Integral if hint is int else numbers.Real) and not isinstance(
            value, bool
        )
    return hint is Any or not isinstance(hint, type) or isinstance(value, hint)


def plain(value: Any) -> Any:
    """Return a value as tables and JSON hold it: NumPy values as Python ones, a path as text, anything else
    unchanged.

    >>> from pathlib import PurePosixPath
    >>> plain([1, PurePosixPath("a/b")]), plain("a")
    ([1, 'a/b'], 'a')
    """
    if isinstance(value, list | tuple):
        new = [plain(one) for one in value]
        return value if all(one is other for one, other in zip(new, value, strict=True)) else type(value)(new)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value.tolist() if _is_numpy(value) else value


@cache
def hints_of(owner: type | Callable[..., Any]) -> dict[str, object]:
    """Return {option: what it accepts in Python} of a function, or of a dataclass."""
    return get_type_hints(owner, localns=dict(IN_PYTHON), include_extras=True)


def _refusal(option: str, value: Any, hint: Any) -> str:
    """Return the message about a value that does not fit; for a repeated option, about its first such
    value.
    """
    if get_origin(hint) is tuple and _is_list(value):
        part, _ = get_args(hint)
        wrong = next(one for one in value if not fits(one, part))
        return _refusal(option, wrong, part) + ("; a list is written *LIST" if _is_short_list(wrong) else "")
    return f"{option} must be {_expected(hint)}; got {shown(value)}"


def _is_short_list(value: Any) -> bool:
    """Whether a value is a list of names, rather than the numbers of an array."""
    return isinstance(value, list | tuple) and not any(isinstance(one, list | tuple) for one in value)


def _is_list(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)


def _is_numpy(value: object) -> bool:
    return type(value).__module__ == "numpy"  # checked without importing NumPy


def _expected(hint: Any, *, many: bool = False) -> str:
    """Return the text that describes what an annotation accepts."""
    of = get_origin(hint)
    parts = get_args(hint)
    if of is Annotated:
        return next((word for word in parts[1:] if isinstance(word, str)), None) or _expected(parts[0])
    if of in (Union, UnionType):
        return ", or ".join(dict.fromkeys(_expected(one) for one in parts if one is not NoneType))
    if of is Literal:
        return ", ".join(map(str, parts[:-1])) + f" or {parts[-1]}"
    if of is tuple:
        return f"{_expected(parts[0])}, or a list of {_expected(parts[0], many=True)}"
    if isinstance(of, type) and issubclass(of, Collection):
        return f"a list of {_expected(parts[0], many=True)}"
    return _WORDS[hint][many] if hint in _WORDS else getattr(hint, "__name__", str(hint))
