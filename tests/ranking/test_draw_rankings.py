"""Standings of images that were drawn for all models: what is unbiased, what is left out and what is said of
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from faultscape.errors import OptionError, RankingError
from faultscape.nouns import Draw
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn import scores as drawn_estimates
from faultscape.ranking.drawn.steps import remaining, steps
from faultscape.reporting.competition.standing_tables import caveat
from made import tie
from made_draws import draw_rankings
from refusals import refused


def drawn(
    images: Sequence[str],
    weights: dict[str, float],
    selector: str = "disputed",
    rounds: list[int] | None = None,
) -> list[Draw]:
    """Draws in this order, each with its probability among what is left."""
    left, rows = dict(weights), []
    for step, image in enumerate(images, 1):
        q = left.pop(image) / (sum(left.values()) + weights[image])
        rows.append(
            Draw(selector, rounds[step - 1] if rounds else 1, step, image, weights[image], q, len(weights))
        )
    return rows


WEIGHTS = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
RIGHT = np.array([[1, 0, 1, 1], [0, 0, 1, 0]], float)  # on a, b, c, d


@pytest.fixture(autouse=True)
def few_labels_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools of four images can be checked by hand; how many labels it takes is tested elsewhere
    (test_unusable.py).
    """
    monkeypatch.setattr(drawn_estimates, "WORTH", 0)


def scores(
    rows: list[Draw], correct: np.ndarray = RIGHT, *, learns: bool = False, **options: object
) -> dict[str, float]:
    found = steps(rows, list(WEIGHTS), correct, learns=learns, **options)
    loss = estimates.lure(1 - correct[:, found.columns], found.probability, found.pool).loss
    return dict(zip("xy", 1 - loss, strict=True))


def test_lure_is_the_accuracy_on_the_pool_on_average_over_all_draws() -> None:
    total, chance = np.zeros(2), 0.0
    for order in permutations("abcd", 3):
        rows = drawn("".join(order), WEIGHTS)
        p = float(np.prod([row.probability for row in rows]))
        seen = [k for k, image in enumerate("abcd") if image in order]
        correct = np.full((2, 4), np.nan)
        correct[:, seen] = RIGHT[:, seen]
        total += p * np.array(list(scores(rows, correct).values()))
        chance += p
    assert chance == pytest.approx(1)
    assert total == pytest.approx(RIGHT.mean(1))


def test_a_draw_without_label_is_as_if_it_had_never_been_in_the_pool() -> None:
    rows = drawn("dbc", WEIGHTS)
    correct = RIGHT.copy()
    correct[:, 1] = np.nan
    others = {image: weight for image, weight in WEIGHTS.items() if image != "b"}
    without = [Draw(r.selector, 1, r.step, r.image, r.score, r.probability, 3) for r in drawn("dc", others)]
    assert scores(rows, correct) == pytest.approx(scores(without))
    said = draw_rankings(["x", "y"], rows, correct, list(WEIGHTS), resamples=0, learns=False).notes
    assert (
        "1 draw without a label that decides for every model: removed from the pool, as if missing at random"
        in said
    )


def test_draws_behind_the_last_label_are_steps_not_made_yet() -> None:
    rows = drawn("dbca", WEIGHTS)
    correct = RIGHT.copy()
    correct[:, [0, 2]] = np.nan  # c and a, the last two draws
    assert scores(rows, correct) == pytest.approx(scores(rows[:2]))
    said = draw_rankings(["x", "y"], rows, correct, list(WEIGHTS), resamples=0, learns=False).notes
    assert "2 draws after the last label: they change nothing yet" in said
    assert any("all 4 images that could be drawn" in note for note in said)


def test_two_labels_claim_no_rank() -> None:
    rows = drawn("db", WEIGHTS)
    found = draw_rankings(
        ["x", "y"],
        rows,
        RIGHT,
        list(WEIGHTS),
        proxy=1 - RIGHT,
        pool=list(WEIGHTS),
        resamples=50,
        learns=False,
    ).rankings
    assert found["margins"].simultaneous_rank_interval["x"] == found["margins"].rank_interval["x"] == [1, 2]
    assert found["margins"].best_set == found["margins"].tied_for_best == []


