"""Estimates from drawn labels: unbiased over every order of drawing, the sample mean where draws are uniform,
intervals that cover.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from faultscape.errors import RankingError
from faultscape.ranking.drawn.estimate_intervals import difference_intervals, loss_intervals, margin_intervals
from faultscape.ranking.drawn.estimates import (
    Estimates,
    combined,
    inside,
    lure,
    lure_weights,
    margins,
    prediction_powered,
    uniform_steps,
)
from faultscape.ranking.drawn.populations import to_come
from faultscape.selection import proposals
from faultscape.selection.draws import draw
from refusals import refused

LOSSES = np.array([[0.0, 1.0, 0.5, 0.2, 0.9], [1.0, 1.0, 0.0, 0.0, 0.3]])  # two models, a pool of five images
WEIGHTS = np.array([4.0, 1.0, 2.0, 0.5, 0.1])

Rule = Callable[[list[int]], np.ndarray]


def orders(rule: Rule, number: int) -> Iterator[tuple[list[int], np.ndarray, float]]:
    """Yield every order of drawing, the probabilities of its steps, and how likely it is; the rule gives
    weights from the past.
    """
    for order in permutations(range(5), number):
        steps = []
        for step, image in enumerate(order):
            left = rule(list(order[:step])).copy()
            left[list(order[:step])] = 0
            steps.append(left[image] / left.sum())
        yield list(order), np.array(steps), float(np.prod(steps))


def unmoved(_: list[int]) -> np.ndarray:
    return WEIGHTS


def adaptive(past: list[int]) -> np.ndarray:
    """Prefer what lies near the last image if the first model was wrong there: weights that depend on the
    labels.
    """
    return WEIGHTS + 3 * (np.arange(5) > past[-1]) * LOSSES[0, past[-1]] if past else WEIGHTS


@pytest.mark.parametrize("rule", [unmoved, adaptive])
@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_lure_is_unbiased_over_all_orders_of_drawing(rule: Rule, number: int) -> None:
    mean, total = np.zeros(2), 0.0
    for order, steps, chance in orders(rule, number):
        mean += chance * lure(LOSSES[:, order], steps, 5).loss
        total += chance
    assert total == pytest.approx(1, abs=1e-12)
    assert mean == pytest.approx(LOSSES.mean(1), abs=1e-12)


def test_the_plain_mean_of_such_draws_is_biased() -> None:
    mean = sum(chance * LOSSES[:, order].mean(1) for order, _, chance in orders(unmoved, 3))
    assert np.abs(mean - LOSSES.mean(1)).max() > 0.05


def test_weights_by_hand() -> None:
    # v_1 = 1 + (5 - 2)/(5 - 1) (1/(5 x .8) - 1), v_2 = 1 + (5 - 2)/(5 - 2) (1/(4 x .1) - 1)
    assert lure_weights(np.array([0.8, 0.1]), 5) == pytest.approx([1 - 0.75 * 0.75, 2.5])


def test_all_images_drawn_is_the_truth_without_doubt() -> None:
    for order, steps, _ in list(orders(adaptive, 5))[::17]:
        found = lure(LOSSES[:, order], steps, 5)
        assert found.loss == pytest.approx(LOSSES.mean(1), abs=1e-12)
        assert np.abs(found.covariance).max() < 1e-12


def test_uniform_draws_give_the_sample_mean_and_its_variance_in_a_finite_population() -> None:
    losses = np.random.default_rng(1).random((3, 20))
    steps = 1 / (50 - np.arange(20))
    assert lure_weights(steps, 50) == pytest.approx(np.ones(20), abs=1e-13)
    assert lure(losses, steps, 50).loss == pytest.approx(losses.mean(1), abs=1e-13)
    sample, steps = LOSSES[:, [0, 3, 1, 4]], 1 / (9 - np.arange(4))  # four of nine, in each of their orders
    found = [lure(sample[:, order], steps, 9).covariance for order in permutations(range(4))]
    assert np.mean(found, 0) == pytest.approx((1 - 4 / 9) * np.cov(sample) / 4, abs=1e-13)


def test_losses_in_proportion_to_the_weights_are_known_from_any_draw() -> None:
    for order, steps, _ in list(orders(unmoved, 3))[::7]:
        assert lure(WEIGHTS[order][None], steps, 5).loss[0] == pytest.approx(WEIGHTS.mean(), rel=0.35)
    every = [lure(WEIGHTS[order][None], steps, 5).loss[0] for order, steps, _ in orders(unmoved, 3)]
    plain = [WEIGHTS[order].mean() for order, _, _ in orders(unmoved, 3)]
    assert np.std(every) < 0.3 * np.std(plain)


@pytest.mark.slow
def test_the_variance_is_that_of_many_draws() -> None:
    rng = np.random.default_rng(0)
    losses, weights = rng.random((2, 80)), rng.gamma(2, size=80) + 0.2
    runs = []
    for seed in range(1500):
        drawn = draw(weights, 25, seed=seed)
        runs.append(lure(losses[:, drawn.images], drawn.probability, 80))
    real = np.cov(np.array([r.loss for r in runs]).T)
    said = np.mean([r.covariance for r in runs], 0)
    assert np.diagonal(said) == pytest.approx(np.diagonal(real), rel=0.1)
    assert said[0, 1] == pytest.approx(real[0, 1], abs=0.1 * real[0, 0])


def test_a_control_variate_by_hand() -> None:
    losses, proxy = np.array([[1.0, 0.0, 1.0]]), np.array([[0.8, 0.2, 0.5, 0.1, 0.4]])
    steps = np.array([1 / 5, 1 / 4, 1 / 3])
    found = prediction_powered(losses, steps, proxy, np.array([0, 1, 2]))
    # the steps' own estimates: a_1 = l_1, a_2 = (4 l_2 + l_1) / 5, a_3 = (3 l_3 + l_2 + l_1) / 5
    slope = found.control[0, 0]
    assert found.loss[0] == pytest.approx(2 / 3 - slope * (0.5 - 0.4))
    share = np.array([1 / 20, 1 / 12, 1 / 6]) * 10 / 3  # c_m = 5 (5 - 3) / (3 (5 - m) (5 - m + 1)), in all 1
    assert share.sum() == pytest.approx(1)
    own = np.array([1.0, (0 + 1) / 5, (3 + 0 + 1) / 5]) - 2 / 3
    others = np.array([0.8, (0.8 + 0.8) / 5, (1.5 + 0.2 + 0.8) / 5]) - 0.5
    assert slope == pytest.approx((share**2 * own * others).sum() / (share**2 * others**2).sum() * 3 / 13)
    assert found.freedom == 1


def test_a_proxy_that_says_nothing_changes_nothing() -> None:
    steps = 1 / (5 - np.arange(3))
    found = prediction_powered(LOSSES[:, :3], steps, np.full((2, 5), 0.3), np.arange(3))
    assert not found.control.any()
    assert found.loss == pytest.approx(lure(LOSSES[:, :3], steps, 5).loss)


def test_differences_are_those_of_margins_whatever_the_proxy_says_of_all_models() -> None:
    """A proxy that knows which images are hard, but not which model is better, would make intervals of
    differences wider if one coefficient served both.
    """
    rng = np.random.default_rng(5)
    hard = rng.random(300)
    losses = hard + 0.02 * rng.standard_normal((3, 300))
    proxy = hard + 0.2 * rng.standard_normal((3, 300))
    drawn = rng.permutation(300)[:40]
    steps = uniform_steps(40, 300)
    found = prediction_powered(losses[:, drawn], steps, proxy, drawn)
    apart = prediction_powered(margins(losses[:, drawn]), steps, margins(proxy), drawn, (-1, 1))
    middle = np.eye(3) - 1 / 3
    assert middle @ found.loss == pytest.approx(apart.loss)
    assert middle @ found.covariance @ middle == pytest.approx(apart.covariance)
    alone = lure(losses[:, drawn], steps, 300)
    assert np.diagonal(found.covariance).max() < np.diagonal(alone.covariance).min() / 4
    assert np.diagonal(apart.covariance).max() < 1.3 * np.diagonal(middle @ alone.covariance @ middle).max()


def test_a_good_proxy_narrows_and_hardly_biases() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random((3, 400))
    proxy = truth + rng.normal(0, 0.1, truth.shape)
    weights = rng.random(400) + 0.3
    plain, powered = [], []
    for seed in range(300):
        drawn = draw(weights, 60, seed=seed)
        losses = truth[:, drawn.images]
        plain.append(lure(losses, drawn.probability, 400).loss)
        powered.append(prediction_powered(losses, drawn.probability, proxy, drawn.images).loss)
    error = np.std(powered, 0)
    assert (error < 0.45 * np.std(plain, 0)).all()
    assert (np.abs(np.mean(powered, 0) - truth.mean(1)) < 3 * error / np.sqrt(300)).all()


def test_labels_chosen_without_probabilities_are_righted_by_the_proxy() -> None:
    rng = np.random.default_rng(5)
    proxy = rng.random((2, 300))
    truth = np.clip(proxy + rng.normal(0, 0.1, proxy.shape), 0, 1)
    top = np.argsort(-proxy.sum(0))[:60]  # the images that must be expected to be worst
    righted = prediction_powered(truth[:, top], uniform_steps(60, 300), proxy, top).loss
    assert (truth[:, top].mean(1) - truth.mean(1) > 0.25).all()
    assert (np.abs(righted - truth.mean(1)) < 0.1).all()


def test_margins_by_hand() -> None:
    losses = np.array([[0.5, 1.0], [0.41, 0.0], [0.25, 0.0]])
    assert margins(losses, 0.5)[:, 0] == pytest.approx([(0.3 + 0.5) / 3, (-0.3 + 0.4) / 3, -(0.5 + 0.4) / 3])
    assert margins(losses, 1.0) == pytest.approx(losses - losses.mean(0))
    # 0 and 1: the power is no matter
    assert margins(losses, 0.4)[:, 1] == pytest.approx(margins(losses)[:, 1])
    assert margins(losses, 0.0)[:, 0] == pytest.approx([2 / 3, 0, -2 / 3])
    assert margins(np.array([[0.027], [0.0]]), 1 / 3)[:, 0] == pytest.approx([0.3 / 2, -0.3 / 2])
    # as they are, unless told
    assert margins(np.array([[0.027], [0.0]]))[:, 0] == pytest.approx([0.027 / 2, -0.027 / 2])
    assert margins(losses).sum(0) == pytest.approx([0, 0])


def test_parts_drawn_apart_are_one_corpus() -> None:
    disputed = Estimates(np.array([0.5, 0.4]), np.array([[0.04, 0.01], [0.01, 0.04]]), 30)
    agreed = Estimates(np.array([0.1, 0.1]), np.full((2, 2), 0.01), 12)
    whole = combined([disputed, agreed], [0.2, 0.8])
    assert whole.loss == pytest.approx([0.18, 0.16])
    assert whole.covariance == pytest.approx(np.array([[0.008, 0.0068], [0.0068, 0.008]]))
    assert whole.freedom == 12
    gap = difference_intervals(whole)[0, 1]
    assert gap.mean() == pytest.approx(0.2 * 0.1)  # where all agree they do not differ
    with refused(RankingError, "shares that sum to 1"):
        combined([disputed, agreed], [0.2, 0.7])


def test_intervals_of_losses_stay_between_0_and_1() -> None:
    found = Estimates(np.array([0.02, 0.5, 1.0, 0.0]), np.diag([0.01, 0.01, 0.04, 0.0]) ** 1.0, 40)
    low, high = loss_intervals(found).T
    assert ((low >= 0) & (high <= 1) & (low <= found.loss) & (found.loss <= high)).all()
    assert 0.5 - low[1] == pytest.approx(high[1] - 0.5)
    assert np.isnan(loss_intervals(lure(LOSSES[:, :1], np.array([0.2]), 5))).all()  # one label has no spread


def test_what_cannot_be_estimated_is_refused() -> None:
    steps = np.array([0.2, 0.25])
    with refused(
        RankingError, "1 of 2 drawn images lack the loss of a model: an unbiased estimate needs every one"
    ):
        lure(np.array([[0.1, np.nan]]), steps, 5)
    with refused(RankingError, "between 1 and 1 draws, the images of the pool; got 2"):
        lure(LOSSES[:, :2], steps, 1)
    with refused(RankingError, "must lie above 0, at most 1"):
        lure(LOSSES[:, :2], np.array([0.2, 0.0]), 5)
    with refused(RankingError, "one column for each of 2 draws; got 3"):
        lure(LOSSES[:, :3], steps, 5)
    with refused(RankingError, "proxy needs a finite number for each of 2 models"):
        prediction_powered(LOSSES[:, :2], steps, LOSSES[:1], np.array([0, 1]))


def classifiers() -> tuple[np.ndarray, np.ndarray]:
    """Return labels (5, 1500) of five made classifiers that find the same images hard, and the truth."""
    rng = np.random.default_rng(11)
    truth, hard = rng.integers(0, 4, 1500), rng.beta(0.7, 1.6, 1500)
    right = rng.random((5, 1500)) > hard * np.array([[0.7], [0.8], [0.9], [1.0], [1.1]])
    return np.where(right, truth, (truth + rng.integers(1, 4, (5, 1500))) % 4), truth


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["random", "disputed", "expected-loss", "vma", "mad"])
def test_nominal_95_percent_of_intervals_hold_the_truth_at_100_labels(selector: str) -> None:
    labels, truth = classifiers()
    first, second = np.triu_indices(5, 1)
    differs = (labels[first] != labels[second]).astype(float)
    expected, losses = proposals.expected_of_labels(labels), (labels != truth).astype(float)
    weights = {
        "random": proposals.uniform(1500),
        "disputed": proposals.disputed(differs, graded=False),
        "expected-loss": proposals.expected_loss(expected, where=differs.any(0)),
        "vma": proposals.vma(expected, where=differs.any(0)),
        "mad": proposals.mad(differs, temperature=2.0),
    }[selector]
    pool = np.flatnonzero(weights)
    real = losses[:, pool].mean(1)
    gaps = real[first] - real[second]
    held = {"lure": [], "control": []}
    for seed in range(300):
        drawn = draw(weights, 100, seed=seed)
        seen, places = losses[:, drawn.images], np.searchsorted(pool, drawn.images)
        for name, found in (
            ("lure", lure(seen, drawn.probability, drawn.pool)),
            ("control", prediction_powered(seen, drawn.probability, expected[:, pool], places)),
        ):
            low, high = loss_intervals(found).T
            below, above = difference_intervals(found)[first, second].T
            held[name].append(
                (((low <= real) & (real <= high)).mean(), ((below <= gaps) & (gaps <= above)).mean())
            )
    for name, shares in held.items():
        assert (np.mean(shares, 0) > 0.92).all(), (name, np.mean(shares, 0))
        assert (np.mean(shares, 0) < 0.98).all(), (name, np.mean(shares, 0))


ACCURACIES = (0.98, 0.98, 0.99, 0.99)


def good_classifiers(images: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return losses (4, I) of models that are seldom wrong, on the same hard images, what to expect of them,
    and how hard images are.
    """
    rng = np.random.default_rng(5)
    hard = rng.normal(size=images)
    losses = np.zeros((4, images))
    for own, accuracy in zip(losses, ACCURACIES, strict=True):
        own[np.argsort(-0.6 * hard - 0.8 * rng.normal(size=images))[: round((1 - accuracy) * images)]] = 1
    likely = 1 / (1 + np.exp(2 - 1.2 * hard))
    return losses, np.clip(likely * (2.02 - 2 * np.array(ACCURACIES)[:, None]), 0, 1), likely


