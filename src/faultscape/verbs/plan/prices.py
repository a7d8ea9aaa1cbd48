"""The hours and money of a plan's rows."""

from __future__ import annotations

from faultscape.arguments import Costs
from faultscape.verbs.plan.result import DuelRow, Needed
from faultscape.verbs.status.costs import costs_given


def idle_costs(cost: Costs | None, task: str) -> list[str]:
    """Return notes about given costs of work that this task does not need.

    >>> idle_costs("question=2,mask=60", "segmentation")
    ['--cost question has no effect on label maps, whose costs are: mask, choice, point, box']
    """
    works = ("question",) if task == "classification" else ("mask", "choice", "point", "box")
    idle = [name for name, _ in costs_given(cost) if name not in works]
    of = "classifiers" if task == "classification" else "label maps"
    return (
        [f"--cost {', '.join(idle)} has no effect on {of}, whose costs are: {', '.join(works)}"]
        if idle
        else []
    )


def price(row: Needed | DuelRow, units: float | None, seconds: float, wage: float | None) -> None:
    """Write the hours and money for a row's units of work into the row."""
    hours = None if units is None else units * seconds / 3600
    row["hours"], row["money"] = hours, None if hours is None or wage is None else hours * wage


def priced_duel(row: DuelRow, classifies: bool, costs: dict[str, float], wage: float | None) -> DuelRow:
    """Return a row of duels with hours: for classifiers two questions per slot, shared ones once; for label
    maps one map per image, or one choice per slot.
    """
    out: DuelRow = {**row}
    if classifies:
        price(out, row["questions"], costs["question"], wage)
    else:
        del out["questions"]
        price(out, row["images"], costs["mask"], wage)
        out["choice_hours"] = row["slots"] * costs["choice"] / 3600
    return out
