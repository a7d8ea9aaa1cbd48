"""How many more answers until the order of two models is settled: a forecast, from what the answers so far
leave open.

Conventions: ``wins`` are answers that chose f, and that chose g; ``undecided`` chose neither (both good, both
bad, not sure) and move the order not at all. Answers must be independent of each other: what several people
say about one image, or about images of one scene, is not, so that where more than one person answers, or any
answers twice, an image (or scene) is to be counted once, its share for f to f and the rest to g (`votes_of`);
``unit`` is what is counted. A share between 0 and 1 spreads less than a choice of one or the other, so that
the doubt is rather too large. The rate at which f is chosen, of answers that choose, has a Beta posterior
from a uniform prior; so has the share of answers that choose, where any did not (where none did, all to come
do). The order is settled where the posterior leaves at most 1 - ``level`` that it is the other one. What is
forecast assumes that answers to come are exchangeable with those so far: the same people, and images drawn as
these were, with no effect of picking (a selector that has shown its most telling images first breaks that,
and makes the forecast too short). The chance of an order is looked at after each block: who stops at the
first block that settles it is misled more often than 1 - ``level``; an interval holds for a number of answers
that was fixed beforehand.

``f_wins`` and ``g_wins`` are the answers for each of the two models so far. ``block`` is how many answers
come between two looks. ``worlds`` is how many futures are drawn. ``seed`` is that of these draws.

Source: Beta posteriors of a binomial rate are Bayes 1763; the forecast by drawing answers to come is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from faultscape.errors import OptionError, counted
from faultscape.metrics.intervals.units import LEVEL
from faultscape.ties import DECIMALS, EQUAL

WORLDS, BLOCK, LIMIT = 2000, 10, 1000
HALF = 0.5
RANGE = (0.1, 0.9)  # of the worlds


@dataclass(frozen=True)
class ChoiceForecast:
    """The forecast number of answers still needed: its median and the range of 80 % of the worlds, infinite
    where it is beyond ``limit``; and how sure the order is now.

    ``chance`` is that f is chosen more often than g, ``settled`` whether that is settled now, ``within`` the
    share of worlds that settle it within the limit.
    """

    median: float
    range: tuple[float, float]
    chance: float
    settled: bool
    within: float
    limit: int
    unit: str = "answer"

    def __str__(self) -> str:
        """Say the forecast in a line."""
        if self.settled:
            return "settled now"
        if math.isinf(self.median):
            return (
                f"forecast: more than {counted(self.limit, self.unit)} (probability of fewer:"
                f" {self.within:.0%})"
            )
        high = f"beyond {self.limit}" if math.isinf(self.range[1]) else f"{self.range[1]:.0f}"
        return (
            f"forecast: {counted(int(self.median), f'more {self.unit}')} (80 % range {self.range[0]:.0f} to"
            f" {high})"
        )


def votes_of(shares: Iterable[float]) -> tuple[float, float, float]:
    """Return how many votes are for f, for g and for neither, of the shares for f of independent units
    (images), one vote each: who is divided evenly votes for neither.

    >>> votes_of([1, 1, 0.75, 0.5])
    (2.75, 0.25, 1)
    """
    every = list(shares)
    decided = [share for share in every if abs(share - HALF) > EQUAL]
    return math.fsum(decided), math.fsum(1 - share for share in decided), len(every) - len(decided)


def order_chance(f_wins: np.ndarray | float, g_wins: np.ndarray | float) -> np.ndarray:
    """Return the posterior chance that f is chosen more often than g.

    >>> float(order_chance(7, 3).round(3)), float(order_chance(0, 0))
    (0.887, 0.5)
    """
    return 1 - betainc(np.asarray(f_wins, float) + 1, np.asarray(g_wins, float) + 1, 0.5)


def forecast_answers(
    f_wins: float,
    g_wins: float,
    undecided: float = 0,
    *,
    level: float = LEVEL,
    least: int = 0,
    unit: str = "answer",
    block: int = BLOCK,
    limit: int = LIMIT,
    worlds: int = WORLDS,
    seed: int | np.random.Generator = 0,
) -> ChoiceForecast:
    """Return how many more answers are likely to settle the order of two models, looked at after each block
    of answers, up to ``limit``.

    With fewer than ``least`` answers, of whatever kind, nothing is settled. ``unit`` is what an answer is
    called. OptionError for numbers below 0, or a level that is not above .5 and below 1.

    >>> str(forecast_answers(7, 3)), str(forecast_answers(20, 3))
    ('forecast: 10 more answers (80 % range 10 to 160)', 'settled now')
    """
    if min(f_wins, g_wins, undecided) < 0:
        raise OptionError(f"numbers of answers must be 0 or more; got {f_wins}, {g_wins} and {undecided}")
    if not 0.5 < level < 1:
        raise OptionError(f"the level must be between 0.5 and 1; got {level}")
    if block < 1 or limit < block or worlds < 1:
        raise OptionError(
            f"expected block >= 1, limit >= block and worlds >= 1; got {block}, {limit} and {worlds}"
        )
    chance, number = float(order_chance(f_wins, g_wins)), f_wins + g_wins + undecided
    if max(chance, 1 - chance) >= level and round(number, DECIMALS) >= least:
        return ChoiceForecast(0.0, (0.0, 0.0), chance, True, 1.0, limit, unit)
    rng = np.random.default_rng(seed)
    steps = limit // block
    rate = rng.beta(f_wins + 1, g_wins + 1, worlds)
    chooses = rng.beta(f_wins + g_wins + 1, undecided + 1, worlds) if undecided else np.ones(worlds)
    decided = rng.binomial(block, np.broadcast_to(chooses, (steps, worlds)))
    won = rng.binomial(decided, rate)
    after = order_chance(f_wins + won.cumsum(0), g_wins + (decided - won).cumsum(0))
    enough = round(number, DECIMALS) + block * np.arange(1, steps + 1)[:, None] >= least
    settled = (np.maximum(after, 1 - after) >= level) & enough
    needed = np.where(settled.any(0), (settled.argmax(0) + 1.0) * block, np.inf)
    low, median, high = np.quantile(needed, [RANGE[0], 0.5, RANGE[1]], method="inverted_cdf")
    return ChoiceForecast(
        float(median),
        (float(low), float(high)),
        chance,
        False,
        float(np.isfinite(needed).mean()),
        limit,
        unit,
    )