@pytest.mark.slow
@pytest.mark.parametrize("labels", [30, 100, 400])
@pytest.mark.parametrize("draws", ["uniform", "unequal"])
def test_intervals_hold_the_truth_of_models_that_are_seldom_wrong(draws: str, labels: int) -> None:
    losses, expected, likely = good_classifiers(1000)
    weights = np.ones(1000) if draws == "uniform" else likely + 0.1 * likely.mean()
    real = losses.mean(1)
    gaps = real[:, None] - real
    held: dict[str, list[tuple[float, float]]] = {"lure": [], "control": []}
    for seed in range(200):
        drawn = draw(weights, labels, seed=seed)
        seen = losses[:, drawn.images]
        for name, found in (
            ("lure", lure(seen, drawn.probability, 1000)),
            ("control", prediction_powered(seen, drawn.probability, expected, drawn.images)),
        ):
            low, high = loss_intervals(found).T
            below, above = np.moveaxis(difference_intervals(found), -1, 0)
            apart = ((below <= gaps + 1e-12) & (gaps <= above + 1e-12))[~np.eye(4, dtype=bool)]
            held[name].append((((low <= real) & (real <= high)).mean(), apart.mean()))
    for name, shares in held.items():
        assert (np.mean(shares, 0) > 0.92).all(), (name, np.mean(shares, 0))


