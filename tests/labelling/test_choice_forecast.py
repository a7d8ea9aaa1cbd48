"""How many more answers settle an order is forecast near what they turn out to be."""

from __future__ import annotations

import numpy as np
import pytest

from faultscape.errors import OptionError
from faultscape.labelling.people.choice_forecast import forecast_answers, order_chance, votes_of
from refusals import refused


def answers_needed(
    rng: np.random.Generator, rate: float, f_wins: int, g_wins: int, decided: float = 1.0, limit: int = 2000
) -> float:
    """One campaign that goes on from there, looked at after each ten answers."""
    for number in range(10, limit + 1, 10):
        chose = rng.random(10) < decided
        f = rng.random(10) < rate
        f_wins, g_wins = f_wins + int((chose & f).sum()), g_wins + int((chose & ~f).sum())
        chance = float(order_chance(f_wins, g_wins))
        if max(chance, 1 - chance) >= 0.95:
            return number
    return float("inf")


def test_the_chance_of_an_order_is_that_of_a_binomial_rate() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.beta(13, 8, 200_000)
    assert order_chance(12, 7) == pytest.approx((drawn > 0.5).mean(), abs=0.004)
    assert order_chance(7, 12) == pytest.approx(1 - order_chance(12, 7))


@pytest.mark.parametrize(("rate", "start"), [(0.6, 60), (0.7, 10)])
def test_the_median_forecast_is_near_the_median_of_campaigns_at_a_known_rate(rate: float, start: int) -> None:
    """Begun where the answers so far show the rate itself: the forecast is wider, and its median within a
    block or a factor of two.
    """
    rng = np.random.default_rng(1)
    wins = round(rate * start) - (rate == 0.6)
    said = forecast_answers(wins, start - wins)
    assert not said.settled
    true = float(np.median([answers_needed(rng, rate, wins, start - wins) for _ in range(300)]))
    assert abs(said.median - true) <= max(10, true)
    assert said.range[0] <= true <= said.range[1]


def test_the_range_of_eighty_per_cent_holds_what_is_needed_in_four_campaigns_of_five() -> None:
    """Rates are drawn as the forecast takes them to be before any answer; every campaign has had twelve
    answers that did not settle it.
    """
    rng = np.random.default_rng(2)
    held, below, within, number = 0, 0, 0, 0
    while number < 200:
        rate = rng.random()
        f_wins = int(rng.binomial(12, rate))
        said = forecast_answers(f_wins, 12 - f_wins, worlds=200, limit=300, seed=number)
        if said.settled:
            continue
        needed = answers_needed(rng, rate, f_wins, 12 - f_wins, limit=300)
        held += said.range[0] <= needed <= said.range[1]
        below += needed < said.median
        within += needed <= said.median
        number += 1
    # numbers come in blocks of ten, so that a range holds a little more than it says
    assert 0.77 <= held / number <= 0.95
    assert below / number < 0.55
    assert within / number > 0.45


def test_answers_that_choose_neither_make_it_longer_and_close_models_are_not_settled_within_the_limit() -> (
    None
):
    sure, unsure = forecast_answers(12, 8), forecast_answers(12, 8, undecided=60)
    assert unsure.chance == sure.chance
    assert unsure.median >= 2 * sure.median
    close = forecast_answers(500, 500, limit=200)
    assert close.median == float("inf")
    assert str(close).startswith("forecast: more than 200 answers (probability of fewer: ")
    assert str(forecast_answers(30, 5)) == "settled now"


def test_nothing_is_settled_of_fewer_answers_than_asked_for_neither_now_nor_in_a_forecast() -> None:
    assert forecast_answers(6, 0).settled
    few = forecast_answers(6, 0, least=25, unit="image", block=5)
    assert not few.settled
    assert few.range[0] == 20
    assert str(few).startswith("forecast: 20 more images (80 % range 20 to ")
    assert forecast_answers(6, 0, undecided=19, least=25).settled


def test_an_image_on_which_people_differ_is_one_vote_in_parts_and_leaves_more_doubt_than_one_on_which_they_agree() -> (
    None
):
    assert votes_of([1.0, 0.0, 0.5]) == (1.0, 1.0, 1)
    agree, differ = votes_of([1.0] * 8), votes_of([0.75] * 8)
    assert sum(agree) == sum(differ) == 8
    assert order_chance(*differ[:2]) < order_chance(*agree[:2])
    assert votes_of([]) == (0.0, 0.0, 0)
    assert votes_of([(2 / 3 + 1 / 3) / 2 + 1e-16])[2] == 1


def test_it_is_the_same_for_the_same_seed_and_mirrors_when_the_models_are_exchanged() -> None:
    assert forecast_answers(9, 5, seed=4) == forecast_answers(9, 5, seed=4)
    one, other = forecast_answers(9, 5, worlds=4000), forecast_answers(5, 9, worlds=4000)
    assert one.chance == pytest.approx(1 - other.chance)
    assert abs(one.median - other.median) <= 10


def test_what_cannot_be_forecast_is_refused_in_one_line() -> None:
    with refused(OptionError, "numbers of answers must be 0 or more; got -1, 3 and 0"):
        forecast_answers(-1, 3)
    with refused(OptionError, "the level must be between 0.5 and 1; got 95"):
        forecast_answers(1, 3, level=95)
    with refused(OptionError, "expected block >= 1, limit >= block"):
        forecast_answers(1, 3, block=0)
