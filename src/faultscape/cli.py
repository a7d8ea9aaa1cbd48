"""The command line: one sub-command for each verb, loaded when it is called, its options read off the verb's
signature and docstring.

Conventions: a result is printed as its repr, and may say the exit status (1: it ran, and the answer is no); a
mistake is one line on standard error and exit status 2; Ctrl-C ends with 130 and loses nothing.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, Literal, cast, get_args, get_origin

import cyclopts

import faultscape
from faultscape.errors import FaultscapeError, OptionError, closest, write_cure

VERBS = (
    "collect",
    "predict",
    "compare",
    "scale",
    "select",
    "label",
    "rank",
    "plan",
    "measure",
    "report",
    "stress",
    "train",
    "fit",
    "reliability",
    "run",
    "status",
    "show",
    "view",
    "demo",
)
GROUPS = {  # verbs of several lines: the name of each, and its function
    "label": {
        "export": "export",
        "import": "import_",
        "check": "check",
        "serve": "serve",
        "invite": "invite",
        "forget": "forget",
        "answers": "answers",
        "consensus": "consensus",
        "remove": "remove",
    },
    "stress": {"corrupt": "corrupt", "blend": "blend", "holdout": "holdout", "fog": "fog", "sheet": "sheet"},
}
_NAMED = ("--anomaly", "--confidence", "--doubt", "--probabilities")  # options that take NAME=FOLDER words
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"-o": "--output"}  # the one short form, the same in every verb
_WHOLE = re.compile(r"[+-]?\d+")


def build(words: Sequence[str] = ()) -> cyclopts.App:
    """Return the application; only the verb that the ``words`` begin with is imported, and only when it is
    called or asked for help.
    """
    app = cyclopts.App(
        name="faultscape",
        help=(
            "Choose between segmentation models, or image classifiers, and trust them, with few human labels."
        ),
        version=faultscape.__version__,
        help_format="plaintext",  # others load what reads Markdown, and read each line with it
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        default_parameter=cyclopts.Parameter(
            negative_iterable=(), consume_multiple=False, show_default=_default_words
        ),
        group_parameters=cyclopts.Group("Parameters", validator=_check_words, sort_key=0),
    )
    listed = not words or words[0] not in VERBS  # else nobody sees the lines of the other verbs
    if not listed and (
        name := GROUPS[words[0]].get("".join(words[1:2]), "") if words[0] in GROUPS else words[0]
    ):
        _prepare_help(getattr(importlib.import_module(f"faultscape.verbs.{words[0]}"), name))
    for place, verb in enumerate(VERBS):
        if verb in GROUPS:
            shown = listed or words[0] == verb
            group = cyclopts.App(name=verb, help=help_line(verb) if shown else None, sort_key=place)
            for name, function in GROUPS[verb].items():
                line = help_line(verb, function) if shown and words[1:2] != [name] else None
                group.command(f"faultscape.verbs.{verb}:{function}", name=name, help=line)
            app.command(group)
        else:
            app.command(
                f"faultscape.verbs.{verb}:{verb}",
                name=verb,
                help=help_line(verb, verb) if listed else None,
                sort_key=place,
            )
    return app


def _prepare_help(function: Callable[..., Any]) -> None:
    """Let the options of a verb that stand together in a dataclass be options of their own, in a panel of
    help under what its docstring says; and let the terminal break lines.
    """
    function.__doc__ = unwrapped(function.__doc__ or "")
    parameters = inspect.signature(function).parameters
    _one_way(function, {name: parameter.default for name, parameter in parameters.items()})
    for place, parameter in enumerate(parameters.values(), 1):
        if is_dataclass(group := type(parameter.default)):
            _one_way(group, {field.name: field.default for field in fields(group)})
            group.__doc__ = unwrapped(group.__doc__ or "")
            title = group.__doc__.partition("\n")[0].rstrip(".")
            panel = cyclopts.Group(title, validator=_check_words, sort_key=place)
            cyclopts.Parameter(name="*", group=panel)(group)


def _one_way(owner: Any, defaults: Mapping[str, object]) -> None:
    """Let flags that are off unless given have no `--no-` form: it would say nothing."""
    for name, kind in owner.__annotations__.items():
        if kind in ("bool", bool) and defaults.get(name) is False:
            owner.__annotations__[name] = Annotated[bool, cyclopts.Parameter(negative=())]


def unwrapped(document: str) -> str:
    r"""Return a docstring with one line for each of its paragraphs, and one for what it says of each
    parameter.

    >>> unwrapped("Do it\n    well.\n\n    Both lines\n    are one.")
    'Do it well.\n\nBoth lines are one.'
    """
    text, rule, rows = inspect.cleandoc(document).partition("\n\nParameters\n")
    lines = [re.sub(r"(?<=\S)\n(?=\S)", " ", text) + rule.rstrip()]
    for row in rows.split("\n") if rule else []:
        if row.startswith("    ") and lines[-1].startswith("    "):
            lines[-1] += f" {row.strip()}"
        else:
            lines.append(row)
    return "\n".join(lines)


def _default_words(value: object) -> Any:
    """Return what help says of a default: nothing of a flag that is off, and of what is left open."""
    return None if value is None or value is False else str(value)


def help_line(verb: str, function: str = "") -> str:
    """Return what the list of verbs says of one: the first sentence of a function's docstring, or what its
    file says it is, read without importing it.

    >>> help_line("label")
    'What people say of the chosen images, out to a labelling tool and back.'
    >>> help_line("rank", "rank")
    'Rank the models of a selection from the labels of its images, and write standings.json.'
    """
    tree = _tree_of(verb)
    if not function:
        line = (ast.get_docstring(tree) or "").partition(": ")[2]
        return line[:1].upper() + line[1:]
    node = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function][
        -1
    ]  # behind its overloads
    return (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")


@functools.cache
def _tree_of(verb: str) -> ast.Module:
    return ast.parse((Path(__file__).parent / "verbs" / f"{verb}.py").read_text(encoding="utf-8"))


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
    """OptionError for an empty word, and for an option that takes whole numbers and was given another:
    cyclopts rounds 10.5 to 10.
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
            raise OptionError(f"{empty.keyword} is empty; give a value, or leave it out")
        odd = next(
            (token for token in argument.tokens if token.value and not _WHOLE.fullmatch(token.value)), None
        )
        if odd is not None and _takes(argument, int):
            raise OptionError(f"{odd.keyword} takes a whole number; got {odd.value!r}")