@pytest.mark.parametrize(("labels", "pool"), [(30, 10_000), (100, 10_000), (100, 250), (200, 250)])
def test_no_observed_error_bounds_the_errors_that_remain_as_the_hypergeometric_distribution_does(
    labels: int, pool: int
) -> None:
    found = lure(np.zeros((2, labels)), uniform_steps(labels, pool), pool)
    low, high = loss_intervals(found)[0]
    errors = np.arange(pool - labels + 1)
    bound = errors[stats.hypergeom.pmf(0, pool, errors, labels) >= 0.025].max() / pool
    assert low == 0
    assert bound <= high <= 1.3 * bound + 1 / pool
    assert loss_intervals(lure(np.ones((1, labels)), uniform_steps(labels, pool), pool))[0] == pytest.approx(
        [1 - high, 1]
    )


@pytest.mark.parametrize("labels", [50, 100])
@pytest.mark.parametrize("share", [1.0, 0.95])
def test_intervals_hold_the_truth_of_models_that_are_nearly_always_wrong(share: float, labels: int) -> None:
    rng = np.random.default_rng(1)
    weights, losses = rng.choice([0.2, 1.0, 2.0], 300), (rng.random((1, 300)) < share).astype(float)
    proxy, held = np.full((1, 300), 0.6) + rng.uniform(-0.3, 0.3, 300), []
    for seed in range(100):
        drawn = draw(weights, labels, seed=seed)
        seen, q = losses[:, drawn.images], drawn.probability
        pool = np.flatnonzero(weights > 0)
        for found in (
            lure(seen, q, 300),
            prediction_powered(seen, q, proxy, np.searchsorted(pool, drawn.images)),
        ):
            ((low, high),) = loss_intervals(inside(found))
            held.append(low - 1e-12 <= losses.mean() <= high + 1e-12)
    assert np.mean(held[::2]) > 0.92
    assert np.mean(held[1::2]) > 0.92


