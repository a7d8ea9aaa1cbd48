"""The labels of a selection's images, which people make: one instance a selection."""

from __future__ import annotations

from faultscape.errors import counted
from faultscape.stages.artefacts.artefact import Artefact
from faultscape.stages.artefacts.selection import is_replaced, is_stale
from faultscape.stages.evidence import LABELS
from faultscape.stages.given_options import option_words
from faultscape.stages.snapshot import Snapshot
from faultscape.study.tables.selections import MAIN


def is_short(snapshot: Snapshot, name: str, truth: str = "") -> bool:
    """Whether a selection has too few labels to rank: none, or of draws for all models less than half, since what another selection had labelled says little of them."""
    number, have = len(snapshot.current(name).images), snapshot.label_count(name, truth).labelled
    return number > 0 and (have == 0 or (bool(snapshot.selections[name][0].draws) and 2 * have < number))


def _made_from(snapshot: Snapshot, name: str) -> dict[str, str] | None:
    return {} if snapshot.label_count(name).labelled == len(snapshot.current(name).images) else None


def key(snapshot: Snapshot, truth: str) -> str:
    """Return a digest of all labels of a truth, and of the answers that count beside them; '' where there is no such truth."""
    return snapshot.truth_key(truth) if truth in snapshot.truths else ""


def _describe(snapshot: Snapshot, name: str) -> str:
    count, number = snapshot.label_count(name), len(snapshot.current(name).images)
    partly = f", {count.partly} partly" if count.partly else ""
    return f"{name}: {count.labelled} of {counted(number, 'image')} labelled{partly} (truth {snapshot.truth})"


def _line(snapshot: Snapshot, name: str) -> str:
    if is_stale(snapshot, name) or is_replaced(snapshot, name):
        return ""
    options = {
        "format": "csv" if snapshot.settings.classifies else "png",
        "selection": None if name == MAIN else name,
        "truth": None if snapshot.truth == LABELS else snapshot.truth,
        "again": snapshot.label_count(name).undecided or None,
    }
    return " ".join([f"faultscape label export {snapshot.place} OUT", *option_words(options)])


LABELS_OF_SELECTION = Artefact(
    name="labels",
    verb="label",
    inputs=("selection", "answers", "discards"),
    options=("truth",),
    reasons={},
    instances=lambda snapshot: list(snapshot.selections),
    made_from=_made_from,
    made_from_now=lambda _snapshot, _name: {},
    describe=_describe,
    line=_line,
    waits=lambda snapshot, name: not is_short(snapshot, name),
)
