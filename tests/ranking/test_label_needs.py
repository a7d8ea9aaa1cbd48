"""How many labels a question needs: closed forms by hand, and what must hold whatever the models say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from faultscape.errors import RankingError
from faultscape.ranking.drawn import estimates
from faultscape.ranking.planning import label_needs, label_variances
from faultscape.ranking.planning.label_variances import Curve, curve, inclusion, moments, variance
from refusals import refused


def votes(labels: list[list[int]]) -> np.ndarray:
    said = np.array(labels)
    return (said[:, None] == said).astype(float)


def flat(pool: int, pairs: list[float], models: int, own: float = 0.1) -> Curve:
    """A curve of which variances are known: of every n, that times 1 / n - 1 / pool."""
    return Curve(pool, np.array([1.0, 0.98 * pool]), np.tile(pairs, (2, 1)), np.full((2, models), own))


@pytest.fixture(scope="module")
def made() -> np.ndarray:
    """Agreement of five classifiers of different skill on 300 images."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 300)
    labels = np.where(
        rng.random((5, 300)) < np.array([[0.9], [0.8], [0.7], [0.6], [0.5]]),
        truth,
        rng.integers(0, 4, (5, 300)),
    )
    return (labels[:, None] == labels).astype(float)


def test_the_third_model_judges_a_pair() -> None:
    found = moments(votes([[0, 0, 0], [0, 1, 1], [0, 1, 2]]))
    # pairs (0, 1), (0, 2), (1, 2), judged by 2, 1 and 0; loss of the first less loss of the second
    assert found.difference.tolist() == [[0, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert found.loss.tolist() == [[0, 1, 1], [0, 0.5, 1], [0, 0.5, 1]]


def test_a_truth_that_nobody_says_costs_all_and_tells_no_two_apart() -> None:
    alone, with_it = (
        moments(votes([[0, 0], [0, 1], [0, 1]])),
        moments(votes([[0, 0], [0, 1], [0, 1]]), outside=1.0),
    )
    assert with_it.loss.tolist() == [[1 / 3, 1], [1 / 3, 2 / 3], [1 / 3, 2 / 3]]
    assert (with_it.difference == alone.difference / 2).all()


def test_two_models_alone_are_half_believed() -> None:
    found = moments(votes([[0, 0], [0, 1]]))
    assert found.difference.tolist() == [[0, 0]]
    assert found.difference_square.tolist() == [[0, 0.25]]


def test_nobody_judges_itself() -> None:
    agreement = votes([[0, 0, 0], [0, 1, 1], [0, 1, 2]])
    unknown = agreement.copy()
    unknown[range(3), range(3)] = np.nan  # as concordances of label maps have it
    for mine, theirs in zip(vars(moments(unknown)).values(), vars(moments(agreement)).values(), strict=True):
        assert (mine == theirs).all()
    assert (label_needs.worlds(unknown.mean(2)) == label_needs.worlds(agreement.mean(2))).all()


def test_uniform_draws_have_the_variance_of_the_text_book(made: np.ndarray) -> None:
    expected = moments(made)
    found = curve(np.ones(300), expected)
    for n in (2, 17, 150, 299):
        mine = variance(found, np.array(n), np.arange(10))
        book = (expected.difference_square.mean(1) - expected.difference.mean(1) ** 2) * (1 / n - 1 / 300)
        assert mine == pytest.approx(book, rel=1e-9)


@pytest.mark.parametrize(("low", "number"), [(0.2, 40), (0.02, 40), (0.02, 90)])
def test_unequal_draws_vary_as_simulated(low: float, number: int) -> None:
    rng = np.random.default_rng(11)
    losses = (rng.random((2, 120)) < 0.3).astype(float)
    gap = losses[0] - losses[1]
    weights = np.where(gap == 0, low, rng.uniform(1, 2, 120))  # most images on which they differ come first
    known = label_variances.Moments(gap[None], gap[None] ** 2, losses, losses)
    means = []
    for _ in range(4000):
        order = np.argsort(rng.exponential(size=120) / weights)
        q = np.minimum(weights[order] / weights[order][::-1].cumsum()[::-1], 1)
        means.append((estimates.lure_weights(q[:number], 120) * gap[order[:number]]).mean())
    mine = variance(curve(weights, known), np.array(number), np.array([0]))[0]
    assert mine == pytest.approx(np.var(means), rel=0.15)


def test_of_real_classifiers_the_labels_that_scores_need_are_predictable(data: Path) -> None:
    path = data / "classifiers" / "model-picker" / "emotion_detection.npz"
    if not path.is_file():
        pytest.skip("no real data: classifiers/model-picker")
    with np.load(path) as held:
        labels, truth = held["predictions"].astype(int).T, held["labels"].ravel().astype(int)
    expected = moments((labels[:, None] == labels).astype(float), label_variances.OUTSIDE["classification"])
    named = label_needs.scores_needed(curve(np.ones(len(truth)), expected))
    share = (labels != truth).mean(1)
    really = 1 / (1 / len(truth) + (0.01 / norm.ppf(0.975)) ** 2 / (share * (1 - share)).max())
    assert 0.8 < named / really < 1.25


def test_inclusion_sums_to_the_number_and_is_larger_where_weights_are() -> None:
    weights = np.array([0.0, 1, 2, 5, 40])
    for n in (0.5, 1, 2, 3.5):
        found = inclusion(weights, n)
        assert found.sum() == pytest.approx(n)
        assert (np.diff(found) > 0).all()
    assert inclusion(weights, 4).tolist() == [0, 1, 1, 1, 1]


def test_two_models_need_what_the_normal_distribution_says() -> None:
    gap, var, pool = 0.03, 0.25, 5000
    n = 1 / (1 / pool + (gap / norm.ppf(0.95)) ** 2 / var)
    assert label_needs.needed("best", np.array([[0.2, 0.23]]), flat(pool, [var], 2)) == np.ceil(n)
    proved = 1 / (1 / pool + (gap / (norm.ppf(0.975) + norm.ppf(0.8))) ** 2 / var)  # .05 over both directions
    assert label_needs.needed("best_proved", np.array([[0.2, 0.23]]), flat(pool, [var], 2)) == np.ceil(proved)


def test_the_order_needs_its_closest_neighbours() -> None:
    found = flat(4000, [0.2] * 3, 3)
    one = label_needs.needed("best", np.array([[0.1, 0.12]]), flat(4000, [0.2], 2))
    order = label_needs.needed("order", np.array([[0.1, 0.12, 0.9]]), found)
    assert order == pytest.approx(one)  # the third is far off: it adds nothing
    assert label_needs.needed("order", np.array([[0.1, 0.12, 0.14]]), found) > order


def test_the_best_needs_not_know_who_is_second() -> None:
    found = flat(4000, [0.2] * 3, 3)
    close = np.array([[0.1, 0.2, 0.2001]])
    assert label_needs.needed("best", close, found) < 100
    assert label_needs.needed("order", close, found) > 3900


def test_a_proof_among_three_is_one_of_six_tests() -> None:
    n = 1 / (1 / 5000 + (0.03 / (norm.isf(0.05 / 6) + norm.ppf(0.8))) ** 2 / 0.25)
    found = label_needs.needed("best_proved", np.array([[0.2, 0.23, 0.9]]), flat(5000, [0.25] * 3, 3))
    assert found == np.ceil(n)


def test_a_model_in_its_own_place_is_believed_by_a_share_of_what_is_left() -> None:
    both = np.array([[1, 0.8], [0.8, 1]])
    for believed in (0.25, 1.0):
        gap = np.abs(np.diff(label_needs.worlds(both, believed, number=2000), axis=1))
        assert gap.max() == pytest.approx(0.2 * believed, rel=0.01)
        assert gap.mean() == pytest.approx(0.1 * believed, rel=0.05)  # of two weights that are uniform


def test_a_score_needs_what_its_variance_says() -> None:
    # 9,604
    assert label_needs.scores_needed(flat(10**9, [0.1], 2, own=0.25)) == np.ceil(
        0.25 * (norm.ppf(0.975) / 0.01) ** 2
    )


def test_no_number_exceeds_the_pool_and_more_exactness_never_needs_less() -> None:
    gaps = np.array([[0.0, g] for g in (1e-9, 1e-4, 0.001, 0.01, 0.1)])
    for question in label_needs.QUESTIONS:
        numbers = label_needs.needed(question, gaps, flat(700, [0.2], 2))
        assert numbers[0] == 700
        assert (np.diff(numbers) <= 0).all()
        assert numbers[-1] < 700
    within = [label_needs.scores_needed(flat(700, [0.2], 2), width) for width in (0.001, 0.01, 0.03, 0.1)]
    assert within == sorted(within, reverse=True)
    assert within[0] <= 700


def test_the_variance_falls_with_every_label_and_is_gone_with_the_last(made: np.ndarray) -> None:
    found = curve(np.linspace(0.1, 1, 300), moments(made))
    falls = variance(found, np.arange(1, 301)[:, None], np.zeros((300, 1), int))[:, 0, 0]
    assert (np.diff(falls) < 0).all()
    assert falls[-1] == 0


def test_a_copy_of_a_model_is_never_told_apart() -> None:
    found = curve(np.ones(4), moments(votes([[0, 1, 2, 3], [0, 1, 2, 3], [1, 1, 2, 2]])))
    losses = np.array([[0.1, 0.1, 0.4]])
    assert np.isnan(label_needs.needed("best", losses, found)).all()
    assert np.isnan(label_needs.needed("order", losses, found)).all()


def test_scores_cannot_be_told_where_some_images_are_never_drawn(made: np.ndarray) -> None:
    weights = np.ones(300)
    weights[7] = 0
    found = curve(weights, moments(made))
    assert np.isnan(label_needs.scores_needed(found))
    assert not np.isnan(label_needs.needed("best", label_needs.worlds(made.mean(2)), found)).any()


def test_worlds_stand_between_what_the_models_say(made: np.ndarray) -> None:
    found = label_needs.worlds(made.mean(2))
    assert found.sum(1) == pytest.approx(0)
    order = np.argsort(found.mean(0))
    assert order[0] == 0  # the model that agrees most with the others is the likeliest to be the best
    assert order[-1] == 4
    assert found[:, 0].std() > 0
    assert (label_needs.worlds(made.mean(2), seed=1) != found).any()


def test_labels_move_the_worlds_as_far_as_they_are_exact(made: np.ndarray) -> None:
    before, loss = label_needs.worlds(made.mean(2)), np.array([0.5, 0.4, 0.3, 0.2, 0.1])
    exact, vague = (label_needs.updated(before, loss, np.full(10, v)) for v in (1e-10, 1e3))
    assert exact == pytest.approx(np.tile(loss - loss.mean(), (len(before), 1)), abs=1e-3)
    assert vague.mean(0) == pytest.approx(before.mean(0), abs=0.03)
    some = label_needs.updated(before, loss, np.full(10, 0.01)).mean(0)
    assert (np.abs(some - (loss - loss.mean())) < np.abs(before.mean(0) - (loss - loss.mean())))[
        [0, 1, 3, 4]
    ].all()


def test_measured_variances_are_believed_by_their_number() -> None:
    drawn = flat(10**6, [0.2], 2)
    before = np.array([[-0.1, 0.1], [0.1, -0.1]])
    for labels, want in ((10, 1.5), (90, 1.9)):
        # each model's variance, and so that of their difference, is twice the expected
        twice = 0.1 * 2 * (1 / labels - 1e-6)
        found = estimates.Estimates(np.array([0.3, 0.3]), twice * np.eye(2), labels - 1)
        curve_, _ = label_needs.learnt(before, drawn, found, labels, 1.0, drawn)
        assert curve_.pairs / drawn.pairs == pytest.approx(want)
        assert curve_.models / drawn.models == pytest.approx(want)


def test_shapes_and_questions_that_do_not_fit_are_refused() -> None:
    with refused(RankingError, "two models or more"):
        moments(np.ones((1, 1, 3)))
    with refused(RankingError, "not below 0"):
        moments(votes([[0], [1]]), outside=-1)
    with refused(RankingError, "nothing to draw"):
        curve(np.zeros(2), moments(votes([[0, 0], [0, 1]])))
    with refused(RankingError, "of two or more"):
        label_needs.worlds(np.ones((2, 3)))
    with refused(RankingError, "at most 1"):
        label_needs.worlds(np.eye(2), believed=0)
    with refused(RankingError, "one of best, order"):
        label_needs.needed("worst", np.zeros((1, 2)), flat(10, [0.1], 2))
    with refused(RankingError, "more than 0"):
        label_needs.scores_needed(flat(10, [0.1], 2), 0)
    with refused(RankingError, "need 2 losses and 1 variances"):
        label_needs.updated(np.zeros((3, 2)), np.zeros(3), np.zeros(1))
    with refused(RankingError, "estimates of as many"):
        label_needs.learnt(
            np.zeros((3, 2)),
            flat(9, [0.1], 2),
            estimates.Estimates(np.zeros(3), np.eye(3), 3),
            4,
            1.0,
            flat(9, [0.1], 2),
        )


def test_who_looks_after_every_label_stops_before_a_plan_of_one_look() -> None:
    losses = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]])
    curve = flat(20_000, [0.25] * 15, 6)
    looked = label_needs.needed("best_anytime", losses, curve)
    planned = 1 / (1 / 20_000 + (0.1 / (label_needs.limit_of_all(6) + norm.ppf(0.95))) ** 2 / 0.25)
    assert 0.5 < looked[0] / planned < 0.65
    assert label_needs.needed("order_anytime", losses, curve)[0] > looked[0]
