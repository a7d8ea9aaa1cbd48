"""People's choices beside drawn masks: estimates against plain double sampling, what they cost where they say
nothing, and which of them count.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from faultscape.errors import RankingError
from faultscape.ranking.drawn.choice_control import Preferences, influence, with_choices
from faultscape.ranking.drawn.choice_steps import ChoiceSteps, Votes, choice_steps
from faultscape.ranking.drawn.estimate_intervals import difference_intervals
from faultscape.ranking.drawn.estimates import Estimates, lure, uniform_steps
from faultscape.ranking.drawn.populations import to_come
from faultscape.ranking.drawn.steps import Steps
from faultscape.ranking.planning.choice_needs import cheapest_mix, explained_by
from faultscape.selection.draws import draw
from refusals import refused

POOL, MASKS, ASKED = 300, 30, 200
PAIRS = np.array([*combinations(range(3), 2)])


def world(seed: int) -> np.ndarray:
    """Losses (3, 300) of models of which each is better on some images."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.2, 0.5, POOL) + rng.normal(0, 0.08, (3, POOL)) + np.array([[0.0], [0.01], [0.03]])


def better(losses: np.ndarray, pairs: np.ndarray = PAIRS) -> np.ndarray:
    return np.sign(losses[pairs[:, 1]] - losses[pairs[:, 0]])


def of_world(losses: np.ndarray, seed: int, *, even: bool, coin: bool = False) -> tuple[Estimates, Estimates]:
    """Estimates with choices, and from masks alone."""
    weights = np.ones(POOL) if even else np.random.default_rng(1).uniform(0.5, 2, POOL)
    drawn = draw(weights, ASKED, seed=[seed, 4])
    mine = losses[:, drawn.images]
    said = better(mine)
    if coin:
        said = np.random.default_rng(seed).choice([-1.0, 1.0], said.shape)
    choices = Preferences(PAIRS, said, np.full(len(PAIRS), ASKED))
    first = mine[:, :MASKS]
    alone = lure(first, drawn.probability[:MASKS], POOL)
    return with_choices(first, drawn.probability, POOL, choices), alone


def test_uniform_draws_give_double_sampling() -> None:
    losses = world(0)[:2]
    said = better(losses, np.array([[0, 1]]))[0]
    choices = Preferences(np.array([[0, 1]]), said[None, :ASKED], np.array([ASKED]))
    found = with_choices(losses[:, :MASKS], uniform_steps(ASKED, POOL), POOL, choices)
    # the difference of the two, by Cochran 1977, 12.51: y - b (x of the masks - x of all)
    alone = (losses[0] - losses[1])[:MASKS].mean()
    surplus = said[:MASKS].mean() - said[:ASKED].mean()
    assert found.loss[0] - found.loss[1] == pytest.approx(alone + found.trust * surplus)
    assert found.loss.mean() == pytest.approx(losses[:2, :MASKS].mean())  # the level is that of the masks
    assert 0.02 < found.trust < 0.1


@pytest.mark.parametrize("even", [True, False])
def test_intervals_hold_and_choices_pay_where_they_follow_the_metric(even: bool) -> None:
    losses = world(3)
    true = losses.mean(1)[:, None] - losses.mean(1)
    first, second = PAIRS.T
    held, off = [], []
    for seed in range(200):
        found, alone = of_world(losses, seed, even=even)
        low, high = difference_intervals(found)[first, second].T
        held.append((low <= true[first, second]) & (true[first, second] <= high))
        gaps = [x.loss[first] - x.loss[second] - true[first, second] for x in (found, alone)]
        off.append(np.square(gaps).mean(1))
    with_both, with_masks = np.mean(off, 0)
    assert 0.93 <= np.mean(held) <= 0.98
    assert with_both < 0.7 * with_masks


def test_coins_cost_next_to_nothing_and_are_not_believed() -> None:
    losses = world(5)
    true = losses.mean(1)
    off, gains = [], []
    for seed in range(150):
        found, alone = of_world(losses, seed, even=True, coin=True)
        off.append(
            [np.square(np.subtract.outer(x.loss - true, x.loss - true)).mean() for x in (found, alone)]
        )
        gains.append(found.gain)
    with_both, with_masks = np.mean(off, 0)
    assert with_both < 1.03 * with_masks
    assert np.median(gains) < 1


def test_people_who_prefer_what_the_metric_dislikes_count_for_nothing() -> None:
    losses = world(6)[:, :ASKED]
    choices = Preferences(PAIRS, -better(losses), np.full(3, ASKED))
    found = with_choices(losses[:, :MASKS], uniform_steps(ASKED, POOL), POOL, choices)
    assert found.trust == 0
    assert found.loss == pytest.approx(losses[:, :MASKS].mean(1))


def test_a_pair_asked_about_longer_does_not_change_what_others_say() -> None:
    losses = world(7)[:, :ASKED]
    said = better(losses)
    short = Preferences(PAIRS, said, np.array([60, ASKED, ASKED]))
    noise = said.copy()
    noise[0, 60:] = -1
    again = Preferences(PAIRS, noise, short.asked)
    steps = uniform_steps(ASKED, POOL)
    found, other = (with_choices(losses[:, :MASKS], steps, POOL, x) for x in (short, again))
    assert found.loss.tolist() == other.loss.tolist()
    assert found.covariance.tolist() == other.covariance.tolist()