def test_labels_of_the_whole_pool_leave_no_rank_open() -> None:
    images = [f"{k:02d}" for k in range(12)]
    rows = drawn("abcdefghijkl", dict.fromkeys("abcdefghijkl", 1.0), "random")
    rows = [replace(row, image=images[k]) for k, row in enumerate(rows)]
    # each is right on two images more than the last
    correct = (np.arange(12) < np.arange(3, 12, 2)[:, None]).astype(float)
    found = draw_rankings(
        list("vwxyz"), rows, correct, images, proxy=1 - correct, pool=images, resamples=100, learns=False
    ).rankings
    for name in ("margins", "prediction_powered", "lure"):
        assert list(found[name].simultaneous_rank_interval.values()) == [[k, k] for k in (5, 4, 3, 2, 1)], (
            name
        )
        assert found[name].score_interval["z"] == pytest.approx([found[name].scores["z"]] * 2)
    some = draw_rankings(list("vwxyz"), rows[:6], correct, images, resamples=100, learns=False).rankings[
        "lure"
    ]
    assert some.simultaneous_rank_interval["z"] == [1, 5]


def test_models_that_no_label_tells_apart_may_stand_in_either_order() -> None:
    rows, right = drawn("dcba", WEIGHTS, "random")[:3], np.ones((2, 4))
    said = draw_rankings(
        ["x", "y"], rows, right, list(WEIGHTS), benchmark={"x": 0.9, "y": 0.8}, resamples=200, learns=False
    )
    assert said.benchmark.spearman["lure"][1:] == [-1, 1]
    assert said.rankings["lure"].rank_interval == {"x": [1, 2], "y": [1, 2]}
    low, high = said.rankings["lure"].score_interval["x"]
    assert (low, high) == pytest.approx((0.75, 1))  # the image without label may be wrong


def test_probabilities_of_what_is_left_are_those_of_a_pool_without_the_rest() -> None:
    rows = drawn("cadb", WEIGHTS)
    kept = np.array([True, False, True, True])
    others = {image: weight for image, weight in WEIGHTS.items() if image != "a"}
    q = np.array([row.probability for row in rows])
    assert remaining(q, np.ones(4, int), kept)[kept] == pytest.approx(
        [row.probability for row in drawn("cdb", others)]
    )
    assert remaining(q, np.ones(4, int), np.ones(4, bool)) == pytest.approx(q)


def test_probabilities_keep_their_digits_where_few_images_weigh_nearly_all() -> None:
    weights = {image: 100.0**-k for k, image in enumerate("abcdefgh")}
    rows = drawn("abcdefgh", weights)
    kept = np.array([k != 2 for k in range(8)])
    others = {image: weight for image, weight in weights.items() if image != "c"}
    q = np.array([row.probability for row in rows])
    assert remaining(q, np.ones(8, int), kept)[kept] == pytest.approx(
        [r.probability for r in drawn("abdefgh", others)], rel=1e-9
    )


def test_what_a_later_round_drew_leaves_the_probabilities_of_earlier_rounds_alone() -> None:
    q, rounds = np.array([0.5, 0.25, 0.2]), np.array([1, 1, 2])
    assert remaining(q, rounds, np.array([True, True, False]))[:2] == pytest.approx([0.5, 0.25])


def test_a_selector_that_draws_nothing_by_chance_gets_no_unbiased_score() -> None:
    rows = [Draw("entropy", 1, step, image, 1.0, float("nan"), 4) for step, image in enumerate("abcd", 1)]
    found = draw_rankings(["x", "y"], rows, RIGHT, list("abcd"), resamples=0, learns=False)
    assert set(found.rankings) == {"reuse_mean"}  # right or wrong: Bradley-Terry would say the same
    assert found.rankings["reuse_mean"].speaks_of == "chosen"
    assert any(
        "entropy does not draw at random" in note and "intervals are descriptive" in note
        for note in found.notes
    )


