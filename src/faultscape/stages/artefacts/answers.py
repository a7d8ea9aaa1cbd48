"""Answers to questions about classes, of one truth."""

from __future__ import annotations

from faultscape.stages.artefact import Artefact
from faultscape.stages.artefacts.labels import key
from faultscape.stages.snapshot import Snapshot


def _describe(snapshot: Snapshot, truth: str) -> str:
    return f"answers of truth {truth} ({key(snapshot, truth)[:8]})"


ANSWERS = Artefact(
    name="answers",
    verb="label",
    inputs=("corpus",),
    options=(),
    reasons={},
    instances=lambda snapshot: snapshot.truths if snapshot.settings.classifies else [],
    made_from=lambda _snapshot, _name: {},
    made_from_now=lambda _snapshot, _name: {},
    describe=_describe,
    line=lambda _snapshot, _name: "",
)