def test_for_data_to_come_groups_move_with_their_choices() -> None:
    losses = world(8)[:, :ASKED]
    steps = uniform_steps(ASKED, POOL)
    choices = Preferences(PAIRS, better(losses), np.full(3, ASKED))
    found = with_choices(losses[:, :MASKS], steps, POOL, choices)
    moved = influence(choices, found.trust, steps, POOL, 3, MASKS)
    alone = lure(losses[:, :MASKS], steps[:MASKS], POOL)
    surplus = found.loss - alone.loss
    # deviations from the mean over all that were asked add up to the whole correction
    assert moved.sum(1) == pytest.approx(surplus)
    more = np.zeros((3, POOL))
    more[:, :ASKED] = moved
    group = np.arange(POOL) // 10
    args = (losses[:, :MASKS], steps[:MASKS], group, np.arange(MASKS))
    later = to_come(found, *args, more=more)
    assert np.isnan(later.covariance).all()  # thirty masks of the first three groups
    later = to_come(found, *args[:2], np.arange(POOL) % 20, args[3], more=more)
    assert (np.diagonal(later.covariance) > np.diagonal(found.covariance)).all()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"asked": np.full(3, MASKS)}, "more than the 30 draws with masks"),
        ({"said": np.full((3, ASKED), 2.0)}, "a number from -1 to 1"),
        ({"pairs": np.array([[0, 0], [0, 1], [1, 2]])}, "two places of 3 models"),
        ({"said": np.zeros((3, 7))}, r"expected pairs \(P, 2\), said \(P, 200\)"),
    ],
)
def test_choices_that_do_not_fit_are_refused(change: dict[str, np.ndarray], why: str) -> None:
    given = {"pairs": PAIRS, "said": np.zeros((3, ASKED)), "asked": np.full(3, ASKED)} | change
    with refused(RankingError, why):
        with_choices(world(0)[:, :MASKS], uniform_steps(ASKED, POOL), POOL, Preferences(**given))


ORDER = tuple(f"i{k:02d}" for k in range(60))
COUNTED = Steps(np.arange(20), np.zeros(20), 90, frozenset(), (), order=ORDER)


def asked(votes: Votes, **more: object) -> ChoiceSteps:
    return choice_steps(COUNTED, ["fcn", "unet"], votes, **more)  # type: ignore[arg-type]


def said(draws: range, who: str = "ann") -> dict[tuple[str, str, str], dict[str, float]]:
    return {(ORDER[k], "fcn", "unet"): {who: 1.0} for k in draws}


def last(found: ChoiceSteps) -> int:
    return 0 if found.preferences is None else int(found.preferences.asked[0])


def test_choices_count_from_the_first_draw_on() -> None:
    assert last(asked(said(range(50)))) == 50
    assert last(asked(said(range(40)) | said(range(43, 60)))) == 60  # one in twenty may lack one
    assert last(asked(said(range(30)) | said(range(40, 60)))) == 30
    assert last(asked(said(range(20, 60)))) == 0
    # what duels chose does not lengthen the beginning
    assert last(asked(said(range(32)), elsewhere=ORDER[30:])) == 30


def test_choices_of_people_who_saw_no_mask_do_not_count() -> None:
    found = asked(said(range(30)) | said(range(30, 60), "ben"))
    assert (last(found), found.votes) == (30, 30)
    assert found.note.startswith("30 choices between two models do not count beside masks: ")


def test_skips_and_ties_are_no_preference() -> None:
    votes = said(range(50)) | {(ORDER[5], "fcn", "unet"): {"ann": np.nan}}
    votes[ORDER[6], "unet", "fcn"] = {"ann": 0.25}
    del votes[ORDER[6], "fcn", "unet"]
    found = asked(votes)
    assert found.preferences is not None
    assert found.preferences.said[0, 4:8].tolist() == [1, 0, 0.5, 1]
    assert (found.votes, found.images, found.with_masks) == (49, 49, 19)
    weighed = asked(
        said(range(50)) | {(ORDER[0], "fcn", "unet"): {"ann": 1.0, "ben": 0.0}},
        weights={"ann": 3.0, "ben": 1},
    )
    assert weighed.preferences is not None
    assert weighed.preferences.said[0, 0] == 0.5


def test_too_few_images_with_both_are_told() -> None:
    few = Steps(np.arange(8), np.zeros(8), 90, frozenset(), (), order=ORDER)
    found = choice_steps(few, ["fcn", "unet"], said(range(50)))
    assert found.preferences is None
    assert found.note.endswith("do not count beside masks: 8 images have both, and it takes 10")
    of_others = choice_steps(COUNTED, ["fcn", "light"], said(range(50)))
    assert (of_others.preferences, of_others.note) == (None, "")


def test_the_mix_is_cheaper_than_masks_alone_or_not_named() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        needed, pool = int(rng.integers(5, 200)), int(rng.integers(50, 2000))
        explained, mask, chosen = rng.uniform(0, 0.8), rng.uniform(60, 5400), rng.uniform(5, 450)
        found = cheapest_mix(needed, pool, explained, mask, chosen)
        if found is not None:
            assert found.masks * mask + found.images * chosen < needed * mask
            assert 10 <= found.masks < found.images <= pool
            # what such a mix would show is what was put in
            gain = needed / found.masks
            assert explained_by(gain, found.masks, found.images, pool) == pytest.approx(explained, abs=0.15)
    assert cheapest_mix(74, 500, 0.0, 5400, 10) is None
    assert cheapest_mix(8, 500, 0.5, 5400, 10) is None