def _takes(argument: cyclopts.Argument, kind: type) -> bool:
    return bool({argument.hint, *get_args(argument.hint)} & {kind, GenericAlias(list, (kind,))})


class _PlainStream:
    """A stream to which names and texts of files are written as they are, but for what moves a cursor, and in
    letters that it has.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        letters = getattr(self._stream, "encoding", None) or "utf-8"
        return self._stream.write(_plain(text).encode(letters, "backslashreplace").decode(letters))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def main(words: list[str] | None = None) -> int:
    """Run one command line and return the exit status."""
    words = repeated([_SHORT.get(word, word) for word in (sys.argv[1:] if words is None else words)])
    try:
        command, given, _ = build(words).parse_args(words, exit_on_error=False, print_error=False)
        ours = bool(sys.stdout) and str(command.__module__).startswith(
            "faultscape."
        )  # else help, with its colours
        with redirect_stdout(cast("Any", _PlainStream(sys.stdout))) if ours else nullcontext():
            result = command(*given.args, **given.kwargs)
            if result is not None:
                print(repr(result), flush=True)
    except FaultscapeError as error:
        print(f"faultscape: {_line(error)}", file=sys.stderr)
        return 2
    except cyclopts.UnknownCommandError:
        print(f"faultscape: {_unknown(words)}", file=sys.stderr)
        return 2
    except cyclopts.CycloptsError as error:
        print(f"faultscape: {_misread(error, words)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("faultscape: interrupted; run the same line again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, MemoryError) as error:
        cure = write_cure(error) if isinstance(error, OSError) else ""
        print(
            f"faultscape: {_line(error) or 'this does not fit into memory'}{cure and f'; {cure}'}",
            file=sys.stderr,
        )
        return 2
    return getattr(result, "exit_status", 0)


def program() -> None:
    """Run the command line that was typed, and leave at once: threads of libraries that still wait would end
    an ended process with an abort.
    """
    status = main()
    for stream in (sys.stdout, sys.stderr):
        with suppress(
            OSError, ValueError, AttributeError
        ):  # a stream may be closed, or never have been there
            stream.flush()
    os._exit(status)


def _line(error: BaseException) -> str:
    r"""Return an error in one line, whatever characters the names of files in it have.

    >>> _line(OSError("a\nb"))
    'a\\nb'
    """
    return "".join(c if c not in "\t\n" else repr(c)[1:-1] for c in _plain(str(error)))


def _plain(text: str) -> str:
    r"""Return a text without characters that a terminal obeys: control characters but tab and line feed,
    marks that turn the order of letters, halves of characters.

    >>> _plain("a\x1b[2J\tb\x9b2J\u202e")
    'a\\x1b[2J\tb\\x9b2J\\u202e'
    """
    return _OBEYED.sub(lambda found: repr(found[0])[1:-1], text)


def _misread(error: cyclopts.CycloptsError, given: Sequence[str]) -> str:
    """Return what to say of words that do not fit the verb: too many, too few, or not of the kind that an
    option takes.
    """
    chain = " ".join(error.command_chain or ())
    more = f"; `faultscape {chain} --help` says what it takes"
    if isinstance(error, cyclopts.UnusedCliTokensError):
        words = ", ".join(map(repr, error.unused_tokens or []))
        return f"{chain}: there is no place for {words}; for more than one value repeat the option{more}"
    if isinstance(error, cyclopts.UnknownOptionError):
        word = error.token.keyword or error.token.value
        known = {
            name.lstrip("-"): name
            for argument in error.argument_collection
            for name in argument.names
            if name[:2] == "--"
        }
        near = closest(word.lstrip("-"), tuple(known)).replace("mean '", "mean '--")
        return _plain(f"{chain} has no option {word}{f'.{near}{more[1:]}' if near else more}")
    argument = error.argument
    if isinstance(error, cyclopts.MissingArgumentError) and argument is not None and error.keyword is None:
        asked = argument.field_info.kind is inspect.Parameter.KEYWORD_ONLY
        name = argument.name if asked else argument.name.lstrip("-").replace("-", "_").upper()
        return f"{chain}: {name} is missing{more}"
    if isinstance(error, cyclopts.MissingArgumentError):
        if dashed := next((b for a, b in pairwise(given) if a == error.keyword and re.match("-[^-]", b)), ""):
            return _plain(
                f"{chain}: {error.keyword} needs a value behind it, and {dashed!r} begins as an option does;"
                f" if it is the value, write {error.keyword}={dashed}{more}"
            )
        return f"{chain}: {error.keyword} needs a value behind it{more}"
    if isinstance(error, cyclopts.CoercionError) and argument is not None and error.token is not None:
        if choices := [
            word
            for hint in (argument.hint, *get_args(argument.hint))
            if get_origin(hint) is Literal
            for word in get_args(hint)
        ]:
            words, value = [str(word) for word in choices], error.token.value
            name = str(error.token.keyword or argument.name.lstrip("-").upper()).removeprefix("--")
            return _plain(
                f"{name} {value!r} is not known; use {', '.join(words)}.{closest(value, words)}".rstrip(".")
            )
        for kind, words in ((int, "a whole number"), (float, "a number")):
            if _takes(argument, kind):
                return _plain(f"{error.token.keyword} takes {words}; got {error.token.value!r}")
    return _plain(" ".join(str(error).split()).rstrip("."))


def _unknown(words: list[str]) -> str:
    """Return what to say of a line whose verb there is not, with the verb that was meant and all there are.

    >>> _unknown(["selct", "study"])
    "there is no verb 'selct'. Did you mean 'select'? There are collect, predict, compare, scale, select,
    label, rank, plan, measure, report, stress, train, fit, reliability, run, status, show, view, demo"
    >>> _unknown(["import"])[:54]
    "there is no verb 'import'. Did you mean 'label import'"
    >>> _unknown(["label", "exprot"])
    "there is no 'label exprot'. Did you mean 'export'? There are export, import, check, serve, invite,
    forget, answers, consensus, remove"
    """
    first, *rest = words
    if first in GROUPS and rest:
        return (
            f"there is no '{first} {rest[0]}'.{closest(rest[0], tuple(GROUPS[first]))} There are"
            f" {', '.join(GROUPS[first])}"
        )
    whole = {name: f"{verb} {name}" for verb, names in GROUPS.items() for name in names} | {
        verb: verb for verb in VERBS
    }
    near = re.sub(r"mean '([^']+)'", lambda found: f"mean '{whole[found[1]]}'", closest(first, tuple(whole)))
    return f"there is no verb {first!r}.{near} There are {', '.join(VERBS)}"


if __name__ == "__main__":
    program()
