"""What holds for every selection and every table of concordances."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.nouns import Draw, PairSlot, Slot
from faultscape.ranking.classifiers import classifier_rankings
from faultscape.ranking.duel_standings import rank_accuracies, to_json
from faultscape.ranking.intervals import percentile_interval, ranks
from faultscape.ranking.matrices import aggressiveness, resistance
from faultscape.ranking.methods.bradley_terry import bradley_terry, wins
from faultscape.ranking.methods.thurstone import thurstone
from faultscape.ranking.outcomes import duel_outcomes
from faultscape.ranking.panel import Panel
from faultscape.ranking.replicates import Scored, with_intervals
from made_draws import draw_rankings

RANKINGS = ("aggressiveness", "resistance", "reuse_mean", "reuse_bradley_terry")
FEW = settings(max_examples=25, deadline=None)


@st.composite
def competitions(draw):
    """Models, slots, concordances with holes, image ids."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    j, i, groups = draw(st.integers(2, 5)), draw(st.integers(1, 12)), draw(st.integers(1, 4))
    accuracy = np.round(rng.random((j, i)), draw(st.sampled_from([1, 8])))
    accuracy[:, rng.random(i) < draw(st.sampled_from([0, 0.3]))] = np.nan
    accuracy[rng.random((j, i)) < draw(st.sampled_from([0, 0.1]))] = np.nan
    accuracy[:, 0] = 0.5
    models, images = [f"m{k}" for k in range(j)], [f"i{k}" for k in range(i)]
    rows = [
        Slot(
            "mad",
            1,
            1,
            models[d],
            models[a],
            f"c{y}",
            1,
            images[0 if (d, a, y) == (0, 1, 0) else rng.integers(i)],
            0.1,
            1.0,
            1,
        )
        for d in range(j)
        for a in range(j)
        for y in range(groups)
        if d != a and ((d, a, y) == (0, 1, 0) or rng.random() < 0.8)
    ]
    return models, rows, accuracy, images, groups


def rank(models, rows, accuracy, images, groups, **options):
    return rank_accuracies(
        models,
        rows,
        accuracy,
        images,
        class_names=[f"c{y}" for y in range(groups)],
        **{"resamples": 20} | options,
    )


def places(rows, models, images):
    return np.array(
        [
            (models.index(r.defender), models.index(r.attacker), int(r.class_[1:]), images.index(r.image))
            for r in rows
        ]
    ).T


@FEW
@given(competitions(), st.randoms(use_true_random=False))
def test_permuting_models_permutes_everything(made, random):
    models, rows, accuracy, images, groups = made
    order = list(range(len(models)))
    random.shuffle(order)
    one = rank(*made)
    two = rank([models[k] for k in order], rows, accuracy[order], images, groups)
    for name in ("aggressiveness", "resistance"):
        np.testing.assert_array_equal(np.array(one.matrices[name])[np.ix_(order, order)], two.matrices[name])
    for name in RANKINGS:
        for part in ("scores", "score_interval"):
            first, second = (getattr(s.rankings[name], part) for s in (one, two))
            for model in models:
                np.testing.assert_allclose(first[model], second[model], atol=1e-9)


@FEW
@given(competitions(), st.randoms(use_true_random=False))
def test_the_order_of_slots_does_not_show(made, random):
    models, rows, accuracy, images, groups = made
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert to_json(rank(*made)) == to_json(rank(models, shuffled, accuracy, images, groups))


@FEW
@given(competitions())
def test_resistance_is_the_inverse_of_aggressiveness_turned(made):
    models, rows, accuracy, images, groups = made
    p = duel_outcomes(*places(rows, models, images), accuracy, groups=groups).performance
    a, r = aggressiveness(p), resistance(p)
    np.testing.assert_allclose(r, 1 / np.swapaxes(a, 1, 2), rtol=1e-12)
    assert (np.diagonal(a, axis1=1, axis2=2) == 1).all()