def test_margins_without_chances_are_taken_as_they_come_with_what_the_models_say_of_the_rest() -> None:
    rng = np.random.default_rng(2)
    names, proxy, right = (
        list("abcdefghijklmnop"),
        rng.random((2, 16)),
        (rng.random((2, 12)) < 0.6).astype(float),
    )
    rows = [
        Draw("entropy", 1, step, image, 1.0, float("nan"), 16) for step, image in enumerate(names[:12], 1)
    ]
    found = draw_rankings(
        ["x", "y"], rows, right, names[:12], proxy=proxy, pool=names, resamples=40, learns=False
    )
    own, said = estimates.margins(1 - right), estimates.margins(proxy)
    # no draw has an order: that of chance is taken
    order = np.array(sorted(range(12), key=lambda k: tie(names[k])))
    even = estimates.prediction_powered(own[:, order], estimates.uniform_steps(12, 16), said, order)
    assert list(found.rankings) == ["reuse_mean", "reuse_margins"]
    said = found.rankings["reuse_margins"]
    assert list(said.scores.values()) == pytest.approx(-even.loss)
    low, high = said.score_interval["x"]
    assert low < -even.loss[0] < high
    assert said.speaks_of == "chosen"


def test_scores_on_the_corpus_need_labels_where_no_two_models_differ() -> None:
    rows = drawn("dabc", WEIGHTS)
    options = {"resamples": 0, "seed": 0}
    alone = draw_rankings(
        ["x", "y"], rows, RIGHT, list(WEIGHTS), rest=(np.zeros((2, 0)), 12), learns=False, **options
    )
    assert "corpus" not in alone.rankings
    assert any(
        "4 images on which models differ; on 12 others" in note and "--selector random" in note
        for note in alone.notes
    )
    rest = np.tile([1.0, 1, 1, 0], (2, 1))
    both = draw_rankings(["x", "y"], rows, RIGHT, list(WEIGHTS), rest=(rest, 12), learns=False, **options)
    assert both.rankings["corpus"].scores == pytest.approx({"x": (3 + 9) / 16, "y": (1 + 9) / 16})
    assert list(both.rankings)[:2] == ["lure", "corpus"]
    low, high = both.rankings["corpus"].score_interval["x"]
    assert low < 12 / 16 < high


@pytest.mark.slow
def test_intervals_of_scores_on_the_corpus_hold_where_agreed_images_are_seldom_wrong() -> None:
    rng, held = np.random.default_rng(0), []
    truth = np.concatenate(
        [rng.random((2, 300)) < [[0.7], [0.5]], np.tile(rng.random(1700) < 0.985, (2, 1))], 1
    ).astype(float)
    names = [str(k) for k in range(300)]
    for _ in range(300):
        order, rest = rng.permutation(300)[:60], truth[:, 300 + rng.permutation(1700)[:40]]
        rows = [Draw("disputed", 1, k + 1, names[i], 1.0, 1 / (300 - k), 300) for k, i in enumerate(order)]
        known = [names[i] for i in order]
        found = (
            draw_rankings(
                ["x", "y"], rows, truth[:, order], known, rest=(rest, 1700), resamples=0, learns=False
            )
            .rankings["corpus"]
            .score_interval
        )
        held += [
            low <= score <= high for (low, high), score in zip(found.values(), truth.mean(1), strict=True)
        ]
    assert 0.93 < np.mean(held) < 0.985


def test_the_control_variate_uses_what_the_models_say_of_the_whole_pool() -> None:
    rng = np.random.default_rng(0)
    images = [f"{k:03d}" for k in range(200)]
    correct = (rng.random((2, 200)) < [[0.8], [0.6]]).astype(float)
    rows = [Draw("random", 1, k + 1, images[k], 1.0, 1 / (200 - k), 200) for k in range(100)]
    exact = draw_rankings(
        ["x", "y"], rows, correct, images, proxy=1 - correct, pool=images, resamples=0, learns=False
    ).rankings
    truth = dict(zip("xy", correct.mean(1), strict=True))
    off = {
        name: max(abs(exact[name].scores[m] - truth[m]) for m in "xy")
        for name in ("lure", "prediction_powered")
    }
    assert off["prediction_powered"] < off["lure"] / 3
    wide = {name: float(np.diff(exact[name].score_interval["x"])[0]) for name in off}
    assert wide["prediction_powered"] < wide["lure"] / 2


