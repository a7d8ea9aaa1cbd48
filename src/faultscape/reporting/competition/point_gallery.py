"""The gallery of a page about points: those that most models get wrong, and the standings' differences to the
leader.

Conventions: a card is one pixel; its crop has a ring around it. A model is right as far as the answer names
what it predicts: half on a border.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.reporting.view import Column, Mark, Table, TableRow, axis_of
from faultscape.standings import ModelRanking, decimals

MOST = 24  # cards on a page
PER_IMAGE = 2  # of them of one image, so that few images do not fill the gallery


@dataclass(frozen=True)
class Guess:
    """The models that predict the same class at a point ('' for none), and whether it is right: right, wrong
    or half.
    """

    models: tuple[str, ...]
    label: str
    mark: str


@dataclass(frozen=True)
class PointCard:
    """One point: its image and place, what people ``said``, what models guess, and its crop."""

    image: str
    row: int
    column: int
    said: str
    guesses: tuple[Guess, ...]
    photo: str = ""
    width: int = 1
    height: int = 1

    @property
    def wrong(self) -> int:
        """How many models are wrong."""
        return sum(len(guess.models) for guess in self.guesses if guess.mark == "wrong")


def hardest(said: np.ndarray, shares: np.ndarray, places: Sequence[tuple[str, int]]) -> list[int]:
    """Return the numbers of points that models get wrong, those that most get wrong first, at most ``MOST``,
    each pixel once, from their labels (J, M), the shares of classes and void (M, C + 1), and the image and
    pixel of each.

    >>> said, shares = np.array([[0, 0, 1], [0, 1, 1]]), np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0]])
    >>> hardest(said, shares, [("a", 1), ("a", 2), ("b", 1)])
    [2, 1]
    """
    inside = shares[:, :-1].sum(1) > 0
    padded = np.pad(shares[:, :-1], ((0, 0), (0, 2)))  # no class, and one that is unknown, are never right
    right = padded[np.arange(len(shares)), np.minimum(said, padded.shape[1] - 1)]
    wrong = (right == 0).mean(0)
    out = list[int]()
    taken = set[tuple[str, int]]()
    of = Counter[str]()
    for k in np.argsort(-wrong, kind="stable").tolist():
        place = places[k]
        if len(out) == MOST or not wrong[k] > 0:
            break
        if inside[k] and place not in taken and of[place[0]] < PER_IMAGE:
            out.append(k)
            taken.add(place)
            of[place[0]] += 1
    return out


def guesses(
    models: Sequence[str], said: Sequence[int], shares: np.ndarray, names: Sequence[str]
) -> tuple[Guess, ...]:
    """Return what models predict at a point, right ones first, from their labels (J,) and the shares
    (C + 1,).

    >>> guesses(["a", "b", "c"], [1, 0, 1], np.array([1.0, 0.0, 0.0]), ["road", "car"])
    (Guess(models=('b',), label='road', mark='right'), Guess(models=('a', 'c'), label='car', mark='wrong'))
    """
    by_label = dict[int, list[str]]()
    for model, label in zip(models, said, strict=True):
        by_label.setdefault(label, []).append(model)

    def share(label: int) -> float:
        return float(shares[label]) if label < len(names) else 0.0

    order = sorted(by_label, key=lambda label: (-share(label), -len(by_label[label]), label))
    return tuple(
        Guess(
            tuple(by_label[label]),
            names[label] if label < len(names) else "",
            "wrong" if not share(label) else "right" if share(label) == 1 else "half",
        )
        for label in order
    )


def lead_table(ranking: ModelRanking) -> Table | None:
    """Return how far the leader is ahead of each other model, in points of 100; the words of a row say
    whether that is settled. None without intervals.
    """
    gaps = [gap for gap in ranking.gaps if gap.model == ranking.order[0]]
    if not gaps:
        return None
    marks = [Mark(100 * g.difference, 100 * g.interval[0], 100 * g.interval[1]) for g in gaps]
    rows = [
        TableRow(gap.other, (mark,), kind="" if gap.settled else "tied", words=(_settled[gap.settled],))
        for gap, mark in zip(gaps, marks, strict=True)
    ]
    digits = decimals([mark.ends for mark in marks if mark.ends])
    on = axis_of([Mark(0.0), *marks], at_most=4)
    return Table((Column("points ahead", on, at=0.0, digits=min(digits, 1)),), tuple(rows), name="lead")


_settled = {True: "settled", False: "open"}
