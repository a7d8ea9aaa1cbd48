"""Clean up text that a person typed, or a program sent, before it is stored and shown.

Conventions: characters that databases, pages or terminals cannot hold are removed: control characters and
lone surrogates. All other text stays as typed, and is escaped where it is shown.
"""

from __future__ import annotations

import json
import unicodedata


def plain_text(text: str) -> str:
    r"""Return a text on one line, without control characters and lone surrogates.

    >>> plain_text("a\0b\n \ud800c")
    'a b c'
    """
    return " ".join(
        "".join(" " if unicodedata.category(one) in ("Cc", "Cs") else one for one in text).split()
    )


def plain_lines(text: str) -> str:
    r"""Return a text whose line breaks are kept, each line as `plain_text` returns it, without empty lines at
    its ends.

    >>> plain_lines("a \0 b\r\n\r\nc\n")
    'a b\n\nc'
    """
    return "\n".join(plain_text(line) for line in text.splitlines()).strip("\n")


def flat_json(given: object, most: int, **more: object) -> str | None:
    """Return a flat object of texts and numbers, with ``more`` from the server, as JSON of at most ``most``
    characters; None for anything else, or if it is longer.

    >>> (
    ...     flat_json({"way": "fill"}, 100, session=1),
    ...     flat_json({"way": ["fill"]}, 100),
    ...     flat_json({"x": float("nan")}, 100),
    ... )
    ('{"session": 1, "way": "fill"}', None, None)
    """
    held = given or {}
    if not isinstance(held, dict) or any(isinstance(value, dict | list) for value in held.values()):
        return None
    try:
        text = json.dumps({**held, **more}, sort_keys=True, allow_nan=False)
    except ValueError:
        return None
    return text if len(text) <= most else None
