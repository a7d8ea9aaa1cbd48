"""The arguments and options of a verb, read from its signature, its docstring and the dataclasses of its
grouped options: the one description that help and completion are written from.

Conventions: the names of annotations say what a value is (`Place` is a path), because most of them are text
while the program runs.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

from faultscape.terminal_lines import flag_of
from faultscape.verbs.verb_list import signature_of

KINDS = {  # {name of an annotation: the metavariable in help}
    "Place": "PATH",
    "ScaleFile": "PATH",
    "LabelMeanings": "VALUE=CLASS|FILE",
    "ClassList": "CLASSES",
    "Source": "NAME=SOURCE",
    "Sources": "NAME=FOLDER",
    "Renames": "OLD=NEW",
    "GroupRule": "PATTERN",
    "Size": "WIDTHxHEIGHT",
    "Costs": "KIND=SECONDS",
    "NamedValues": "NAME=VALUE",
    "int": "N",
    "float": "X",
}
METAVARIABLES = {  # {name of a text option: its metavariable, where NAME is too vague}
    "address": "URL",
    "after": "DATE",
    "annotators": "NAME,NAME",
    "backbone": "BACKBONE",
    "before": "DATE",
    "claims": "TEXT",
    "contact": "EMAIL",
    "corruption": "NAME",
    "database": "URL",
    "device": "DEVICE",
    "dropout_at": "LAYER",
    "ego": "PATH",
    "engine": "ENGINE",
    "format": "FORMAT",
    "host": "HOST",
    "input_size": "WIDTHxHEIGHT",
    "layer": "LAYER",
    "mixture": "PATH",
    "not_in": "PATH",
    "ood_data": "TEXT",
    "pattern": "PATTERN",
    "publication": "TEXT",
    "severities": "N-N",
    "shard": "PART/PARTS",
    "size": "WIDTHxHEIGHT",
    "store": "URL",
    "stride": "WIDTHxHEIGHT",
    "submission": "SOURCE",
    "sweep": "OPTION=A,B",
    "where": "KEY=VALUE",
    "window": "WIDTHxHEIGHT",
}
SHORT = {"-o": "--output"}  # the short form of an option, the same in every verb
_CHOICES_SHOWN = 24  # most characters of choices that replace a metavariable
_ROWS = re.compile(r"\n\nParameters\n-+\n")
_PYTHON = re.compile(r"[;,] in Python (?:also )?[^.;]*|(?<=\.) In Python [^.;]*\.")


@dataclass(frozen=True)
class Option:
    """An argument or an option: its spellings, its metavariable ('' for a flag), and its description."""

    name: str
    spellings: tuple[str, ...]
    value: str
    text: str
    default: str = ""
    choices: tuple[str, ...] = ()
    repeats: bool = False
    required: bool = False


@dataclass(frozen=True)
class Command:
    """A command: its words, its first sentence, the rest of its docstring, its arguments, and its options
    under the title of their group.
    """

    words: tuple[str, ...]
    summary: str
    text: str
    arguments: tuple[Option, ...]
    options: Mapping[str, tuple[Option, ...]]

    @property
    def usage(self) -> str:
        """The usage line, in typing order."""
        required = [
            f"{one.spellings[0]} {one.value}" for of in self.options.values() for one in of if one.required
        ]
        places = [argument_words(one) for one in self.arguments]
        return " ".join(["faultscape", *self.words, *places, *required, "[OPTIONS]"])


def command(words: tuple[str, ...]) -> Command:
    """Return the arguments and options of a verb, or of one of its sub-commands.

    >>> command(("compare",)).usage
    'faultscape compare STUDY [OPTIONS]'
    """
    return described(words, signature_of(words))


def described(words: tuple[str, ...], function: Callable[..., Any]) -> Command:
    """Return a command from a function's signature and docstring."""
    said, rows = read_docstring(inspect.unwrap(function).__doc__ or "")
    summary, _, text = said.partition("\n")
    arguments = list[Option]()
    panels: dict[str, list[Option]] = {"": []}
    hints = _hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(group := parameter.default):
            title, of_group = read_docstring(type(group).__doc__ or "")
            kinds = _hints(type(group))
            panels[title.partition("\n")[0].rstrip(".")] = [
                _option(
                    field.name,
                    str(field.type),
                    kinds[field.name],
                    field.default,
                    of_group.get(field.name, ""),
                )
                for field in fields(group)
            ]
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            panels[""].append(
                _option(name, str(parameter.annotation), hints[name], parameter.default, rows.get(name, ""))
            )
        else:
            arguments.append(_argument(parameter, hints[name], rows.get(name, "")))
    return Command(
        words,
        summary,
        text.strip(),
        tuple(arguments),
        {title: tuple(options) for title, options in panels.items()},
    )


