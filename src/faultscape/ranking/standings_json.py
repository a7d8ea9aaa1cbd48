"""Standings as JSON and back: 12 significant digits, null for what is undefined, one order of keys.

Conventions: the keys are those of ``Standings``; others than ``ALWAYS`` only if they are not empty. What
is read has the types of the dataclasses' fields.
NaN and infinity become null, whole-number ranks stay integers.
``from_json(to_json(s))`` has the same JSON as ``s``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, cast, get_args, get_origin, get_type_hints

import numpy as np

from faultscape.errors import RankingError
from faultscape.nouns import JsonObject
from faultscape.standings import (
    Benchmark,
    Failing,
    ModelRanking,
    OtherSelection,
    OtherTruth,
    ParentStandings,
    Stability,
    Standings,
)

_KINDS: dict[str, Any] = {  # of the keys, in the order in which they are written
    "models": tuple[str, ...],
    "labels": dict[str, int],
    "matrices": dict[str, list[list[float]]],
    "rankings": dict[str, ModelRanking],
    "to_come": dict[str, ModelRanking],
    "of_pool": dict[str, ModelRanking],
    "failing": Failing,
    "by_truth": dict[str, OtherTruth],
    "against": dict[str, OtherSelection],
    "benchmark": Benchmark,
    "parents": dict[str, ParentStandings],
    "stability": Stability,
    "definitions": dict,
    "notes": tuple[str, ...],
    "details": int,
    "provenance": dict,
}
ALWAYS = ("models", "labels", "matrices", "rankings", "definitions", "notes", "provenance")
_OF_RANKING = ("order", "scores", "score_interval", "rank_interval")  # has one that can be used
_ANEW = "rerun `faultscape rank STUDY`"


def to_json(standings: Standings) -> JsonObject:
    """Return the content of standings.json.

    >>> raw = to_json(
    ...     Standings(("a",), {"used": 1}, {"resistance": [[float("nan")]]}, {}, {"epsilon": 0.1 + 0.2})
    ... )
    >>> raw["matrices"], raw["definitions"]
    ({'resistance': [[None]]}, {'epsilon': 0.3})
    """
    return {key: written(value) for key in _KINDS if (value := getattr(standings, key)) or key in ALWAYS}


def from_json(raw: JsonObject) -> Standings:
    """Return the standings that ``to_json`` wrote; RankingError if a part is missing or of the wrong
    type.
    """
    held = cast("dict[str, Any]", raw)
    for key in ("models", "labels", "matrices", "rankings", "definitions"):
        if key not in held:
            raise RankingError(f"these are not standings: {key!r} is missing; {_ANEW}")
    found = Standings(**{key: _read(held[key], kind, key) for key, kind in _KINDS.items() if key in held})
    for name, one in [*found.rankings.items(), *found.to_come.items(), *found.of_pool.items()]:
        named = {*one.order, *(model for gap in one.gaps for model in (gap.model, gap.other))}
        if not named <= {*found.models}:
            raise _odd(f"rankings.{name}", "names models that are not there")
    return found


def written(value: Any) -> Any:
    """Return a value as JSON can hold it: numbers with 12 digits, None for undefined; for a dataclass only
    the fields that are set.

    >>> written({"a": (np.float64(1 / 3), np.nan), 2: -0.0})
    {'a': [0.333333333333, None], '2': 0.0}
    """
    if is_dataclass(value) and not isinstance(value, type):
        held = [(field, getattr(value, field.name)) for field in fields(value)]
        return {
            field.name: written(item)
            for field, item in held
            if item not in (None, "") or item != field.default  # such defaults carry no information
        }
    if isinstance(value, dict):
        return {str(key): written(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [written(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        # adding 0 turns -0.0 into 0.0
        return float(f"{value:.12g}") + 0.0 if math.isfinite(value) else None
    return value


def _odd(where: str, how: str) -> RankingError:
    return RankingError(f"these are not standings: {where[:80]} {how}; {_ANEW}")


def _read(value: Any, kind: Any, where: str) -> Any:
    """Return a parsed JSON value as the type of a field: an undefined number is NaN. RankingError, which says
    where, for another type.
    """
    origin = get_origin(kind)
    inside = get_args(kind)
    if origin is UnionType:  # what may be missing is not written: here null is an undefined number
        return None if value is None and inside[0] is not float else _read(value, inside[0], where)
    if kind is float and value is None:
        return math.nan
    if origin is tuple and isinstance(value, list):
        return tuple(_read(value, list[inside[0]], where))
    if origin is list and isinstance(value, list):
        return [_read(item, inside[0], where) for item in value]
    if origin is dict and isinstance(value, dict):
        return {key: _read(item, inside[1], f"{where}.{key}") for key, item in value.items()}
    if is_dataclass(kind) and isinstance(value, dict):
        return _built(value, cast("type", kind), where)
    if (
        origin is None
        and not is_dataclass(kind)
        and isinstance(value, int | float if kind is float else kind)
    ):
        return value
    raise _odd(where, f"is {str(value)[:40]!r}")


def _built(raw: dict[str, Any], kind: type, where: str) -> Any:
    """Return a dataclass with the fields of a JSON object."""
    kinds = _field_kinds(kind)
    needed = [one.name for one in fields(kind) if one.default is one.default_factory is MISSING]
    if kind is ModelRanking:
        if not isinstance(raw.get("unusable"), str):
            needed = [*_OF_RANKING]
    elif unknown := raw.keys() - kinds:
        raise _odd(where, f"has {min(unknown)!r}")
    if missing := next((name for name in needed if name not in raw), ""):
        raise _odd(where, f"has no {missing}")
    found = kind(**{name: _read(raw[name], kinds[name], f"{where}.{name}") for name in kinds if name in raw})
    for name in kinds:
        if name.endswith("interval"):
            held = getattr(found, name)
            pairs = held.values() if isinstance(held, dict) else [held]
            if not all(len(pair) == 2 for pair in pairs):
                raise _odd(f"{where}.{name}", "is not made of two ends")
            if held and isinstance(held, dict) and not held.keys() >= {*found.order}:
                raise _odd(f"{where}.{name}", "lacks a model")
    return found


@cache
def _field_kinds(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)
