"""JSON of a study, which a kill never damages but a disk or a person may."""

from __future__ import annotations

import json

from faultscape.nouns import Json


def read_object(text: str | bytes) -> dict[str, Json]:
    """Return the object in a JSON text; ValueError for anything else, or for lists nested too deeply.

    >>> read_object('{"a": 1}')
    {'a': 1}
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError("its lists are nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"expected an object, {{...}}; got {str(found)[:40]}")  # noqa: TRY004 - one kind of damage as another
    return found
