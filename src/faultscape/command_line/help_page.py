"""Help pages: plain text, as wide as the terminal and at most 80 columns elsewhere.

Conventions: what it does, the usage line, two examples, then arguments and options in the order of the
signature; a default appears once, in or after the text of the option. The page of a verb with very many
options only names those in groups; `--help all` describes them too.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from importlib.resources import files

from faultscape.command_line.commands import Command, Option, argument_words, command
from faultscape.command_line.examples import EXAMPLES
from faultscape.command_line.output_options import ROWS
from faultscape.verbs.verb_list import GROUPS, SECTIONS

ABOUT = (
    "Choose between segmentation models, or image classifiers, and learn how far to trust them, with few"
    " human labels."
)
WIDEST = 100  # columns, however wide the terminal is
_MANY = 36  # options; a page with more names those of groups, and describes them on request
_VERBS = 15  # columns of the names of verbs
_LABEL = 26  # most columns for names before their texts


def help_text(words: Sequence[str], *, everything: bool = False) -> str:
    """Return the help page for the given words: of all verbs, of a verb with sub-commands, or of one command,
    with ``everything`` about its options.
    """
    width = min(shutil.get_terminal_size((80, 24)).columns, WIDEST)
    if not words or words[0] not in {verb for verbs in SECTIONS.values() for verb in verbs}:
        return main_page(width)
    if words[0] in GROUPS and (len(words) == 1 or words[1] not in GROUPS[words[0]]):
        return group_page(words[0], width)
    return command_page(command(tuple(words[: 1 + (words[0] in GROUPS)])), width, everything=everything)


def main_page(width: int) -> str:
    """Return the page of all verbs, one per line."""
    lines = [_wrapped(ABOUT, width), "", "Usage: faultscape VERB [ARGUMENTS] [OPTIONS]"]
    for title, verbs in SECTIONS.items():
        lines += ["", f"{title}:", *_rows([(verb, verb_line(verb)) for verb in verbs], width, _VERBS, _VERBS)]
    more = [
        *ROWS[:-1],
        ("-h, --help", "Print this page, or a verb's page: faultscape VERB --help."),
        ("--version", "Print the version."),
        ("--completion SHELL", "Print the completion script of bash, zsh or fish."),
    ]
    return "\n".join(
        [
            *lines,
            "",
            "Options:",
            *_rows(more, width),
            "",
            "Start with: faultscape demo, or faultscape run STUDY IMAGES NAME=MAPS ...",
        ]
    )


def group_page(verb: str, width: int) -> str:
    """Return the page of a verb with sub-commands, one per line."""
    rows = [(name, first_sentence(command((verb, name)).summary)) for name in GROUPS[verb]]
    lines = [_wrapped(verb_line(verb), width), "", f"Usage: faultscape {verb} COMMAND [ARGUMENTS] [OPTIONS]"]
    lines += ["", "Commands:", *_rows(rows, width, _VERBS, _VERBS)]
    return "\n".join([*lines, "", f"Run faultscape {verb} COMMAND --help for its options."])


def command_page(of: Command, width: int, *, everything: bool = False) -> str:
    """Return the page of one command; one with very many options is short, unless ``everything`` is asked."""
    short = not everything and sum(map(len, of.options.values())) > _MANY
    lines = [_wrapped(of.summary, width), "", _wrapped(f"Usage: {of.usage}", width, "       ")]
    lines += ["", "Examples:"]
    for example in EXAMPLES[of.words]:
        lines.append(_wrapped(f"  {example}", width, "      ", " \\"))
    if of.text:
        lines += ["", *_paragraphs(of.text, width)]
    if of.arguments:
        lines += ["", "Arguments:"]
        lines += _rows([(argument_words(one), _said(one)) for one in of.arguments], width)
    for title, options in of.options.items():
        if options and title and short:
            names = ", ".join(one.spellings[0] for one in options)
            lines += ["", f"{title}:", _wrapped(names, width, "  ", head="  ")]
        elif options:
            lines += ["", f"{title or 'Options'}:", *_rows(map(_row, options), width)]
    if short:
        lines += ["", f"Run faultscape {' '.join(of.words)} --help all for what these mean."]
    return "\n".join([*lines, "", "For every verb:", *_rows(ROWS, width)])


def verb_line(verb: str) -> str:
    """Return the one line of a verb, read off its file without importing it.

    >>> verb_line("rank")
    'Rank the models from the labels so far, with intervals.'
    """
    first = (files("faultscape.verbs") / verb / "__init__.py").read_text(encoding="utf-8").partition("\n")[0]
    line = first.removeprefix('"""').removesuffix('"""').partition(": ")[2]
    return line[:1].upper() + line[1:]


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, without what follows a colon or semicolon.

    >>> first_sentence("Take in labels: a folder of masks; or a file. Run it again.")
    'Take in labels.'
    """
    return re.split(r"(?<=[^.])[.:;](?: |$)", text, maxsplit=1)[0] + "."


def _row(one: Option) -> tuple[str, str]:
    names = ", ".join(one.spellings)
    return (f"{names} {one.value}".rstrip() + (" ..." if one.repeats else ""), _said(one))


def _said(one: Option) -> str:
    """Return the text of an option: its description, its choices if they are not mentioned, and its
    default.
    """
    words = set(re.findall(r"[\w+./-]*\w", one.text)) | set(one.value.split("|"))
    choices = "" if set(one.choices) <= words else f" [{', '.join(one.choices)}]"
    stated = "default" in one.text.lower()
    default = f" [default:\N{NO-BREAK SPACE}{one.default}]" if one.default and not stated else ""
    required = " [required]" if one.required and one.spellings[0].startswith("-") else ""
    return f"{one.text}{choices}{default}{required}"


def _rows(rows: Iterable[tuple[str, str]], width: int, most: int = _LABEL, least: int = 0) -> list[str]:
    """Return names and their texts in two columns; a name that is too wide has a line of its own."""
    rows = list(rows)
    wide = max(least, min(most, max(len(name) for name, _ in rows) + 4))
    lines = list[str]()
    for name, text in rows:
        indent = " " * wide
        head = f"  {name:<{wide - 2}}"
        if len(name) > wide - 4:
            lines.append(f"  {name}")
            head = indent
        lines.append(_wrapped(text, width, indent, head=head))
    return lines


def _paragraphs(text: str, width: int) -> list[str]:
    return [_wrapped(paragraph, width) if paragraph else "" for paragraph in text.split("\n")]


def _wrapped(text: str, width: int, indent: str = "", ending: str = "", head: str = "") -> str:
    lines = textwrap.wrap(
        text,
        width - len(ending),
        initial_indent=head,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return f"{ending}\n".join(lines).replace("\N{NO-BREAK SPACE}", " ") or head.rstrip()
