import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from mad_reference import matrices, reuse, thurstone

from faultscape.errors import OptionError, RankingError
from faultscape.nouns import Classes, Pairs, Slot, Slots
from faultscape.ranking.agreement import compare_selections
from faultscape.ranking.duel_standings import from_json, rank_accuracies, standings, to_json
from faultscape.ranking.intervals import bootstrap_weights, percentile_interval
from faultscape.ranking.matrices import aggressiveness
from faultscape.ranking.methods.thurstone import thurstone as fit
from faultscape.ranking.outcomes import duel_outcomes
from made import tie
from refusals import refused

CLASSES = tuple("abcdef")
PARENTS = {"first": ("a", "b", "c"), "second": ("d", "e"), "never": ("z",)}


def made(seed=0, j=4, i=30, per_class=2):
    """Models, the slots of every cell, concordances that grow with the model, image ids."""
    rng = np.random.default_rng(seed)
    models = tuple(f"model-{m}" for m in range(j))
    images = [f"photo {k:02d}" for k in range(i)]
    accuracy = np.clip(rng.random(i) * 0.6 + rng.normal(0, 0.1, (j, i)) + 0.05 * np.arange(j)[:, None], 0, 1)
    rows = [
        Slot("mad", 1, 1, d, a, y, place + 1, images[rng.integers(i)], 0.1, 1.0, 9)
        for d in models
        for a in models
        if d != a
        for y in CLASSES
        for place in range(per_class)
    ]
    return models, rows, accuracy, images


def ranked(models, rows, accuracy, images, **options):
    return rank_accuracies(
        models, rows, accuracy, images, **{"class_names": CLASSES, "resamples": 60} | options
    )


def scores(table, name):
    return np.array(list(table.rankings[name].scores.values()))


def test_all_four_rankings_are_those_of_the_reference():
    models, rows, accuracy, images = made()
    table = ranked(models, rows, accuracy, images)
    slots = {(d, a): {} for d in models for a in models if d != a}
    for row in rows:
        slots[row.defender, row.attacker].setdefault(row.class_, []).append(row.image)
    values = {m: dict(zip(images, accuracy[k], strict=True)) for k, m in enumerate(models)}
    a, r = matrices(models, slots, values)
    np.testing.assert_allclose(table.matrices["aggressiveness"], a, rtol=1e-13)
    np.testing.assert_allclose(table.matrices["resistance"], r, rtol=1e-13)
    assert scores(table, "aggressiveness") == pytest.approx(thurstone(a), abs=1e-9)
    assert scores(table, "resistance") == pytest.approx(thurstone(r), abs=1e-9)
    mean, strengths = reuse(models, sorted({row.image for row in rows}), values)
    assert scores(table, "reuse_mean") == pytest.approx(mean, abs=1e-12)
    assert scores(table, "reuse_bradley_terry") == pytest.approx(strengths, abs=1e-9)


def test_labels_are_counted_and_coverage_is_said():
    models, rows, accuracy, images = made()
    chosen = sorted({row.image for row in rows})
    unlabelled = set(chosen[:5])
    accuracy[:, [images.index(k) for k in chosen[5:7]]] = np.nan  # no usable label
    keep = [k for k, image in enumerate(images) if image not in unlabelled]
    table = ranked(models, rows, accuracy[:, keep], [images[k] for k in keep], discarded=3)
    assert table.labels == {"used": len(chosen) - 7, "slots": len(rows), "discarded": 3, "missing": 7}
    assert f"{len(chosen) - 7} of {len(chosen)} chosen images are labelled" in table.notes
    assert any("r_ij = 1 / a_ji" in note for note in table.notes)


def test_reuse_leaves_out_images_that_a_model_lacks():
    models, rows, accuracy, images = made(i=12)
    accuracy[1, :4] = np.nan
    table = ranked(models, rows, accuracy, images)
    assert scores(table, "reuse_mean") == pytest.approx(accuracy[:, 4:].mean(1))
    assert "re-use: 4 labelled images are left out, on which model-1 cannot be scored" in table.notes
    accuracy[1] = np.nan
    table = ranked(models, rows, accuracy, images)
    assert np.isnan(scores(table, "reuse_mean")).tolist() == [False, True, False, False]
    assert scores(table, "reuse_mean")[[0, 2, 3]] == pytest.approx(accuracy[[0, 2, 3]].mean(1))
    assert any("model-1 cannot be scored on any labelled image" in note for note in table.notes)
    for name in table.rankings:
        assert table.rankings[name].order[-1] == "model-1"


