"""The JSON schema (2020-12) of documents, by the types of their fields, as ``codec`` reads them.

Conventions: an undefined number is null, so every number may be. Objects of a ``TypedDict`` may have further
keys; those of a dataclass have no others. Each class is described once, under ``$defs``.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, ForwardRef, Literal, NotRequired, Required, Union, get_args, get_origin, is_typeddict

from faultscape.results.codec import hints_of_fields, needed_keys

DRAFT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    float: {"type": ["number", "null"]},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    str: {"type": "string"},
    type(None): {"type": "null"},
    dict: {"type": "object"},
    list: {"type": "array"},
}


def schema_of(kind: Any, title: str, version: int, left_out: Sequence[str] = ()) -> Schema:
    """Return the schema of a document of a type, without the fields that its file leaves out.

    >>> from faultscape.nouns import Scale
    >>> made = schema_of(Scale, "a scale", 1)
    >>> made["$defs"]["Scale"]["required"]
    ['names', 'n_images', 't_min', 't_max']
    """
    classes: dict[str, Schema] = {}
    top = _schema(kind, classes)
    name = top["$ref"].rpartition("/")[2]
    for field in left_out:
        classes[name]["properties"].pop(field)
    return {"$schema": DRAFT, "title": title, "version": version, **top, "$defs": classes}


def _schema(kind: Any, classes: dict[str, Schema]) -> Schema:
    origin = get_origin(kind)
    if kind is Any or isinstance(kind, ForwardRef):
        return {}
    if origin in (Required, NotRequired):
        return _schema(get_args(kind)[0], classes)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(part, classes) for part in get_args(kind)]}
    if origin is Literal:
        return {"enum": list(get_args(kind))}
    if is_typeddict(kind) or is_dataclass(kind):
        return _object(kind, classes)
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": _schema(get_args(kind)[1], classes)}
    if origin in (list, tuple, Sequence):
        return _array(origin, get_args(kind), classes)
    return dict(_PLAIN[kind])


def _array(origin: Any, inside: tuple[Any, ...], classes: dict[str, Schema]) -> Schema:
    if origin is tuple and inside[1:] != (...,):
        items = [_schema(part, classes) for part in inside]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    return {"type": "array", "items": _schema(inside[0], classes)}


def _object(kind: Any, classes: dict[str, Schema]) -> Schema:
    """Return where a class is described, after it was."""
    name = kind.__name__
    if name not in classes:
        made: Schema = {"type": "object"}
        classes[name] = made  # before its fields, which may be of the class itself
        hints = hints_of_fields(kind)
        if is_dataclass(kind):
            own = [field for field in fields(kind) if field.init]
            needed = [field.name for field in own if field.default is field.default_factory is MISSING]
            hints = {field.name: hints[field.name] for field in own}
            made["additionalProperties"] = False
        else:
            needed = needed_keys(kind)
        made["required"] = needed
        made["properties"] = {field: _schema(hint, classes) for field, hint in hints.items()}
    return {"$ref": f"#/$defs/{name}"}
