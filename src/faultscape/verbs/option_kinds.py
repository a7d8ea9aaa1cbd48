"""The kind of value each option accepts, read off its annotation, so that Python rejects what the command
line rejects.

Conventions: light, because verbs pass options on before anything else is loaded. A message names an option as
Python writes it. A bool is not a number, a whole number is accepted where a number is expected, and numbers
of NumPy count as numbers.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Collection, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from faultscape.arguments import IN_PYTHON, shown
from faultscape.errors import OptionError

_WORDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "texts"),
    bool: ("True or False", ""),
}


def refuse_other_kinds(owner: type | Callable[..., Any], given: Mapping[str, object]) -> None:
    """Raise OptionError for a value that does not fit the annotation of its option; ``owner`` is the
    dataclass, or the function, that annotates them.

    >>> from faultscape.verbs.select.options import SelectOptions
    >>> refuse_other_kinds(SelectOptions, {"per_class": "1"})
    Traceback (most recent call last):
    faultscape.errors.OptionError: per_class must be a whole number; got '1'
    """
    hints = _hints(owner)
    for option, value in given.items():
        if not fits(value, hints[option]):
            raise OptionError(_refusal(option, value, hints[option]))


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
    of, parts = get_origin(hint), get_args(hint)
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
def _hints(owner: type | Callable[..., Any]) -> dict[str, Any]:
    return get_type_hints(owner, localns=dict(IN_PYTHON), include_extras=True)


def _refusal(option: str, value: Any, hint: Any) -> str:
    """Return the message about a value that does not fit; for a repeated option, about its first such
    value.
    """
    if get_origin(hint) is tuple and _is_list(value):
        part, _ = get_args(hint)
        wrong = next(one for one in value if not fits(one, part))
        return _refusal(option, wrong, part) + (
            "; a list is written *LIST" if isinstance(wrong, list | tuple) else ""
        )
    return f"{option} must be {_expected(hint)}; got {shown(value)}"


def _is_list(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)


def _is_numpy(value: object) -> bool:
    return type(value).__module__ == "numpy"  # checked without importing NumPy


def _expected(hint: Any, *, many: bool = False) -> str:
    """Return the text that describes what an annotation accepts."""
    of, parts = get_origin(hint), get_args(hint)
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
