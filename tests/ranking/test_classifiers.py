import json
from dataclasses import dataclass

import numpy as np
import pytest
from mad_reference import bradley_terry as reference_strengths

from faultscape.errors import OptionError, RankingError
from faultscape.ranking.catalogue import taking
from faultscape.ranking.classifiers import classifier_rankings, pair_places
from faultscape.ranking.duel_standings import from_json, to_json
from faultscape.ranking.intervals import bootstrap_weights, ranks
from faultscape.ranking.methods.bradley_terry import bradley_terry, wins
from faultscape.ranking.pair_cases import pair_counts
from faultscape.ranking.stability import against_places, leave_one_out
from made import tie
from refusals import refused

FAITHFUL = {ranking.name: ranking.compute for ranking in taking("counts")}


@dataclass(frozen=True)
class Row:
    model_a: str
    model_b: str
    image: str
    place: int


def made(seed=0, j=5, i=80, k=8):
    """Models, the k slots of every pair, answers that grow with the model, image ids."""
    rng = np.random.default_rng(seed)
    models = tuple(f"net-{m}" for m in range(j))
    images = [f"photo {n:02d}" for n in range(i)]
    correct = (rng.normal(0, 1, i) + rng.normal(0, 1, (j, i)) < np.linspace(-0.5, 1, j)[:, None]).astype(
        float
    )
    rows = [
        Row(models[a], models[b], images[n], place)
        for a in range(j)
        for b in range(a)
        for place, n in enumerate(rng.choice(i, k, replace=False), 1)
    ]
    return models, rows, correct, images


def ranked(models, rows, correct, images, **options):
    return classifier_rankings(models, rows, correct, images, **{"resamples": 60} | options)


def scores(table, name):
    return np.array(list(table.rankings[name].scores.values()))


def by_loops(models, rows, correct, images, laplace):
    """A and B, Perron by eq. 5's powers, all from the definitions."""
    j = len(models)
    right, total = np.zeros((j, j)), np.zeros((j, j))
    for row in rows:
        a, b, k = models.index(row.model_a), models.index(row.model_b), images.index(row.image)
        for x, y in ((a, b), (b, a)):
            right[x, y] += correct[x, k]
            total[x, y] += 1
    accuracy = (right + laplace) / (total + 2 * laplace)
    b = accuracy / accuracy.T
    vector = np.ones(j)
    for _ in range(500):
        vector = b @ vector
        vector /= vector.sum()
    return accuracy, b, vector


def test_the_matrices_and_the_perron_rank_are_those_of_algorithm_1():
    models, rows, correct, images = made()
    table = ranked(models, rows, correct, images)
    accuracy, b, vector = by_loops(models, rows, correct, images, 1)
    off = ~np.eye(5, dtype=bool)
    assert np.array(table.matrices["accuracy"])[off] == pytest.approx(accuracy[off])
    assert np.array(table.matrices["dominance"]) == pytest.approx(b)
    assert scores(table, "perron") == pytest.approx(vector, abs=1e-12)
    y = np.log(b)  # all pairs have the same number of images: the scores are the means of the rows
    assert scores(table, "hodge") == pytest.approx(y.mean(1), abs=1e-12)
    assert list(table.rankings) == [*FAITHFUL, "reuse_mean"]
    assert table.rankings["perron"].order == [models[k] for k in np.argsort(-vector)]


def test_cases_are_counted_per_pair_and_said():
    models, rows, correct, images = made()
    table = ranked(models, rows, correct, images)
    one, two, three = (np.array(table.matrices[f"case_{n}"]) for n in (1, 2, 3))
    assert (one == one.T).all()
    assert (three == three.T).all()
    assert (one + two + two.T + three == 8 * ~np.eye(5, dtype=bool)).all()
    said = (
        f"cases of 80 decided slots: I {one.sum() / 1.6:.1f} %, II {two.sum() / 0.8:.1f} %, III"
        f" {three.sum() / 1.6:.1f} %"
    )
    assert said in table.notes


def test_win_shares_and_re_use_by_definition():
    models, rows, correct, images = made(1)
    table = ranked(models, rows, correct, images)
    two = np.array(table.matrices["case_2"])
    points = (two + (8 - two - two.T) / 2) * ~np.eye(5, dtype=bool)
    assert scores(table, "borda") == pytest.approx(points.sum(1) / 32)
    used = [images.index(image) for image in sorted({row.image for row in rows})]
    assert scores(table, "reuse_mean") == pytest.approx(correct[:, used].mean(1))
    # all answers are known: it would order the models as the mean does
    assert "reuse_bradley_terry" not in table.rankings
    assert set(table.rankings["bradley_terry"].sandwich_error) == set(models)
    assert table.rankings["bradley_terry"].tie_parameter > 0


