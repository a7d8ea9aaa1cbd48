"""Cache results of a model in reliability/FOLDER/MODEL.json, by a key of their inputs.

Conventions: entries that a run does not use are deleted. A file that cannot be read counts as missing, and
its results are made again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Generic, TypeVar

from faultscape.study.folder import check_name, make_folder, put

Made = TypeVar("Made")


_SECONDS = 2.0  # between two writes of the file during a long run


class KeptByKey(Generic[Made]):
    """Cached results of one model, as JSON."""

    def __init__(self, root: Path, folder: str, name: str) -> None:
        self._path = root / "reliability" / folder / f"{check_name(name)}.json"
        self._before, self._now = self._read(), dict[str, Made]()
        self._put_at = time.monotonic()

    def find(self, key: str) -> Made | None:
        """Return the result of a key, or None."""
        if key not in self._now and key in self._before:
            self._now[key] = self._before[key]
        return self._now.get(key)

    def add(self, key: str, made: Made) -> None:
        """Add a result, and write the file every few seconds, so that a stopped run can resume."""
        self._now[key] = made
        if time.monotonic() - self._put_at > _SECONDS:
            self._put({**self._before, **self._now})

    def write(self) -> None:
        """Write the entries that were used and drop the rest."""
        if self._now != self._read():
            self._put(self._now)

    def _put(self, held: Mapping[str, Made]) -> None:
        make_folder(self._path.parent)
        put(
            self._path,
            (json.dumps(held, sort_keys=True, separators=(",", ":")) + "\n").encode(
                "utf-8", "surrogateescape"
            ),
        )
        self._put_at = time.monotonic()

    def _read(self) -> dict[str, Made]:
        try:
            held = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return held if isinstance(held, dict) else {}
