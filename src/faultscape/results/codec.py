"""A result as plain JSON values and back, by the types of its fields: nothing is run, nothing is unpickled.

Conventions: numbers keep all their digits. NaN and infinity are the texts "NaN", "Infinity" and "-Infinity".
In types that a document of a study has (null for an undefined float) null is read as NaN. Keys that a
``TypedDict`` does not list are kept as they are; a dataclass has exactly its fields.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import (
    Any,
    ForwardRef,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

_ODD = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_ARRAYS = ("float64", "float32", "int64", "int32", "bool")


class _Array:
    """Stands for an array in the types of fields."""


class _Numpy:
    """Stands for NumPy, which is imported where an array is read."""

    ndarray = _Array


class MisfitError(ValueError):
    """A value that does not have the type of its field."""


def plain(value: Any) -> Any:
    """Return a value as JSON holds it.

    >>> plain((1 / 3, float("nan"), {"a": None}))
    [0.3333333333333333, 'NaN', {'a': None}]
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _name_of(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.init}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    array: Any = value  # of NumPy, or one of its numbers
    if not array.ndim:
        return plain(array.tolist())
    return {"array": array.dtype.name, "shape": list(array.shape), "values": plain(array.ravel().tolist())}


def built(value: Any, kind: Any, where: str = "") -> Any:
    """Return a JSON value as the type of a field; MisfitError, which says where, for another value.

    >>> built({"a": [1, "NaN"]}, dict[str, tuple[float, ...]])
    {'a': (1, nan)}
    >>> built({"a": 1}, dict[str, str], "names")
    Traceback (most recent call last):
    faultscape.results.codec.MisfitError: names.a is '1'
    """
    if kind is Any or isinstance(kind, ForwardRef):  # JSON inside JSON may be anything
        return value
    origin = get_origin(kind)
    if origin in (Required, NotRequired):
        return built(value, get_args(kind)[0], where)
    if origin in (Union, types.UnionType):
        return _of_union(value, get_args(kind), where)
    if origin is Literal:
        return _checked(value, value in get_args(kind), where)
    if is_typeddict(kind):
        return _of_table(value, kind, where)
    if is_dataclass(kind):
        return _of_fields(value, kind, where)
    if origin is not None:
        return _of_many(value, origin, get_args(kind), where)
    return _of_one(value, kind, where)


def _of_one(value: Any, kind: Any, where: str) -> Any:
    """Return a value of a type that has no parts."""
    if kind is float:
        if value is None:
            return math.nan
        if isinstance(value, str) and value in _ODD:
            return _ODD[value]
        return _checked(value, isinstance(value, int | float) and not isinstance(value, bool), where)
    if kind is int:
        return _checked(value, isinstance(value, int) and not isinstance(value, bool), where)
    if kind in (str, bool, type(None), dict, list):
        return _checked(value, isinstance(value, kind), where)
    assert kind is _Array
    return _array(value, where)


def _of_many(value: Any, origin: Any, inside: tuple[Any, ...], where: str) -> Any:
    """Return a value of a type that holds others."""
    if origin in (dict, Mapping):
        _checked(value, isinstance(value, dict), where)
        return {key: built(one, inside[1], f"{where}.{key}".strip(".")) for key, one in value.items()}
    _checked(value, isinstance(value, list) and origin in (list, tuple, Sequence), where)
    if origin is tuple and inside[1:] != (...,):
        _checked(value, len(value) == len(inside), where)
        return tuple(built(one, part, where) for one, part in zip(value, inside, strict=True))
    found = [built(one, inside[0], where) for one in value]
    return tuple(found) if origin is tuple else found


def _of_union(value: Any, parts: tuple[Any, ...], where: str) -> Any:
    if value is None and type(None) in parts:
        return None
    wrong = list[MisfitError]()
    for part in parts:
        try:
            return built(value, part, where)
        except MisfitError as error:
            wrong.append(error)
    raise max(wrong, key=lambda error: str(error).count("."))  # of the type that it is most like


def _of_fields(value: Any, kind: Any, where: str) -> Any:
    """Return a dataclass, whose fields are all that the value has."""
    _checked(value, isinstance(value, dict), where)
    own = {field.name: field for field in fields(kind) if field.init}
    if unknown := value.keys() - own:
        raise MisfitError(f"{where or kind.__name__} has no field {min(unknown)[:40]!r}")
    needed = [name for name, field in own.items() if field.default is field.default_factory is MISSING]
    _need(value, needed, where or kind.__name__)
    hints = hints_of_fields(kind)
    return kind(
        **{name: built(one, hints[name], f"{where}.{name}".strip(".")) for name, one in value.items()}
    )


def _of_table(value: Any, kind: Any, where: str) -> Any:
    """Return an object of JSON, of which some keys have types."""
    _checked(value, isinstance(value, dict), where)
    _need(value, needed_keys(kind), where or kind.__name__)
    hints = hints_of_fields(kind)
    return {
        name: built(one, hints[name], f"{where}.{name}".strip(".")) if name in hints else one
        for name, one in value.items()
    }


def _need(value: dict[str, Any], names: Sequence[str], where: str) -> None:
    if missing := next((name for name in names if name not in value), ""):
        raise MisfitError(f"{where} has no {missing}")


def _array(value: Any, where: str) -> Any:
    import numpy as np

    _checked(value, isinstance(value, dict) and value.keys() == {"array", "shape", "values"}, where)
    _checked(value["array"], value["array"] in _ARRAYS, where)
    kind = {"f": float, "i": int, "b": bool}[value["array"][0]]
    values = built(value["values"], list[kind], where)
    try:
        return np.array(values, value["array"]).reshape(built(value["shape"], list[int], where))
    except (ValueError, OverflowError) as error:
        raise MisfitError(f"{where}: {error}") from None


def _checked(value: Any, fits: bool, where: str) -> Any:
    if not fits:
        raise MisfitError(f"{where[:80] or 'it'} is {str(value)[:40]!r}")
    return value


def _name_of(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


@cache
def hints_of_fields(kind: type) -> Mapping[str, Any]:
    """Return {field: its type}; a class whose fields name types that are imported for checkers alone gives
    these itself.
    """
    own = getattr(kind, "types_of_fields", dict)()
    names = {"np": _Numpy, "Json": Any, "JsonObject": Mapping[str, Any], **own}
    return get_type_hints(kind, localns=names, include_extras=True)


def needed_keys(kind: Any) -> list[str]:
    """Return the keys that an object of a ``TypedDict`` must have, also where its types are written as
    texts, of which Python itself sees neither ``Required`` nor ``NotRequired``.
    """
    how = {name: get_origin(hint) for name, hint in hints_of_fields(kind).items()}
    own = kind.__required_keys__
    return sorted(k for k in how if how[k] is Required or (how[k] is not NotRequired and k in own))
