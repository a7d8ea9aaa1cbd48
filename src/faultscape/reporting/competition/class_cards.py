"""The gallery of classifiers: each chosen image with every model's answer, which models are right, and the
path in the hierarchy between two answers.

Conventions: a mark is right, wrong or undecided, '' without a label. An image's pairs are ordered by
distance, the largest first; images with most pairs come first, draws in their order. A page shows at most
``MOST`` images.
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
    """One model's answer: a class ('' for none), its probability (None if unknown), and whether the answer is
    right.
    """

    model: str
    label: str
    confidence: float | None
    mark: str


@dataclass(frozen=True)
class Met:
    """One slot of an image: both answers, its case, and the path from one label to the other (empty without a
    distance).
    """

    slot: PairSlot
    first: Answer
    second: Answer
    case: str
    way: tuple[str, ...]


@dataclass
class ClassCard:
    """One chosen image: its label, all answers in the order of the models, and its pairs or the draw that
    chose it.
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
    """Return right, wrong or undecided for 1, 0 and NaN; '' without a label.

    >>> mark(1.0), mark(0.0), mark(math.nan), mark(math.nan, labelled=False)
    ('right', 'wrong', 'undecided', '')
    """
    if not labelled:
        return ""
    return "undecided" if math.isnan(correct) else "right" if correct else "wrong"


def case(first: str, second: str) -> str:
    """Return the case of two marks: I, II or III, '' if one is not decided.

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
    """Return the cards of the chosen images without thumbnails, and the number of images left out.

    ``said`` holds all models' answers, ``correct`` {image: (J,)} and ``truths`` {image: label} describe the
    labelled images; ``way`` returns the path between two labels.
    """
    column = {image: k for k, image in enumerate(said.images)}
    rows: dict[str, list[PairSlot | Draw]] = {}
    for row in chosen:
        rows.setdefault(row.image, []).append(row)
    order = sorted(rows, key=lambda image: -len(rows[image]))  # stable: draws, one row each, stay in order
    cards = []
    for image in order[:MOST]:
        answers = _answers(said, column[image], correct.get(image))
        of = {answer.model: answer for answer in answers}
        card = ClassCard(image, truths.get(image, ""), answers)
        for row in rows[image]:
            if isinstance(row, Draw):
                card.draw = row
            else:
                # a slot holds the answers at drawing time; marks belong to the current answers
                a = of[row.model_a]
                b = of[row.model_b]
                card.met.append(Met(row, a, b, case(a.mark, b.mark), way(row.label_a, row.label_b)))
        card.met.sort(key=lambda met: (-met.slot.distance, met.slot.step))
        cards.append(card)
    return cards, max(len(order) - MOST, 0)


def _answers(said: Predictions, k: int, correct: np.ndarray | None) -> list[Answer]:
    out = []
    for j, model in enumerate(said.models):
        place = int(said.labels[j, k])
        sure = float(said.probabilities[j, k])
        label = said.classes.names[place] if place >= 0 else ""
        right = (
            mark(float(correct[j]) if correct is not None else math.nan, correct is not None) if label else ""
        )
        out.append(Answer(model, label, None if math.isnan(sure) else sure, right))
    return out
