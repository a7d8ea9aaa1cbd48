"""The command line: one sub-command for each verb, loaded when it is called, with options read from the
verb's signature and docstring.

Conventions: a result is printed as its repr, or with ``--json`` as one JSON object, and may set the exit
status (1: it ran, and the answer is no; 3: what was required is missed or not known); a mistake is one line
on standard error and exit status 2; Ctrl-C exits with 130 and loses nothing.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any, TextIO, cast

import cyclopts

import faultscape
from faultscape.command_line.commands import SHORT, read_docstring
from faultscape.command_line.completion import completion_script
from faultscape.command_line.help_page import group_page, help_text
from faultscape.command_line.mistakes import error_line, misread_line, plain_text, takes, unknown_line
from faultscape.command_line.output_options import OutputOptions, split, without_notes
from faultscape.command_line.result_json import result_json
from faultscape.errors import FaultscapeError, OptionError, write_cure
from faultscape.process.freed_memory import keep_freed_memory
from faultscape.progress import progress_as
from faultscape.terminal_lines import REPEATED
from faultscape.verbs.verb_list import GROUPS, VERBS, function_of

_NAMED = ("--anomaly", "--confidence", "--doubt", "--probabilities")  # options that take NAME=FOLDER words
_SERVERS = ("view", "label serve")  # what these print is what a person waits for
_WHOLE = re.compile(r"[+-]?\d+")


def build(words: Sequence[str] = ()) -> cyclopts.App:
    """Return the application that reads command lines; only the verb that the ``words`` begin with is
    imported.
    """
    app = cyclopts.App(
        name="faultscape",
        help_flags=(),
        version_flags=(),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        default_parameter=cyclopts.Parameter(negative_iterable=(), consume_multiple=False),
        group_parameters=cyclopts.Group("Parameters", validator=_check_words, sort_key=0),
    )
    if words and words[0] in VERBS:
        folder = function_of(words[0])
        name = GROUPS[words[0]].get("".join(words[1:2]), "") if words[0] in GROUPS else folder
        if name:
            _prepare_groups(getattr(importlib.import_module(f"faultscape.verbs.{folder}"), name))
    for verb in VERBS:
        if verb in GROUPS:
            group = cyclopts.App(name=verb, help_flags=(), version_flags=())
            for name, function in GROUPS[verb].items():
                group.command(f"faultscape.verbs.{verb}:{function}", name=name)
            app.command(group)
        else:
            app.command(f"faultscape.verbs.{function_of(verb)}:{function_of(verb)}", name=verb)
    return app


def _prepare_groups(function: Callable[..., Any]) -> None:
    """Turn options that are grouped in a dataclass into separate options, in a help group titled by its
    docstring.
    """
    parameters = inspect.signature(function).parameters
    for name in parameters:
        kind = function.__annotations__.get(name)
        if name in REPEATED and isinstance(kind, str):  # not prepared yet
            function.__annotations__[name] = Annotated[kind, cyclopts.Parameter(name=REPEATED[name])]
    _one_way(function, {name: parameter.default for name, parameter in parameters.items()})
    for place, parameter in enumerate(parameters.values(), 1):
        if is_dataclass(group := type(parameter.default)):
            _one_way(group, {field.name: field.default for field in fields(group)})
            title = read_docstring(group.__doc__ or "")[0].partition("\n")[0].rstrip(".")
            panel = cyclopts.Group(title, validator=_check_words, sort_key=place)
            cyclopts.Parameter(name="*", group=panel)(group)


def _one_way(owner: Any, defaults: Mapping[str, object]) -> None:
    """Remove the `--no-` form of flags that are off by default; it would have no effect."""
    for name, kind in owner.__annotations__.items():
        if kind in ("bool", bool) and defaults.get(name) is False:
            owner.__annotations__[name] = Annotated[bool, cyclopts.Parameter(negative=())]


def repeated(words: list[str]) -> list[str]:
    """Return the words with `--confidence a=x b=y` as `--confidence a=x --confidence b=y`, and `--keep
    embedding LAYER` in one word: words belong to the option they follow.

    >>> repeated(["measure", "t", "m=x", "--doubt", "m=y", "n=z", "-o", "out"])
    ['measure', 't', 'm=x', '--doubt', 'm=y', '--doubt', 'n=z', '-o', 'out']
    >>> repeated(["predict", "s", "--keep", "embedding", "head.last", "m=net.pt2"])
    ['predict', 's', '--keep', 'embedding=head.last', 'm=net.pt2']
    """
    out: list[str] = []
    option = ""
    for place, word in enumerate(words):
        if out[-2:] == ["--keep", "embedding"] and not word.startswith("-"):
            out[-1] = f"embedding={word}"
            continue
        if word.startswith("-"):
            option = word if word in _NAMED else ""
        elif option and "=" in word and words[place - 1] != option:
            out.append(option)
        elif "=" not in word:
            option = ""
        out.append(word)
    return out


def _check_words(arguments: cyclopts.ArgumentCollection) -> None:
    """OptionError for an empty value, and for a fractional value of an integer option, which cyclopts would
    round.
    """
    for argument in arguments:
        if empty := next(
            (
                token
                for token in argument.tokens
                if token.keyword and not token.value.strip() and token.implicit_value is cyclopts.UNSET
            ),
            None,
        ):
            raise OptionError(f"{empty.keyword} is empty; give a value, or remove it")
        odd = next(
            (token for token in argument.tokens if token.value and not _WHOLE.fullmatch(token.value)), None
        )
        if odd is not None and takes(argument, int):
            raise OptionError(f"{odd.keyword} must be a whole number; got {odd.value!r}")


class _PlainStream:
    """A stream that writes names and texts of files unchanged, except characters that move a cursor, and
    replaces letters that it cannot encode.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        letters = getattr(self._stream, "encoding", None) or "utf-8"
        return self._stream.write(plain_text(text).encode(letters, "backslashreplace").decode(letters))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main(words: list[str] | None = None) -> int:
    """Run one command line and return the exit status."""
    given = sys.argv[1:] if words is None else words
    try:
        rest, output = split(given)
        rest = repeated([SHORT.get(word, word) for word in rest])
        with progress_as(output.progress or ("off" if output.quiet else "")):
            return _run(rest, output)
    except FaultscapeError as error:
        return _refused(error_line(error))
    except cyclopts.UnknownCommandError:
        return _refused(unknown_line(split(given)[0]))
    except cyclopts.CycloptsError as error:
        return _refused(misread_line(error, given))
    except KeyboardInterrupt:
        _refused("interrupted; run the same command again to continue")
        return 130
    except BrokenPipeError:  # the reader closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, MemoryError) as error:
        cure = write_cure(error) if isinstance(error, OSError) else ""
        return _refused(f"{error_line(error) or 'this does not fit into memory'}{cure and f'; {cure}'}")


