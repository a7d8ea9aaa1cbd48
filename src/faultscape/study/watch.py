"""Which item of a shard kills its workers: once a worker has died, the next ones record each item before they
begin it.

Conventions: the record is a small file in the study's folder that begins as temporary files do, so that it is
swept if no worker returns. Items are the ids of images. ``attempt`` is the engine's: how often a worker died
since this call last made progress; 0 before any death.
"""

from __future__ import annotations

import json
from pathlib import Path

from faultscape.study.folder import TEMPORARY

# recorded deaths after which an item is blamed: a single one may be a node lost at random; the first death of
# a call is not recorded
TIMES = 2


class Watch:
    """The items on which earlier attempts at one shard crashed; create it from the first attempt on."""

    def __init__(self, root: Path, shard: str, attempt: int) -> None:
        self._note = root / f"{TEMPORARY}at-{shard}"
        self._noting = attempt > 0
        if not self._noting:  # from a finished run
            self.end()
        try:
            noted = json.loads(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            noted = []
        self._died_over = noted if isinstance(noted, list) else []

    def begin(self, item: str) -> bool:
        """Record that an item begins, and return True; return False for an item that is to blame."""
        if self._died_over.count(item) >= TIMES:
            return False
        if self._noting:
            self._note.write_text(json.dumps([*self._died_over, item]), encoding="utf-8")
        return True

    def end(self) -> None:
        """Remove the record: the shard is done."""
        self._note.unlink(missing_ok=True)
