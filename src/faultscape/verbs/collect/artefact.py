"""The corpus: the images of a study."""

from __future__ import annotations

from faultscape.errors import counted, in_shards
from faultscape.reading.artefact import Artefact
from faultscape.reading.snapshot import Snapshot


def _made_from(snapshot: Snapshot, _name: str) -> dict[str, str] | None:
    return {} if snapshot.images else None


def _describe(snapshot: Snapshot, _name: str) -> str:
    words = f"{counted(snapshot.images, 'image')}{in_shards(len(snapshot.shard_sizes))}"
    return words + (f"; failures.csv has {counted(snapshot.failures, 'row')}" if snapshot.failures else "")


def _line(snapshot: Snapshot, _name: str) -> str:
    page = snapshot.root / "web" / "review.html"
    if page.exists():
        return f"open {page}, then faultscape collect {snapshot.place} --accept accept.csv"
    return f"faultscape collect {snapshot.place} IMAGES"


CORPUS = Artefact(
    name="corpus",
    verb="collect",
    inputs=(),
    reasons={},
    instances=lambda _: [""],
    made_from=_made_from,
    made_from_now=lambda _snapshot, _name: {},
    describe=_describe,
    line=_line,
)