def test_intervals_of_models_that_are_mostly_wrong_reach_over_those_of_what_is_right() -> None:
    drawn = draw(np.linspace(0.2, 2, 60), 25, seed=3)
    losses = (np.random.default_rng(4).random((3, 25)) < [[0.1], [0.8], [0.97]]).astype(float)
    q, proxy, steps = drawn.probability, np.random.default_rng(5).random((3, 60)), np.arange(60) // 3
    for wrong, right in (
        (lure(losses, q, 60), lure(1 - losses, q, 60)),
        (
            to_come(lure(losses, q, 60), losses, q, steps, drawn.images),
            to_come(lure(1 - losses, q, 60), 1 - losses, q, steps, drawn.images),
        ),
        (
            prediction_powered(losses, q, proxy, drawn.images),
            prediction_powered(1 - losses, q, 1 - proxy, drawn.images),
        ),
    ):
        (low, high), (below, above) = (
            loss_intervals(inside(wrong)).T,
            1 - loss_intervals(inside(replace(right, mirrored=None))).T[::-1],
        )
        own = loss_intervals(inside(replace(wrong, mirrored=None)))
        assert own[0] == pytest.approx([low[0], high[0]])  # seldom wrong: its own
        assert (low[1:] <= np.minimum(below, own[:, 0])[1:] + 1e-12).all()
        assert (high[1:] >= np.maximum(above, own[:, 1])[1:] - 1e-12).all()


