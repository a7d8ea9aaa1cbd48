"""What labels cost: seconds for each kind of work, and the hours that some images take."""

from __future__ import annotations

import math
from collections.abc import Mapping

from faultscape.arguments import Costs
from faultscape.errors import OptionError, closest
from faultscape.reading.label_counts import question_number
from faultscape.reading.study import Study
from faultscape.verbs.plan import artefact as plan

# seconds for a whole map, a choice between two maps, a yes/no question, what a pixel shows, a box
COSTS = {"mask": 5400.0, "choice": 10.0, "question": 3.0, "point": 4.0, "box": 7.0}


def read_costs(cost: Costs | None) -> dict[str, float]:
    """Return the seconds of each kind of work; OptionError for an unknown kind or an invalid time.

    >>> read_costs("mask=3600,question=2")
    {'mask': 3600.0, 'choice': 10.0, 'question': 2.0, 'point': 4.0, 'box': 7.0}
    """
    out = dict(COSTS)
    given = costs_given(cost)
    names = [name for name, _ in given]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise OptionError(f"--cost names {twice} twice; give each kind of work once")
    for name, value in given:
        if name not in COSTS:
            raise OptionError(
                f"--cost knows {', '.join(COSTS)}, in seconds, such as mask=5400,choice=10; got"
                f" {name!r}.{closest(name, list(COSTS))}"
            )
        try:
            text = isinstance(cost, Mapping) and isinstance(value, str)  # numbers of Python are no text
            out[name] = math.nan if text else float(value)
        except (TypeError, ValueError):
            out[name] = math.nan
        if not (math.isfinite(out[name]) and out[name] >= 0):
            raise OptionError(f"--cost {name} must be a number of seconds, 0 or more; got {value!r}")
    return out


def costs_given(cost: Costs | None) -> list[tuple[str, float | str]]:
    """Return (kind of work, seconds) as they were given."""
    if isinstance(cost, Mapping):
        return list(cost.items())
    return (
        [(name, value) for name, _, value in (word.partition("=") for word in str(cost).split(","))]
        if cost
        else []
    )


def hours_of(study: Study, images: int, name: str) -> float:
    """Return the hours that labels of some images, or answers to points, take, at the costs of the study's
    plan. Classifiers ask a question for each class that a model predicts: as many as for an image of
    selection ``name``.
    """
    given = plan.PLAN.options(study).get("cost")
    costs = read_costs(str(given)) if given else COSTS
    slots = study.selection(name).now if name in study.selections else None
    if slots is not None and slots.points:
        return images * costs["point"] / 3600
    if not study.settings.classifies or slots is None:
        return images * costs["mask"] / 3600
    each = question_number(study, slots, study.likely_truth) / len(slots.images)
    return images * each * costs["question"] / 3600
