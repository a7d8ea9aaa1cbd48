"""Signs that a person answers without looking: like chance, always one side or answer, or too fast.

Conventions: answers are columns (see ``vote_columns``). Each test asks whether a careful person could have
answered so, and its p-value is multiplied by the number of tests of all people (Bonferroni, without tests
that could find nothing: Tarone 1990), so that at most 5 % of all campaigns of careful people mark anyone. A
mark needs more than a small p-value, namely a habit that matters: a slight preference for a side is not
one. Where even the worst answers could not lower a p-value far enough, it is NaN: there are too few
answers, which is not a good sign either.

* Like chance: a careful person is like the others, or agrees with most of the others on two of three items
  or more; the p-value is the larger one of the tests against both. (1) Were they one of the others, then of
  the ``m`` answers to an item each would be equally likely to be theirs, so that theirs is among the fewer
  ones with the share of those among the ``m``. Over items this is the sum of independent events
  (Poisson-binomial), whose upper tail is exact. Two answers to an item cannot say which is wrong: where no
  item has more, how often a person differs is compared with how often two others differ on other items
  (Fisher's exact test). (2) The exact binomial test of two thirds. A mark also needs that no exact test at
  5 % shows the person to agree with most of the others more than chance does: a person who is merely less
  often right than the others is not marked.
* Always one side: the side is random, so the left is chosen as often as the right whichever model is
  better. The p-value is that of the exact two-sided binomial test of one half (`side_bias`), and a mark
  needs three of four answers on one side. Questions have no sides: how often a person says yes is compared
  with the share of yes among all answers to the same questions (Poisson-binomial, both tails), and a mark
  needs that nineteen of twenty answers are the same.
* Too fast: nobody compares two maps in less than ``FASTEST`` seconds, but fingers slip. The p-value is that
  of the exact binomial test that at most one of twenty answers is faster, and a mark needs one of four. It is
  made from ten answers on, since the first ones go to finding out how the page works.

If most people answer like chance, the tests find who differs from them.
Source: the tests are ours, made of standard ones (Fisher 1935 for the exact test). To tell whether a single
image shows an animal, people need 0.4 to 0.5 s until they press a key (Thorpe, Fize and Marlot 1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc
from scipy.stats import hypergeom

from faultscape.labelling.people.vote_columns import same_length, size_of, vote_column

FASTEST = 0.5  # seconds
LEVEL = 0.05  # of all tests of all people together
_SLIPS = 0.05  # share of a careful person's answers that may be faster
_OFTEN_FAST = 0.25
_FEWEST_TIMES = 10
ALIKE = 2 / 3  # share of items on which careful people agree with most of the others
_OFTEN_ONE_SIDE = 0.75
OFTEN_ONE_ANSWER = 0.95
CHANCE = "like chance"
ONE_SIDE = "always one side"
FAST = "too fast"


@dataclass(frozen=True)
class CareTest:
    """One test of one person: ``count`` of the tested answers ``of`` show the sign, the corrected p-value
    (NaN for too few answers), and whether the person is marked.
    """

    count: int
    of: int
    p_value: float
    marked: bool


@dataclass(frozen=True)
class RawTest:
    """A test before the correction: its p-value, the least one that so many answers allow, and whether the
    habit matters.
    """

    count: int
    of: int
    p_value: float
    least: float
    matters: bool


@dataclass(frozen=True, eq=False)
class AnswerColumns:
    """Answers: of which ``item`` (N,), by whom (``annotator`` (N,)), which of two classes (``label`` (N,);
    from 2 on for neither), in how many ``seconds`` (N,), NaN if unknown, whether for the ``first`` time (N,),
    and for choices whether the left was chosen (``left`` (N,): 1 or 0, 2 for neither); None for questions.
    """

    item: ArrayLike
    annotator: ArrayLike
    label: ArrayLike
    seconds: ArrayLike
    first: ArrayLike
    left: ArrayLike | None = None


def care_tests(
    answers: AnswerColumns, *, annotators: int | None = None, level: float = LEVEL
) -> list[dict[str, CareTest]]:
    """Return for each person {sign: test} of ``answers``; LabellingError for invalid columns.

    ``level`` is the probability that anyone of a campaign of careful people is marked.

    >>> said = AnswerColumns(range(12), [0] * 12, [0, 1] * 6, [0.2] * 12, [True] * 12, [1] * 12)
    >>> {sign: (test.count, test.of, test.marked) for sign, test in care_tests(said)[0].items()}
    {'like chance': (0, 0, False), 'always one side': (12, 12, True), 'too fast': (12, 12, True)}
    """
    item = vote_column(answers.item, "item")
    annotator = vote_column(answers.annotator, "annotator")
    label = vote_column(answers.label, "label")
    seconds = np.asarray(answers.seconds, float)
    first = np.asarray(answers.first, bool)
    same_length(item=item, annotator=annotator, label=label, seconds=seconds, first=first)
    people = size_of(annotator, annotators, "annotator")
    counts = first & (label < 2)
    table = _Table(item[counts], annotator[counts], label[counts], people)
    raw: list[dict[str, RawTest]] = []
    for who in range(people):
        mine = annotator == who
        if answers.left is None:
            side = table.one_answer(who)
        else:
            left = vote_column(answers.left, "left")
            same_length(item=item, left=left)
            side = _one_side(left[mine & (left < 2)])
        chance = table.like_chance(who, symmetric=answers.left is not None)
        raw.append({CHANCE: chance, ONE_SIDE: side, FAST: too_fast(seconds[mine])})
    return corrected(raw, level)


def corrected(raw: Sequence[dict[str, RawTest]], level: float) -> list[dict[str, CareTest]]:
    """Return tests with p-values multiplied by the number of tests that could find anything (Tarone 1990)."""
    least = np.array([test.least for one in raw for test in one.values()])
    number = next((k for k in range(1, len(least) + 1) if (least <= level / k).sum() <= k), 1)
    bound = level / number
    return [
        {
            sign: CareTest(
                test.count,
                test.of,
                min(1.0, number * test.p_value) if test.least <= bound else float("nan"),
                test.least <= bound and test.p_value <= bound and test.matters,
            )
            for sign, test in one.items()
        }
        for one in raw
    ]


def _one_side(left: np.ndarray) -> RawTest:
    number = len(left)
    chosen = int(left.sum())
    more = max(chosen, number - chosen)
    p_value = min(1.0, 2 * float(bdtr(number - more, number, 0.5))) if number else 1.0
    return RawTest(more, number, p_value, min(1.0, 2 * 0.5**number), more >= _OFTEN_ONE_SIDE * number > 0)


def too_fast(seconds: np.ndarray) -> RawTest:
    """Return the test whether answers that took these ``seconds`` (N,), NaN if unknown, are too fast.

    >>> too_fast(np.array([0.2] * 3 + [4.0] * 9)).matters
    True
    """
    known = seconds[~np.isnan(seconds)]
    number = len(known)
    fast = int((known < FASTEST).sum())
    p_value = float(bdtrc(fast - 1, number, _SLIPS)) if fast else 1.0
    least = _SLIPS**number if number >= _FEWEST_TIMES else 1.0
    return RawTest(fast, number, p_value, least, fast >= _OFTEN_FAST * number > 0)


class _Table:
    """First answers of two classes to items: who gave them, and how many there are of each class."""

    def __init__(self, item: np.ndarray, annotator: np.ndarray, label: np.ndarray, people: int) -> None:
        _, place = np.unique(item, return_inverse=True)
        items = int(place.max(initial=-1)) + 1
        self._said = np.full((people, items), -1, np.int8)
        self._said[annotator, place] = label
        self._yes = (self._said == 1).sum(0)
        self._number = (self._said >= 0).sum(0)

    def like_chance(self, who: int, *, symmetric: bool) -> RawTest:
        """Return the test whether a person differs from the others more than these from each other."""
        alike, of, better = self._agreement(who, symmetric=symmetric)
        lower = float(bdtr(alike, of, ALIKE)) if of else 1.0
        p_value, least = self._unlike_others(who)
        least = max(least, (1 - ALIKE) ** of if of else 1.0)
        return RawTest(of - alike, of, max(p_value, lower), least, not better)

    def _unlike_others(self, who: int) -> tuple[float, float]:
        """Return the p-value of a person's being one of the others, and the least one possible."""
        mine = self._said[who]
        yes = self._yes
        number = self._number
        fewer = np.minimum(yes, number - yes)
        there = (mine >= 0) & (number > 2) & (fewer > 0) & (2 * fewer < number)
        if there.any():
            own = np.where(mine == 1, yes, number - yes)
            rare = fewer[there] / number[there]
            return upper_tail(rare, int((own == fewer)[there].sum())), float(np.prod(rare))
        pair = number == 2
        apart = pair & (fewer == 1)
        own = pair & (mine >= 0)
        of = int(own.sum())
        whole = int(pair.sum())
        if of in (0, whole):
            return 1.0, 1.0
        p_value = float(hypergeom.sf(int((apart & own).sum()) - 1, whole, int(apart.sum()), of))
        return p_value, float(hypergeom.sf(of - 1, whole, of, of))

    def one_answer(self, who: int) -> RawTest:
        """Return the test whether a person says yes, or no, more than all do to the same questions."""
        there = (self._said[who] >= 0) & (self._number > 1)
        said = self._said[who][there]
        share = self._yes[there] / self._number[there]
        number = len(said)
        yes = int(said.sum())
        more = max(yes, number - yes)
        share = share if yes >= number - yes else 1 - share
        p_value = min(1.0, 2 * upper_tail(share, more))
        mixed = share[(share > 0) & (share < 1)]
        least = min(1.0, 2 * float(np.prod(mixed)))
        return RawTest(more, number, p_value, least, more >= OFTEN_ONE_ANSWER * number > 0)

    def _agreement(self, who: int, *, symmetric: bool) -> tuple[int, int, bool]:
        """Return on how many items a person agrees with most of the others, of how many, and whether that is
        more than chance does (exact test at 5 %).
        """
        mine = self._said[who]
        yes = self._yes - (mine == 1)
        no = self._number - self._yes - (mine == 0)
        there = (mine >= 0) & (yes != no)
        said = mine[there] == 1
        most = yes[there] > no[there]
        number = len(said)
        alike = int((said == most).sum())
        if symmetric:
            return alike, number, alike > 0 and float(bdtrc(alike - 1, number, 0.5)) <= LEVEL
        both = int((said & most).sum())
        chance = float(hypergeom.sf(both - 1, number, int(most.sum()), int(said.sum()))) if number else 1.0
        return alike, number, chance <= LEVEL


def upper_tail(chances: np.ndarray, count: int) -> float:
    """Return the probability that ``count`` or more of independent events happen (Poisson-binomial).

    >>> round(upper_tail(np.array([0.5, 0.5, 0.5]), 2), 6)
    0.5
    """
    number = np.ones(1)
    for chance in chances.tolist():
        number = np.convolve(number, [1 - chance, chance])
    return float(min(1.0, number[count:].sum()))