def test_graded_losses_keep_intervals_of_their_own() -> None:
    q, losses = uniform_steps(8, 20), np.linspace(0.3, 0.9, 24).reshape(3, 8)
    assert lure(losses, q, 20).mirrored is None
    assert prediction_powered(losses, q, np.full((3, 20), 0.5), np.arange(8)).mirrored is None


def test_models_that_no_label_tells_apart_may_differ() -> None:
    found = lure(np.zeros((2, 100)), uniform_steps(100, 10_000), 10_000)
    low, high = difference_intervals(found)[0, 1]
    assert high == -low == pytest.approx(0.034, abs=0.002)
    many = np.tile(np.repeat([1.0, 0.0], 50), (3, 1))
    many[1] = many[1, ::-1]
    # the first and the last never differ, the second from both everywhere
    found = lure(many, uniform_steps(100, 10_000), 10_000)
    wide = np.diff(difference_intervals(found))[..., 0] / 2
    assert wide[0, 2] == pytest.approx(high, rel=1e-6)
    assert wide[0, 1] == pytest.approx(stats.t.ppf(0.975, 99) * np.sqrt(0.99 / 99), rel=0.01)


def test_a_census_is_exact_and_has_no_width() -> None:
    losses = np.array([[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0, 1.0]])
    weights = np.array([4.0, 1.0, 2.0, 0.5, 0.1])
    drawn = draw(weights, 5)
    for found in (
        lure(losses[:, drawn.images], drawn.probability, 5),
        prediction_powered(losses[:, drawn.images], drawn.probability, losses * 0.5 + 0.1, drawn.images),
    ):
        assert loss_intervals(found) == pytest.approx(np.array([[0, 0], [0.4, 0.4], [1, 1]]), abs=1e-12)
        assert difference_intervals(found)[1, 0] == pytest.approx([0.4, 0.4], abs=1e-12)
        assert margin_intervals(found)[2] == pytest.approx([1, 1], abs=1e-12)