def test_other_labels_count_only_when_asked_and_leave_the_faithful_rankings_alone():
    models, rows, accuracy, images = made()
    rng = np.random.default_rng(9)
    more = np.hstack([rng.random((4, 7)), accuracy])
    names = [f"else {k}" for k in range(7)] + images
    alone, without = ranked(models, rows, accuracy, images), ranked(models, rows, more, names)
    assert to_json(alone) == to_json(without)
    every = ranked(models, rows, more, names, all_labels=True)
    assert every.labels["used"] == alone.labels["used"] + 7
    assert every.labels["of_selection"] == alone.labels["used"]
    for name in ("aggressiveness", "resistance"):
        assert to_json(every)["rankings"][name] == to_json(alone)["rankings"][name]
    mine = [k for k, name in enumerate(names) if name.startswith("else") or name in {r.image for r in rows}]
    assert scores(every, "reuse_mean") == pytest.approx(more[:, mine].mean(1))
    assert any(note.startswith("7 labelled images outside") for note in every.notes)


def test_islands_are_reported_and_never_huge():
    models, rows, accuracy, images = made()
    inside = [
        row
        for row in rows
        if {row.defender, row.attacker} in ({models[0], models[1]}, {models[2], models[3]})
    ]
    table = ranked(models, inside, accuracy, images)
    assert np.isnan(scores(table, "aggressiveness")).all()
    assert np.isfinite(scores(table, "reuse_bradley_terry")).all()
    assert table.rankings["aggressiveness"].tied_for_best == []
    assert any(
        note.startswith("aggressiveness, resistance: no score for model-0, model-1, model-2, model-3")
        for note in table.notes
    )
    trio = [row for row in rows if models[0] not in (row.defender, row.attacker)]
    table = ranked(models, trio, accuracy, images)
    assert np.isnan(scores(table, "resistance")).tolist() == [True, False, False, False]
    assert np.nansum(scores(table, "resistance")) == pytest.approx(1)
    assert any(
        "no score for model-0: comparisons do not link them to the others" in note for note in table.notes
    )


def test_a_lone_direction_has_no_part_in_eq_6():
    models, rows, accuracy, images = made()
    one_way = [row for row in rows if (row.defender, row.attacker) != (models[0], models[1])]
    neither = [row for row in rows if {row.defender, row.attacker} != {models[0], models[1]}]
    table, without = ranked(models, one_way, accuracy, images), ranked(models, neither, accuracy, images)
    assert scores(table, "aggressiveness") == pytest.approx(scores(without, "aggressiveness"), abs=1e-13)
    assert np.isfinite(table.matrices["aggressiveness"][0][1])
    assert np.isnan(table.matrices["aggressiveness"][1][0])
    assert (
        "pairs of models compared in one direction only, which the rankings of eq. 6 leave out: 1"
        in table.notes
    )


def test_replicates_that_lose_a_model_are_left_out_and_counted():
    models, rows, accuracy, images = made(i=12, per_class=3)
    only = [row for row in rows if models[3] not in (row.defender, row.attacker) and row.image != images[0]]
    only += [replace(row, image=images[0]) for row in rows if models[3] in (row.defender, row.attacker)]
    assert len({row.image for row in only}) == 12
    table = ranked(models, only, accuracy, images)
    drawn = bootstrap_weights(12, 60, seed=0)[:, np.argsort(sorted(range(12), key=lambda k: tie(images[k])))]
    lost = int((drawn[:, 0] == 0).sum())
    assert 0 < lost < 40
    note = f"aggressiveness, resistance: {lost} of 60 bootstrap replicates lack comparisons and are left out of the intervals"
    assert note in table.notes
    place = {image: k for k, image in enumerate(images)}
    columns = [
        (models.index(r.defender), models.index(r.attacker), CLASSES.index(r.class_), place[r.image])
        for r in only
    ]
    kept = duel_outcomes(*np.array(columns).T, accuracy, drawn[drawn[:, 0] > 0]).performance
    expected = percentile_interval(fit(aggressiveness(kept)))
    np.testing.assert_allclose(
        list(table.rankings["aggressiveness"].score_interval.values()), expected, atol=1e-9
    )