def test_bradley_terry_of_all_labels_stands_beside_the_mean_only_where_answers_are_unknown():
    models, rows, correct, images = made(1)
    used = [images.index(image) for image in sorted({row.image for row in rows})]
    some = correct.copy()
    some[0, used[:3]] = np.nan
    table = ranked(models, rows, some, images)
    with np.errstate(invalid="ignore"):
        seen = some[:, used]
        wins = np.array([[(a > b).sum() + (a == b).sum() / 2 for b in seen] for a in seen])
    np.fill_diagonal(wins, 0)
    assert scores(table, "reuse_bradley_terry") == pytest.approx(reference_strengths(wins), abs=1e-8)
    assert set(table.rankings["reuse_bradley_terry"].sandwich_error) == set(models)


@pytest.mark.parametrize("seed", range(5))
def test_bradley_terry_orders_models_as_the_mean_does_where_all_answers_are_right_or_wrong_and_known(seed):
    correct = (np.random.default_rng(seed).random((6, 30)) < 0.7).astype(float)
    strengths = bradley_terry(wins(correct)[0], 0.5)
    assert ranks(strengths) == pytest.approx(ranks(correct.mean(1)))


def test_a_label_counts_faithfully_only_for_the_pair_that_chose_it():
    models, rows, correct, images = made(2)
    row = rows[0]
    other = next(k for k in range(5) if models[k] not in (row.model_a, row.model_b))
    elsewhere = {r.image for r in rows if models[other] in (r.model_a, r.model_b)}
    mine = next(r for r in rows if models[other] not in (r.model_a, r.model_b) and r.image not in elsewhere)
    changed = correct.copy()
    changed[other, images.index(mine.image)] = 1 - changed[other, images.index(mine.image)]
    before, after = ranked(models, rows, correct, images), ranked(models, rows, changed, images)
    for name in FAITHFUL:
        assert scores(before, name).tolist() == scores(after, name).tolist()
    assert scores(before, "reuse_mean")[other] != scores(after, "reuse_mean")[other]


def test_partial_labels_count_where_they_decide():
    models, rows, correct, images = made(3)
    row = rows[0]
    a, b, k = models.index(row.model_a), models.index(row.model_b), images.index(row.image)
    partial = correct.copy()
    partial[:, k] = np.nan
    partial[a, k] = 0  # only "this is not an A" is known
    table = ranked(models, rows, partial, images)
    whole = ranked(models, rows, correct, images)
    lost = (
        np.array(whole.matrices["case_1"])
        + np.array(whole.matrices["case_2"])
        + np.array(whole.matrices["case_2"]).T
    )
    lost += (
        np.array(whole.matrices["case_3"])
        - np.array(table.matrices["case_1"])
        - np.array(table.matrices["case_3"])
    )
    lost -= np.array(table.matrices["case_2"]) + np.array(table.matrices["case_2"]).T
    assert lost[a, b] == 1
    used = [images.index(image) for image in sorted({r.image for r in rows})]
    assert scores(table, "reuse_mean")[a] == pytest.approx(partial[a, used].mean())
    assert scores(table, "reuse_mean")[b] == pytest.approx(np.nanmean(partial[b, used]))
    assert any("labels decide" in note for note in table.notes)
    assert any("1 slot has a label that does not decide both of its models" in note for note in table.notes)


def test_labels_are_counted_and_others_count_only_when_asked():
    models, rows, correct, images = made(4, i=120)
    chosen = sorted({row.image for row in rows})
    missing = set(chosen[:3])
    keep = [k for k, image in enumerate(images) if image not in missing]
    correct, images = correct[:, keep], [images[k] for k in keep]
    table = ranked(models, rows, correct, images, discarded=2)
    assert table.labels == {"used": len(chosen) - 3, "slots": len(rows), "discarded": 2, "missing": 3}
    every = ranked(models, rows, correct, images, all_labels=True)
    assert every.labels["used"] == len(images)
    assert every.labels["of_selection"] == table.labels["used"]
    assert (
        f"{len(images) - len(chosen) + 3} labelled images outside the selection count in the re-use rankings"
        in every.notes
    )
    for name in FAITHFUL:
        assert to_json(table)["rankings"][name] == to_json(every)["rankings"][name]
    assert scores(every, "reuse_mean") == pytest.approx(correct.mean(1))


def test_the_bootstrap_draws_images_with_all_their_slots():
    models, rows, correct, images = made(5)
    used = sorted(
        (k for k, image in enumerate(images) if image in {r.image for r in rows}),
        key=lambda k: tie(images[k]),
    )
    weights = bootstrap_weights(len(used), 60, np.random.default_rng(0))
    first, second, image = pair_places(models, rows, [images[k] for k in used])
    draws = FAITHFUL["perron"](pair_counts(first, second, image, correct[:, used], weights), 1)
    interval = np.percentile(draws, [2.5, 97.5], axis=0).T
    said = ranked(models, rows, correct, images).rankings["perron"].score_interval
    assert np.array(list(said.values())) == pytest.approx(interval, abs=1e-12)


