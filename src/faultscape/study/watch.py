"""Which item of a shard kills its workers: once one has died, the next ones note each item before they begin
it.

Conventions: the note is a small file in the study's folder that begins as temporary files do, so that it is
swept when nobody came back for it. Items are the ids of images. ``attempt`` is the engine's: how often a
worker died since this call last came further; 0 until one has died.
"""

from __future__ import annotations

import json
from pathlib import Path

from faultscape.study.folder import TEMPORARY

# noted deaths after which an item is blamed: one alone may be a node that was lost by chance; the first death
# of a call is not noted
TIMES = 2


class Watch:
    """What earlier attempts at one shard crashed on; use it from the first attempt on."""

    def __init__(self, root: Path, shard: str, attempt: int) -> None:
        self._note = root / f"{TEMPORARY}at-{shard}"
        self._noting = attempt > 0
        if not self._noting:  # of a run that is over
            self.end()
        try:
            noted = json.loads(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            noted = []
        self._died_over = noted if isinstance(noted, list) else []

    def begin(self, item: str) -> bool:
        """Note that an item is begun, and return True; or return False for one that is to blame."""
        if self._died_over.count(item) >= TIMES:
            return False
        if self._noting:
            self._note.write_text(json.dumps([*self._died_over, item]), encoding="utf-8")
        return True

    def end(self) -> None:
        """Forget the note: the shard is done."""
        self._note.unlink(missing_ok=True)
