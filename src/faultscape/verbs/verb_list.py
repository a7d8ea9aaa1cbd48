"""VERBS: every verb of the command line, under its heading in the help, and its sub-commands.

Conventions: a verb is a folder of ``verbs/``, with its signature in ``signature.py``; a sub-command is a
function there.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

SECTIONS: dict[str, tuple[str, ...]] = {
    "Make a study": ("collect", "predict", "compare", "scale"),
    "Choose images and rank models": ("select", "label", "rank", "plan", "report"),
    "Measure": ("measure", "stress", "reliability", "rank-table"),
    "Train": ("train", "loop", "fit"),
    "All in one, and look": ("run", "status", "show", "view", "export", "demo"),
}
VERBS = tuple(verb for verbs in SECTIONS.values() for verb in verbs)
GROUPS: dict[str, dict[str, str]] = {  # verbs with sub-commands: the name of each, and its function
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
LINES: tuple[tuple[str, ...], ...] = tuple(
    words
    for verb in VERBS
    for words in ([(verb, name) for name in GROUPS[verb]] if verb in GROUPS else [(verb,)])
)
REMOVALS = (  # words that people type to remove something, and the commands that do it
    ("remove", "delete", "rm", "del", "drop", "undo", "forget"),
    (
        "collect --remove (images)",
        "predict --remove (a model)",
        "select --remove (a selection)",
        "label remove (labels, answers, discards)",
        "label forget (an annotator)",
        "stress holdout --remove (a holdout)",
    ),
)


def signature_of(words: tuple[str, ...]) -> Callable[..., Any]:
    """Return the function of a command, such as ``("label", "export")``."""
    verb, *rest = words
    name = function_of(verb)
    return getattr(import_module(f"faultscape.verbs.{name}"), GROUPS[verb][rest[0]] if rest else name)


def function_of(verb: str) -> str:
    """Return the name of a verb's function in Python, which is that of its folder.

    >>> function_of("rank-table")
    'rank_table'
    """
    return verb.replace("-", "_")


def title_of(words: tuple[str, ...]) -> str:
    """Return the name of the class of a command's options.

    >>> title_of(("label", "export"))
    'LabelExportOptions'
    """
    return f"{''.join(word.capitalize() for verb in words for word in verb.split('-'))}Options"
