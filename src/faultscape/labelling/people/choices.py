"""People's choices between two models' predictions for an image, shown side by side: shares for a model,
consistency of each person, and preference for a side.

Conventions: a choice is one of ``CHOICES``, in columns its place there, 0 to 5. Columns have one row per
answer: image, models f and g, who, and the ``choice`` resolved: 0 for f and 1 for g (not left and right). A
choice counts 1 for the model chosen, 0 for the other, one half for each if both are good, both are bad or the
person was not sure; skipped ones are left out. One person has one voice per image and pair: the mean of
several answers (repeated items) counts, so that choosing f once and g once counts as one half. Repeated
answers agree if they count the same: both for f, both for g, or both for neither, whatever the reason.
Intervals hold for a number of answers that was fixed in advance.
Source: in Yan et al. 2021, section 4.4, people must choose; the answers besides left and right, and what they
count, are ours. The exact test is the two-sided binomial test of one half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr

from faultscape.errors import LabellingError
from faultscape.labelling.people.vote_columns import Share, same_length, share_of, size_of, vote_column
from faultscape.metrics.intervals.units import LEVEL

CHOICES = ("left", "right", "both good", "both bad", "not sure", "skip")
LEFT, RIGHT, BOTH_GOOD, BOTH_BAD, NOT_SURE, SKIP = range(6)
FIRST, SECOND = LEFT, RIGHT  # of resolved choices
_SHARES = np.array([1.0, 0.0, 0.5, 0.5, 0.5, np.nan])


@dataclass(frozen=True, eq=False)
class PairShares:
    """For each image and two models, ``first`` < ``second`` (K,), the share for the first, the number of
    answers behind it, and the number of people.
    """

    image: np.ndarray
    first: np.ndarray
    second: np.ndarray
    share: np.ndarray
    answers: np.ndarray
    people: np.ndarray


@dataclass(frozen=True, eq=False)
class SideBias:
    """How often each person (A,), or all together (), chose the left among the answers that chose a side, and
    the probability of a number this uneven if sides did not matter.
    """

    left: Share
    p_value: np.ndarray


def share_for(choice: ArrayLike) -> np.ndarray:
    """Return (N,) what each choice counts for the model chosen by 0 (left, or f): 1, 0 or one half, NaN if it
    was skipped.

    >>> share_for([LEFT, RIGHT, BOTH_GOOD, BOTH_BAD, NOT_SURE, SKIP]).tolist()
    [1.0, 0.0, 0.5, 0.5, 0.5, nan]
    """
    return _SHARES[vote_column(choice, "choice", len(CHOICES))]


def pair_shares(
    image: ArrayLike, f: ArrayLike, g: ArrayLike, who: ArrayLike, choice: ArrayLike
) -> PairShares:
    """Return for each image and two models with an answer the share for the first, each person counting once,
    ordered by image, then models.

    LabellingError for invalid columns, or an answer that compares a model with itself.

    >>> said = pair_shares(
    ...     [0, 0, 0], [1, 2, 1], [2, 1, 2], [0, 0, 1], [FIRST, FIRST, BOTH_GOOD]
    ... )  # person 0: model 1, then model 2
    >>> said.share.tolist(), said.answers.tolist(), said.people.tolist()
    ([0.5], [3], [2])
    """
    items, person, share, _ = _answers(image, f, g, who, choice)
    keys, at = np.unique(np.column_stack([items, person]), axis=0, return_inverse=True)  # one voice each
    at = at.reshape(-1)
    answers = np.bincount(at, minlength=len(keys))
    voice = np.bincount(at, share, minlength=len(keys)) / np.maximum(answers, 1)
    pairs, of = np.unique(keys[:, :3], axis=0, return_inverse=True)
    of = of.reshape(-1)
    number = len(pairs)
    people = np.bincount(of, minlength=number)
    means = np.bincount(of, voice, minlength=number) / np.maximum(people, 1)
    return PairShares(
        pairs[:, 0],
        pairs[:, 1],
        pairs[:, 2],
        means,
        np.bincount(of, answers, minlength=number).astype(np.int64),
        people,
    )


def consistency(
    image: ArrayLike,
    f: ArrayLike,
    g: ArrayLike,
    who: ArrayLike,
    choice: ArrayLike,
    f_left: ArrayLike,
    *,
    annotators: int | None = None,
    level: float = LEVEL,
) -> tuple[Share, Share]:
    """Return the share of repeated items with the same answer, for all and for each person (A,), with
    Wilson's intervals.

    An item is repeated if one person saw the same image and models again in the other order (``f_left`` (N,):
    whether f was on the left): each answer is compared with the same person's previous one, if the order
    differs. Rows are in the order in which they were given. LabellingError for invalid columns.

    >>> every, each = consistency(
    ...     [0, 0, 1, 1],
    ...     [0] * 4,
    ...     [1] * 4,
    ...     [0] * 4,
    ...     [FIRST, FIRST, FIRST, NOT_SURE],
    ...     [True, False, True, False],
    ... )
    >>> every.count, every.of, every.value
    (array(1.), array(2.), np.float64(0.5))
    """
    items, person, share, rows = _answers(image, f, g, who, choice)
    first_left = np.asarray(f_left, bool)
    same_length(choice=np.asarray(choice), f_left=first_left)
    swapped = np.asarray(f)[rows] > np.asarray(g)[rows]
    low_left = first_left[rows] ^ swapped  # whether the model with the lower number was on the left
    people = size_of(vote_column(who, "who"), annotators, "who")
    order = np.lexsort((np.arange(len(rows)), person, items[:, 2], items[:, 1], items[:, 0]))
    before = order[:-1]
    after = order[1:]
    again = (
        (items[before] == items[after]).all(1)
        & (person[before] == person[after])
        & (low_left[before] != low_left[after])
    )
    alike = again & (share[before] == share[after])
    number = np.bincount(person[after][again], minlength=people)
    same = np.bincount(person[after][alike], minlength=people)
    return share_of(same.sum(), number.sum(), level), share_of(same, number, level)


def side_bias(
    who: ArrayLike, choice: ArrayLike, *, annotators: int | None = None, level: float = LEVEL
) -> tuple[SideBias, SideBias]:
    """Return how often the left was chosen, by all and by each person (A,), from choices of a side (not
    resolved), with Wilson's intervals and the exact binomial test.

    Answers that chose neither are ignored. With many people, correct the smallest p-value for their number.
    LabellingError for invalid columns.

    >>> every, each = side_bias([0] * 10, [LEFT] * 9 + [RIGHT])
    >>> every.left.value, every.p_value.round(4)
    (np.float64(0.9), np.float64(0.0215))
    """
    who = vote_column(who, "who")
    choice = vote_column(choice, "choice", len(CHOICES))
    same_length(who=who, choice=choice)
    people = size_of(who, annotators, "who")
    decided = choice <= RIGHT
    number = np.bincount(who[decided], minlength=people)
    left = np.bincount(who[choice == LEFT], minlength=people)
    return _bias(left.sum(), number.sum(), level), _bias(left, number, level)


def _bias(left: ArrayLike, number: ArrayLike, level: float) -> SideBias:
    left = np.asarray(left, float)
    number = np.asarray(number, float)
    fewer = np.minimum(left, number - left)
    return SideBias(
        share_of(left, number, level),
        np.where(number > 0, np.minimum(1.0, 2 * bdtr(fewer, number.astype(int), 0.5)), np.nan),
    )


def _answers(
    image: ArrayLike, f: ArrayLike, g: ArrayLike, who: ArrayLike, choice: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return items (M, 3) as image and models in order, who (M,), the share for the model with the lower
    number (M,), and the rows that were not skipped (M,).
    """
    image, f, g, who = (
        vote_column(column, name) for column, name in ((image, "image"), (f, "f"), (g, "g"), (who, "who"))
    )
    share = share_for(choice)
    same_length(image=image, f=f, g=g, who=who, choice=share)
    if (f == g).any():
        raise LabellingError(
            f"row {int((f == g).argmax())} compares model {int(f[(f == g).argmax()])} with itself; give the"
            " two models that were shown"
        )
    rows = np.flatnonzero(~np.isnan(share))
    first = np.minimum(f, g)
    second = np.maximum(f, g)
    share = np.where(f > g, 1 - share, share)[rows]
    return np.column_stack([image, first, second])[rows], who[rows], share, rows
