"""Error messages for a command line that is wrong: an unknown verb, too many or too few words, or words of
the wrong kind.

Conventions: one line each, with what was given, what is available, and where to read more.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from itertools import pairwise
from types import GenericAlias
from typing import Literal, get_args, get_origin

import cyclopts

from faultscape.command_line.commands import command
from faultscape.command_line.output_options import NAMES
from faultscape.errors import closest
from faultscape.verbs.verb_list import GROUPS, LINES, REMOVALS, VERBS

_ALONE = ("--version", "--completion")  # options that need no verb
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def takes(argument: cyclopts.Argument, kind: type) -> bool:
    """Whether an option accepts values of a kind, or a list of them."""
    return bool({argument.hint, *get_args(argument.hint)} & {kind, GenericAlias(list, (kind,))})


def error_line(error: BaseException) -> str:
    r"""Return an error in one line, whatever characters the file names in it contain.

    >>> error_line(OSError("a\nb"))
    'a\\nb'
    """
    return "".join(c if c not in "\t\n" else repr(c)[1:-1] for c in plain_text(str(error)))


def plain_text(text: str) -> str:
    r"""Return a text with the characters that a terminal obeys escaped: control characters other than tab and
    line feed, bidirectional marks, lone surrogates.

    >>> plain_text("a\x1b[2J\tb\x9b2J\u202e")
    'a\\x1b[2J\tb\\x9b2J\\u202e'
    """
    return _OBEYED.sub(lambda found: repr(found[0])[1:-1], text)


def misread_line(error: cyclopts.CycloptsError, given: Sequence[str]) -> str:
    """Return the message for words that do not fit the verb: too many, too few, or not of the kind that an
    option accepts.
    """
    chain = " ".join(error.command_chain or ())
    more = f"; see `faultscape {chain} --help`"
    if isinstance(error, cyclopts.UnusedCliTokensError):
        words = ", ".join(map(repr, error.unused_tokens or []))
        return f"{chain}: unexpected {words}; to give several values, repeat the option{more}"
    if isinstance(error, cyclopts.UnknownOptionError):
        word = error.token.keyword or error.token.value
        known = {
            name.lstrip("-"): name
            for argument in error.argument_collection
            for name in argument.names
            if name[:2] == "--"
        }
        if others := _verbs_with(word):
            have = "has it" if len(others) == 1 else "have it"
            return plain_text(f"{chain} has no option {word}; {', '.join(others)} {have}{more}")
        near = closest(word.lstrip("-"), tuple(known)).replace("mean '", "mean '--")
        return plain_text(f"{chain} has no option {word}{f'.{near} See{more[5:]}' if near else more}")
    argument = error.argument
    if isinstance(error, cyclopts.MissingArgumentError) and argument is not None and error.keyword is None:
        asked = argument.field_info.kind is inspect.Parameter.KEYWORD_ONLY
        name = argument.name if asked else argument.name.lstrip("-").replace("-", "_").upper()
        return f"{chain}: {name} is missing{more}"
    if isinstance(error, cyclopts.MissingArgumentError):
        if dashed := next((b for a, b in pairwise(given) if a == error.keyword and re.match("-[^-]", b)), ""):
            return plain_text(
                f"{chain}: {error.keyword} needs a value, and {dashed!r} looks like an option; if it is the"
                f" value, write {error.keyword}={dashed}{more}"
            )
        return f"{chain}: {error.keyword} needs a value{more}"
    if isinstance(error, cyclopts.CoercionError) and argument is not None and error.token is not None:
        if choices := [
            word
            for hint in (argument.hint, *get_args(argument.hint))
            if get_origin(hint) is Literal
            for word in get_args(hint)
        ]:
            words = [str(word) for word in choices]
            value = error.token.value
            name = str(error.token.keyword or argument.name.lstrip("-").upper()).removeprefix("--")
            return plain_text(
                f"{name} {value!r} is not known; use {', '.join(words)}.{closest(value, words)}".rstrip(".")
            )
        for kind, words in ((int, "a whole number"), (float, "a number")):
            if takes(argument, kind):
                option = error.token.keyword
                value = error.token.value
                first, comma, _ = value.partition(",")
                several = any(get_origin(hint) is list for hint in (argument.hint, *get_args(argument.hint)))
                more = f"; for several write {option} {first} {option} ..." if comma and several else ""
                return plain_text(f"{option} must be {words}; got {value!r}{more}")
    return plain_text(" ".join(str(error).split()).rstrip("."))


def _verbs_with(option: str) -> list[str]:
    """Return the commands that have an option of this name.

    >>> _verbs_with("--as")
    ['select', 'stress holdout', 'fit']
    """
    return [
        " ".join(words)
        for words in LINES
        if any(option in one.spellings for group in command(words).options.values() for one in group)
    ]


def unknown_line(words: Sequence[str]) -> str:
    """Return the message for an unknown verb, with the closest verb and a list of all.

    >>> unknown_line(["selct", "study"])[:73]
    "unknown verb 'selct'. Did you mean 'select'? Available: collect, predict,"
    >>> unknown_line(["import"])[:50]
    "unknown verb 'import'. Did you mean 'label import'"
    >>> unknown_line(["label", "exprot"])
    "unknown command 'label exprot'. Did you mean 'export'? Available: export, import, check, serve,
    invite, forget, answers, consensus, remove"
    >>> unknown_line(["--versoin"])
    "there is no option --versoin. Did you mean '--version'? See `faultscape --help`"
    >>> unknown_line(["rm", "study"])
    "unknown verb 'rm'. To remove something: collect --remove (images), predict --remove (a model), select
    --remove (a selection), label remove (labels, answers, discards), label forget (an annotator), stress
    holdout --remove (a holdout)"
    """
    first, *rest = words
    if first.startswith("-"):
        near = closest(first.lstrip("-"), [name[2:] for name in (*NAMES, *_ALONE) if name[:2] == "--"])
        return f"there is no option {first}.{near}".replace("mean '", "mean '--") + " See `faultscape --help`"
    if first == "completion":
        shell = rest[0] if rest else "SHELL"
        return f"unknown verb 'completion'. Did you mean `faultscape --completion {shell}`?"
    if first in GROUPS and rest:
        return (
            f"unknown command '{first} {rest[0]}'.{closest(rest[0], tuple(GROUPS[first]))} Available:"
            f" {', '.join(GROUPS[first])}"
        )
    typed, removals = REMOVALS
    if first in typed:
        return f"unknown verb {first!r}. To remove something: {', '.join(removals)}"
    whole = {name: f"{verb} {name}" for verb, names in GROUPS.items() for name in names} | {
        verb: verb for verb in VERBS
    }
    near = re.sub(r"mean '([^']+)'", lambda found: f"mean '{whole[found[1]]}'", closest(first, tuple(whole)))
    return f"unknown verb {first!r}.{near} Available: {', '.join(VERBS)}"