@FEW
@given(competitions())
def test_an_image_twice_is_an_image_of_weight_two(made):
    models, rows, accuracy, images, groups = made
    twin = [replace(row, image=row.image + " again") for row in rows]
    doubled = rank(
        models,
        [*rows, *twin],
        np.hstack([accuracy, accuracy]),
        images + [f"{i} again" for i in images],
        groups,
        resamples=0,
    )
    single = rank(models, rows, accuracy, images, groups, resamples=0)
    for name in ("aggressiveness", "resistance", "reuse_mean"):
        np.testing.assert_allclose(
            list(doubled.rankings[name].scores.values()),
            list(single.rankings[name].scores.values()),
            atol=1e-9,
        )
    twice = wins(accuracy, np.full((1, len(images)), 2.0))
    np.testing.assert_array_equal(wins(np.hstack([accuracy, accuracy])), twice)


@FEW
@given(competitions())
def test_scores_are_finite_or_none_and_never_huge(made):
    for epsilon in (0, 0.01):
        table = rank(*made, epsilon=epsilon)
        for name, ranking in table.rankings.items():
            values = np.array(list(ranking.scores.values()))
            assert not np.isinf(values).any()
            if epsilon:
                assert (np.abs(values[~np.isnan(values)]) < 60).all()
            if name in ("aggressiveness", "resistance") and not np.isnan(values).all():
                assert abs(np.nansum(values) - 1) < 1e-9
            known = values[[table.models.index(m) for m in ranking.order]]
            assert (np.diff(known[~np.isnan(known)]) <= 1e-12).all()
            assert not np.isnan(known[: (~np.isnan(known)).sum()]).any()


@FEW
@given(competitions())
def test_a_replicate_is_a_ranking_of_the_drawn_images(made):
    models, rows, accuracy, images, groups = made
    weights = np.random.default_rng(0).integers(0, 3, (6, len(images))).astype(float)
    many = duel_outcomes(*places(rows, models, images), accuracy, weights, groups=groups).performance
    fitted = thurstone(aggressiveness(many))
    games = bradley_terry(wins(accuracy, weights))
    for b, drawn in enumerate(weights):
        one = duel_outcomes(*places(rows, models, images), accuracy, drawn[None], groups=groups).performance
        np.testing.assert_array_equal(many[b], one[0])
        np.testing.assert_array_equal(fitted[b], thurstone(aggressiveness(one))[0])
        np.testing.assert_array_equal(games[b], bradley_terry(wins(accuracy, drawn[None]))[0])


@FEW
@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_the_maximum_is_flat_and_follows_its_weights(seed, j):
    rng = np.random.default_rng(seed)
    weights = np.exp(rng.normal(0, 1.5, (j, j)))
    scores = thurstone(weights)
    np.testing.assert_allclose(thurstone(7 * weights), scores, atol=1e-12)
    np.testing.assert_allclose(thurstone(weights.T), 2 / j - scores, atol=1e-12)
    stronger = weights.copy()
    stronger[0, 1:] *= 1.5
    assert thurstone(stronger)[0] > scores[0]
    np.testing.assert_allclose(bradley_terry(weights.T, 0), -bradley_terry(weights, 0), atol=1e-12)


@FEW
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 30))
def test_intervals_hold_most_replicates_and_ranks_add_up(seed, j, b):
    draws = np.round(np.random.default_rng(seed).normal(size=(b, j)), 1)
    spread = percentile_interval(draws)
    assert (spread[:, 0] <= spread[:, 1]).all()
    assert (ranks(draws).sum(1) == j * (j + 1) / 2).all()
    np.testing.assert_allclose(spread, np.percentile(draws, [2.5, 97.5], axis=0).T, atol=1e-12)


