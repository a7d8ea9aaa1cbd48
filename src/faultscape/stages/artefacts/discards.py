"""Discards: the images that people rejected, for the whole study."""

from __future__ import annotations

from faultscape.errors import counted
from faultscape.stages.artefact import Artefact
from faultscape.stages.snapshot import Snapshot
from faultscape.study.parts import key_of


def key(snapshot: Snapshot, selection: str) -> str:
    """Return a digest of which images of a selection are discarded; the reasons do not matter."""
    return key_of(
        sorted(set(snapshot.discarded) & {row.image for row in snapshot.selections[selection][0].rows})
    )


def key_of_all(snapshot: Snapshot) -> str:
    """Return a digest of which images of the study are discarded."""
    return key_of(sorted(snapshot.discarded))


DISCARDS = Artefact(
    name="discards",
    verb="label",
    inputs=("corpus",),
    options=(),
    reasons={},
    instances=lambda snapshot: [""] if snapshot.discarded else [],
    made_from=lambda _snapshot, _name: {},
    made_from_now=lambda _snapshot, _name: {},
    describe=lambda snapshot, _name: (
        f"{counted(len(snapshot.discarded), 'image is', 'images are')} discarded"
    ),
    line=lambda _snapshot, _name: "",
)