def test_one_more_model_leaves_the_old_comparisons_alone():
    models, rows, correct, images = made(6)  # Algorithm 2: the old block of A and B stays as it was
    old = [row for row in rows if models[4] not in (row.model_a, row.model_b)]
    small, large = ranked(models[:4], old, correct[:4], images), ranked(models, rows, correct, images)
    for name in small.matrices:
        np.testing.assert_array_equal(np.array(large.matrices[name])[:4, :4], small.matrices[name])


def test_the_order_of_models_and_slots_does_not_show():
    models, rows, correct, images = made(7)
    order = [3, 1, 4, 0, 2]
    turned = [Row(r.model_b, r.model_a, r.image, r.place) for r in reversed(rows)]
    one, other = (
        ranked(models, rows, correct, images),
        ranked([models[k] for k in order], turned, correct[order], images),
    )
    for name in one.rankings:
        assert scores(other, name) == pytest.approx(scores(one, name)[order], abs=1e-10)
        assert one.rankings[name].order == other.rankings[name].order


def test_islands_are_said_and_not_ranked_together():
    models, rows, correct, images = made(8)
    apart = [row for row in rows if (row.model_a in models[:2]) == (row.model_b in models[:2])]
    table = ranked(models, apart, correct, images)
    for name in FAITHFUL:
        assert np.isnan(scores(table, name)).tolist() == [True, True, False, False, False]
    assert any(
        note.startswith("comparisons fall into 2 groups: net-2, net-3, net-4 | net-0, net-1")
        for note in table.notes
    )
    assert np.isfinite(scores(table, "reuse_mean")).all()


def test_without_smoothing_a_model_that_is_never_right_has_no_ratio():
    models, rows, correct, images = made(9)
    correct[0] = 0
    table = ranked(models, rows, correct, images, laplace=0)
    assert np.isnan(scores(table, "perron")).all()
    assert np.isnan(scores(table, "hodge")).all()
    assert np.isfinite(scores(table, "bradley_terry")).all()
    assert any("give --laplace above 0" in note for note in table.notes)
    assert np.isfinite(scores(ranked(models, rows, correct, images), "perron")).all()


def test_standings_go_through_json_and_beside_a_benchmark():
    models, rows, correct, images = made(10)
    table = ranked(
        models,
        rows,
        correct,
        images,
        benchmark={m: k for k, m in enumerate(models)},
        definitions={"distance": "01"},
    )
    text = json.dumps(to_json(table), allow_nan=False)
    assert json.dumps(to_json(from_json(json.loads(text)))) == text
    assert set(table.benchmark.spearman) == set(table.rankings)
    assert table.definitions["distance"] == "01"
    assert table.definitions["laplace"] == 1
    assert repr(table).startswith("Standings of 5 models")


def test_stability_takes_any_ranking_of_slots():
    models, rows, correct, images = made(11)
    first, second, image = pair_places(models, rows, images)

    def score(keep):
        return FAITHFUL["perron"](pair_counts(first[keep], second[keep], image[keep], correct), 1)[0]

    said = against_places(score, np.array([row.place for row in rows]))
    assert len(said) == 8
    assert said[-1] == pytest.approx(1)
    takes_part = (np.arange(5)[:, None] == first) | (np.arange(5)[:, None] == second)
    found = leave_one_out(score, models, takes_part)
    assert [one.slots for one in found] == [32] * 5
    alone = ranked(
        models[1:], [r for r in rows if models[0] not in (r.model_a, r.model_b)], correct[1:], images
    )
    assert score(~takes_part[0])[1:] == pytest.approx(scores(alone, "perron"))


def test_what_does_not_fit_is_refused_in_words():
    models, rows, correct, images = made()
    with refused(RankingError, r"a slot pairs 'net-0'; the models are net-1, net-2"):
        ranked(models[1:], rows, correct[1:], images)
    with refused(RankingError, "none of the"):
        ranked(models, rows, np.full((5, 80), np.nan), images)
    with refused(RankingError, "expected 5 models by 80 images"):
        ranked(models, rows, correct[:3], images)
    with refused(RankingError, "needs two models"):
        ranked(models[:1], rows, correct[:1], images)
    with refused(OptionError, "resamples cannot be negative"):
        ranked(models, rows, correct, images, resamples=-1)
    with refused(OptionError, "laplace"):
        ranked(models, rows, correct, images, laplace=-1)
