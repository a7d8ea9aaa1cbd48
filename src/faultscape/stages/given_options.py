"""Options of a verb that were given once: recorded with what it made, and written into a line again.

Conventions: light, since verbs hand options on before anything else is loaded.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any


def given_options(options: Any, *, but: Sequence[str] = ()) -> dict[str, Any]:
    """Return the options of a frozen dataclass that differ from their defaults, as JSON holds them; ``but`` those that are recorded elsewhere, or change nothing."""
    given = {f.name: (getattr(options, f.name), f) for f in fields(options) if f.name not in but}
    return {name: _plain(value, str(f.type)) for name, (value, f) in given.items() if value != f.default}


def _plain(value: Any, kind: str) -> Any:
    """Return a value as JSON holds it, the same whether a command line or Python gave it."""
    if isinstance(value, int) and not isinstance(value, bool) and "float" in kind:
        return float(value)
    return list(value) if isinstance(value, tuple) else value


def option_words(arguments: Mapping[str, Any]) -> list[str]:
    """Return options as a command line spells them; what is None was not given.

    >>> option_words({"truth": "two people", "all_labels": True, "boundaries": False, "against": ["a", "b"], "seed": None})
    ['--truth', "'two people'", '--all-labels', '--no-boundaries', '--against', 'a', '--against', 'b']
    """
    words: list[str] = []
    for key, value in arguments.items():
        flag = f"--{key.rstrip('_').replace('_', '-')}"
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is True or one is False:
                words.append(flag if one else f"--no-{flag[2:]}")
            elif one is not None:
                words += [flag, shlex.quote(str(one))]
    return words
