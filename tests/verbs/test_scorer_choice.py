"""Which scorer a card recommends: the best on validation sets, whatever the others say, and none where there is
nothing to choose by.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultscape.metrics.intervals.evidence import Ratios
from faultscape.metrics.intervals.slopes import Linear
from faultscape.reporting.reliability.document import CardRecommended
from faultscape.verbs.reliability.card import Judgement
from faultscape.verbs.reliability.conditions import Condition, Units
from faultscape.verbs.reliability.verdicts.scorer_choice import recommended

UNITS = 8
SETS = [
    Condition("val-a", "anomaly", ("val-a",), (), validation=True),
    Condition("val-b", "anomaly", ("val-b",), (), validation=True),
    Condition("test", "anomaly", ("test",), ()),
]


def chosen(
    aps: dict[tuple[str, str], float], sets: list[Condition] | None = None, chance: float = 0.1
) -> CardRecommended:
    """What is recommended for a model with these {(scorer, set): AP}, whose own row is msp."""
    rng = np.random.default_rng(0)
    found = Judgement({}, {}, {}, {})
    scorers = dict.fromkeys(scorer for scorer, _ in aps)
    for (scorer, name), value in aps.items():
        slopes = rng.normal(0, 0.001, UNITS)
        found.evidence["net", scorer, name, "average_precision"] = Ratios(
            Linear(np.array(value), slopes - slopes.mean()), None
        )
        found.images["net", scorer, name] = ("image",)
        ranked = SimpleNamespace(positives=1, negatives=1, share=chance)
        found.scores["net", scorer, name] = SimpleNamespace(ranked=ranked)  # type: ignore[assignment]
    model: Any = SimpleNamespace(
        name="net", scorers={f"doubt-{s}": s for s in scorers}, own_scorer=("doubt-msp", "msp")
    )
    return recommended(found, [model], SETS if sets is None else sets, Units({}, UNITS, False))[0]


def test_it_is_the_best_on_average_over_the_sets_for_validation_alone() -> None:
    aps = {("msp", "val-a"): 0.5, ("msp", "val-b"): 0.2, ("msp", "test"): 0.9}
    aps |= {("energy", "val-a"): 0.3, ("energy", "val-b"): 0.5, ("energy", "test"): 0.2}
    row = chosen(aps)
    assert (row["scorer"], row["sets"], row["instead_of"]) == ("energy", ["val-a", "val-b"], "msp")
    assert row["average_precision"] == pytest.approx(0.4)
    assert row["difference"] == pytest.approx(0.05)
    assert row["low"] is not None
    assert row["high"] is not None
    assert row["low"] < 0.05 < row["high"]
    reported = {key: 1 - value for key, value in aps.items() if key[1] == "test"}
    assert chosen(aps | reported)["scorer"] == "energy"


def test_a_scorer_that_lacks_a_set_is_not_chosen_and_of_equals_the_first_is() -> None:
    aps = {("msp", "val-a"): 0.4, ("msp", "val-b"): 0.4, ("energy", "val-a"): 0.9}
    assert chosen(aps)["scorer"] == "msp"
    row = chosen(aps | {("energy", "val-a"): 0.4, ("energy", "val-b"): 0.4})
    assert (row["scorer"], row["difference"]) == ("msp", None)


def test_none_is_recommended_that_is_no_better_than_chance_or_has_nothing_to_be_chosen_by() -> None:
    aps = {("msp", "val-a"): 0.1, ("msp", "val-b"): 0.1, ("msp", "test"): 0.9}
    row = chosen(aps, chance=0.1)
    assert (row["scorer"], row["average_precision"]) == ("", None)
    assert row["why"] == "none is better than chance on val-a, val-b (msp: AP 0.100, chance 0.100)"
    assert chosen({("msp", "test"): 0.9})["why"] == "it has no average precision on a set for validation"
    assert "no set with anomalies is for validation: blend objects" in chosen(aps, SETS[2:])["why"]
    assert chosen({})["why"] == "the model has no scorer"