def argument_words(one: Option) -> str:
    """Return an argument as it appears in the usage line.

    >>> argument_words(Option("models", ("MODELS",), "NAME=SOURCE", "", repeats=True))
    '[NAME=SOURCE ...]'
    """
    word = one.value or one.spellings[0]
    return word if one.required else f"[{word} ...]" if one.repeats else f"[{word}]"


def read_docstring(document: str) -> tuple[str, dict[str, str]]:
    r"""Return the text of a docstring and {parameter: description}, with each paragraph on one line.

    >>> read_docstring(
    ...     "Do it\n    well.\n\n    Parameters\n    ----------\n    a\n        What is\n        done."
    ... )
    ('Do it well.', {'a': 'What is done.'})
    """
    about, _, _ = inspect.cleandoc(document).partition("\n>>> ")  # examples are of Python
    text, *rest = _ROWS.split(about.rstrip(), maxsplit=1)
    rows = dict[str, str]()
    name = ""
    for line in "".join(rest).split("\n"):
        if line and not line.startswith(" "):
            name = line
        elif name:
            rows[name] = f"{rows.get(name, '')} {line.strip()}".strip()
    return re.sub(r"(?<=\S)\n(?=\S)", " ", text), rows


def _hints(owner: Any) -> dict[str, Any]:
    return typing.get_type_hints(owner)


def _option(name: str, annotation: str, hint: Any, default: object, text: str) -> Option:
    choices = tuple(_choices(hint))
    long = flag_of(name)
    shorts = [short for short, of in SHORT.items() if of == long]
    flag = hint is bool or bool in get_args(hint)
    negative = [f"--no-{long[2:]}"] if flag and default is not False else []
    listed = get_origin(hint) is list or any(get_origin(one) is list for one in get_args(hint))
    required = default is inspect.Parameter.empty
    return Option(
        name,
        (*shorts, long, *negative),
        "" if flag else _value(name, annotation, choices),
        _PYTHON.sub("", text),
        "" if required or default is None or default is False or not str(default) else str(default),
        choices,
        listed,
        required,
    )


def _argument(parameter: inspect.Parameter, hint: Any, text: str) -> Option:
    name = parameter.name
    choices = tuple(_choices(hint))
    many = parameter.kind is inspect.Parameter.VAR_POSITIONAL
    source = str(parameter.annotation) == "Source"
    default = parameter.default
    return Option(
        name,
        (name.upper(),),
        "NAME=SOURCE" if source else "",
        _PYTHON.sub("", text),
        "" if default in (inspect.Parameter.empty, None) else str(default),
        choices,
        many,
        default is inspect.Parameter.empty and not many,
    )


def _choices(hint: Any) -> Iterator[str]:
    for one in (hint, *get_args(hint)):
        if get_origin(one) is Literal:
            yield from map(str, get_args(one))


def _value(name: str, annotation: str, choices: tuple[str, ...]) -> str:
    """Return the metavariable of an option in help.

    >>> _value("shard", "str | None", ()), _value("goal", "Goal | None", ("order", "best"))
    ('PART/PARTS', 'order|best')
    """
    if choices:
        listed = "|".join(choices)
        return listed if len(listed) <= _CHOICES_SHOWN else name.rstrip("_").replace("_", "-").upper()
    words = re.findall(r"\w+", annotation)
    kind = next((KINDS[word] for word in words if word in KINDS), "")
    return kind or METAVARIABLES.get(name, "NAME")
