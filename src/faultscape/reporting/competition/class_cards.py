"""The gallery of classifiers: each chosen image with what every model says about it, who is right, and the
way in the hierarchy between two answers.

Conventions: a mark is right, wrong or undecided, '' without label. An image's pairs come with the greatest
distance first; images of most pairs come first, draws in their order. A page shows at most ``MOST`` images.
Source: Wang et al. 2020, Figs. 4, 6 to 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from faultscape.nouns import Draw, PairSlot, Predictions

MOST = 600  # images on one page


@dataclass(frozen=True)
class Answer:
    """What one model says: a class ('' for nothing), how sure it is (None where it does not say), and whether
    that is right.
    """

    model: str
    label: str
    confidence: float | None
    mark: str


@dataclass(frozen=True)
class Met:
    """One slot of an image: both answers, its case, and the words on the way from one label to the other
    (none where nothing gave a distance).
    """

    slot: PairSlot
    first: Answer
    second: Answer
    case: str
    way: tuple[str, ...]


@dataclass
class ClassCard:
    """One chosen image: what its label says, all answers in the order of the models, its pairs or the draw
    that chose it.
    """

    image: str
    truth: str
    answers: list[Answer]
    met: list[Met] = field(default_factory=list)
    draw: Draw | None = None
    photo: str = ""
    width: int = 4
    height: int = 3


def mark(correct: float, labelled: bool = True) -> str:
    """Return right, wrong or undecided of 1, 0 and NaN; '' without label.

    >>> mark(1.0), mark(0.0), mark(math.nan), mark(math.nan, labelled=False)
    ('right', 'wrong', 'undecided', '')
    """
    if not labelled:
        return ""
    return "undecided" if math.isnan(correct) else "right" if correct else "wrong"


def case(first: str, second: str) -> str:
    """Return the case of two marks: I, II or III, '' where one is not decided.

    >>> case("right", "right"), case("wrong", "right"), case("wrong", "wrong"), case("undecided", "wrong")
    ('I', 'II', 'III', '')
    """
    return {
        ("right", "right"): "I",
        ("wrong", "wrong"): "III",
        ("right", "wrong"): "II",
        ("wrong", "right"): "II",
    }.get((first, second), "")


def class_cards(
    chosen: Sequence[PairSlot | Draw],
    said: Predictions,
    correct: Mapping[str, np.ndarray],
    truths: Mapping[str, str],
    way: Callable[[str, str], tuple[str, ...]] = lambda _a, _b: (),
) -> tuple[list[ClassCard], int]:
    """Return the cards of the chosen images without thumbnails, and how many images more there are.

    ``said`` holds all models' answers on them, ``correct`` (J,) of each labelled image, ``truths`` what its
    label says; ``way`` gives the words between two labels.
    """
    column = {image: k for k, image in enumerate(said.images)}
    rows: dict[str, list[PairSlot | Draw]] = {}
    for row in chosen:
        rows.setdefault(row.image, []).append(row)
    order = sorted(rows, key=lambda image: -len(rows[image]))  # stable: draws, one a row, stay in their order
    cards = []
    for image in order[:MOST]:
        answers = _answers(said, column[image], correct.get(image))
        of = {answer.model: answer for answer in answers}
        card = ClassCard(image, truths.get(image, ""), answers)
        for row in rows[image]:
            if isinstance(row, Draw):
                card.draw = row
            else:
                # the slot says what was answered when it was drawn; marks belong to what is answered now
                a, b = of[row.model_a], of[row.model_b]
                card.met.append(Met(row, a, b, case(a.mark, b.mark), way(row.label_a, row.label_b)))
        card.met.sort(key=lambda met: (-met.slot.distance, met.slot.step))
        cards.append(card)
    return cards, max(len(order) - MOST, 0)


def _answers(said: Predictions, k: int, correct: np.ndarray | None) -> list[Answer]:
    out = []
    for j, model in enumerate(said.models):
        place, sure = int(said.labels[j, k]), float(said.probabilities[j, k])
        label = said.classes.names[place] if place >= 0 else ""
        right = (
            mark(float(correct[j]) if correct is not None else math.nan, correct is not None) if label else ""
        )
        out.append(Answer(model, label, None if math.isnan(sure) else sure, right))
    return out
