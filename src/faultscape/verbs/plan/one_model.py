"""Plan the points that measure a model alone: how many answers its own mIoU takes.

Conventions: as ``points``; half-widths are of 95 % intervals, in points of 100. How many masks it takes is
not planned, since no other model shows how far this one may err.
"""

from __future__ import annotations

import math

import numpy as np

from faultscape.errors import SelectionError, counted
from faultscape.ranking.planning.point_needs import STEP, points_for_score
from faultscape.reading.points.pool import drawable
from faultscape.reading.study import Study
from faultscape.selection.catalogue import POINTS
from faultscape.standings import FEW_POINTS, MOST_POINTS
from faultscape.verbs.measure.artefact import POINT_MEASURES
from faultscape.verbs.plan.points import LookedPoints, look_at_points
from faultscape.verbs.plan.result import HalfWidth, PointNumbers, Recommended
from faultscape.verbs.select.points import usual_definition

HALF_WIDTHS = (5.0, 3.0, 2.0, 1.0)
ENOUGH = 3.0  # the half-width that a first draw is for


def look_at_one(study: Study, truth: str, *, engine: str, named: str = "") -> tuple[int, LookedPoints]:
    """Return how many images points of the only model are drawn from, and how much draws vary (as
    `look_at_points`); SelectionError where no pixel is left to ask about.
    """
    images = [one for one in drawable(study, study.models, usual_definition()) if one not in study.discarded]
    looked = look_at_points(study, study.models, truth, "values", engine=engine, named=named)
    if looked is None:
        raise SelectionError(
            "no pixel is left to ask about: every image that the model predicted has a mask or is discarded"
        )
    return len(images), looked


def own_numbers(looked: LookedPoints, within: float, costs: dict[str, float]) -> PointNumbers:
    """Return how many points it takes to know the model's mIoU ``within`` so many points of 100, and within
    others.
    """
    rows: list[HalfWidth] = []
    for half in sorted({*HALF_WIDTHS, within}, reverse=True):
        points = points_for_score(np.diag(looked.own), half / 100)
        rows.append({"within": half, "points": points, "point_hours": points * costs["point"] / 3600})
    return {
        "answered": looked.by_people,
        "selection": looked.name or None,
        "maps_by": "",
        "questions": {},
        "apart": [],
        "half_widths": rows,
    }


def advise_one(
    study: Study, looked: LookedPoints, numbers: PointNumbers, within: float
) -> Recommended | None:
    """Return what to do next; None where the answers are measured and enough."""
    needed = {row["within"]: row["points"] for row in numbers["half_widths"]}
    advice: Recommended = {
        "verb": "select",
        "question": "scores",
        "selection": looked.name or POINTS,
        "selector": POINTS,
        "temperature": None,
        "goal": "values",
        "budget": None,
        "round": None,
        "begun": bool(looked.name),
        "why": "",
        "instead": None,
    }
    if not looked.name:
        first = STEP * math.ceil(min(needed[ENOUGH], MOST_POINTS) / STEP)
        why = f"Then its mIoU is known to about ±{ENOUGH:g} points of 100."
        return {**advice, "budget": first, "why": why}
    if looked.waiting:
        why = f"{looked.waiting:,} of {counted(looked.points, 'drawn point')} are not answered yet."
        return {**advice, "verb": "label", "why": why}
    if looked.answered >= FEW_POINTS and not POINT_MEASURES.is_done(study, looked.name):
        why = f"All {counted(looked.points, 'point')} of {looked.name} are answered."
        return {**advice, "verb": "measure", "why": why}
    more = min(needed[within] - looked.answered, max(looked.points, FEW_POINTS))
    if more <= 0:
        return None
    why = f"To know its mIoU within {within:g} of 100 points; each step at most doubles the points."
    return {**advice, "round": STEP * math.ceil(more / STEP), "why": why}
