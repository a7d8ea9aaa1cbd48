"""A verb's result as one JSON object: the fields of its dataclass, by name.

Conventions: numbers have 12 digits, undefined is null, arrays and tuples are lists. Content that a file of
the study holds is left out; its count, or the name of the file, is given instead.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any

from faultscape.nouns import Json
from faultscape.verbs.verb_list import signature_of

DIGITS = 12
LEFT_OUT = {  # {class: fields whose content is in a file of the study}
    "Slots": ("rows", "tied"),
    "FigureData": ("rows",),
    "Measured": ("document",),
    "MeasuredBoxes": ("document", "models"),
    "MeasuredShare": ("document", "models", "notes"),
    "Reliability": ("document",),
}
ADDED = {  # {class: properties to add to its fields}
    "Slots": ("images", "slots", "spares"),
    "FigureData": ("says", "records"),
    "Measured": ("models", "notes"),
    "MeasuredShare": ("shard", "jobs", "failures"),
    "Reliability": ("file", "requirements", "exit_status"),
    "Checked": ("exit_status",),
}
_KEYS = {"class_": "class"}  # fields renamed because Python reserves the word


def result_json(words: tuple[str, ...], result: object) -> str:
    """Return what ``--json`` prints for a command: its words under ``verb``, then its result.

    >>> from faultscape.nouns import Scale
    >>> result_json(("scale",), Scale(("sky",), (2,), (math.nan,), (1 / 3,)))
    '{"verb": "scale", "names": ["sky"], "n_images": [2], "t_min": [null], "t_max": [0.333333333333]}'
    """
    return json.dumps({"verb": " ".join(words), **result_object(result)}, ensure_ascii=False, allow_nan=False)


def result_object(result: object) -> dict[str, Json]:
    """Return a result as an object: the fields of a dataclass, or a text as ``text``; {} for None."""
    if result is None:
        return {}
    if is_dataclass(result) and not isinstance(result, type):
        return {
            _KEYS.get(name, name): json_value(getattr(result, name)) for name in field_names(type(result))
        }
    return {"text": str(result)}


def field_names(kind: type) -> list[str]:
    """Return the fields of a result that its object contains, in order."""
    left_out = {name for base in kind.__mro__ for name in LEFT_OUT.get(base.__name__, ())}
    own = [field.name for field in fields(kind)] if is_dataclass(kind) else ["text"]
    added = [name for base in kind.__mro__ for name in ADDED.get(base.__name__, ())]
    return [name for name in (*own, *added) if name not in left_out]


def json_value(value: object) -> Json:
    """Return a value as JSON holds it.

    >>> json_value((1 / 3, float("nan"), {"a": b"x"}))
    [0.333333333333, None, {'a': 'x'}]
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return result_object(value)
    if isinstance(value, Mapping):
        return {str(key): json_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(one) for one in value]
    if isinstance(value, AbstractSet):
        return [json_value(one) for one in sorted(value, key=str)]
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    listed: Callable[[], object] | None = getattr(value, "tolist", None)  # arrays and their numbers
    return json_value(listed()) if listed is not None else str(value)


def result_kinds(words: tuple[str, ...]) -> list[Any]:
    """Return the classes that a command may return, by its signature."""
    returned: Any = typing.get_type_hints(signature_of(words))["return"]
    union = isinstance(returned, types.UnionType) or typing.get_origin(returned) is typing.Union
    return [*typing.get_args(returned)] if union else [returned]
