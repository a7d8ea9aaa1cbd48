"""Lines for a terminal: prose is wrapped at 80 columns, and commands in backticks stay whole.

Conventions: a command that is longer than a line has a line of its own, so that it can be pasted.
"""

from __future__ import annotations

import re
import textwrap

WIDTH = 80
_HARD = "\x00"  # marks a space at which no line ends


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
