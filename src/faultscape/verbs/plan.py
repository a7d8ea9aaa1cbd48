"""plan: say how many labels each question needs, and what they cost."""

from __future__ import annotations

import math

from faultscape.arguments import Costs, Place, needed_text
from faultscape.choices import Goal
from faultscape.errors import OptionError
from faultscape.stages.plan.options import PlanOptions
from faultscape.stages.plan.result import LabelPlan


def plan(
    study: Place,
    *,
    cost: Costs | None = None,
    wage: float | None = None,
    within: float = 1.0,
    goal: Goal | None = None,
    selection: str | None = None,
    truth: str | None = None,
    seed: int = 0,
    engine: str = "processes",
    workers: int | None = None,
) -> LabelPlan:
    """Say how many labels it takes to find the best model, the order of all and the score of each, with hours
    and money, and write plan.json.

    Before any label the models themselves stand for the truth, each in its turn: that gives how much
    estimates will vary, and roughly how far apart models may be. Labels of images drawn by chance replace
    both by what they measure. Run it again as labels come in.

    Parameters
    ----------
    study
        The study folder.
    cost
        Seconds of work: mask=5400,choice=10,question=3 are the defaults; in Python also a dict.
    wage
        Money for an hour.
    within
        How exactly scores are asked for, in points of 100.
    goal
        order (of all models; default) or best: which draws to recommend, as `select --goal`, and the question
        whose number is the budget. Draws that have labels are gone on with as they were made, those for this
        goal first.
    selection
        The selection whose labels are used; default: of those drawn by chance the one with most labels, with
        --goal first of those drawn for it.
    truth
        Which labels count; default: labels, or the only ones.
    seed
        Seed of the simulated outcomes.
    engine
        local, processes, ray or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    """
    from faultscape.stages.plan.document import make_plan

    options = PlanOptions(cost, wage, within, goal, selection, truth, seed, engine, workers)
    if wage is not None and not (math.isfinite(wage) and wage >= 0):
        raise OptionError(f"a wage is money for an hour, not below 0; got {wage}")
    if not 0 < within <= 100:
        raise OptionError(f"--within is a number of points above 0, at most 100; got {within}")
    if seed < 0:
        raise OptionError(f"seed cannot be negative; got {seed}")
    return make_plan(needed_text(study, "study"), options)
