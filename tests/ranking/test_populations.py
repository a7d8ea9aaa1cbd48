"""What intervals of drawn images speak of: this pool, or data to come, for which images, or whole groups of
them, are drawn anew.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from faultscape.errors import OptionError
from faultscape.nouns import Draw
from faultscape.ranking.drawn import estimates, scores
from faultscape.ranking.drawn.estimate_intervals import difference_intervals, loss_intervals
from faultscape.ranking.drawn.populations import to_come
from faultscape.reporting.competition.standing_tables import rank_table
from made_draws import draw_rankings
from refusals import refused

ERRORS = np.array([0.1, 0.15, 0.25, 0.4])


def superpopulation(
    rng: np.random.Generator, groups: int, size: int, common: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A pool drawn from models whose errors have this share in ``common`` in a group: losses, proxy, weights
    of the draws, groups.
    """
    group = np.repeat(
        np.arange(groups), rng.integers(size // 3, 5 * size // 3 + 1, groups) if size > 1 else 1
    )
    shared = (rng.normal(size=groups) + rng.normal(size=(len(ERRORS), groups)))[:, group] * np.sqrt(
        common / 2
    )
    alone = (rng.normal(size=len(group)) + rng.normal(size=(len(ERRORS), len(group)))) * np.sqrt(
        (1 - common) / 2
    )
    loss = (shared + alone < norm.ppf(ERRORS)[:, None]).astype(float)
    proxy = 0.5 * loss + 0.3 * rng.random(loss.shape)
    return loss, proxy, np.exp(proxy.mean(0)), group


def drawn(rng: np.random.Generator, weight: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(rng.exponential(size=len(weight)) / weight)
    left = weight[order][::-1].cumsum()[::-1]
    return order[:number], np.minimum(weight[order] / left, 1)[:number]


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "size", "common"), [(250, 1, 0.0), (8, 45, 0.3), (25, 15, 0.3)])
def test_intervals_hold_what_they_speak_of(groups: int, size: int, common: float) -> None:
    rng, held = np.random.default_rng(groups), []
    first, second = np.triu_indices(len(ERRORS), 1)
    for _ in range(250):
        loss, proxy, weight, group = superpopulation(rng, groups, size, common)
        order, q = drawn(rng, weight, 100)
        pool = estimates.prediction_powered(loss[:, order], q, proxy[:, :], order)
        future = to_come(pool, loss[:, order], q, group, order, proxy=proxy)
        row = []
        for found, real in ((pool, loss.mean(1)), (pool, ERRORS), (future, ERRORS)):
            low, high = loss_intervals(found).T
            gaps = difference_intervals(found)[first, second]
            gap = real[first] - real[second]
            row += [
                ((low <= real) & (real <= high)).mean(),
                ((gaps[:, 0] <= gap) & (gap <= gaps[:, 1])).mean(),
            ]
        held.append(row)
    of_pool, _, pool_of_future, _, of_future, gaps_of_future = np.mean(held, 0)
    assert 0.92 < of_pool < 0.98
    assert 0.92 < of_future < 0.99  # of eight groups Wilson's are a little wide
    assert 0.92 < gaps_of_future < 0.98
    assert pool_of_future < of_future - 0.04  # what a reader would get who took the pool's for it


def test_of_even_draws_of_single_images_the_pool_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    loss, steps, found = rng.random((3, 20)), estimates.uniform_steps(20, 50), []
    for _ in range(300):  # the covariance of draws hangs on their order
        own = loss[:, rng.permutation(20)]
        found.append(to_come(estimates.lure(own, steps, 50), own, steps, np.arange(50), np.arange(20)))
    assert np.mean([np.diagonal(one.covariance) for one in found], 0) == pytest.approx(
        loss.var(1, ddof=1) / 20, rel=0.01
    )
    assert found[0].unit == pytest.approx(1 / 20)


def test_images_of_a_group_that_are_alike_count_as_one() -> None:
    loss = np.repeat(np.random.default_rng(0).random((2, 8)), 5, axis=1)
    group, steps = np.repeat(np.arange(8), 5), estimates.uniform_steps(40, 40)
    found = to_come(estimates.lure(loss, steps, 40), loss, steps, group, np.arange(40))
    assert found.covariance == pytest.approx(np.cov(loss[:, ::5]) / 8, rel=0.03)
    assert found.freedom == 7


