"""What the answers to points show about people: how often they are right where a mask tells, how likely they
are right elsewhere, and signs that they answer without looking.

Conventions: void is one more class, after those of the list; the numbers after it mean "cannot tell", and a
border between two classes, of which only the time tells anything about a person. Answers to points that
were not drawn, or are no longer of the selection, have no models to be compared with, and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from faultscape.labelling.people.careless import CareTest
from faultscape.labelling.people.careless_points import PointColumns, point_care_tests
from faultscape.labelling.people.estimated_accuracy import EstimatedAccuracy, estimated_accuracy
from faultscape.labelling.people.vote_columns import share_of
from faultscape.reading.points.predictions import PixelLabels
from faultscape.reading.points.truths import Pixel
from faultscape.study.answers.points import CANNOT_TELL, PointAnswer, classes_seen


class PointPeople:
    """The answers of people to points whose ``labels`` are known, of classes of these ``names``."""

    def __init__(
        self, answers: Sequence[PointAnswer], labels: Mapping[Pixel, PixelLabels], names: Sequence[str]
    ) -> None:
        self._answers = [one for one in answers if _pixel(one) in labels]
        self._labels = labels
        self._names = names
        self._place = {name: place for place, name in enumerate(names)}
        number = {pixel: k for k, pixel in enumerate(dict.fromkeys(map(_pixel, self._answers)))}
        self._pixels = list(number)
        self._point = np.array([number[_pixel(one)] for one in self._answers], np.int64)
        self._who, person = np.unique([one.annotator for one in self._answers], return_inverse=True)
        self._person = person.astype(np.int64)
        self._label = np.array([self._number(one.answer) for one in self._answers], np.int64)
        self._first = np.array([not one.repeat for one in self._answers], bool)

    @property
    def who(self) -> list[str]:
        """The pseudonyms of the people, in the order of `accuracy`."""
        return self._who.tolist()

    def accuracy(self) -> EstimatedAccuracy:
        """Return how likely each person is right, by where they agree with others: Dawid and Skene's model
        with one coin per person.
        """
        first = self._first
        classes = len(self._names) + 1
        return estimated_accuracy(self._point[first], self._person[first], self._label[first], classes)

    def planted(self) -> dict[str, tuple[int, int, float, float]]:
        """Return {pseudonym: how many of a person's answers are right where a mask tells, of how many, and
        Wilson's 95 % interval of the share}; on a border one of the two classes has to be right, and who
        cannot tell is neither.
        """
        right: dict[str, list[bool]] = {}
        for one in self._answers:
            shows = self._labels[_pixel(one)].shows
            if shows and not one.repeat and one.answer != CANNOT_TELL:
                seen = classes_seen(one.answer, self._place)
                right.setdefault(one.annotator, []).append(shows in (seen or ()))
        out = {}
        for who, mine in right.items():
            low, high = share_of(sum(mine), len(mine)).interval.tolist()
            out[who] = sum(mine), len(mine), low, high
        return out

    def care(self) -> dict[str, dict[str, CareTest]]:
        """Return {pseudonym: {sign: test}} of signs of answers that were given without looking."""
        votes = np.zeros((len(self._pixels), len(self._names) + 1), np.int64)
        shown = np.full(len(self._pixels), -1)
        for k, pixel in enumerate(self._pixels):
            known = self._labels[pixel]
            for name, number in known.votes.items():
                if name in self._place:
                    votes[k, self._place[name]] = number
            shown[k] = self._place.get(known.shows, -1)
        seconds = [math.nan if one.seconds is None else one.seconds for one in self._answers]
        columns = PointColumns(self._point, self._person, self._label, seconds, self._first, votes, shown)
        return dict(zip(self.who, point_care_tests(columns, annotators=len(self.who)), strict=True))

    def _number(self, answer: str) -> int:
        """Return the place of a class, the next for void, the next for who cannot tell, and one more for a
        border, or a class that has left the list.
        """
        c = len(self._names)
        seen = classes_seen(answer, self._place)
        if seen == ():
            return c + 1 if answer == CANNOT_TELL else c
        return self._place[seen[0]] if seen is not None and len(seen) == 1 else c + 2


def _pixel(answer: PointAnswer) -> Pixel:
    return answer.image, answer.row, answer.column