def test_a_clean_sweep_is_finite_and_said():
    models, rows, accuracy, images = made()
    accuracy[3] = 0.9 + 0.01 * np.arange(30) / 30
    accuracy[:3] *= 0.8
    table = ranked(models, rows, accuracy, images)
    assert scores(table, "reuse_bradley_terry")[3] < 10
    assert table.rankings["reuse_bradley_terry"].tied_for_best == [models[3]]
    assert any(
        note.startswith("reuse_bradley_terry: model-3 always wins; the distance between their")
        for note in table.notes
    )


def test_epsilon_pulls_the_ratios_to_one():
    models, rows, accuracy, images = made()
    exact, default, huge = (
        ranked(models, rows, accuracy, images, epsilon=e, resamples=0) for e in (0, 0.01, 1e9)
    )
    spread = [np.abs(np.log(table.matrices["aggressiveness"])).max() for table in (exact, default, huge)]
    assert spread[0] > spread[1] > spread[2]
    assert scores(huge, "aggressiveness") == pytest.approx(np.full(4, 0.25), abs=1e-6)


def test_zeros_without_epsilon_give_null_and_a_note():
    models, rows, accuracy, images = made(j=2, i=8)
    accuracy[0] = 0
    table = ranked(models, rows, accuracy, images, epsilon=0)
    assert np.isnan(scores(table, "aggressiveness")).all()
    text = json.dumps(to_json(table), allow_nan=False)
    assert json.loads(text)["rankings"]["aggressiveness"]["scores"] == {"model-0": None, "model-1": None}
    assert np.isfinite(scores(ranked(models, rows, accuracy, images), "aggressiveness")).all()


def test_the_seed_fixes_the_bootstrap():
    models, rows, accuracy, images = made()
    one, same, other = (to_json(ranked(models, rows, accuracy, images, seed=s)) for s in (1, 1, 2))
    assert one == same
    assert one["rankings"]["reuse_mean"]["scores"] == other["rankings"]["reuse_mean"]["scores"]
    assert (
        one["rankings"]["reuse_mean"]["score_interval"] != other["rankings"]["reuse_mean"]["score_interval"]
    )


def test_no_bootstrap_and_few_images_are_said():
    models, rows, accuracy, images = made(i=6)
    table = ranked(models, rows, accuracy, images, resamples=0)
    assert table.rankings["reuse_mean"].tied_for_best == []
    assert np.isnan(table.rankings["reuse_mean"].score_interval[models[0]]).all()
    assert any(note.startswith("no bootstrap") for note in table.notes)
    assert any(
        note.startswith("no score intervals: fewer than 10 images (6)")
        for note in ranked(models, rows, accuracy, images).notes
    )
    assert repr(table).startswith("Standings of 4 models from 6 labelled images")


def test_one_label_ranks_without_warnings():
    models, rows, accuracy, images = made()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = ranked(models, rows, accuracy[:, :1], images[:1])
    assert table.labels["used"] == 1
    json.dumps(to_json(table), allow_nan=False)


def test_equal_models_keep_their_order_and_are_tied():
    models, rows, accuracy, images = made()
    accuracy[:] = accuracy[0]
    table = ranked(models, rows, accuracy, images)
    for ranking in table.rankings.values():
        assert ranking.order == list(models)
        assert ranking.tied_for_best == list(models)
        assert set(map(tuple, ranking.rank_interval.values())) == {(1, 4)}


def test_parent_groups_are_the_same_on_their_own_slots():
    models, rows, accuracy, images = made()
    table = ranked(models, rows, accuracy, images, parents=PARENTS)
    assert list(table.parents) == ["first", "second"]
    inside = [row for row in rows if row.class_ in PARENTS["second"]]
    alone = ranked(models, inside, accuracy, images, class_names=PARENTS["second"])
    said = to_json(table)["parents"]["second"]
    assert said["rankings"] == to_json(alone)["rankings"]
    assert said["matrices"] == to_json(alone)["matrices"]
    assert said["labels"] == {"used": alone.labels["used"], "slots": len(inside)}


