"""How far the leader of drawn images is ahead: differences with intervals that hold for all pairs at once, for
the pool and for data to come.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from faultscape.nouns import Draw
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.estimate_intervals import difference_intervals, loss_intervals
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.drawn.gaps import gaps
from faultscape.ranking.drawn.populations import to_come
from faultscape.standings import Standings
from made_draws import draw_rankings

MODELS = ("a", "b", "c", "d")
POOL = 400


def losses(seed: int, means: tuple[float, ...] = (0.4, 0.43, 0.43, 0.6)) -> np.ndarray:
    """Return (J, N) losses of a pool: what is hard is hard for all models."""
    rng = np.random.default_rng(seed)
    return np.clip(np.array(means)[:, None] + rng.normal(0, 0.1, POOL) + rng.normal(0, 0.1, (4, POOL)), 0, 1)


def ranked(pool: np.ndarray, number: int, seed: int, **options: object) -> Standings:
    """Return the standings of ``number`` images drawn evenly from a pool of losses."""
    order = np.random.default_rng([seed, 1]).permutation(POOL)[:number]
    names = [f"{k:03d}" for k in range(POOL)]
    rows = [
        Draw("random", 1, k + 1, names[i], 1.0, 1 / (POOL - k), POOL) for k, i in enumerate(order.tolist())
    ]
    chosen = [names[i] for i in order.tolist()]
    return draw_rankings(
        MODELS,
        rows,
        1 - pool[:, order],
        chosen,
        proxy=np.zeros_like(pool),
        pool=names,
        learns=False,
        resamples=200,
        **options,  # pyright: ignore[reportArgumentType]
    )


@pytest.fixture(scope="module")
def table() -> Standings:
    return ranked(losses(0), 60, 0)


def test_the_leader_comes_first_and_then_neighbors_in_order(table: Standings) -> None:
    for found in (table.rankings["prediction_powered"], table.to_come["prediction_powered"]):
        first, *others = found.order
        leader = [(gap.model, gap.other) for gap in found.gaps[:3]]
        assert leader == [(first, other) for other in others]
        assert [(gap.model, gap.other) for gap in found.gaps[3:]] == list(pairwise(others))


def test_a_difference_is_that_of_the_scores_and_lies_in_its_interval(table: Standings) -> None:
    for found in (*table.rankings.values(), *table.to_come.values()):
        for gap in found.gaps:
            assert gap.difference == pytest.approx(found.scores[gap.model] - found.scores[gap.other])
            assert gap.interval[0] <= gap.difference <= gap.interval[1]


def test_a_pair_is_settled_where_ranks_say_so_and_then_its_interval_ends_at_zero_or_above(
    table: Standings,
) -> None:
    found = table.rankings["prediction_powered"]
    ranks = found.simultaneous_rank_interval
    assert {gap.settled for gap in found.gaps} == {True, False}
    for gap in found.gaps:
        assert (gap.interval[0] >= 0) if gap.settled else (gap.interval[0] <= 0)
        if ranks[gap.model][1] < ranks[gap.other][0]:
            assert gap.settled
    best = {gap.other for gap in found.gaps[:3] if not gap.settled} | {found.order[0]}
    assert best == set(found.best_set)


@pytest.mark.slow
def test_intervals_hold_for_all_pairs_at_once() -> None:
    held = []
    for seed in range(100):
        pool = losses(seed)
        real = 1 - pool.mean(1)
        found = ranked(pool, 40, seed).rankings["prediction_powered"].gaps
        inside = [
            gap.interval[0] - 1e-9 <= real[MODELS.index(gap.model)] - real[MODELS.index(gap.other)]
            and real[MODELS.index(gap.model)] - real[MODELS.index(gap.other)] <= gap.interval[1] + 1e-9
            for gap in found
        ]
        held.append(all(inside))
    assert np.mean(held) >= 0.95


def test_data_to_come_are_less_certain_than_the_pool_and_frames_that_are_alike_still_less(
    table: Standings,
) -> None:
    alike = ranked(losses(0), 60, 0, widen=2.0)

    def width(found: Standings, rows: str) -> float:
        low, high = getattr(found, rows)["prediction_powered"].gaps[0].interval
        return high - low

    assert width(table, "rankings") < width(table, "to_come") < width(alike, "to_come")
    assert width(alike, "rankings") == width(table, "rankings")  # the pool is what it is


@pytest.mark.parametrize("groups", [6, 9, 40, POOL])
def test_images_to_come_are_never_more_certain_than_the_pool_whatever_its_groups(groups: int) -> None:
    """What few groups have in common may be estimated as less than nothing, which must not narrow intervals."""
    group = np.arange(POOL) * groups // POOL
    for seed in range(30):
        pool = losses(seed)
        drawn = np.random.default_rng([seed, 2]).permutation(POOL)[:60]
        steps = estimates.uniform_steps(60, POOL)
        here = estimates.lure(pool[:, drawn], steps, POOL)
        later = to_come(here, pool[:, drawn], steps, group, drawn)
        assert np.linalg.eigvalsh(later.covariance - here.covariance).min() > -1e-12
        assert later.freedom <= here.freedom
        assert later.unit >= here.unit
        for interval in (loss_intervals, difference_intervals):
            assert (interval(later)[..., 0] <= interval(here)[..., 0] + 1e-12).all()
            assert (interval(here)[..., 1] <= interval(later)[..., 1] + 1e-12).all()


@pytest.mark.parametrize("groups", [6, 9, 40])
def test_differences_to_come_are_those_of_margins_whatever_is_said_of_the_level(groups: int) -> None:
    group = np.arange(POOL) * groups // POOL
    differ = np.eye(4) - 1 / 4
    for seed in range(30):
        pool = losses(seed)
        proxy = losses(seed + 100)
        drawn = np.random.default_rng([seed, 2]).permutation(POOL)[:40]
        steps = estimates.uniform_steps(40, POOL)
        both = []
        for own, said in ((pool, proxy), (estimates.margins(pool), estimates.margins(proxy))):
            here = estimates.prediction_powered(own[:, drawn], steps, said, drawn, (-1, 1))
            later = to_come(here, own[:, drawn], steps, group, drawn, proxy=said, span=(-1, 1))
            both.append(differ @ later.covariance @ differ)
        assert both[0] == pytest.approx(both[1], rel=1e-6, abs=1e-12)


def test_neighbors_that_are_alike_are_worth_fewer_images_by_the_square_of_the_factor() -> None:
    pool = losses(3)
    steps = estimates.uniform_steps(POOL, POOL)
    all_labelled = estimates.lure(pool, steps, POOL)
    alone = to_come(all_labelled, pool, steps, np.arange(POOL), np.arange(POOL))
    wide = to_come(all_labelled, pool, steps, np.arange(POOL), np.arange(POOL), widen=2.0)
    assert wide.covariance == pytest.approx(4 * alone.covariance)
    assert wide.freedom == POOL // 4 - 1
    few = to_come(all_labelled, pool, steps, np.arange(POOL), np.arange(POOL), widen=10.0)
    assert np.isnan(few.covariance).all()  # worth four images: too few to say anything


def test_a_pool_that_is_labelled_whole_is_known_and_data_to_come_are_not() -> None:
    found = ranked(losses(1), POOL, 1)
    pool, later = found.rankings["prediction_powered"].gaps, found.to_come["prediction_powered"].gaps
    assert all(gap.interval[0] == pytest.approx(gap.interval[1]) for gap in pool)
    assert all(gap.settled for gap in pool)
    assert all(gap.interval[0] < gap.interval[1] for gap in later)


def test_rounds_that_learnt_from_labels_never_say_by_how_much() -> None:
    pool = losses(0)
    names = [f"{k:03d}" for k in range(POOL)]
    rows = [
        replace(Draw("information", 1, k + 1, names[k], 1.0, 1 / (POOL - k), POOL), round=1 + (k >= 30))
        for k in range(60)
    ]
    found = draw_rankings(MODELS, rows, 1 - pool[:, :60], names[:60], learns=True, resamples=50)
    assert not any(ranking.gaps for ranking in found.rankings.values())
    assert found.to_come == {}


def test_every_two_models_with_equal_losses_stay_open() -> None:
    pool = np.repeat(losses(0)[:1], 4, axis=0)
    found = ranked(pool, 60, 0).to_come["prediction_powered"]
    assert not any(gap.settled for gap in found.gaps)
    assert len(found.gaps) == 3 + 2  # the leader's, and two neighbors further down


@pytest.mark.parametrize(("variance", "settled"), [(1.0, True), (1e-6, False)])
def test_an_interval_never_contradicts_the_test_of_its_pair(variance: float, settled: bool) -> None:
    found = Estimates(np.array([0.5, 0.3]), variance * np.eye(2), 60)
    beats = np.array([[False, False], [settled, False]])
    (gap,) = gaps(["a", "b"], ["b", "a"], np.array([0.5, 0.7]), found, beats)
    assert gap.settled == settled
    assert gap.interval[0] == 0
    assert gap.interval[1] > gap.difference