def _refused(line: str) -> int:
    print(f"faultscape: {line}", file=sys.stderr)
    return 2


def _run(words: list[str], output: OutputOptions) -> int:
    """Run a command after its output options were removed, and return its exit status."""
    if words[:1] == ["help"]:
        words = words[1:]
        output = replace(output, help=True)
    first, second = [*words, "", ""][:2]
    if first in GROUPS and second and second not in GROUPS[first] and not second.startswith("-"):
        return _refused(unknown_line(words))
    if not words or (output.help and (first in VERBS or first.startswith("-"))):
        return _printed(help_text(words, everything=output.help_all))
    if words == ["--version"]:
        return _printed(faultscape.__version__)
    if first.partition("=")[0] == "--completion":
        return _printed(completion_script(first.partition("=")[2] or second).rstrip("\n"))
    if first in GROUPS and (not second or second.startswith("-")):
        print(group_page(first, 80), file=sys.stderr)
        return _refused(f"{first} needs a command: {', '.join(GROUPS[first])}")
    command, bound, _ = build(words).parse_args(words, exit_on_error=False, print_error=False)
    line = (first, second) if first in GROUPS else (first,)
    notes, warnings = _streams_of_notes(output, " ".join(line))
    with redirect_stdout(cast("Any", _PlainStream(notes))), redirect_stderr(warnings):
        result = command(*bound.args, **bound.kwargs)
    if output.json:
        _printed(result_json(line, result))
    elif result is not None:
        full = getattr(result, "full_text", None) if output.verbose else None
        text = full() if full is not None else repr(result)
        _printed(without_notes(text) if output.quiet else text)
    if why_not := getattr(result, "not_ranked", ""):
        return _refused(why_not)
    return getattr(result, "exit_status", 0)


def _streams_of_notes(output: OutputOptions, line: str) -> tuple[TextIO, TextIO]:
    """Return the streams for messages and for warnings that a verb prints while it runs."""
    if output.quiet and line not in _SERVERS:
        nowhere = io.StringIO()
        return nowhere, nowhere
    return (sys.stderr if output.json else sys.stdout), sys.stderr


def _printed(text: str) -> int:
    with redirect_stdout(cast("Any", _PlainStream(sys.stdout))):
        print(text, flush=True)
    return 0


def program() -> None:
    """Run the command line and exit at once: waiting threads of libraries could otherwise abort the
    process.
    """
    keep_freed_memory()
    status = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(
            OSError, ValueError, AttributeError
        ):  # a stream may be closed, or never have been there
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    program()