def test_empty_cells_are_counted():
    models, rows, accuracy, images = made(per_class=1)
    table = ranked(models, rows[10:], accuracy, images)
    assert "10 of 72 cells (defender, attacker, class) hold no image and are skipped" in table.notes


def test_the_benchmark_stands_beside():
    models, rows, accuracy, images = made()
    table = ranked(models, rows, accuracy, images, benchmark=dict(zip(models, [4, 3, 2, 1], strict=True)))
    assert table.benchmark.rank == dict(zip(models, [1, 2, 3, 4], strict=True))
    for name, ranking in table.rankings.items():
        for model in models:
            moved = table.benchmark.rank[model] - (ranking.order.index(model) + 1)
            assert table.benchmark.rank_change[name][model] == moved
        x, low, high = table.benchmark.spearman[name]
        assert -1 <= low <= x <= high <= 1


def test_json_goes_round():
    models, rows, accuracy, images = made()
    rows = [row for row in rows if models[0] not in (row.defender, row.attacker)]
    closed = dict.fromkeys(models, 0.123456789012345)
    table = ranked(
        models,
        rows,
        accuracy,
        images,
        parents=PARENTS,
        benchmark=closed,
        definitions={"scale": None, "groups": ("a",)},
    )
    raw = to_json(table)
    text = json.dumps(raw, allow_nan=False)
    back = from_json(json.loads(text))
    assert json.dumps(to_json(back), allow_nan=False) == text
    assert raw["benchmark"]["scores"][models[0]] == 0.123456789012
    assert raw["matrices"]["aggressiveness"][0][1] is None
    assert np.isnan(back.rankings["aggressiveness"].scores[models[0]])
    assert back.definitions["scale"] is None
    assert repr(back).splitlines()[0] == repr(table).splitlines()[0]
    with refused(RankingError, "'rankings' is missing"):
        from_json({"models": [], "labels": {}, "matrices": {}})
    group = next(iter(raw["parents"]))
    for key, damaged in {
        "benchmark": {"scores": {}},
        "against": {"other": 1},
        "stability": {"ranking": "perron", "leave_one_out": {"a": {"slots": 1}}, "top_k": []},
        "parents": {group: {"rankings": raw["rankings"]}},
    }.items():
        with refused(RankingError, "rerun `faultscape rank STUDY`"):
            from_json(raw | {key: damaged})
    odd = {name: said | {"tied_for_best": 3} for name, said in raw["parents"][group]["rankings"].items()}
    with refused(RankingError, r"rankings\.\w+\.tied_for_best is '3'"):
        from_json(raw | {"parents": {group: raw["parents"][group] | {"rankings": odd}}})


def test_a_value_of_another_type_is_named_wherever_it_stands():
    models, rows, accuracy, images = made()
    closed = dict(zip(models, [4, 3, 2, 1], strict=True))
    raw = json.loads(json.dumps(to_json(ranked(models, rows, accuracy, images, benchmark=closed))))
    assert to_json(from_json(raw)) == raw

    def places(value, path=()):
        for key in value if isinstance(value, dict) else range(min(len(value), 1)):
            yield (*path, key)
            if isinstance(value[key], dict | list):
                yield from places(value[key], (*path, key))

    free = ("definitions", "provenance")
    found = 0
    for path in (path for path in places(raw) if path[0] not in free or len(path) == 1):
        damaged = json.loads(json.dumps(raw))
        inside = damaged
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = {"odd": [[]]} if isinstance(inside[path[-1]], list) else [[]]
        with refused(RankingError, "these are not standings: .* is .*; rerun `faultscape rank STUDY`"):
            from_json(damaged)
        found += 1
    assert found > 100


