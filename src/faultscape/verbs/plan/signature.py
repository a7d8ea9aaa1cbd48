"""plan: estimate how many labels each question needs, and what they cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from faultscape.arguments import Costs, Place
from faultscape.choices import Goal
from faultscape.errors import OptionError
from faultscape.verbs.plan.result import LabelPlan
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import PlanOptions


def _check(options: PlanOptions) -> None:
    wage = options.wage
    if wage is not None and not (math.isfinite(wage) and wage >= 0):
        raise OptionError(f"--wage must be a cost per hour, 0 or more; got {wage}")
    if not 0 < options.within <= 100:
        raise OptionError(f"--within must be above 0 and at most 100 points; got {options.within}")
    if options.seed < 0:
        raise OptionError(f"seed must be 0 or more; got {options.seed}")


@verb("faultscape.verbs.plan.document:make_plan", changes_nothing=("engine", "workers"), check=_check)
def plan(
    study: Place,
    *,
    cost: Costs | None = None,
    wage: float | None = None,
    within: float = 1.0,
    goal: Goal | None = None,
    selection: str | None = None,
    truth: str | None = None,
    pool: bool = False,
    seed: int = 0,
    engine: str = "processes",
    workers: int | None = None,
) -> LabelPlan:
    """Say how many labels, or points, it takes to find the best model, to order all models and to score each
    one, with hours and cost, and write plan.json.

    Before there are labels, each model in turn serves as the truth: this shows how much estimates will vary,
    and roughly how far apart the models may be. Labels of randomly drawn images replace both with measured
    values. Run it again as labels come in.

    Parameters
    ----------
    study
        The study folder.
    cost
        Seconds of work; the defaults are mask=5400,choice=10,question=3,point=4,box=7. In Python also a dict.
        A mask of Cityscapes took 90 minutes (Cordts et al. 2016), one of CamVid about 25: set yours. A box
        took 7 seconds (Papadopoulos et al. 2017). The others are assumed, not measured; a first click on an
        object took 2.4 seconds (Bearman et al. 2016).
    wage
        Cost of one hour of work.
    within
        How exact the scores must be, in points of 100.
    goal
        order (of all models; default) or best: which draws to recommend, as in `select --goal`, and the
        question that sets the budget. Draws that have labels are continued with their own definition, those
        for this goal first.
    selection
        The selection whose labels are used; default: the random selection with most labels, with --goal
        preferably one drawn for it. Of points: the one with most answers, which can be named likewise.
    truth
        The labels that count; default: labels, or the only ones.
    pool
        Also say what duels choose in smaller pools, in parts of another make (set, condition, tag), and what
        twice as many images would change.
    seed
        Seed of the simulated outcomes, and of the parts of the pool.
    engine
        local, processes, ray or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.

    >>> planned = fs.plan("study", cost={"mask": 600}, engine="local")
    >>> planned.questions["best"]["random"]["labels"]
    2
    """
    ...
