"""Read request bodies: form fields and JSON, both limited in size.

Conventions: a body is read as a stream and refused as soon as it is too large.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

from fastapi import Request

from faultscape.errors import OptionError

MOST_JSON, MOST_FORM, MOST_TEXT = 256 << 10, 16 << 10, 64 << 10  # bytes; of a form with a long text


async def json_body(request: Request) -> dict[str, Any]:
    """Return the JSON object in a request body; OptionError if there is none, or it is too large."""
    try:
        found = json.loads(await _body(request, MOST_JSON))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise OptionError("expected a JSON object")
    return found


async def form_body(request: Request, most: int = MOST_FORM) -> dict[str, str]:
    """Return the fields of a form, the last one for a repeated name; OptionError if it has more than ``most``
    bytes or is not a form.
    """
    data = await _body(request, most)
    try:
        found = parse_qs(data.decode(), keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise OptionError("expected form fields") from None
    return {name: values[-1] for name, values in found.items()}


async def _body(request: Request, most: int) -> bytes:
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise OptionError(f"the request body is too large; at most {most:,} bytes are accepted")
    return bytes(data)