def test_what_no_standings_hold_is_refused():
    models, rows, accuracy, images = made()
    raw = to_json(ranked(models, rows, accuracy, images, benchmark=dict.fromkeys(models, 1.0)))
    name, said = next(iter(raw["rankings"].items()))
    gap = {"model": models[0], "other": "x", "difference": 1.0, "interval": [0, 2], "settled": True}
    for key, damaged, says in (
        ("benchmark", raw["benchmark"] | {"odd": 1}, "has 'odd'"),
        ("benchmark", {"scores": {}}, "has no rank"),
        ("rankings", {name: said | {"rank_interval": {m: [1] for m in models}}}, "is not made of two ends"),
        ("rankings", {name: said | {"rank_interval": {models[0]: [1, 2]}}}, "rank_interval lacks a model"),
        ("rankings", {name: said | {"order": ["x"], "gaps": []}}, "lacks a model"),
        ("rankings", {name: said | {"gaps": [gap]}}, "names models that are not there"),
    ):
        with refused(RankingError, f"these are not standings: {key}.*{says}"):
            from_json(raw | {key: damaged})
    assert from_json(raw | {"rankings": {name: said | {"of_later_versions": 1}}}).rankings[name].order


def test_two_selections_compare():
    models, rows, accuracy, images = made()
    table = ranked(models, rows, accuracy, images)
    same = compare_selections(table, table, images, images[:15])
    assert same.image_overlap == 0.5
    assert set(same.spearman.values()) == set(same.kendall.values()) == {1.0}
    part = ranked(
        models[:2], [r for r in rows if {r.defender, r.attacker} == set(models[:2])], accuracy[:2], images
    )
    assert compare_selections(table, part, images, images).spearman.keys() == table.rankings.keys()
    lone = replace(part, models=("else", models[0]))
    with refused(RankingError, "two models in common"):
        compare_selections(table, lone, images, images)


def test_wrong_input_is_named():
    models, rows, accuracy, images = made()
    with refused(RankingError, r"none of the \d+ chosen images has a label"):
        ranked(models, rows, np.full_like(accuracy, np.nan), images)
    with refused(RankingError, "has a label"):
        ranked(models, rows, np.ones((4, 1)), ["elsewhere"], all_labels=True)
    with refused(RankingError, "needs two models"):
        ranked(models[:1], [], accuracy[:1], images)
    with refused(RankingError, "'model-3'; the models are"):
        ranked(models[:3], rows, accuracy[:3], images)
    with refused(RankingError, "class 'c'; the classes are a, b"):
        ranked(models, rows, accuracy, images, class_names="ab")
    with refused(RankingError, "expected 4 models by 30 images"):
        ranked(models, rows, accuracy[:3], images)
    with refused(OptionError, "resamples"):
        ranked(models, rows, accuracy, images, resamples=-1)


def test_standings_from_counts():
    models, rows, _, images = made(i=10)
    rng = np.random.default_rng(0)
    classes = Classes(CLASSES, tuple(range(6)), ((0, 0, 0),) * 6, parents={"first": PARENTS["first"]})
    both = rng.integers(1, 50, (4, 10, 6))
    extra = rng.integers(0, 50, (2, 4, 10, 7))
    padded = np.concatenate([both, np.zeros((4, 10, 1), int)], -1)
    order = (2, 0, 3, 1)  # the pairs hold the models in another order than the selection
    pairs = Pairs(
        classes,
        tuple(models[k] for k in order),
        ("labels",),
        tuple(images),
        np.array([[4, k] for k in range(4)]),
        both,
        padded + extra[0],
        padded + extra[1],
        np.ones((4, 10, 7), int),
        np.ones((4, 10), bool),
    )
    pairs.present[:, 3] = False  # not labelled
    slots = Slots(
        models,
        {"concordance": "miou", "over": "union", "per_class": 2, "groups": list(CLASSES), "scale": 1},
        tuple(rows),
    )
    table = standings(slots, pairs, resamples=20)
    union = extra[0, ..., :-1] + extra[1, ..., :-1] + both
    miou = np.delete((both / union).mean(-1), 3, axis=1)
    assert scores(table, "reuse_mean") == pytest.approx(miou[np.argsort(order)].mean(1))
    assert table.labels == {"used": 9, "slots": len(rows), "discarded": 0, "missing": 1}
    assert list(table.parents) == ["first"]
    assert "scale" not in table.definitions
    assert table.definitions["concordance"] == "miou"
    with refused(RankingError, "'model-9'"):
        standings(Slots(("model-9",), slots.definition, ()), pairs)