def test_no_interval_leaves_what_the_labels_have_shown() -> None:
    losses = np.array([[1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    low, high = loss_intervals(lure(losses, uniform_steps(8, 10), 10))[0]
    assert low == pytest.approx(0.2)  # two of ten are wrong, two are not known
    assert 0.38 < high <= 0.4


def test_a_part_on_which_all_agree_adds_nothing_to_differences() -> None:
    disputed = lure(np.array([[1.0, 0, 1, 0, 1, 0], [0, 1, 1, 0, 0, 0]]), uniform_steps(6, 100), 100)
    agreed = lure(np.zeros((2, 6)), uniform_steps(6, 100), 100)
    whole = combined([disputed, agreed], [0.2, 0.8])
    assert np.diff(difference_intervals(whole)[0, 1]) == pytest.approx(
        0.2 * np.diff(difference_intervals(disputed)[0, 1])
    )
    # and yet all may be wrong there
    assert loss_intervals(whole)[0, 1] > 0.2 * loss_intervals(disputed)[0, 1] + 0.2


def test_what_the_control_variate_brings_and_takes_is_in_the_estimate() -> None:
    rng = np.random.default_rng(4)
    losses, proxy, drawn = (
        (rng.random((2, 12)) < 0.4).astype(float),
        rng.random((2, 40)),
        rng.permutation(40)[:12],
    )
    q = uniform_steps(12, 40)
    found = prediction_powered(losses, q, proxy, drawn)
    c, seen = found.control, proxy[:, drawn]
    assert c.all()
    # a coefficient has taken one label
    assert found.covariance == pytest.approx(lure(losses - c @ seen, q, 40).covariance * 11 / 10)
    assert found.shift == pytest.approx(np.diagonal(lure(c @ seen, q, 40).covariance))
    errors = losses.sum(1)
    assert found.possible == pytest.approx(np.stack([errors / 40, (errors + 28) / 40], 1))


def test_an_interval_with_control_stays_within_what_the_labels_leave_possible() -> None:
    losses = np.array([[1.0, 1, 1, 1, 1, 0, 0, 0, 0]])
    found = prediction_powered(
        losses, uniform_steps(9, 10), np.full((1, 10), 0.9) - 0.5 * np.arange(10) / 10, np.arange(9)
    )
    ((low, high),) = loss_intervals(found)
    assert 0.5 - 1e-12 <= low <= high <= 0.6 + 1e-12  # nine of ten are known, five of them wrong
