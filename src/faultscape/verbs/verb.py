"""What makes a signature a verb: it binds what was given, checks it, and hands it to the verb's work; and how
a verb is called again with what was recorded.

Conventions: the signature is the only home of an option. The work receives one `Options`, with an attribute
for each parameter: a place or a size is text, one value or several are a tuple (empty if none were given),
NumPy's numbers are Python's, and a group of options is its dataclass. Light, because verbs are read before
anything else is loaded. A message names an option as Python writes it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass, replace
from functools import cache, wraps
from importlib import import_module
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar, get_args, get_origin, runtime_checkable

from faultscape.arguments import hints_of, needed_text, place_text, plain, refuse_other_kind, several
from faultscape.errors import OptionError, closest
from faultscape.nouns import JsonObject
from faultscape.terminal_lines import flag_of

Given = ParamSpec("Given")
Made = TypeVar("Made")


@runtime_checkable
class Reread(Protocol):
    """What forgets what it read: a `reading.study.Study`, which is too heavy to be imported here."""

    def reread(self) -> object: ...


@dataclass(frozen=True)
class Options:
    """The options of a verb; OptionError for a value of the wrong kind, and for an empty text."""

    hints: ClassVar[Mapping[str, object]] = {}  # {option: what it accepts}
    by_place: ClassVar[frozenset[str]] = frozenset()  # names of arguments, which are no options
    changes_nothing: ClassVar[frozenset[str]] = frozenset()  # options that say where and how, not what

    def __post_init__(self) -> None:
        for of in fields(self):
            value = _checked(of.name, getattr(self, of.name), self.hints[of.name], str(of.type), of.default)
            _refuse_blank(of.name if of.name in self.by_place else flag_of(of.name), value)
            object.__setattr__(self, of.name, value)

    def given(self, *, but: Collection[str] = ()) -> JsonObject:
        """Return the options that differ from their defaults, as JSON values, grouped ones beside the others;
        without ``but`` and those that change nothing.
        """
        return _given(self, {*self.by_place, *self.changes_nothing, *but})


def _given(options: Any, but: Collection[str]) -> JsonObject:
    found = dict[str, Any]()
    for of in fields(options):
        value = getattr(options, of.name)
        if of.name in but:
            continue
        if is_dataclass(of.default):
            found |= _given(value, but)
        elif value != of.default:  # what has none is always given
            found[of.name] = _as_json(value, str(of.type))
    return found


def verb(
    work: str, *, changes_nothing: Sequence[str] = (), check: Callable[[Any], None] | None = None
) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """Return a decorator that gives a signature its ``work`` (``module:function``), which is imported when
    the verb is called, after the ``check`` of options that belong together.

    ``changes_nothing`` names the options that say where and how something is made, not what.
    """

    def decorated(function: Callable[Given, Made]) -> Callable[Given, Made]:
        @wraps(function)
        def called(*args: Given.args, **kwargs: Given.kwargs) -> Made:
            given = _bound(function, args, kwargs)
            options = options_class(called)(**given)
            if check is not None:
                check(options)
            module, _, name = work.partition(":")
            try:
                return getattr(import_module(module), name)(options)
            finally:
                for value in given.values():
                    if isinstance(value, Reread):  # a `Study` that was given shows what was made
                        value.reread()

        vars(called)["changes_nothing"] = frozenset(changes_nothing)
        called.__doc__ = _with_sections(function)
        return called

    return decorated


def _bound(function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return {parameter: what was given for it}. OptionError for an option that the verb does not have, which
    says where it is or what was probably meant; TypeError, as Python's own, for what is missing or too many.
    """
    name = function.__name__
    signature = inspect.signature(function)
    parameters = signature.parameters
    if unknown := next((option for option in kwargs if option not in parameters), ""):
        groups = {group: of.default for group, of in parameters.items() if is_dataclass(of.default)}
        homes = {of.name: group for group, default in groups.items() for of in fields(default)}
        if group := homes.get(unknown, ""):
            kind = type(groups[group]).__name__
            raise OptionError(f"{name} takes {unknown} as {group}=fs.options.{kind}({unknown}=...)")
        near = closest(unknown, [*parameters, *homes])
        raise OptionError(f"{name} has no option {unknown!r}.{near or ' Its help lists those that it has.'}")
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        raise TypeError(f"{name}: {error}; its help shows how it is called") from None


def _with_sections(function: Callable[..., object]) -> str:
    """Return a signature's docstring with what `help` shows beside its parameters: what is returned, by the
    first words of its class, what is raised, and its examples under a heading.
    """
    about, mark, examples = inspect.cleandoc(function.__doc__ or "").partition(">>> ")
    kinds = get_args(of := hints_of(function).get("return")) or (of,)
    returned = [f"{kind.__name__}\n    {_first_words(kind)}" for kind in kinds if inspect.isclass(kind)]
    raised = (
        "faultscape.errors.FaultscapeError\n    In one line: what was given, what was expected, what to do."
    )
    parts = [about.rstrip(), "\n".join(["Returns", "-------", *returned]), f"Raises\n------\n{raised}"]
    return "\n\n".join([*parts, f"Examples\n--------\n{mark}{examples}".rstrip()] if mark else parts) + "\n"