def ranked(
    groups: dict[str, str] | None = None, population: str = "future", number: int = 60, selector: str = "mad"
):
    """Standings of three models from draws of a pool of 120 images."""
    rng = np.random.default_rng(2)
    correct = (rng.random((3, 120)) < [[0.9], [0.6], [0.2]]).astype(float)
    order, q = drawn(rng, rng.lognormal(0, 0.3, 120), number)
    names = [f"{k:03d}" for k in range(120)]
    chance = q if selector == "mad" else np.full(number, np.nan)
    rows = [
        Draw(selector, 1, m, names[k], 1.0, float(chance[m - 1]), 120)
        for m, k in enumerate(order.tolist(), 1)
    ]
    more = {"proxy": np.clip(1 - correct + rng.normal(0, 0.3, correct.shape), 0, 1), "pool": names}
    known = [names[k] for k in order]
    return draw_rankings(
        list("xyz"),
        rows,
        correct[:, order],
        known,
        population=population,
        groups=groups,
        resamples=200,
        learns=False,
        **more,
    )


def test_scores_are_those_of_the_pool_and_intervals_are_wider() -> None:
    pool, future = ranked(population="pool"), ranked()
    for name in ("margins", "prediction_powered", "lure"):
        one, other = pool.rankings[name], future.rankings[name]
        assert (one.speaks_of, other.speaks_of) == ("pool", "future")
        assert one.scores == other.scores
        assert all(np.ptp(other.score_interval[m]) > np.ptp(one.score_interval[m]) for m in "xyz")
    assert future.definitions["population"] == "future"
    assert "margins, intervals of data to come\n" in repr(future)
    assert rank_table("lure", future.rankings["lure"], "xyz").speaks_of == "data to come"
    assert any(note.endswith("images are redrawn, each for itself") for note in future.notes)


def test_of_data_to_come_any_share_of_errors_is_possible_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    monkeypatch.setattr(
        scores, "to_come", lambda *given, **more: found.append(to_come(*given, **more)) or found[-1]
    )
    rows = ranked().rankings
    possible = {tuple(bound for model in one.possible.round(9).tolist() for bound in model) for one in found}
    # of a loss, and of its distance from the mean of three models
    assert possible == {(0.0, 1.0) * 3, (-0.666666667, 0.666666667) * 3}
    assert len(found) == len({"margins", "prediction_powered", "lure"} & set(rows)) == 3


def test_all_labels_of_a_pool_leave_data_to_come_open() -> None:
    pool, future = (
        ranked(population=name, number=120).rankings["lure"].score_interval["y"]
        for name in ("pool", "future")
    )
    assert pool[0] == pool[1]
    assert future[1] - future[0] > 0.1


def in_groups(number: int) -> dict[str, str]:
    return {f"{k:03d}": f"drive {k % number}" for k in range(120)}


def test_few_groups_are_told_and_fewer_than_six_carry_no_interval() -> None:
    some, few = ranked(in_groups(12)), ranked(in_groups(5))
    assert any(
        "labels lie in 12 of 12 groups: fewer than 20, and Student's t with 11 degrees of freedom" in n
        for n in some.notes
    )
    assert any("labels lie in 5 of 5 groups: fewer than 6, which carry no interval" in n for n in few.notes)
    assert [sum("groups" in n for n in found.notes) for found in (some, few)] == [1, 1]  # and told once
    for name in ("margins", "reuse_margins", "prediction_powered", "lure", "reuse_mean"):
        assert np.isfinite(some.rankings[name].score_interval["x"]).all(), name
        assert np.isnan(few.rankings[name].score_interval["x"]).all(), name
        assert few.rankings[name].tied_for_best == few.rankings[name].best_set == [], name
        for kind in ("rank_interval", "simultaneous_rank_interval"):
            assert getattr(few.rankings[name], kind) == {m: [1, 3] for m in "xyz"}, name
    # of this pool images are drawn, whatever their groups
    assert not any("groups" in note for note in ranked(in_groups(5), "pool").notes)


def test_what_was_chosen_says_nothing_of_data_to_come_but_redraws_whole_groups() -> None:
    with refused(
        OptionError,
        r"--population future: the images were chosen .* `faultscape select STUDY --goal order --budget N`",
    ):
        ranked(selector="entropy")
    with refused(OptionError, "--population is pool or future; got 'all'"):
        ranked(population="all")
    found = ranked(in_groups(8), "pool", selector="entropy")
    assert any(
        note.startswith("intervals redraw whole groups of images; labels lie in 8 groups: fewer than 20")
        for note in found.notes
    )
    assert found.rankings["reuse_mean"].speaks_of == "chosen"
