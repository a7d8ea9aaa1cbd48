"""JSON that nobody vouches for: bounded before it is parsed, every fault in one line that names the file and what
was expected there.

``kind`` is what the file should be, such as "a COCO file". ``error`` is the class of FaultscapeError to raise.
"""

from __future__ import annotations

import json
import os
from typing import Any

from faultscape.errors import FaultscapeError, LabellingError
from faultscape.formats.guard import read_bytes

MOST_BYTES = 256 << 20  # per file of labels, which may contain its image
MOST_VALUES = 50_000_000
MOST_CONTAINERS = 2_000_000  # lists and objects, which take most memory
Path = str | os.PathLike[str]


def load_json(path: Path, kind: str) -> Any:
    """Return the content of a JSON file of labels in any Unicode encoding; LabellingError if it is not JSON, or
    is too large.
    """
    return parse_json(read_bytes(path, LabellingError, limit=MOST_BYTES), path, kind)


def parse_json(
    data: bytes,
    path: Path,
    kind: str,
    error: type[FaultscapeError] = LabellingError,
    *,
    most_values: int = MOST_VALUES,
    most_containers: int = MOST_CONTAINERS,
) -> Any:
    """Return the content of a file's bytes; ``error`` if they are not JSON, or hold too much.

    >>> parse_json(b'{"a": [1', "a.json", "a LabelMe file")
    Traceback (most recent call last):
    ...
    faultscape.errors.LabellingError: a.json: is not a LabelMe file: Expecting ',' delimiter: line 1 column 9 (char 8)
    """
    values = data.count(b",")
    containers = data.count(b"[") + data.count(b"{")
    if values > most_values or containers > most_containers:
        raise error(
            f"{path}: holds about {values:,} values in {containers:,} lists and objects; at most"
            f" {most_values:,} in {most_containers:,} are supported; split it"
        )
    try:
        return json.loads(data)
    except (ValueError, RecursionError, MemoryError) as fault:
        text = " ".join(str(fault).split())[:200]
        raise error(f"{path}: is not {kind}: {text or 'it does not fit in memory'}") from None


def object_lists(
    document: Any,
    names: tuple[str, ...],
    path: Path,
    kind: str,
    error: type[FaultscapeError] = LabellingError,
) -> list[list[dict[str, Any]]]:
    """Return the lists of objects that a parsed file has under ``names``; ``error`` if it lacks one."""
    found = []
    for name in names:
        rows = document.get(name) if isinstance(document, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise error(f"{path}: is not {kind}: it has no list of objects `{name}`")
        found.append(rows)
    return found
