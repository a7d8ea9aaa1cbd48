"""Options of every verb that control how its result is printed: --json, -q, -v and --progress.

Conventions: they may appear anywhere, before or after the verb; after ``--`` nothing is an option.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from faultscape.errors import OptionError
from faultscape.progress import STYLES

ROWS = (  # how each is spelt, and what it does
    ("--json", "Print the result as one JSON object; messages go to standard error."),
    ("-q, --quiet", "Print the result alone: no progress, no notes, no warnings."),
    ("-v, --verbose", "Print more: formulas, zeros, every table and every file."),
    ("--progress STYLE", "auto (default), bar, lines (one every 30 s) or off."),
    ("-h, --help", "Print this page."),
)
_FLAGS = {
    "--json": "json",
    "-q": "quiet",
    "--quiet": "quiet",
    "-v": "verbose",
    "--verbose": "verbose",
    "-h": "help",
    "--help": "help",
}
NAMES = (*_FLAGS, "--progress")


@dataclass(frozen=True)
class OutputOptions:
    """How a result is printed; ``progress`` is '' if it was not given."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    help: bool = False
    help_all: bool = False  # with every option described
    progress: str = ""


def split(words: Sequence[str]) -> tuple[list[str], OutputOptions]:
    """Return the arguments without the output options, and these options; OptionError if they contradict each
    other, or for an unknown style of progress.

    >>> rest, options = split(["select", "study", "--json", "--progress", "off"])
    >>> rest, options.json, options.quiet, options.progress
    (['select', 'study'], True, False, 'off')
    """
    rest = list[str]()
    options = OutputOptions()
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--":
            rest += [word, *words]
            break
        name, equals, value = word.partition("=")
        if word in _FLAGS:
            options = replace(options, **{_FLAGS[word]: True})
            if _FLAGS[word] == "help" and words[:1] == ["all"]:
                words.pop(0)
                options = replace(options, help_all=True)
        elif name == "--progress":
            if not equals and not words:
                raise OptionError(f"--progress needs a value: {', '.join(STYLES)}")
            options = replace(options, progress=_style(value if equals else words.pop(0)))
        else:
            rest.append(word)
    if options.quiet and options.verbose:
        raise OptionError("--quiet and --verbose contradict each other; give one of them")
    return rest, options


def without_notes(text: str) -> str:
    r"""Return the text of a result without its notes, wrapped or not, and without hints about -v.

    >>> without_notes("a  .9\n  note: few\n    images\n  note: b\nothers: c; -v prints them\nd  .8")
    'a  .9\nothers: c\nd  .8'
    """
    kept, note = list[str](), -1  # indentation of the note that is being left out
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        if note >= 0 and line.strip() and indent > note:
            continue
        note = indent if line.lstrip().startswith("note: ") else -1
        if note < 0:
            kept.append(line.partition("; -v prints ")[0])
    return "\n".join(kept)


def _style(word: str) -> str:
    if word not in STYLES:
        raise OptionError(f"progress {word!r} is not known; use {', '.join(STYLES)}")
    return word
