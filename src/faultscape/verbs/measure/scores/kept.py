"""Read a model's stored outputs as scores for `measure`: one image at a time, fastest in corpus order.

Conventions: where a data set of files has a path for an image, a study has (shard, image id). Confidence is
float32 in 0..1, in steps of 1/255.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from faultscape.errors import StudyError
from faultscape.study.parts import Part, key_of, read_manifest
from faultscape.study.tables import outputs
from faultscape.study.tables.label_maps import predictions

Token = tuple[int, str]


class KeptScores:
    """Reads one kind of a model's stored outputs."""

    def __init__(self, root: Path, name: str, kind: str) -> None:
        self._about = root, name, kind
        self._shard, self._rows = -1, iter(())
        self._passed: set[str] = set()

    def read(self, token: Token) -> np.ndarray:
        """Return an image's scores; StudyError if they have disappeared since they were listed."""
        shard, wanted = token
        for _ in range(2):  # from the last image on; else once more from the beginning of the shard
            if shard != self._shard or wanted in self._passed:
                self._shard, self._rows, self._passed = shard, outputs.read_kept(*self._about, shard), set()
            for id_, (values, *_) in self._rows:
                self._passed.add(id_)
                if id_ == wanted:
                    return values.astype(np.float32) / 255 if values.dtype == np.uint8 else values
            self._shard = -1
        raise StudyError(
            f"the {self._about[2]} that {self._about[1]} had for {wanted} is missing; run the same line again"
        )


def tokens(
    root: Path, name: str, kind: str, shard: int, ids: Sequence[str], parts: Iterable[tuple[str, Part]]
) -> list[Token | None]:
    """Return (shard, id) for each image with scores of a kind in the shard's ``parts``
    (`outputs.parts_by_shard`), else None.
    """
    there = set(outputs.ids(root, name, kind, parts))
    return [(shard, id_) if id_ in there else None for id_ in ids]


def state(root: Path, name: str, kind: str) -> str:
    """Return a digest of all parts of a kind."""
    return key_of(
        sorted(
            (part, entry.sha256, entry.key)
            for part, entry in read_manifest(predictions(root, name) / kind).items()
        )
    )
