"""What is known of the points of a selection: from what people saw there, or from a map of their image.

Conventions: P points, C classes; place C is void. A map of a truth answers every point in its image, whatever
people saw there. Of several people's answers to a point the most frequent counts, or, where people are
weighted, the one with the larger sum of weights; a border between two classes is half a vote for each, and
classes with as many votes share the pixel: of two people who differ, each has half. Who cannot tell has no
vote. An answer with a class that left the list does not count, and its point is open again: which points
these are depends on what they show.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from faultscape.nouns import CANNOT_TELL, Point
from faultscape.reading.choices import EVERYBODY, Voices
from faultscape.study.answers.points import PointAnswer, classes_seen
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name

if TYPE_CHECKING:
    from faultscape.reading.study import Study

Pixel = tuple[str, int, int]


@dataclass(frozen=True, eq=False)
class PointTruth:
    """What is known of P points: the ``shares`` (P, C + 1) of the classes and void at each, 0 where nothing
    is known; which (P,) are ``labelled`` by a map, which people answered (``asked``), and where nobody who
    answered can tell (``untold``); and the weights {person: weight} of the answers, None if all count the
    same.
    """

    shares: np.ndarray
    labelled: np.ndarray
    asked: np.ndarray
    untold: np.ndarray
    weights: Mapping[str, float] | None = None

    @property
    def known(self) -> np.ndarray:
        """Which points (P,) have a class or void."""
        return self.shares.sum(1) > 0

    @property
    def done(self) -> np.ndarray:
        """Which points (P,) need no answer any more."""
        return self.labelled | self.asked


def with_maps(study: Study, images: Sequence[str], truth: str) -> set[str]:
    """Return those of some images that have a map of a truth."""
    folder = label_maps.truth(study.root, truth)
    parts = study.manifest(folder)
    wanted = set(images)
    numbers = sorted(
        {number for number in study.corpus.shards_of(wanted).values() if part_name(number) in parts}
    )
    return wanted & {
        id_ for number in numbers for id_ in label_maps.read_ids(folder, number, parts[part_name(number)])
    }


def answers_of(study: Study, truth: str, without: Collection[str] = ()) -> dict[Pixel, list[PointAnswer]]:
    """Return {(image, row, column): the answers to it that count} of a truth, each person's first time; the
    second time only measures the person. People ``without`` whom to count are left out.
    """
    out: dict[Pixel, list[PointAnswer]] = {}
    for one in study.point_answers.answers(truth):
        if not one.repeat and one.annotator not in without:
            out.setdefault((one.image, one.row, one.column), []).append(one)
    return out


def answer_rows(study: Study, truth: str, removed: Collection[str]) -> list[tuple[str, ...]]:
    """Return the answers of a truth that count, sorted, without those about ``removed`` images, with the
    first names of renamed classes: what a key of the truth is made of.
    """
    first = study.settings.classes.first_name_of
    rows = list[tuple[str, ...]]()
    for one in study.point_answers.answers(truth):
        if one.image not in removed:
            seen = classes_seen(one.answer, first) or (one.answer,)
            place = one.image, str(one.row), str(one.column)
            rows.append((*place, *(first.get(name, name) for name in seen), one.annotator, str(one.repeat)))
    return sorted(rows)


def point_truth(
    study: Study,
    points: Sequence[Point],
    truth: str,
    shown: np.ndarray | None = None,
    voices: Voices = EVERYBODY,
) -> PointTruth:
    """Return what is known of points under a truth by the answers of ``voices``; ``shown`` (P,) are the
    labels of its maps, C + 1 where it has none, without which only `PointTruth.done` and the shares of
    answered points are known.
    """
    names = study.classes.names
    c = len(names)
    place = {name: k for k, name in enumerate(names)}
    shares = np.zeros((len(points), c + 1))
    asked = np.zeros(len(points), bool)
    untold = np.zeros(len(points), bool)
    mapped = with_maps(study, [point.image for point in points], truth)
    labelled = np.array([point.image in mapped for point in points], bool)
    said = answers_of(study, truth, voices.without)
    weights = voices.weights_of_points([one for mine in said.values() for one in mine], names)
    for k, point in enumerate(points):
        answers = said.get((point.image, point.row, point.column), [])
        answers = [one for one in answers if classes_seen(one.answer, place) is not None]
        if weights is not None:  # who is hardly ever right is left out
            answers = [one for one in answers if weights.get(one.annotator, 1.0) > 0]
        asked[k] = bool(answers)
        if not labelled[k]:
            worth = [1.0 if weights is None else weights.get(one.annotator, 1.0) for one in answers]
            shares[k] = _shares([one.answer for one in answers], place, worth)
            untold[k] = asked[k] and not shares[k].any()
    if shown is not None:
        there = np.flatnonzero(labelled)
        shares[there, shown[there]] = 1
    return PointTruth(shares, labelled, asked, untold, weights)


def _shares(answers: Sequence[str], place: dict[str, int], weights: Sequence[float]) -> np.ndarray:
    """Return the shares (C + 1,) of the classes and void at a point by people of these weights; all 0 where
    nobody can tell.

    >>> place = {"road": 0, "car": 1}
    >>> _shares(["car", "car", "road"], place, [1, 1, 1]).tolist(), _shares(["car|road"], place, [1]).tolist()
    ([0.0, 1.0, 0.0], [0.5, 0.5, 0.0])
    >>> (
    ...     _shares(["void", "cannot tell"], place, [1, 1]).tolist(),
    ...     _shares(["cannot tell"], place, [1]).tolist(),
    ... )
    ([0.0, 0.0, 1.0], [0.0, 0.0, 0.0])
    >>> _shares(["car", "road"], place, [1, 1]).tolist(), _shares(["car", "road"], place, [2.9, 1.4]).tolist()
    ([0.5, 0.5, 0.0], [0.0, 1.0, 0.0])
    """
    votes = np.zeros(len(place) + 1)
    for answer, weight in zip(answers, weights, strict=True):
        seen = classes_seen(answer, place) or ()
        if not seen and answer == CANNOT_TELL:
            continue
        for name in seen:
            votes[place[name]] += weight / len(seen)
        votes[-1] += 0.0 if seen else weight
    best = np.isclose(votes, votes.max())
    return np.where(best, 1 / best.sum(), 0.0) if votes.any() else votes
