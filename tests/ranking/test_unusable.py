"""A point lies in its interval and in the range of what it measures, or the row says why it cannot be used;
and what is never first.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.nouns import Draw
from faultscape.ranking import catalogue
from faultscape.ranking.drawn.estimates import combined, inside, lure, uniform_steps
from faultscape.ranking.drawn.scores import unusable
from faultscape.ranking.drawn.steps import first_alone
from faultscape.ranking.duel_standings import from_json, to_json
from faultscape.standings import ModelRanking
from made_draws import draw_rankings

ESTIMATES = ("margins", "prediction_powered", "lure")


def drawn(rng: np.random.Generator, weight: np.ndarray, number: int) -> tuple[list[Draw], np.ndarray]:
    """Draws in proportion to weights, and which images they are."""
    left, rows, order = weight.copy(), [], []
    for step in range(1, number + 1):
        k = int(rng.choice(len(weight), p=left / left.sum()))
        rows.append(
            Draw("mad", 1, step, f"{k:03d}", float(weight[k]), float(left[k] / left.sum()), len(weight))
        )
        order.append(k)
        left[k] = 0
    return rows, np.array(order)


def ranked(seed: int, *, spread: float, number: int, pool: int = 90, graded: bool = False, **options: object):
    """Standings of three models from draws whose weights are log-normal with this spread."""
    rng = np.random.default_rng(seed)
    correct = (
        rng.random((3, pool)) if graded else (rng.random((3, pool)) < [[0.9], [0.6], [0.2]]).astype(float)
    )
    names = [f"{k:03d}" for k in range(pool)]
    rows, order = drawn(rng, rng.lognormal(0, spread, pool), number)
    proxy = np.clip(1 - correct + rng.normal(0, 0.3, correct.shape), 0, 1)
    known = [names[k] for k in order]
    return draw_rankings(
        list("xyz"),
        rows,
        correct[:, order],
        known,
        proxy=proxy,
        pool=names,
        resamples=60,
        learns=False,
        **options,
    )


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0, 3), st.integers(3, 60), st.booleans())
def test_every_point_lies_in_its_interval_and_in_its_range_or_the_row_says_why_not(
    seed: int, spread: float, number: int, graded: bool
) -> None:
    table = ranked(seed, spread=spread, number=number, graded=graded)
    for name, row in table.rankings.items():
        if row.unusable:
            assert row.unusable.startswith("effective sample size")
            for key in ("scores", "score_interval", "rank_interval", "simultaneous_rank_interval"):
                assert np.isnan(list(getattr(row, key).values())).all()
            assert row.order == row.tied_for_best == row.best_set == []
            continue
        most = 2 / 3 if "margins" in name else 1.0
        for model, score in row.scores.items():
            low, high = row.score_interval[model]
            if not name.startswith("reuse_bradley"):
                assert (-most if "margins" in name else 0) <= score <= most
            assert np.isnan(low) or low <= score <= high


def test_a_mean_that_weights_put_below_nothing_is_put_where_labels_leave_it() -> None:
    # what LURE used to print: -.3785 beside an interval from .0016
    found = lure(np.array([[1.0, 1.0, 1.0]]), np.array([1 / 200, 1 / 150, 1 / 100]), 90)
    assert 1 - found.loss[0] < 0
    assert 1 - inside(found).loss[0] == 0
    assert unusable(found).startswith("effective sample size")


def test_labels_worth_fewer_than_ten_carry_no_estimate_unless_they_are_all_there_is() -> None:
    even = [lure(np.zeros((2, n)), uniform_steps(n, 40), 40) for n in (9, 10)]
    assert [unusable(one) for one in even] == ["effective sample size 9.0, below 10", ""]
    assert unusable(lure(np.zeros((2, 8)), uniform_steps(8, 8), 8)) == ""
    assert unusable(combined([even[1], even[1]], [0.5, 0.5])) == ""  # together they are worth twenty
    assert unusable(combined([even[1], even[0]], [0.02, 0.98])) == "effective sample size 9.4, below 10"


def test_uneven_weights_make_many_labels_worth_few() -> None:
    table = ranked(3, spread=3.0, number=40, pool=300)
    for name in ESTIMATES:
        assert table.rankings[name].unusable, name
    # as they come: its interval describes these labels
    assert table.rankings["reuse_margins"].speaks_of == "chosen"
    fair = ranked(3, spread=0.3, number=40, pool=300)
    for name in ESTIMATES:
        assert not fair.rankings[name].unusable
        assert 30 < fair.rankings[name].effective_labels <= 40
        assert fair.rankings[name].speaks_of == "pool"


def test_a_row_that_cannot_be_used_says_so_in_words_and_in_json_and_does_not_stand_first() -> None:
    table = ranked(3, spread=3.0, number=40, pool=300)
    words = repr(table)
    assert "  lure: cannot be used: effective sample size" in words
    raw = json.loads(json.dumps(to_json(table), allow_nan=False))["rankings"]["lure"]
    assert raw["unusable"].startswith("effective sample size")
    assert raw["scores"] == {"x": None, "y": None, "z": None}
    assert repr(from_json(json.loads(json.dumps(to_json(table))))) == words
    rankings = catalogue.ordered(table.rankings, "chance")
    assert not next(iter(rankings.values())).unusable


NAMES = ("margins", "reuse_margins", "prediction_powered", "lure", "reuse_mean", "reuse_bradley_terry")


def test_after_choices_without_probabilities_the_mean_stands_first() -> None:
    assert (
        next(iter(catalogue.ordered(dict.fromkeys(NAMES[1:], ModelRanking()), catalogue.TOP))) == "reuse_mean"
    )


@pytest.mark.parametrize("chosen", [catalogue.TOP, catalogue.DUELS])
def test_a_goal_is_that_of_draws_by_chance_alone(chosen: str) -> None:
    rankings = dict.fromkeys(NAMES, ModelRanking())
    whatever = catalogue.ordered(rankings, chosen)
    assert list(catalogue.ordered(rankings, chosen, goal="best")) == list(whatever)
    first = {goal: next(iter(catalogue.ordered(rankings, "chance", goal))) for goal in ("order", "best")}
    assert first["best"] == catalogue.FIRST[catalogue.BEST][0]
    assert first["order"] == catalogue.FIRST[catalogue.CHANCE][0] != first["best"]


@pytest.mark.parametrize("chosen", list(catalogue.FIRST))
def test_whatever_was_chosen_some_ranking_that_can_be_used_stands_first(chosen: str) -> None:
    rankings = dict.fromkeys(NAMES[:4], ModelRanking(unusable="too few")) | {"reuse_mean": ModelRanking()}
    assert next(iter(catalogue.ordered(rankings, chosen))) == "reuse_mean"
    assert set(catalogue.FIRST[chosen]) <= {*NAMES, "points"}
    assert list(catalogue.ordered({}, chosen)) == []


def test_the_first_draws_that_are_ranked_alone_are_just_enough_for_an_estimate() -> None:
    rng = np.random.default_rng(0)
    needed = []
    for spread in (0.0, 0.3, 1.0):
        rows, _ = drawn(rng, rng.lognormal(0, spread, 60), 40)
        chance = np.array([row.probability for row in rows])
        enough = first_alone(rows)
        assert not unusable(lure(np.zeros((1, enough)), chance[:enough], 60))
        assert enough == 10 or unusable(lure(np.zeros((1, enough - 1)), chance[: enough - 1], 60))
        assert first_alone(rows[: enough - 1]) == 0
        needed.append(enough)
    assert needed == sorted({*needed})
    assert needed[0] == 10
