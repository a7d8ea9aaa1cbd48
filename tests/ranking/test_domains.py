"""Scores of a part of the pool: a ratio of weighted sums, textbook variances where draws are even, intervals
that cover, and a row that says why where labels are too few.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultscape.errors import OptionError, RankingError
from faultscape.nouns import Draw
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.domains import Domain, domain
from faultscape.ranking.drawn.estimate_intervals import difference_intervals, loss_intervals
from made_draws import draw_rankings
from refusals import refused


def drawn(rng: np.random.Generator, weights: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw without replacement in proportion to weights: the places, and the probability of each step."""
    order = np.argsort(rng.exponential(size=len(weights)) / weights)[:number]
    left = weights.sum() - np.append(0, np.cumsum(weights[order])[:-1])
    return order, weights[order] / left


@st.composite
def draws(rows: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Losses (2, M), probabilities, whether each draw is inside, and the pool, with two draws inside at
    least.
    """
    rng = np.random.default_rng(rows(st.integers(0, 2**32 - 1)))
    pool = rows(st.integers(8, 40))
    number = rows(st.integers(4, pool - 1))
    weights = rng.uniform(0.2, 3, pool)
    _, chance = drawn(rng, weights, number)
    inside = rng.random(number) < 0.5
    inside[:2] = True
    return rng.random((2, number)).round(3), chance, inside, pool


@settings(max_examples=60, deadline=None)
@given(draws())
def test_the_mean_is_the_ratio_of_two_weighted_sums_over_the_draws_inside(
    made: tuple[np.ndarray, np.ndarray, np.ndarray, int],
) -> None:
    losses, chance, inside, pool = made
    above, below, square = np.zeros(2), 0.0, 0.0
    number = len(chance)
    for m in range(1, number + 1):
        v = 1 + (pool - number) / (pool - m) * (1 / ((pool - m + 1) * chance[m - 1]) - 1)
        if inside[m - 1]:
            above += v * losses[:, m - 1]
            below, square = below + v, square + v * v
    found = domain(losses, chance, pool, inside)
    assert found.loss == pytest.approx(above / below)
    assert found.effective == pytest.approx(below**2 / square)
    assert found.freedom == inside.sum() - 1


@settings(max_examples=60, deadline=None)
@given(draws(), st.integers(0, 2**32 - 1))
def test_what_labels_outside_say_changes_nothing(
    made: tuple[np.ndarray, np.ndarray, np.ndarray, int], seed: int
) -> None:
    losses, chance, inside, pool = made
    others = np.where(inside, losses, np.random.default_rng(seed).random(losses.shape))
    one, other = domain(losses, chance, pool, inside), domain(others, chance, pool, inside)
    assert (one.loss == other.loss).all()
    assert (one.covariance == other.covariance).all()


@settings(max_examples=60, deadline=None)
@given(draws())
def test_losses_and_rights_say_the_same(made: tuple[np.ndarray, np.ndarray, np.ndarray, int]) -> None:
    losses, chance, inside, pool = made
    one, other = domain(losses, chance, pool, inside), domain(1 - losses, chance, pool, inside)
    assert other.loss == pytest.approx(1 - one.loss)
    assert other.covariance == pytest.approx(one.covariance, abs=1e-12)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(draws())
def test_of_even_draws_it_is_the_sample_mean_with_the_variance_of_the_textbook(
    made: tuple[np.ndarray, np.ndarray, np.ndarray, int],
) -> None:
    losses, _, inside, pool = made
    number, n = len(inside), int(inside.sum())
    found = domain(losses, estimates.uniform_steps(number, pool), pool, inside)
    assert found.loss == pytest.approx(losses[:, inside].mean(1))
    deviations = losses[:, inside] - losses[:, inside].mean(1, keepdims=True)
    s2 = (deviations**2).sum(1) / (n - 1)
    rng, mean = np.random.default_rng(0), np.zeros(2)
    for _ in range(300):
        # LURE's own variance depends on the order of the draws, and is the textbook's in the mean over orders
        order = rng.permutation(number)
        mean += (
            np.diagonal(
                domain(
                    losses[:, order], estimates.uniform_steps(number, pool), pool, inside[order]
                ).covariance
            )
            / 300
        )
    assert mean == pytest.approx((1 - number / pool) * s2 / n, rel=0.25, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(draws())
def test_a_domain_of_all_draws_is_lure_where_draws_are_even(
    made: tuple[np.ndarray, np.ndarray, np.ndarray, int],
) -> None:
    losses, _, inside, pool = made
    steps = estimates.uniform_steps(len(inside), pool)
    one, other = (
        domain(losses, steps, pool, np.ones(len(inside), bool), size=pool),
        estimates.lure(losses, steps, pool),
    )
    assert one.loss == pytest.approx(other.loss)
    assert one.covariance == pytest.approx(other.covariance, abs=1e-12)
    assert one.unit == pytest.approx(other.unit)
    assert one.possible == pytest.approx(other.possible)


def test_nothing_is_open_where_all_images_of_a_known_domain_are_labelled() -> None:
    losses, inside = np.array([[1.0, 0.0, 0.5, 1.0]]), np.array([True, False, True, True])
    found = domain(losses, estimates.uniform_steps(4, 9), 9, inside, size=3)
    assert found.loss == pytest.approx([2.5 / 3])
    assert (found.covariance, found.unit) == (pytest.approx(np.zeros((1, 1))), 0.0)
    assert loss_intervals(found) == pytest.approx(np.array([[2.5 / 3, 2.5 / 3]]))


def test_a_proxy_that_knows_the_losses_leaves_little_open() -> None:
    rng = np.random.default_rng(3)
    losses, inside = rng.random((2, 60)), np.arange(60) < 30
    steps = estimates.uniform_steps(60, 300)
    alone, said = (
        domain(losses, steps, 300, inside),
        domain(losses, steps, 300, inside, proxy=(losses, np.array([0.4, 0.6]))),
    )
    assert said.control == pytest.approx(np.diag([0.75, 0.75]), abs=1e-12)
    assert (np.diagonal(said.covariance) < np.diagonal(alone.covariance) / 10).all()
    assert said.loss == pytest.approx(alone.loss + 0.75 * (np.array([0.4, 0.6]) - losses[:, :30].mean(1)))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"inside": np.zeros(4, bool)}, "needs a label in it"),
        ({"inside": np.ones(4)}, "says yes or no of each of 4 draws"),
        ({"inside": np.ones(3, bool)}, "says yes or no of each of 4 draws"),
        ({"inside": np.ones(4, bool), "size": 3}, "got 4 of 3 images"),
        (
            {"inside": np.ones(4, bool), "proxy": (np.zeros((2, 4)), np.zeros(1))},
            "a proxy has a finite number",
        ),
        (
            {"inside": np.ones(4, bool), "proxy": (np.full((1, 4), np.nan), np.zeros(1))},
            "a proxy has a finite number",
        ),
    ],
)
def test_what_is_no_domain_is_refused(more: dict[str, object], says: str) -> None:
    with refused(RankingError, says):
        domain(np.zeros((1, 4)), estimates.uniform_steps(4, 9), 9, **more)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("control", [False, True])
def test_intervals_of_a_domain_of_some_25_labels_hold_its_mean_as_often_as_they_say(
    uneven: bool, graded: bool, control: bool
) -> None:
    rng, repeats, pool, number = np.random.default_rng(11), 1000, 600, 100
    there = np.arange(pool) < 150
    losses = (
        np.clip(np.stack([rng.beta(2, 5, pool) + 0.2 * there, rng.beta(2, 4, pool) + 0.1 * there]), 0, 1)
        if graded
        else (rng.random((2, pool)) < np.array([[0.15], [0.25]]) + 0.2 * there).astype(float)
    )
    weights = losses.mean(0) + rng.uniform(0.2, 1, pool) if uneven else np.ones(pool)
    proxy = np.clip(0.6 * losses + 0.2 + rng.normal(0, 0.1, losses.shape), 0, 1)
    mean, held, apart, counted = losses[:, there].mean(1), np.zeros(2), 0, 0
    for _ in range(repeats):
        order, chance = drawn(rng, weights, number)
        said = (proxy[:, order], proxy[:, there].mean(1)) if control else None
        found = domain(losses[:, order], chance, pool, there[order], size=150, proxy=said)
        if found.effective < 10:
            continue
        found = estimates.inside(found)
        low, high = loss_intervals(found).T
        held += (low <= mean + 1e-12) & (mean - 1e-12 <= high)
        gap = difference_intervals(found)[0, 1]
        apart += gap[0] <= mean[0] - mean[1] <= gap[1]
        counted += 1
    assert counted > 0.95 * repeats
    # Wilson's are a little wide where answers are right or wrong
    assert ((held / counted > 0.93) & (held / counted < 0.98)).all(), held / counted
    assert 0.93 < apart / counted < 0.97


def rows(number: int, pool: int) -> list[Draw]:
    return [Draw("random", 1, k + 1, f"i{k}", 1.0, 1 / (pool - k), pool) for k in range(number)]


def scores(number: int) -> np.ndarray:
    return (np.random.default_rng(5).random((3, number)) < np.array([[0.9], [0.7], [0.4]])).astype(float)


def test_below_ten_labels_a_row_of_a_part_says_why_and_holds_nothing() -> None:
    images = [f"i{k}" for k in range(40)]
    for inside, usable in ((images[:9], False), (images[:10], True)):
        found = draw_rankings(
            ["a", "b", "c"],
            rows(40, 200),
            scores(40),
            images,
            learns=False,
            resamples=50,
            where=Domain("tag=night", inside, False),
        )
        for name in ("lure", "margins"):
            row = found.rankings[name]
            assert (row.unusable == "") == usable
            if not usable:
                assert row.unusable == "effective sample size 9.0, below 10"
                assert not row.tied_for_best
                assert np.isnan([*row.scores.values(), *row.score_interval["a"]]).all()
        assert found.labels["used"] == found.labels["slots"] == found.labels["counted"] == len(inside)
        assert "prediction_powered" not in found.rankings


def test_where_the_pool_is_known_the_control_variate_is_of_the_part() -> None:
    pool = [f"i{k}" for k in range(200)]
    loss = np.concatenate(
        [1 - scores(40), (np.random.default_rng(6).random((3, 160)) < 0.4).astype(float)], 1
    )
    part = Domain("group=a", frozenset(pool[:20] + pool[100:]), True)
    found = draw_rankings(
        ["a", "b", "c"],
        rows(40, 200),
        1 - loss[:, :40],
        pool[:40],
        proxy=loss,
        pool=pool,
        learns=False,
        resamples=0,
        where=part,
    )
    twin = domain(
        loss[:, :40],
        estimates.uniform_steps(40, 200),
        200,
        np.arange(40) < 20,
        size=120,
        proxy=(loss[:, :40], loss[:, [*range(20), *range(100, 200)]].mean(1)),
    )
    assert list(found.rankings["prediction_powered"].scores.values()) == pytest.approx(1 - twin.loss)
    assert any(
        note.startswith(
            "scores of this pool are of 120 of the 200 images that could be drawn which lie in group=a"
        )
        for note in found.notes
    )


def test_a_part_says_nothing_of_data_to_come() -> None:
    with refused(OptionError, "leave one out"):
        draw_rankings(
            ["a", "b", "c"],
            rows(40, 200),
            scores(40),
            [f"i{k}" for k in range(40)],
            learns=False,
            population="future",
            where=Domain("tag=x", ["i1"], False),
        )


def test_a_part_without_a_label_is_refused() -> None:
    with refused(RankingError, "none of the 0 drawn images in tag=x has a label"):
        draw_rankings(
            ["a", "b", "c"],
            rows(9, 90),
            scores(9),
            [f"i{k}" for k in range(9)],
            learns=False,
            where=Domain("tag=x", ["z"], False),
        )
