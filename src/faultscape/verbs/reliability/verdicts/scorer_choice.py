"""The scorer recommended for each model: the one whose doubt finds anomalies best on sets for validation.

Conventions: chosen by the mean average precision over all sets with anomalies that are for validation
(`Condition.validation`), among the scorers that were counted on the most of these; of equals the first. What
is reported on the other sets has no part in it. Nothing is recommended without such a set, or where the best
does not beat chance, the mean share of anomalous pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from faultscape.metrics.intervals.evidence import Ratios
from faultscape.metrics.intervals.slopes import Linear
from faultscape.reporting.measure.document import number
from faultscape.reporting.reliability.document import CardRecommended
from faultscape.verbs.reliability.card import Judgement, anomalous_share, interval_of
from faultscape.verbs.reliability.conditions import Condition, Units
from faultscape.verbs.reliability.numbers import ModelNumbers

_METRIC = "average_precision"


def recommended(
    found: Judgement, models: Sequence[ModelNumbers], conditions: Sequence[Condition], units: Units
) -> list[CardRecommended]:
    """Return the recommended scorer of each model, or why there is none."""
    sets = [condition.name for condition in conditions if condition.with_anomalies and condition.validation]
    return [_of_model(found, model, sets, units) for model in models]


def _of_model(found: Judgement, model: ModelNumbers, sets: Sequence[str], units: Units) -> CardRecommended:
    known: dict[str, dict[str, Ratios]] = {}
    for scorer in model.scorers.values():
        held = {name: found.evidence.get((model.name, scorer, name, _METRIC)) for name in sets}
        mine = {n: of for n, of in held.items() if isinstance(of, Ratios) and not math.isnan(of.value)}
        known |= {scorer: mine} if mine else {}
    if not known:
        why = (
            "the model has no scorer"
            if not model.scorers
            else "it has no average precision on a set for validation"
            if sets
            else "no set with anomalies is for validation: blend objects into images of role validation"
        )
        return _row(model.name, "", (), why=why)
    most = max(map(len, known.values()))
    means = {scorer: _mean([*of.values()]) for scorer, of in known.items() if len(of) == most}
    best = max(means, key=lambda scorer: means[scorer].value)
    chance = float(np.mean([anomalous_share(found, name) or 0.0 for name in known[best]]))
    if means[best].value <= chance:
        why = f"none is better than chance on {', '.join(known[best])} ({best}: AP {means[best].value:.3f},"
        return _row(model.name, "", (), why=f"{why} chance {chance:.3f})")
    row = _row(model.name, best, [*known[best]], value=means[best].value, instead_of=model.own_scorer[1])
    own = means.get(model.own_scorer[1])
    if own is None or best == model.own_scorer[1]:
        return row
    images = [
        [found.images[model.name, word, n] for n in known[best]] for word in (best, model.own_scorer[1])
    ]
    gap = means[best].apart(own)
    low, high = interval_of(gap, units) if images[0] == images[1] else (None, None)
    return row | {"difference": number(gap.value), "low": low, "high": high}  # type: ignore[return-value]


def _mean(numbers: Sequence[Ratios]) -> Ratios:
    """Return the mean of numbers, with the slopes of the units that any of them counts."""
    slopes = np.stack([one.linear.slopes for one in numbers])
    nowhere = np.isnan(slopes).all(0)
    total = np.where(nowhere, np.nan, np.nan_to_num(slopes).sum(0))
    value = sum(one.value for one in numbers)
    return Ratios(Linear(np.array(value / len(numbers)), total / len(numbers)), None)


def _row(
    model: str,
    scorer: str,
    sets: Sequence[str],
    *,
    value: float = math.nan,
    instead_of: str = "",
    why: str = "",
) -> CardRecommended:
    return {
        "model": model,
        "scorer": scorer,
        "sets": list(sets),
        "average_precision": number(value),
        "instead_of": instead_of,
        "difference": None,
        "low": None,
        "high": None,
        "why": why,
    }