# of a sum, of wins, means of 0..1
SHARES = ("perron", "rank_centrality", "borda", "reuse_mean", "lure", "prediction_powered")
# of one of J numbers in 0..1 from their mean; other rankings are potentials
DIFFERENCES = ("margins", "reuse_margins")


@pytest.mark.slow
@FEW
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.sampled_from([6, 8, 30]), st.booleans())
def test_scores_and_intervals_lie_in_the_range_of_their_ranking(seed, j, drives, graded):
    """Of few groups, in each of which a model is right everywhere or nowhere, Student's t would reach far
    beyond.
    """
    rng = np.random.default_rng(seed)
    models, images = [f"m{k}" for k in range(j)], [f"i{k:02d}" for k in range(60)]
    good = (rng.random((j, drives)) < np.linspace(0.05, 0.95, j)[:, None])[:, np.arange(60) % drives].astype(
        float
    )
    accuracy = 0.02 + 0.96 * good if graded else good
    groups = {image: f"drive {k % drives}" for k, image in enumerate(images)}
    pairs = [(a, b) for a in range(j) for b in range(a)]
    proxy = np.clip(1 - accuracy + rng.normal(0, 0.5, accuracy.shape), 0, 1)
    options = {"resamples": 40, "groups": groups}
    tables = []
    for selector, population in (("mad", "future"), ("entropy", "pool")):
        even = [1 / (60 - k) if selector == "mad" else np.nan for k in range(40)]
        draws = [Draw(selector, 1, k + 1, images[k], 1.0, even[k], 60) for k in range(40)]
        more = {"proxy": proxy, "pool": images, "population": population}
        tables.append(
            draw_rankings(models, draws, accuracy[:, :40], images[:40], learns=False, **more, **options)
        )
    shown = [
        (a, b, images[n], place)
        for a, b in pairs
        for place, n in enumerate(rng.choice(60, 12, replace=False), 1)
    ]
    duels = [
        Slot("mad", 1, 1, models[d], models[k], "c0", place, image, 0.1, 1.0, 60)
        for a, b, image, place in shown
        for d, k in ((a, b), (b, a))
    ]
    tables.append(rank_accuracies(models, duels, accuracy, images, class_names=["c0"], **options))
    if not graded:
        slots = [
            PairSlot("mad", 1, 1, models[a], models[b], "x", "y", p, image, 1.0, 1.0, 1.0, 60)
            for a, b, image, p in shown
        ]
        tables.append(classifier_rankings(models, slots, accuracy, images, **options))
    for name, said in ((name, said) for table in tables for name, said in table.rankings.items()):
        most = 1 - 1 / j if name in DIFFERENCES else np.inf
        low, high = (0, 1) if name in SHARES else (-most, most)
        for model, score in said.scores.items():
            bottom, top = said.score_interval[model]
            if not np.isnan(score):
                assert low - 1e-12 <= score <= high + 1e-12, (name, score)
            if not np.isnan(bottom):
                assert low - 1e-12 <= bottom <= score <= top <= high + 1e-12, (name, bottom, score, top)


def test_margins_that_a_proxy_carries_beyond_their_range_are_cut_at_its_end():
    scores = np.random.default_rng(0).normal([0.55, 0.4, -0.55, -0.4], 0.1, (41, 4))
    scores[0] = 0.8, 0.4, -0.8, -0.4
    panel = Panel.of("abcd", [f"{k:02d}" for k in range(30)], np.ones((4, 30)))
    said = with_intervals({"reuse_margins": Scored(scores, 30)}, panel)
    said = said.rankings["reuse_margins"]
    assert list(said.scores.values()) == [0.75, 0.4, -0.75, -0.4]
    assert said.score_interval["a"][1] == 0.75
    eight = replace(panel, group=np.repeat(np.arange(8), 4)[:30])
    said = with_intervals({"reuse_margins": Scored(scores, 8)}, eight)
    assert max(np.abs(list(said.rankings["reuse_margins"].score_interval.values())).ravel()) == 0.75
