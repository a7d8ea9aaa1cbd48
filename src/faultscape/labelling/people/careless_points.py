"""Who answers points like chance, always with one class, or too fast.

Conventions: as in ``careless``: a mark needs a p-value that is small after correction for the tests of all
people, and a habit that matters. Answers are columns; C classes, place C is void, C + 1 "cannot tell", and
from C + 2 on a border, which only its time is tested of. Points are often answered by one person alone, so an
answer is compared with the best there is: the mask of its image; else the answer of most of the others, if
two or more of them agree; else the class that most models predict there. An answer to a point that is asked
again is compared with the person's own first one.

* Like chance: who clicks at random among the K classes that the page offers first, those that models
  predict, is alike on 1 / K of the points; where K is 1, nothing can be told. A careful person is alike on
  two of three with a mask, others or themselves, as for choices. Models are wrong more often: with them a
  careful person is alike on 1 / K + 0.15 (1 - 1 / K), a seventh of the way from chance to always. The p-value
  is the lower tail of the sum of these events (Poisson-binomial). A mark also needs that no exact test at 5 %
  shows the person to be alike more often than chance is, neither with masks, others and themselves nor with
  models: where models are poor, repeats tell that a person looks. Two models that differ have no majority.
* Always one class: at each point a careful person gives it with the share of the models and other people who
  say so (one more of each added for it and against it). The p-value is the upper tail of their sum, times
  the number of possible answers; a mark needs that nineteen of twenty answers are the same. It is made from
  thirty answers on, since points of one image follow each other.
* Too fast: the test of ``careless``.

Source: the tests are ours, made of standard ones. Measured: on CamVid, VOC masks with made models and drawn
streets the class that most models predict is right on 56 to 87 % of drawn points at which models differ,
where 1 / K is 38 to 44 %. With a quarter of the way instead of 0.15, careful people of whom one errs in
20 % of answers and all near borders were marked in 10 to 20 % of campaigns about four CamVid models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import LabellingError
from faultscape.labelling.people.careless import (
    ALIKE,
    CHANCE,
    FAST,
    LEVEL,
    OFTEN_ONE_ANSWER,
    ONE_SIDE,
    CareTest,
    RawTest,
    corrected,
    too_fast,
    upper_tail,
)
from faultscape.labelling.people.vote_columns import same_length, size_of, vote_column

ALIKE_WITH_MODELS = 0.15  # of the way from chance to always
_FEWEST_ALIKE = 2  # of the other people, to be compared with
_FEWEST_ANSWERS = 30  # neighbouring points of one image are often of one class


@dataclass(frozen=True, eq=False)
class PointColumns:
    """Answers to points: to which ``point`` (N,), by whom (``annotator`` (N,)), what (``label`` (N,): a
    class, C void, C + 1 cannot tell, from there on a border), in how many ``seconds`` (N,), NaN if unknown,
    whether for the ``first`` time (N,); and of the P points how many models predict each class, void last
    (``votes`` (P, C + 1)), and what a mask of the image shows (``shown`` (P,), -1 without one).
    """

    point: ArrayLike
    annotator: ArrayLike
    label: ArrayLike
    seconds: ArrayLike
    first: ArrayLike
    votes: ArrayLike
    shown: ArrayLike


def point_care_tests(
    answers: PointColumns, *, annotators: int | None = None, level: float = LEVEL
) -> list[dict[str, CareTest]]:
    """Return for each person {sign: test} of ``answers`` to points; LabellingError for invalid columns.

    ``level`` is the probability that anyone of a campaign of careful people is marked.

    >>> votes = np.tile([3, 2, 0], (60, 1))  # three of five models say the first class, two the second
    >>> said = PointColumns(range(60), [0] * 60, [0, 1] * 30, [3.0] * 60, [True] * 60, votes, [1] * 60)
    >>> test = point_care_tests(said)[0]["like chance"]
    >>> test.count, test.of, test.marked  # alike with the mask on half of the points
    (30, 60, True)
    """
    table = _PointTable(answers)
    people = size_of(table.annotator, annotators, "annotator")
    raw = [
        {
            CHANCE: table.like_chance(who),
            ONE_SIDE: table.one_class(who),
            FAST: too_fast(table.seconds[table.annotator == who]),
        }
        for who in range(people)
    ]
    return corrected(raw, level)


class _PointTable:
    """Checked columns, and what is known of each point without its people."""

    def __init__(self, answers: PointColumns) -> None:
        self.point = vote_column(answers.point, "point")
        self.annotator = vote_column(answers.annotator, "annotator")
        self.label = vote_column(answers.label, "label")
        self.seconds = np.asarray(answers.seconds, float)
        self.first = np.asarray(answers.first, bool)
        same_length(
            point=self.point,
            annotator=self.annotator,
            label=self.label,
            seconds=self.seconds,
            first=self.first,
        )
        self.votes = np.asarray(answers.votes)
        self.shown = np.asarray(answers.shown)
        if self.votes.ndim != 2 or self.shown.shape != self.votes.shape[:1]:
            raise LabellingError(
                "expected votes (P, C + 1) and what masks show (P,); got shapes"
                f" {self.votes.shape} and {self.shown.shape}"
            )
        points, self.width = self.votes.shape  # of classes and void
        size_of(self.point, points, "point")
        self.offered = (self.votes[:, :-1] > 0).sum(1)
        self.models_say = _most(self.votes, 1)
        counted = self.first & (self.label <= self.width)
        self.given = np.zeros((points, self.width + 1), np.int64)
        np.add.at(self.given, (self.point[counted], self.label[counted]), 1)

    def like_chance(self, who: int) -> RawTest:
        """Return the test whether a person is alike with what is known as rarely as chance is."""
        mine = (self.annotator == who) & (self.label < self.width) & (self.offered[self.point] > 1)
        first = np.flatnonzero(mine & self.first)
        again = np.flatnonzero(mine & ~self.first)
        others = self.given[self.point[first], :-1].copy()
        others[np.arange(len(first)), self.label[first]] -= 1
        by_mask = self.shown[self.point[first]]
        by_people = _most(others, _FEWEST_ALIKE)
        by_models = self.models_say[self.point[first]]
        known = np.where(by_mask >= 0, by_mask, by_people)
        said = dict(zip(self.point[first].tolist(), self.label[first].tolist(), strict=True))
        before = np.array([said.get(one, -1) for one in self.point[again].tolist()], np.int64)
        surely = np.append(known, before)
        at = np.append(first, again)
        sure = surely >= 0
        guess = (known < 0) & (by_models >= 0)
        alike_surely = self.label[at[sure]] == surely[sure]
        alike_guess = self.label[first[guess]] == by_models[guess]
        chance_surely = 1 / self.offered[self.point[at[sure]]]
        chance_guess = 1 / self.offered[self.point[first[guess]]]
        careful = np.append(
            np.full(int(sure.sum()), ALIKE), chance_guess + (1 - chance_guess) * ALIKE_WITH_MODELS
        )
        alike = int(alike_surely.sum() + alike_guess.sum())
        of = len(careful)
        # as few alike as that: as many apart as that
        p_value = upper_tail(1 - careful, of - alike)
        better = any(
            bool(hits.any()) and upper_tail(chance, int(hits.sum())) <= LEVEL
            for hits, chance in ((alike_surely, chance_surely), (alike_guess, chance_guess))
        )
        return RawTest(of - alike, of, p_value, float(np.prod(1 - careful)) if of else 1.0, not better)

    def one_class(self, who: int) -> RawTest:
        """Return the test whether a person gives one answer more often than models and others do there."""
        mine = (self.annotator == who) & self.first & (self.label <= self.width)
        labels = self.label[mine]
        number = len(labels)
        if number < _FEWEST_ANSWERS:
            return RawTest(0, number, 1.0, 1.0, matters=False)
        most = int(np.bincount(labels).argmax())
        same = labels == most
        at = self.point[mine]
        there = self.given[at].copy()
        there[np.arange(number), labels] -= 1
        there[:, : self.width] += self.votes[at]
        share = (there[:, most] + 1) / (there.sum(1) + 2)
        count = int(same.sum())
        possible = self.width + 1
        p_value = min(1.0, possible * upper_tail(share, count))
        least = min(1.0, possible * float(np.prod(share)))
        return RawTest(count, number, p_value, least, count >= OFTEN_ONE_ANSWER * number)


def _most(counts: np.ndarray, least: int) -> np.ndarray:
    """Return (N,) which of the counts (N, C) is the largest, -1 where none reaches ``least`` or two do alike.

    >>> _most(np.array([[2, 1], [1, 1], [0, 0], [0, 1]]), 1).tolist()
    [0, -1, -1, 1]
    """
    top = counts.max(1, keepdims=True, initial=0)
    alone = ((counts == top).sum(1) == 1) & (top[:, 0] >= least)
    return np.where(alone, counts.argmax(1), -1)
