"""Which pairs of models a campaign asks about first: those in doubt, and so fewer answers for the same
order.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import spearmanr

from faultscape.labelling.people.pair_order import FEWEST_MODELS, PairOrder, pair_priorities, score_posterior
from faultscape.verbs.serve.assignment import Assignment

MODELS = [f"m{k}" for k in range(8)]
ITEMS = {f"{a}-{b}-{k}": (a, b) for a, b in combinations(MODELS, 2) for k in range(3)}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "ben"]),
        st.sampled_from(sorted(ITEMS)[::5]),
        st.integers(0, 1),
        st.sampled_from([1.0, 0.5, 0.0, float("nan"), None, "hold", "release"]),
    )
)


def plain(said: dict[tuple[str, str, int], float]) -> np.ndarray:
    wins = np.zeros((len(MODELS), len(MODELS)))
    for (_, item, _), worth in said.items():
        a, b = (MODELS.index(name) for name in ITEMS[item])
        if not np.isnan(worth):
            wins[a, b] += worth
            wins[b, a] += 1 - worth
    return wins


@given(STEPS, st.integers(0, 3))
def test_priorities_are_those_of_all_that_was_said_and_is_in_hand(steps: list, other: int) -> None:
    order = sorted(ITEMS, reverse=bool(other % 2))
    pairs, said = PairOrder(), dict[tuple[str, str, int], float]()
    pairs.ask(dict(list(ITEMS.items())[: 40 * (other // 2)]), list(ITEMS)[: 40 * (other // 2)])
    for who, item, repeat, act in steps:
        if act == "hold":
            pairs.hold(who, item, repeat)
            said.setdefault((who, item, repeat), 0.5)
        elif act == "release":
            pairs.release(who, item, repeat)
            said.pop((who, item, repeat), None)
        else:
            pairs.note(who, item, repeat, act)
            said[who, item, repeat] = 0.5 if act is None else act
        pairs.priorities()
    pairs.ask(ITEMS, order)
    expected = pair_priorities(score_posterior(plain(said)))
    places = [(MODELS.index(a), MODELS.index(b)) for a, b in (ITEMS[item] for item in order)]
    assert pairs.priorities() == pytest.approx([expected[a, b] for a, b in places], abs=1e-8)


def test_of_no_items_there_are_no_priorities() -> None:
    pairs = PairOrder()
    pairs.ask({}, [])
    pairs.note("ann", "gone", 0, 1.0)
    assert len(pairs.priorities()) == 0


def what_is_missing(adaptive: bool, seed: int, people: int = 3) -> float:
    """How far the rank correlation with the true order is from 1, in the mean over 100 to 200 answers of
    people who see the better model with Bradley and Terry's chance.
    """
    rng = np.random.default_rng(seed)
    strength = rng.permutation(np.linspace(-1.6, 1.6, len(MODELS)))
    items = {f"{a}-{b}-{k}": (a, b) for a, b in combinations(MODELS, 2) for k in range(12)}
    hands, pairs = Assignment(seed=seed, overlap=people, repeats=0.0), PairOrder()
    hands.ask([*items])
    pairs.ask(items, hands.order)
    wins, missing = np.zeros((len(MODELS), len(MODELS))), list[float]()
    for count in range(1, 201):
        who = f"person-{count % people}"
        handing, _ = hands.hand(who, (), float(count), pairs.priorities() if adaptive else None)
        assert handing is not None
        pairs.hold(who, handing.item, 0)
        a, b = (MODELS.index(name) for name in items[handing.item])
        first = bool(rng.random() < expit(strength[a] - strength[b]))
        wins[(a, b) if first else (b, a)] += 1
        hands.note(who, handing.item, 0, answered=True)
        pairs.note(who, handing.item, 0, float(first))
        if count >= 100 and count % 20 == 0:
            missing.append(1 - spearmanr(score_posterior(wins).scores, strength).statistic)
    return float(np.mean(missing))


@pytest.mark.slow
def test_an_adaptive_campaign_comes_nearer_to_the_order_by_as_many_answers() -> None:
    even, adaptive = (np.array([what_is_missing(kind, seed) for seed in range(6)]) for kind in (False, True))
    assert len(MODELS) >= FEWEST_MODELS
    assert np.mean(adaptive) < 0.8 * np.mean(even), (np.mean(adaptive), np.mean(even))
