"""What a page says of how firm standings are, and of the same models asked through other images, by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from faultscape.nouns import Classes, Draw, PairSlot, Predictions
from faultscape.reporting import charts
from faultscape.reporting.competition import class_cards, other_questions, outcomes, page
from faultscape.reporting.competition.standing_tables import (
    accuracy_matrix,
    best_at_once,
    rank_table,
    verdict,
)
from faultscape.reporting.view import ChartPoint, HeatCell, Line
from faultscape.standings import ModelRanking, Stability, Standings, WithoutModel

MODELS = ("a", "b", "c")


def ranking(
    order: str,
    at_once: dict[str, list[float | None]] | None = None,
    best: list[str] | None = None,
    tied: str = "a",
):
    return ModelRanking(
        order=list(order),
        scores={m: float(-order.index(m)) for m in order},
        score_interval={},
        rank_interval={},
        simultaneous_rank_interval=at_once or {},
        tied_for_best=list(tied),
        best_set=best or [],
    )


def standings(rankings: dict[str, ModelRanking], *, top_k=(), moved=(), labels: int = 90) -> Standings:
    left = {m: WithoutModel(3, 0.5, change, "c") for m, change in zip(MODELS, moved, strict=False)}
    said = (
        Stability("perron", left, list(top_k), list(range(1, len(top_k) + 1)), "") if top_k or moved else None
    )
    return Standings(MODELS, {"used": labels}, {}, rankings, {}, stability=said)


APART = {"a": [1, 1], "b": [2, 2], "c": [3, 3]}
REVERSED = {"a": [3, 3], "b": [2, 2], "c": [1, 1]}
WIDE = {"a": [1, 3], "b": [1, 3], "c": [1, 3]}


def warned(mad: Standings, draw: Standings | None = None, selector: str = "random") -> list[str]:
    tables = {"main": mad} | ({"drawn": draw} if draw else {})
    found = other_questions.questions(tables, {"main": "mad", "drawn": selector})
    return other_questions.warnings(tables, found).get("main", [])


def test_a_firm_ranking_is_not_warned_of():
    firm = standings({"perron": ranking("abc", APART)}, top_k=[0.2, 0.5, 0.95, 1.0], moved=(0, 1, 1))
    assert warned(firm, standings({"lure": ranking("abc", APART)})) == []


def test_a_model_that_moves_two_ranks_is_named():
    assert warned(standings({"perron": ranking("abc")}, top_k=[1.0, 1.0], moved=(1, 2, 0))) == [
        "without the images of b, c moves 2 ranks"
    ]


def test_a_curve_below_nine_tenths_in_its_last_quarter_has_not_settled():
    curve = [0.1] * 6 + [0.95, 0.89, 0.95, 1.0]
    assert warned(standings({"perron": ranking("abc")}, top_k=curve)) == [
        "its ranking has not settled: in the last quarter of the top-k curve, the correlation falls to 0.89"
    ]
    curve[7] = 0.9
    assert warned(standings({"perron": ranking("abc")}, top_k=curve)) == []


@pytest.mark.parametrize(
    ("most", "tail"), [(1, []), (2, [0]), (3, [1]), (4, [2]), (10, [7, 8]), (30, list(range(22, 29)))]
)
def test_the_last_quarter_leaves_out_the_place_that_agrees_with_itself(most, tail):
    assert other_questions.last_quarter([float(k) for k in range(most)]) == tail


def test_opposite_orders_are_warned_of_only_beyond_both_intervals():
    mad = standings({"perron": ranking("abc", APART)}, top_k=[1.0, 1.0])
    assert warned(mad, standings({"prediction_powered": ranking("cba", REVERSED)}), "information")
    both = {
        "reuse_mean": ranking("abc", WIDE),
        "perron": ranking("abc", APART),
    }  # what stands first is not what is warned of
    assert warned(standings(both, top_k=[1.0, 1.0]), standings({"lure": ranking("cba", REVERSED)}))
    (said,) = warned(mad, standings({"lure": ranking("cba", REVERSED)}))
    assert said.startswith(
        "it ranks a above b, a above c and b above c, but LURE of selection drawn ranks them the other way round"
    )
    assert warned(mad, standings({"lure": ranking("cba", WIDE)})) == []
    assert (
        warned(
            standings({"perron": ranking("abc", WIDE)}, top_k=[1.0, 1.0]),
            standings({"lure": ranking("cba", REVERSED)}),
        )
        == []
    )


def test_draws_without_chance_contradict_nobody():
    mad = standings({"perron": ranking("abc", APART)}, top_k=[1.0, 1.0])
    entropy = standings({"reuse_mean": ranking("cba", REVERSED)})
    assert warned(mad, entropy, "entropy") == []
    assert len(warned(mad, entropy, "random")) == 1


def test_each_selection_stands_with_its_first_rankings():
    rankings = {name: ranking("abc") for name in ("perron", "hodge", "reuse_mean", "reuse_bradley_terry")}
    drawn = {name: ranking("cba") for name in ("prediction_powered", "reuse_mean", "lure")}
    tables = {
        "main": standings(rankings, moved=(0, 0, 0)),
        "r": standings(drawn, labels=4),
        "e": standings({"reuse_mean": ranking("abc")}),
    }
    found = other_questions.questions(tables, {}, stale=["r"])
    assert [(q.selection, q.ranking, q.labels, q.stale) for q in found] == [
        ("main", "perron", 90, False),
        ("main", "reuse_mean", 90, False),
        ("r", "prediction_powered", 4, True),
        ("e", "reuse_mean", 90, False),
    ]
    assert other_questions.correlations(found)[0] == pytest.approx([1, 1, -1, 1])
    duels = {
        name: ranking("abc") for name in ("reuse_bradley_terry", "aggressiveness", "resistance", "reuse_mean")
    }
    every = Standings(MODELS, {"used": 59, "of_selection": 20}, {}, duels, {})
    shown = [(q.ranking, q.labels) for q in other_questions.questions({"main": every}, {})]
    assert shown == [("reuse_bradley_terry", 59), ("aggressiveness", 20)]


def test_models_without_score_are_left_out_of_places_and_correlations():
    lone = ranking("abc")
    lone.scores["b"] = float("nan")
    found = other_questions.questions(
        {"main": standings({"perron": lone}), "r": standings({"lure": ranking("cba")})}, {}
    )
    assert found[0].order == ("a", "c")
    assert other_questions.correlations(found)[0][1] == pytest.approx(-1)


def test_a_leader_of_single_comparisons_alone_is_ahead_but_not_beyond_doubt():
    sure = standings({"perron": ranking("abc", best=["a"]), "reuse_mean": ranking("abc", best=["a"])})
    assert verdict(sure)[0] == "a leads"
    unsure = standings({"perron": ranking("abc", best=["a", "b"]), "reuse_mean": ranking("abc", best=["a"])})
    assert verdict(unsure)[0] == "a leads, but not conclusively: b could be best too"
    assert best_at_once(unsure).endswith(
        ", a or b could be best by Perron rank; only a by Mean over all labels."
    )
    assert best_at_once(standings({"perron": ranking("abc")})) == ""


def test_a_handful_of_labels_names_no_leader():
    found = {"perron": ranking("abc", best=["a"])}
    assert verdict(standings(found, labels=10))[0] == "a leads"
    head, words = verdict(standings({"perron": ranking("abc", tied="")}, labels=1))
    assert head == "Too few labels to say who leads"
    assert words == "1 labelled image: too few for reliable intervals. Label at least 10."


def test_standings_from_before_simultaneous_ranks_have_no_column_for_them():
    old = replace(ranking("abc"), simultaneous_rank_interval={}, best_set=[])
    assert rank_table("perron", old, MODELS).at_once is False
    assert rank_table("perron", ranking("abc", APART), MODELS).at_once is True
    assert rank_table("perron", ranking("abc", {m: [None, None] for m in MODELS}), MODELS).at_once is False
    assert verdict(standings({"perron": old}))[0] == "a leads"


def test_the_brightness_of_equal_accuracies_is_defined():
    assert accuracy_matrix([[None, 0.5], [0.5, None]])[0][1].value == 0.5
    assert accuracy_matrix([[float("nan")]]) == [[HeatCell(None)]]


def pair(a: str, b: str, image: str, k: int) -> PairSlot:
    return PairSlot("mad", 1, k, a, b, "cat", "car", 1, image, float(k), 0.9, 1.0, 9)


def test_pairs_end_as_their_own_images_say():
    chosen = [pair("a", "b", "x", 1), pair("b", "a", "y", 2), pair("a", "c", "y", 3), pair("b", "c", "z", 4)]
    correct = np.array([[1.0, 1.0], [0.0, 1.0], [np.nan, np.nan]])
    found = {(p.model_a, p.model_b): p for p in outcomes.pair_cases(MODELS, chosen, ["x", "y"], correct)}
    one = found["a", "b"]
    assert (one.both_right, one.first, one.second, one.both_wrong, one.total) == (1, 1, 0, 0, 2)
    assert (one.better, one.gap) == (1.0, 0.5)
    assert found["a", "c"].total == found["b", "c"].total == 0
    assert np.isnan(found["a", "c"].gap)


def test_the_better_one_is_right_at_least_as_often_as_the_gap_is_wide():
    rng = np.random.default_rng(0)
    images = [str(k) for k in range(30)]
    chosen = [
        pair(a, b, i, 1)
        for a, b in (("a", "b"), ("a", "c"), ("b", "c"))
        for i in rng.permutation(images)[:12]
    ]
    for p in outcomes.pair_cases(MODELS, chosen, images, rng.integers(0, 2, (3, 30)).astype(float)):
        assert p.total == 12
        assert p.better >= p.gap


def test_the_observation_is_said_as_it_is():
    of = lambda *rows: [outcomes.PairCases("a", "b", *row) for row in rows]  # noqa: E731
    assert outcomes.observed(of((0, 1, 0, 9), (0, 2, 0, 8), (0, 3, 0, 7))) == ""
    assert "That does not hold here (Spearman −1.00" in outcomes.observed(
        of((9, 0, 0, 1), (7, 1, 0, 2), (5, 2, 0, 3), (3, 3, 0, 4))
    )
    assert "correlate (Spearman 1.00" in outcomes.observed(
        of((0, 1, 0, 9), (0, 2, 0, 8), (0, 3, 0, 7), (0, 4, 0, 6))
    )


def test_cards_come_with_most_pairs_first_and_draws_in_their_order(monkeypatch):
    said = Predictions(
        Classes(("cat", "car"), (0, 1), ()),
        ("a", "b"),
        ("x", "y"),
        np.array([[0, 1], [1, -1]]),
        np.full((2, 2), np.nan),
    )
    rows = [pair("a", "b", "x", 1), pair("a", "b", "y", 2), pair("a", "b", "y", 3)]
    cards, more = class_cards.class_cards(
        rows, said, {"x": np.array([1.0, 0.0])}, {"x": "cat"}, lambda a, b: (a, b)
    )
    assert [card.image for card in cards] == ["y", "x"]
    assert more == 0
    assert [met.slot.distance for met in cards[0].met] == [3.0, 2.0]
    assert (cards[1].met[0].case, cards[1].met[0].way, cards[1].truth) == ("II", ("cat", "car"), "cat")
    assert [a.mark for a in cards[0].answers] == ["", ""]
    assert cards[0].answers[1].label == ""
    draws = [Draw("random", 1, k, image, 1.0, 0.5, 9) for k, image in enumerate("yx", 1)]
    assert [card.image for card in class_cards.class_cards(draws, said, {}, {})[0]] == ["y", "x"]
    monkeypatch.setattr(class_cards, "MOST", 1)
    assert class_cards.class_cards(draws, said, {}, {})[1] == 1


def test_charts_escape_their_words_and_leave_gaps_where_nothing_is_known():
    said = Stability("perron", {}, [0.5, None, 0.9, 1.0], [1, 2, 3, 1000], "")
    found = page._top_k(said)
    drawn = charts.plane([found["line"]], found["x"], found["y"], title="<b>", limit=0.9)
    assert drawn.count("<circle") == 3
    (path,) = re.findall(r'class="curve" d="([^"]*)"', drawn)
    assert (path.count("M"), path.count("L")) == (1, 1)  # the first is joined to none
    assert "<b>" not in drawn
    assert "k = 1000: 1.000" in drawn
    one = Line("<script>", (ChartPoint(0.1, 0.5, says="<script>"),))
    assert "<script>" not in charts.plane([one], title="")
    none = page._top_k(Stability("perron", {}, [], [], ""))
    assert charts.plane([none["line"]], none["x"], none["y"], title="").count("<circle") == 0