def _first_words(kind: type) -> str:
    """Return the first paragraph of a class's docstring in one line."""
    return " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())


@cache
def options_class(function: Callable[..., Any]) -> type[Options]:
    """Return the class of a verb's options, made from its signature.

    >>> from faultscape.verbs.compare import compare
    >>> options_class(compare)(study="study", workers=2).given()
    {}
    """
    named = list[tuple[str, str, Any]]()
    hints = dict[str, object]()
    by_place = set[str]()
    of_python = hints_of(inspect.unwrap(function))
    for name, parameter in inspect.signature(function).parameters.items():
        several_ = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        hint = tuple[of_python[name], ...] if several_ else _listed(of_python[name])
        listed = get_origin(hint) is tuple
        default = () if listed else parameter.default
        kind = f"list[{parameter.annotation}]" if several_ else str(parameter.annotation)
        named.append((name, kind, field() if default is inspect.Parameter.empty else field(default=default)))
        hints[name] = hint
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            by_place.add(name)
    changes_nothing = getattr(function, "changes_nothing", frozenset())
    about = {"hints": hints, "by_place": frozenset(by_place), "changes_nothing": changes_nothing}
    return make_dataclass(
        f"{function.__name__}_options", named, bases=(Options,), namespace=about, frozen=True, kw_only=True
    )


def _listed(hint: Any) -> Any:
    """Return an annotation of one value or several, ``list[str] | None``, as that of a tuple; any other as it
    is.
    """
    for part in (hint, *get_args(hint)):
        if get_origin(part) is list:
            return tuple[get_args(part)[0], ...]
    return hint


def _checked(name: str, value: Any, hint: Any, kind: str, default: Any) -> Any:
    """Return a value as the work takes it."""
    if is_dataclass(default):
        return _checked_group(name, value, default)
    if kind.startswith("PlaceOrMaps"):  # what is in memory is read by the work, and stays as it is
        refuse_other_kind(name, value, hint)
        return place_text(value, name) if isinstance(value, str | os.PathLike) else value
    if kind == "list[Place]":
        value = tuple(needed_text(one, name) for one in value)
    elif get_origin(hint) is tuple:
        one_number = get_args(hint)[0] in (int, float) and isinstance(value, int | float)
        value = (value,) if one_number else several(value)
    elif kind == "Place":
        value = needed_text(value, name)
    elif kind.startswith("Place"):
        value = place_text(value, name)
    value = plain(value)
    refuse_other_kind(name, value, hint)
    if kind.startswith("Size") and isinstance(value, list | tuple):
        value = "x".join(map(str, value))
    return value


def _checked_group(name: str, group: Any, default: Any) -> Any:
    """Return a group of options as the work takes it; an option that is not given stays None. OptionError if
    it is not given as its dataclass.
    """
    if not isinstance(group, type(default)):
        first = ", ".join(f"{of.name}=..." for of in fields(default)[:2])
        raise OptionError(f"{name} must be fs.options.{type(default).__name__}({first}); got {group!r}")
    hints = hints_of(type(group))
    found = dict[str, Any]()
    for of in fields(group):
        value = getattr(group, of.name)
        if value is not None:
            value = _checked(of.name, value, _listed(hints[of.name]), str(of.type), None)
            _refuse_blank(flag_of(of.name), value)
        found[of.name] = list(value) if isinstance(value, tuple) else value
    return replace(group, **found)


def _refuse_blank(name: str, value: Any) -> None:
    """Raise OptionError for an empty text, also in a list or among the values of a mapping.

    >>> _refuse_blank("--shard", " ")
    Traceback (most recent call last):
    faultscape.errors.OptionError: --shard is empty; give a value, or remove it
    """
    if isinstance(value, Mapping):
        value = list(value.values())
    held = value if isinstance(value, list | tuple) else [value]
    if any(isinstance(one, str) and not one.strip() for one in held):
        raise OptionError(f"{name} is empty; give a value, or remove it")


def _as_json(value: Any, kind: str) -> Any:
    """Return a value as JSON, the same whether a command line or Python gave it."""
    if isinstance(value, int) and not isinstance(value, bool) and "float" in kind:
        return float(value)
    return list(value) if isinstance(value, tuple) else value


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
    found = dict[str, Any]()
    left = dict(options)
    for name, parameter in inspect.signature(verb).parameters.items():
        if not is_dataclass(group := parameter.default) or isinstance(group, type):
            continue
        if mine := {f.name: left.pop(f.name) for f in fields(group) if f.name in left}:
            found[name] = replace(group, **mine)
    return left | found
