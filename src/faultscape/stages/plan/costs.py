"""What labels cost: seconds for each kind of work, hours, and money."""

from __future__ import annotations

import math
from collections.abc import Mapping

from faultscape.arguments import Costs
from faultscape.errors import OptionError, closest
from faultscape.stages.plan.result import DuelRow, Needed

# seconds for a whole map, a choice between two maps, a yes/no question
COSTS = {"mask": 5400.0, "choice": 10.0, "question": 3.0}


def read_costs(cost: Costs | None) -> dict[str, float]:
    """Return the seconds of each kind of work; OptionError for an unknown kind or an invalid time.

    >>> read_costs("mask=3600,question=2")
    {'mask': 3600.0, 'choice': 10.0, 'question': 2.0}
    """
    out = dict(COSTS)
    for name, value in _costs_given(cost):
        if name not in COSTS:
            raise OptionError(
                f"--cost knows {', '.join(COSTS)}, in seconds, such as mask=5400,choice=10; got"
                f" {name!r}.{closest(name, list(COSTS))}"
            )
        try:
            out[name] = float(value)
        except (TypeError, ValueError):
            out[name] = math.nan
        if not (math.isfinite(out[name]) and out[name] >= 0):
            raise OptionError(f"--cost {name} must be a number of seconds, 0 or more; got {value!r}")
    return out


def idle_costs(cost: Costs | None, task: str) -> list[str]:
    """Return notes about given costs of work that this task does not need.

    >>> idle_costs("question=2,mask=60", "segmentation")
    ['--cost question has no effect on label maps, whose costs are: mask, choice']
    """
    works = ("question",) if task == "classification" else ("mask", "choice")
    idle = [name for name, _ in _costs_given(cost) if name not in works]
    of = "classifiers" if task == "classification" else "label maps"
    return (
        [f"--cost {', '.join(idle)} has no effect on {of}, whose costs are: {', '.join(works)}"]
        if idle
        else []
    )


def _costs_given(cost: Costs | None) -> list[tuple[str, float | str]]:
    """Return (kind of work, seconds) as they were given."""
    if isinstance(cost, Mapping):
        return list(cost.items())
    return (
        [(name, value) for name, _, value in (word.partition("=") for word in str(cost).split(","))]
        if cost
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