def test_margins_stand_first_and_are_how_far_a_model_lies_above_the_others() -> None:
    rows = drawn("dabc", WEIGHTS)
    found = draw_rankings(
        ["x", "y"], rows, RIGHT, list(WEIGHTS), proxy=1 - RIGHT, pool=list(WEIGHTS), resamples=0, learns=False
    ).rankings
    assert list(found)[:3] == ["margins", "prediction_powered", "lure"]
    # right twice where the other is wrong, of four, half each
    assert found["margins"].scores == pytest.approx({"x": 0.25, "y": -0.25})
    graded = RIGHT * 0.512
    found = draw_rankings(
        ["x", "y"],
        rows,
        graded,
        list(WEIGHTS),
        proxy=1 - graded,
        pool=list(WEIGHTS),
        resamples=0,
        learns=False,
    ).rankings
    assert found["margins"].scores == pytest.approx({"x": 0.128, "y": -0.128})  # half of .512 on two of four
    # every image of the pool is labelled
    assert found["margins"].score_interval["x"] == pytest.approx([0.128, 0.128])
    some = draw_rankings(
        ["x", "y"],
        rows[:3],
        graded,
        list(WEIGHTS),
        proxy=1 - graded,
        pool=list(WEIGHTS),
        resamples=0,
        learns=False,
    ).rankings
    low, high = some["margins"].score_interval["x"]
    assert low < some["margins"].scores["x"] < high


def test_margins_are_weighed_by_the_chances_of_the_draws_and_re_used_margins_are_not() -> None:
    rows = drawn("dc", WEIGHTS)
    options = {"proxy": np.zeros((2, 4)), "pool": list(WEIGHTS), "resamples": 0}
    found = draw_rankings(["x", "y"], rows, RIGHT * 0.9, list(WEIGHTS), learns=False, **options).rankings
    once = 0.9 / 2  # x alone is right on d, both on c
    v = estimates.lure_weights(np.array([row.probability for row in rows]), 4)
    assert found["margins"].scores["x"] == pytest.approx(v[0] * once / 2)
    assert found["reuse_margins"].scores["x"] == pytest.approx(once / 2)
    even = drawn("dc", dict.fromkeys(WEIGHTS, 1.0))
    # the same
    assert (
        "reuse_margins"
        not in draw_rankings(["x", "y"], even, RIGHT, list(WEIGHTS), learns=False, **options).rankings
    )


def test_re_used_margins_of_drawn_images_have_the_intervals_and_ranks_of_the_weighted_ones() -> None:
    rng, names = np.random.default_rng(5), [f"{k:02d}" for k in range(40)]
    graded, weight = np.clip(rng.random((3, 40)) + [[0.3], [0.0], [0.1]], 0, 1), rng.uniform(0.5, 2, 40)
    rows = drawn(names[:20], dict(zip(names, weight, strict=True)))
    found = draw_rankings(
        list("xyz"), rows, graded, names, proxy=1 - graded, pool=names, resamples=200, learns=False
    ).rankings
    reused, weighted = found["reuse_margins"], found["margins"]
    assert reused.scores != pytest.approx(weighted.scores)
    for m, (low, high) in weighted.score_interval.items():
        x = reused.scores[m]
        assert reused.score_interval[m] == pytest.approx([min(low, x), max(high, x)])
        place = reused.order.index(m) + 1
        for kind in ("rank_interval", "simultaneous_rank_interval"):
            first, last = getattr(weighted, kind)[m]
            assert getattr(reused, kind)[m] == [min(first, place), max(last, place)]
        assert (m in reused.tied_for_best) == (reused.rank_interval[m][0] == 1)
    assert reused.speaks_of == weighted.speaks_of == "pool"


