"""The question that drawn images leave open: which model is best. It is answered by drawing more images, as
many as the plan expects it to need, until the labels decide or the pool has no more.
"""

from __future__ import annotations

import math
import shlex
from typing import Any, cast

from faultscape.reading.artefact import Artefact
from faultscape.reading.snapshot import Snapshot
from faultscape.selection.definitions import ROUND, learns
from faultscape.standings import ENOUGH, FEW
from faultscape.verbs.plan import artefact as plan
from faultscape.verbs.rank.open_selections import candidates, left, open_selections, standings_now

_STEP = 10  # images; numbers of more images are rounded up to it
_UNFORETOLD = 50  # more images where their number cannot be predicted, as `plan` advises


def more_images(snapshot: Snapshot, name: str) -> int:
    """Return how many more images to draw for an open question: those that the leader and each other model
    that could be best are expected to need, in steps of ten; as many as a round has for draws that learn from
    labels.
    """
    slots, most = snapshot.selections[name][0], left(snapshot, name)
    have = len(slots.rows)
    if slots.definition.get("goal") == "best" and learns(slots.definition):
        return min(ROUND, most)
    if have < FEW:
        return min(max(ENOUGH - have, _STEP), most)
    document = snapshot.document(snapshot.root / "plan.json") or {}
    rows = cast("list[dict[str, Any]]", document.get("pairs") or [])
    held = standings_now(snapshot, name)
    leader, *rivals = (candidates(held) if held is not None else []) or [""]
    asked = [row for row in rows if leader in row["models"] and {*row["models"]} & {*rivals}]
    if not asked or not all(row["predictable"] for row in asked):
        return min(_UNFORETOLD, most)
    needed = max(row["labels"] for row in asked) - have
    return min(max(_STEP * math.ceil(needed / _STEP), _STEP), most)


def _instances(snapshot: Snapshot) -> list[str]:
    """Return the open selection with most labels: one is enough to answer."""
    found = open_selections(snapshot)
    planned = plan.PLAN.made_from(snapshot, "") == plan.PLAN.made_from_now(snapshot, "")
    most = max(found, key=lambda name: len(snapshot.selections[name][0].rows), default="")
    return [most] if most and planned else []


def _line(snapshot: Snapshot, name: str) -> str:
    named = shlex.quote(name)
    return f"faultscape select {snapshot.place} --as {named} --more {more_images(snapshot, name)}"


OPEN_QUESTION = Artefact(
    name="open question",
    verb="select",
    inputs=("standings", "plan"),
    reasons={},
    instances=_instances,
    made_from=lambda _snapshot, _name: None,
    made_from_now=lambda _snapshot, _name: {},
    describe=lambda _snapshot, name: f"{name}: the labels do not decide which model is best",
    line=_line,
)
