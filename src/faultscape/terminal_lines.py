"""Lines for a terminal: prose is wrapped at 80 columns, and commands in backticks stay whole.

Conventions: commands to run again are written from the options that were recorded. A command that is longer
than a line has a line of its own, so that it can be pasted.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Mapping

WIDTH = 80
_HARD = "\x00"  # marks a space at which no line ends
REPEATED = {"head_options": "--head-option"}  # a mapping in Python, on a command line a word for each entry


def wrapped(text: str, indent: str = "", rest: str = "  ") -> list[str]:
    """Return prose as lines of at most 80 columns: the first starts with ``indent``, the others with
    ``rest``.

    >>> wrapped(
    ...     "note: 41 labels are few; run `faultscape plan study --goal order` again once half are labelled"
    ... )
    ['note: 41 labels are few; run `faultscape plan study --goal order` again once', '  half are labelled']
    """
    held = re.sub(r"`[^`\n]*`", lambda found: found[0].replace(" ", _HARD), text)
    lines = textwrap.wrap(
        held,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_HARD, " ") for line in lines]


def flag_of(name: str) -> str:
    """Return an option of a verb as a command line spells it.

    >>> flag_of("set_"), flag_of("head_options")
    ('--set', '--head-option')
    """
    return REPEATED.get(name, f"--{name.rstrip('_').replace('_', '-')}")


def option_words(arguments: Mapping[str, object]) -> list[str]:
    """Return options as a command line spells them; None counts as not given.

    >>> option_words(
    ...     {
    ...         "truth": "two people",
    ...         "all_labels": True,
    ...         "boundaries": False,
    ...         "against": ["a", "b"],
    ...         "seed": None,
    ...     }
    ... )
    ['--truth', "'two people'", '--all-labels', '--no-boundaries', '--against', 'a', '--against', 'b']
    >>> option_words({"head_options": {"mean_field": 2.5, "scaled": False}})
    ['--head-option', 'mean-field=2.5', '--head-option', 'scaled=false']
    """
    words: list[str] = []
    for key, value in arguments.items():
        flag = flag_of(key)
        if isinstance(value, Mapping):
            for name, one in value.items():
                text = str(one).lower() if isinstance(one, bool) else str(one)
                words += [flag, shlex.quote(f"{name.replace('_', '-')}={text}")]
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is True or one is False:
                words.append(flag if one else f"--no-{flag[2:]}")
            elif one is not None:
                words += [flag, shlex.quote(str(one))]
    return words


def number_word(value: float) -> str:
    """Return a number in the fewest digits that are read as the same number again.

    >>> [number_word(value) for value in (60, 60.0, 1234.5678, 0.5)]
    ['60', '60', '1234.5678', '0.5']
    """
    short = f"{value:g}"
    return short if float(short) == float(value) else repr(float(value))


def duration(hours: float) -> str:
    """Return a time in readable units.

    >>> [duration(h) for h in (0.0, 0.01, 0.83, 1.99, 21, 301.5)]
    ['0 s', '36 s', '50 min', '119 min', '21.0 h', '302 h']
    """
    if hours < 2:
        return f"{60 * hours:.0f} min" if hours >= 1 / 30 else f"{3600 * hours:.0f} s"
    return f"{hours:.1f} h" if hours < 100 else f"{hours:,.0f} h"


def hours_range(low: float, high: float, *, at_least: bool = False) -> str:
    """Return a range of times, rounded for people, of which the high end may be ``at_least`` that.

    >>> hours_range(0.4, 22.4, at_least=True), hours_range(0.1, 0.4), hours_range(130, 130)
    ('24 min to 22+ h', '6 to 24 min', '130 h')
    """
    ends = [f"{60 * h:.0f} min" if h < 2 else f"{h:.0f} h" for h in (low, high)]
    if ends[0].split()[1] == ends[1].split()[1]:
        ends[0] = ends[0].split()[0]
    number, unit = ends[1].split()
    last = f"{number}{'+' if at_least else ''} {unit}"
    return last if ends[0] in (ends[1], number) else f"{ends[0]} to {last}"