def test_rounds_that_learnt_from_labels_have_descriptive_intervals_and_those_drawn_at_once_claim_theirs() -> (
    None
):
    rng, names = np.random.default_rng(5), [f"{k:03d}" for k in range(300)]
    right = (rng.random((3, 300)) < [[0.9], [0.6], [0.7]]).astype(float)
    weights, rounds = (
        dict(zip(names, rng.uniform(0.5, 2, 300), strict=True)),
        [1 + step // 50 for step in range(100)],
    )
    said = {}
    for told, numbers in (("learnt", rounds), ("at once", [1] * 100)):
        rows = drawn(names[:100], weights, "information", numbers)
        found = draw_rankings(
            list("xyz"), rows, right, names, proxy=1 - right, pool=names, resamples=10, learns=True
        )
        said[told] = {name: row.speaks_of for name, row in found.rankings.items()}
        assert any("rounds learnt" in note for note in found.notes) == (told == "learnt")
        assert ("do not hold for the pool: rounds learnt from labels. Scores" in caveat(found)) == (
            told == "learnt"
        )
    assert said["learnt"] == dict.fromkeys(
        ("margins", "reuse_margins", "lure", "prediction_powered", "reuse_mean"), "chosen"
    )
    assert said["at once"] == dict.fromkeys(said["learnt"], "pool") | {"reuse_mean": "chosen"}


@pytest.mark.parametrize(
    ("skipped", "lost", "speaks"), [(2, 0, "pool"), (3, 0, "chosen"), (3, 1, "pool"), (0, 9, "pool")]
)
def test_draws_that_were_skipped_are_not_taken_to_be_lost_by_chance(
    skipped: int, lost: int, speaks: str
) -> None:
    rng, names = np.random.default_rng(5), [f"{k:03d}" for k in range(200)]
    right = (rng.random((2, 200)) < [[0.9], [0.6]]).astype(float)
    rows = drawn(names[:50], dict(zip(names, rng.uniform(0.5, 2, 200), strict=True)))
    right[:, 5 : 5 + max(skipped, lost)] = np.nan
    found = draw_rankings(
        list("xy"), rows, right[:, :50], names[:50], lost=names[5 : 5 + lost], resamples=0, learns=False
    )
    assert found.rankings["lure"].speaks_of == speaks
    assert any(f"{skipped} of the first 50 draws were skipped" in note for note in found.notes) == (
        speaks == "chosen"
    )
    assert ("do not hold for the pool: drawn images were skipped. Scores" in caveat(found)) == (
        speaks == "chosen"
    )


def test_of_a_pool_that_is_labelled_whole_no_ranking_claims_that_something_is_open() -> None:
    names = [f"{k:02d}" for k in range(30)]
    right = (np.random.default_rng(5).random((2, 30)) < [[0.9], [0.6]]).astype(float)
    rows = drawn(names, dict.fromkeys(names, 1.0), "random")
    found = draw_rankings(list("xy"), rows, right, names, resamples=40, learns=False).rankings
    claims = {name: row for name, row in found.items() if row.speaks_of == "pool"}
    assert set(claims) == {"lure"}
    assert all(low == high for low, high in claims["lure"].score_interval.values())
    future = draw_rankings(
        list("xy"), rows, right, names, resamples=40, population="future", learns=False
    ).rankings
    assert {row.speaks_of for row in future.values()} == {"future"}


def test_models_that_are_equal_as_they_come_may_have_either_rank_though_weights_tell_them_apart() -> None:
    names = [f"{k:03d}" for k in range(400)]
    weight = dict(zip(names, [1.0, 9.0] * 200, strict=True))
    order = np.random.default_rng(2).permutation(400)[:100]
    light = [k for k in order.tolist() if k % 2 == 0][:25]  # seldom drawn, and so of great weight
    heavy = [k for k in order.tolist() if k % 2][:25]
    right = np.ones((2, 400))
    right[0, heavy] = right[1, light] = 0
    rows = drawn([names[k] for k in order], weight)
    seen = [names[k] for k in order]
    found = draw_rankings(
        ["x", "y"],
        rows,
        right[:, order],
        seen,
        proxy=np.zeros((2, 400)),
        pool=names,
        resamples=300,
        learns=False,
    ).rankings
    assert found["margins"].rank_interval == {"x": [1, 1], "y": [2, 2]}
    reused = found["reuse_margins"]
    assert reused.scores["x"] == pytest.approx(reused.scores["y"])
    for kind in ("rank_interval", "simultaneous_rank_interval"):
        assert getattr(reused, kind) == {"x": [1, 2], "y": [1, 2]}
    assert set(reused.tied_for_best) == set(reused.best_set) == {"x", "y"}


def test_six_drawn_labels_that_all_favour_one_model_tell_two_apart_and_five_do_not() -> None:
    names = [f"{k:02d}" for k in range(40)]
    right = np.array([[0.90, 0.88, 0.89, 0.91, 0.9, 0.92], [0.10, 0.05, 0.07, 0.08, 0.06, 0.1]])
    best = {}
    for number in (5, 6):
        rows = drawn(names[:number], dict.fromkeys(names, 1.0), "random")
        found = draw_rankings(
            ["x", "y"], rows, right[:, :number], names[:number], resamples=300, learns=False
        )
        best[number] = found.rankings["lure"].tied_for_best
    assert best == {5: [], 6: ["x"]}  # chance alone does that once in 32, and in 64, times


def test_labels_from_elsewhere_behind_a_draw_that_waits_do_not_count() -> None:
    rows = drawn("dbca", WEIGHTS)
    correct = RIGHT.copy()
    correct[:, 2] = np.nan  # c waits, and a behind it is labelled
    said = draw_rankings(["x", "y"], rows, correct, list(WEIGHTS), resamples=0, elsewhere={"a"}, learns=False)
    assert "draw 3 (c) waits for labels" in " ".join(said.notes)
    assert (
        "unbiased scores count 1 draw; label it and the following ones in order, and 2 more will count"
        in " ".join(said.notes)
    )
    assert said.labels["counted"] == 1  # d; b is the last that was labelled for its own sake
    assert said.labels["pool"] == 4
    assert "lure" not in said.rankings
    # d is before it: a was drawn, and c lost by chance
    assert scores(rows, correct, elsewhere={"d"}) == pytest.approx(scores(rows, correct))
    # that c was chosen elsewhere gave nobody a label
    assert scores(rows, correct, elsewhere={"c"}) == pytest.approx(scores(rows, correct))
    # c is discarded: nothing waits
    assert scores(rows, correct, elsewhere={"a"}, lost={"c"}) == pytest.approx(scores(rows, correct))


@pytest.mark.slow
def test_counting_labels_that_a_duel_chose_would_lie_and_the_draws_labelled_in_order_do_not() -> None:
    # duels labelled those images that x has wrong and y right; of the other draws somebody labelled the first
    # five
    rng = np.random.default_rng(1)
    correct = (rng.random((2, 200)) < [[0.6], [0.7]]).astype(float)
    names = [str(k) for k in range(200)]
    duels = {names[i] for i in range(200) if correct[0, i] < correct[1, i]}
    off, straight = [], []
    for seed in range(400):
        order = np.random.default_rng(seed).permutation(200)[:40]
        rows = [Draw("random", 1, k + 1, names[i], 1.0, 1 / (200 - k), 200) for k, i in enumerate(order)]
        own = [names[i] for i in order if names[i] not in duels][:5]
        seen = [i for i in order if names[i] in duels or names[i] in own]
        for elsewhere, errors in ((set(), off), (duels, straight)):
            known = [names[i] for i in seen]
            found = steps(rows, known, correct[:, seen], elsewhere=elsewhere, learns=False)
            if len(found.columns) > 1:
                loss = estimates.lure(
                    1 - correct[:, seen][:, found.columns], found.probability, found.pool
                ).loss
                errors.append(np.subtract(*(1 - loss)) - np.subtract(*correct.mean(1)))
    assert np.mean(off) < -0.2
    assert len(straight) > 350
    assert abs(np.mean(straight)) < 3 * np.std(straight) / np.sqrt(len(straight))


def test_what_is_lost_is_no_part_of_the_pool_wherever_it_was_drawn() -> None:
    rows = drawn("dbca", WEIGHTS)
    correct = RIGHT.copy()
    correct[:, [0, 2]] = np.nan
    others = {image: weight for image, weight in WEIGHTS.items() if image != "a"}
    without = [Draw(r.selector, 1, r.step, r.image, r.score, r.probability, 3) for r in drawn("dbc", others)]
    # a is behind the last label, and discarded
    assert scores(rows, correct, lost={"a"}) == pytest.approx(scores(without[:2]))


def test_rounds_of_a_selector_that_does_not_learn_are_one() -> None:
    correct = RIGHT.copy()
    correct[:, 1] = np.nan  # b, the second
    one, two = drawn("dbc", WEIGHTS), drawn("dbc", WEIGHTS, rounds=[1, 2, 2])
    assert scores(two, correct) == pytest.approx(scores(one, correct))
    assert scores(two, correct, learns=True) != pytest.approx(scores(one, correct, learns=True))
    named = drawn("dbc", WEIGHTS, "vma", [1, 2, 2])
    assert scores(named, correct) == pytest.approx(scores(one, correct))  # the name says nothing


@pytest.mark.slow
def test_a_score_that_stands_first_lies_in_its_own_interval() -> None:
    rng, names = np.random.default_rng(3), [str(k) for k in range(60)]
    for _ in range(30):
        weight = dict(zip(names, rng.lognormal(0, 2, 60), strict=True))
        order = sorted(names, key=lambda image: -weight[image] * rng.random())[:12]
        graded, proxy = rng.random((2, 60)), rng.random((2, 60))
        found = draw_rankings(
            ["x", "y"],
            drawn(order, weight),
            graded,
            names,
            proxy=proxy,
            pool=names,
            resamples=0,
            learns=False,
        ).rankings["margins"]
        for model, (low, high) in found.score_interval.items():
            assert low <= found.scores[model] <= high


def test_a_pool_that_is_another_now_leaves_the_control_variate_out_and_says_so() -> None:
    rows = drawn("dbc", WEIGHTS)
    proxy = np.full((2, 3), 0.5)
    found = draw_rankings(
        ["x", "y"], rows, RIGHT, list(WEIGHTS), proxy=proxy, pool=["a", "b", "c"], resamples=0, learns=False
    )
    assert "prediction_powered" not in found.rankings
    assert any("no longer the one that was drawn from" in note for note in found.notes)


def test_intervals_hold_the_score_and_ranks_follow_them() -> None:
    rng = np.random.default_rng(1)
    images = [f"{k:03d}" for k in range(300)]
    correct = (rng.random((3, 300)) < [[0.9], [0.5], [0.5]]).astype(float)
    rows = [Draw("random", 1, k + 1, images[k], 1.0, 1 / (300 - k), 300) for k in range(120)]
    found = draw_rankings(["x", "y", "z"], rows, correct, images, learns=False).rankings["lure"]
    for model, (low, high) in found.score_interval.items():
        assert low <= found.scores[model] <= high
    assert found.rank_interval["x"] == [1, 1]
    assert found.simultaneous_rank_interval["y"] == [2, 3]
    assert found.best_set == ["x"]


def test_labels_outside_the_draws_count_in_reuse_alone_and_only_when_asked() -> None:
    rows = drawn("ab", WEIGHTS)
    few = draw_rankings(["x", "y"], rows, RIGHT, list("abcd"), resamples=0, learns=False)
    all_ = draw_rankings(["x", "y"], rows, RIGHT, list("abcd"), resamples=0, all_labels=True, learns=False)
    assert few.rankings["reuse_mean"].scores == {"x": 0.5, "y": 0.0}
    assert all_.rankings["reuse_mean"].scores == {"x": 0.75, "y": 0.25}
    assert few.rankings["lure"].scores == all_.rankings["lure"].scores
    assert "of_selection" not in few.labels
    first = (
        "Standings of 2 models from 4 labelled images, 2 of them of the selection: only re-use rankings count"
        " the others"
    )
    assert repr(all_).splitlines()[0] == first


def test_what_does_not_fit_is_said() -> None:
    rows = drawn("ab", WEIGHTS)
    with refused(RankingError, "expected 2 models by 4 images"):
        draw_rankings(["x", "y"], rows, RIGHT[:, :3], list("abcd"), learns=False)
    with refused(RankingError, "none of the 2 drawn images has a label"):
        draw_rankings(["x", "y"], rows, np.full((2, 4), np.nan), list("abcd"), learns=False)
    with refused(RankingError, "needs two models"):
        draw_rankings(["x"], rows, RIGHT[:1], list("abcd"), learns=False)
    with refused(OptionError, "resamples"):
        draw_rankings(["x", "y"], rows, RIGHT, list("abcd"), resamples=-1, learns=False)
