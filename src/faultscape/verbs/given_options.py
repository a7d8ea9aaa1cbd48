"""Options that were given to a verb: recorded with its result, and written into a command again.

Conventions: light, because verbs pass options on before anything else is loaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from faultscape.arguments import plain, refuse_other_kinds
from faultscape.errors import OptionError
from faultscape.nouns import JsonObject
from faultscape.terminal_lines import flag_of

Made = TypeVar("Made")


def given_options(options: Any, *, but: Collection[str] = ()) -> JsonObject:
    """Return the options of a frozen dataclass that differ from their defaults, as JSON values, without
    ``but``, those that are recorded elsewhere or change nothing.
    """
    given = {f.name: (getattr(options, f.name), f) for f in fields(options) if f.name not in but}
    return {name: as_json(value, str(f.type)) for name, (value, f) in given.items() if value != f.default}


def as_json(value: Any, kind: str) -> Any:
    """Return a value as JSON, the same whether a command line or Python gave it."""
    if isinstance(value, int) and not isinstance(value, bool) and "float" in kind:
        return float(value)
    return list(value) if isinstance(value, tuple) else value


def refuse_empty(options: Any) -> None:
    """Raise OptionError for a value of a frozen dataclass of options, or of a group in it, that does not
    match its annotation, or is an empty text. Numbers of NumPy and paths become plain.
    """
    for field in fields(options):
        value = getattr(options, field.name)
        refuse_no_group(field.name, field.default, value)
        refuse_other_kinds(type(options), {field.name: value})
        if (simple := plain(value)) is not value:
            object.__setattr__(options, field.name, value := simple)
        if is_dataclass(value) and not isinstance(value, type):
            refuse_empty(value)
        if field.name not in ("study", "images"):  # those raise their own errors
            refuse_blank(flag_of(field.name), value)


def refuse_blank(name: str, value: Any) -> None:
    """Raise OptionError for an empty text, also in a list or among the values of a mapping.

    >>> refuse_blank("--shard", " ")
    Traceback (most recent call last):
    faultscape.errors.OptionError: --shard is empty; give a value, or remove it
    """
    if isinstance(value, Mapping):
        value = list(value.values())
    held = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(one, str) and not one.strip() for one in held):
        raise OptionError(f"{name} is empty; give a value, or remove it")


def refuse_no_group(name: str, group: Any, value: Any) -> None:
    """Raise OptionError if grouped options are not given as their dataclass, of which ``group`` is an
    instance.

    >>> from faultscape.verbs.collect.options import Grouping
    >>> refuse_no_group("grouping", Grouping(), {"block": 10})
    Traceback (most recent call last):
    faultscape.errors.OptionError: grouping must be fs.Grouping(group=..., block=...); got {'block': 10}
    """
    if is_dataclass(group) and not isinstance(group, type) and not isinstance(value, type(group)):
        first = ", ".join(f"{field.name}=..." for field in fields(group)[:2])
        raise OptionError(f"{name} must be fs.{type(group).__name__}({first}); got {value!r}")


def options_of(verb: Callable[..., Any]) -> dict[str, Any]:
    """Return {option: its group, None for the verb's own} of all options that a verb accepts by name; a group
    is an instance of its dataclass.

    >>> from faultscape.verbs.collect import collect
    >>> found = options_of(collect)
    >>> found["role"], found["block"]
    (None, Grouping(group=None, block=None))
    """
    found = dict[str, Any]()
    for name, parameter in inspect.signature(verb).parameters.items():
        group = parameter.default if is_dataclass(parameter.default) else None
        found |= {name: None} if group is None else {f.name: group for f in fields(group)}
    return found


def call_again(verb: Callable[..., Made], study: str, options: JsonObject, **others: object) -> Made:
    """Return the result of a verb on a study with options recorded by name, and ``others``. OptionError for
    one that the verb does not have (any more).
    """
    if odd := next((name for name in options if name not in options_of(verb)), None):
        raise OptionError(
            f"{verb.__name__} no longer has the recorded option {odd!r}; run `faultscape {verb.__name__}"
            f" {study}` with the options that you want"
        )
    return verb(study, **group_options(verb, options), **others)


def group_options(verb: Callable[..., object], options: JsonObject) -> dict[str, Any]:
    """Return options by name as keyword arguments of a verb, grouped ones in their dataclass; an unknown name
    stays, for Python to reject.

    >>> from faultscape.verbs.collect import collect
    >>> group_options(collect, {"role": "test", "block": 10})
    {'role': 'test', 'grouping': Grouping(group=None, block=10)}
    """
    found, left = dict[str, Any](), dict(options)
    for name, parameter in inspect.signature(verb).parameters.items():
        if not is_dataclass(group := parameter.default) or isinstance(group, type):
            continue
        if mine := {f.name: left.pop(f.name) for f in fields(group) if f.name in left}:
            found[name] = replace(group, **mine)
    return left | found


def number_word(value: float) -> str:
    """Return a number in the fewest digits that are read as the same number again.

    >>> [number_word(value) for value in (60, 60.0, 1234.5678, 0.5)]
    ['60', '60', '1234.5678', '0.5']
    """
    short = f"{value:g}"
    return short if float(short) == float(value) else repr(float(value))
