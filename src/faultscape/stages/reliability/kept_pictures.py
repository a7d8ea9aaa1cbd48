"""reliability/pictures/MODEL.json: the pictures of frames that were drawn before, so that a model does not run on them again.

Conventions: an entry's key says what its pictures follow from. Entries that a run did not ask for go with it. A file that cannot be read is as good as none: pictures are drawn anew.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from faultscape.reporting.anomaly_frames import FrameCard, FramePicture, Ring
from faultscape.study.folder import check_name, make_folder, put

_DRAWN = ("objects", "missed", "rings", "pictures", "width", "height")  # of a card, what is drawn


class KeptPictures:
    """The pictures of one model."""

    def __init__(self, root: Path, name: str) -> None:
        self._path = root / "reliability" / "pictures" / f"{check_name(name)}.json"
        self._before, self._now = self._read(), dict[str, dict[str, Any]]()

    def find(self, key: str, card: FrameCard) -> FrameCard | None:
        """Return a card with the pictures of a key, None where there are none."""
        held = self._before.get(key)
        if held is None:
            return None
        try:
            rings, pictures = (
                tuple(kind(**one) for one in held[of]) for kind, of in ((Ring, "rings"), (FramePicture, "pictures"))
            )
            found = replace(card, **{**held, "rings": rings, "pictures": pictures})
        except (TypeError, KeyError):
            return None
        self._now[key] = held
        return found

    def add(self, key: str, card: FrameCard) -> None:
        """Keep the pictures of a card."""
        whole = asdict(card)
        self._now[key] = {name: whole[name] for name in _DRAWN}

    def write(self) -> None:
        """Write what was found and added, where that is not what the file holds."""
        if self._now != self._before:
            make_folder(self._path.parent)
            put(self._path, (json.dumps(self._now, sort_keys=True) + "\n").encode())

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            held = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return held if isinstance(held, dict) else {}
