"""How many more answers until the order of two models is settled: a forecast from the uncertainty of the
answers so far.

Conventions: ``wins`` are answers that chose f, and that chose g; ``undecided`` chose neither (both good, both
bad, not sure) and do not affect the order. Answers must be independent of each other. Answers of several
people about one image, or about images of one scene, are not: if more than one person answers, or anyone
answers twice, count each image (or scene) once, its share for f to f and the rest to g (`votes_of`); ``unit``
is what is counted. A share between 0 and 1 varies less than a single choice, so the uncertainty is rather
overestimated. The rate at which f is chosen, among deciding answers, has a Beta posterior from a uniform
prior; so has the share of deciding answers, if there are undecided ones (if there are none, all future
answers decide). The order is settled if the posterior probability of the other order is at most 1 -
``level``. The forecast assumes that future answers are exchangeable with those so far: the same people, and
images drawn in the same way, without an effect of selection (a selector that shows its most informative
images first violates this, and makes the forecast too short). The order is tested after each block: stopping
at the first block that settles it misleads more often than 1 - ``level``; an interval holds for a number of
answers that was fixed in advance.

``f_wins`` and ``g_wins`` are the answers for each of the two models so far. ``block`` is the number of
answers between two tests. ``worlds`` is the number of simulated futures. ``seed`` is that of these draws.

Source: Beta posteriors of a binomial rate are Bayes 1763; the forecast by simulating future answers is ours.
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

WORLDS = 2000
BLOCK = 10
LIMIT = 1000
HALF = 0.5
RANGE = (0.1, 0.9)  # of the worlds


@dataclass(frozen=True)
class ChoiceForecast:
    """The forecast number of answers still needed: its median and the range of 80 % of the worlds, infinite
    if it is beyond ``limit``; and how certain the order is now.

    ``chance`` is the probability that f is chosen more often than g, ``settled`` whether that is settled now,
    ``within`` the share of worlds that settle it within the limit.
    """

    median: float
    range: tuple[float, float]
    chance: float
    settled: bool
    within: float
    limit: int
    unit: str = "answer"

    def __str__(self) -> str:
        """Return the forecast in one line."""
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
    """Return the number of votes for f, for g and for neither, from the shares for f of independent units
    (images), one vote each: a share of exactly one half is a vote for neither.

    >>> votes_of([1, 1, 0.75, 0.5])
    (2.75, 0.25, 1)
    """
    every = list(shares)
    decided = [share for share in every if abs(share - HALF) > EQUAL]
    return math.fsum(decided), math.fsum(1 - share for share in decided), len(every) - len(decided)


def order_chance(f_wins: np.ndarray | float, g_wins: np.ndarray | float) -> np.ndarray:
    """Return the posterior probability that f is chosen more often than g.

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
    """Return how many more answers are likely to settle the order of two models, tested after each block of
    answers, up to ``limit``.

    With fewer than ``least`` answers, of whatever kind, nothing is settled. ``unit`` is the name of an answer
    in texts. OptionError for numbers below 0, or a level that is not above .5 and below 1.

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
    chance = float(order_chance(f_wins, g_wins))
    number = f_wins + g_wins + undecided
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
