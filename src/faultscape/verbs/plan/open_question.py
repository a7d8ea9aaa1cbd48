"""The question that drawn images, or points, leave open: which model is best. It is answered by drawing more
images, as many as the plan expects it to need, until the labels decide or the pool has no more; or by drawing
more points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from faultscape.nouns import JsonObject
from faultscape.reading.artefact import Artefact, command
from faultscape.reading.study import Study
from faultscape.reporting.verdict import PairNeed
from faultscape.selection.definitions import ROUND, learns
from faultscape.standings import ENOUGH, FEW, FEW_POINTS, rival_gaps
from faultscape.verbs.plan.artefact import PLAN
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.rank.open_selections import (
    candidates,
    labels_for_images_to_come,
    left,
    of_pool,
    open_points,
    open_selections,
    points_needed,
)

_STEP = 10  # images; numbers of more images are rounded up to it
_UNFORETOLD = 50  # more images where their number cannot be predicted, as `plan` advises


def more_images(study: Study, name: str, needs: Mapping[tuple[str, str], PairNeed]) -> int:
    """Return how many more images to draw for an open question: those that the leader and each other model
    that could be best are expected to need by a plan's ``needs``, in steps of ten; as many as a round has for
    draws that learn from labels.

    A step at most doubles the images: what few labels predict is rough, and each round makes it more certain.
    """
    slots = study.selections[name].slots
    most = left(study, name)
    have = len(slots.rows)
    if slots.definition.get("goal") == "best" and learns(slots.definition):
        return min(ROUND, most)
    if have < FEW:
        return min(max(ENOUGH - have, _STEP), most)
    held = STANDINGS.table(study, name)
    leader, *rivals = (candidates(held) if held is not None else []) or [""]
    asked = [need for pair, need in needs.items() if leader in pair and {*pair} & {*rivals}]
    needed = _UNFORETOLD
    if held is not None and not rivals and math.isfinite(total := labels_for_images_to_come(held)):
        needed = math.ceil(total) - have
    elif looked := _looked_at(study, name):
        needed = math.ceil(max(looked)) - have
    elif asked and not any(math.isnan(need.labels) for need in asked):
        needed = int(max(need.labels for need in asked)) - have
    return min(max(_STEP * math.ceil(needed / _STEP), _STEP), have, most)


def _looked_at(study: Study, name: str) -> list[float]:
    """Return how many labels in all the leader and each other model that could be best are expected to need
    where these are looked at any time; [] where they are read once, or that cannot be predicted.
    """
    held = STANDINGS.table(study, name)
    if held is None or "anytime" not in held.definitions:
        return []
    numbers = [gap.labels[0] if gap.labels else math.nan for gap in rival_gaps(of_pool(held))]
    return [] if any(map(math.isnan, numbers)) else numbers


def more_points(study: Study, name: str) -> int:
    """Return how many more points to draw for an open question: those that it is expected to need, at most as
    many as there are, because what few points predict is rough; or what a ranking lacks.
    """
    number = len(study.selections[name].slots.points)
    held = STANDINGS.table(study, name)
    need = None if held is None else points_needed(held)
    if held is None or need is None:
        return max(number, FEW_POINTS - number)
    return min(need.more(held.labels["points"])[0], number)


def planned_needs(study: Study) -> dict[tuple[str, str], PairNeed]:
    """Return what the plan expects of each pair of models; {} without one."""
    document = study.document(PLAN.path(study)) or {}
    return needs_of(cast("list[Mapping[str, object]]", document.get("pairs") or []))


def needs_of(pairs: Sequence[Mapping[str, object]]) -> dict[tuple[str, str], PairNeed]:
    """Return what a plan expects of each of its pairs (`verbs.plan.result.PairNeeded`)."""
    out = dict[tuple[str, str], PairNeed]()
    for row in pairs:
        first, second = cast("list[str]", row["models"])
        numbers = (float(cast("float", row[key])) for key in ("labels", "low", "high"))
        out[first, second] = PairNeed(*(numbers if row["predictable"] else (math.nan,) * 3))
    return out


def asked_next(study: Study) -> str:
    """Return the open selection to draw more of: one is enough to answer, the one with most images, of those
    that can say how sure the answer is; '' if no question is open.
    """

    def place(name: str) -> tuple[bool, int]:
        slots = study.selections[name].slots
        return not learns(slots.definition), len(slots.rows)

    return max(open_selections(study), key=place, default="")


class _OpenQuestion(Artefact):
    def instances(self, study: Study) -> list[str]:
        name = asked_next(study)
        if name:
            return [name] if PLAN.is_done(study) else []
        return open_points(study)[:1]

    def exists(self, _study: Study, _name: str) -> bool:
        return False

    def describe(self, _study: Study, name: str) -> str:
        return f"{name}: the labels do not decide which model is best"

    def line(self, study: Study, name: str = "") -> str:
        if study.selections[name].slots.points:
            return command(study, "select", {"as": name, "more": more_points(study, name)})
        options: JsonObject = {"as": name, "more": more_images(study, name, planned_needs(study))}
        held = STANDINGS.table(study, name)
        truth = str(held.provenance.get("truth", "")) if held is not None else ""
        if learns(study.selections[name].slots.definition) and truth not in ("", study.find_truth()):
            options["truth"] = truth  # of several, none counts by itself
        return command(study, "select", options)


OPEN_QUESTION = _OpenQuestion("open question", verb="select", follows=("standings", "plan"))
