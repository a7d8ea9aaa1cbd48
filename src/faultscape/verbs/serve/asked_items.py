"""What people are asked: which of two maps of an image is better, whether an image shows a class, or what a
pixel of an image shows.

Conventions: an item has a stable id that does not reveal what it asks. The models of a choice are in the
order of their names. Discarded images are left out, and their spares are used; a choice of two models on an
image is asked once, however many cells it serves (Yan et al. 2021), and so is a pixel, however often it was
drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from faultscape.nouns import Slots
from faultscape.reading.label_counts import questions
from faultscape.reading.points.truths import Pixel, with_maps
from faultscape.reading.study import Study

CHOICES = "choices"
QUESTIONS = "questions"
POINTS = "points"


@dataclass(frozen=True)
class ChoiceItem:
    """Which of two models' maps of an image is better; ``classes`` are those for which the image was
    chosen.
    """

    id: str
    image: str
    first: str
    second: str
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class QuestionItem:
    """Whether an image shows a class; ``gloss`` describes the class."""

    id: str
    image: str
    class_: str
    gloss: str = ""


@dataclass(frozen=True)
class PointItem:
    """What a pixel of an image shows; ``predicted`` are the classes that any model predicts there, in the
    order of the class list.
    """

    id: str
    image: str
    row: int
    column: int
    predicted: tuple[str, ...] = ()


Item = ChoiceItem | QuestionItem | PointItem


def item_id(*words: str) -> str:
    """Return the id of an item from what it asks.

    >>> item_id("x", "fcn", "unet") == item_id("x", "fcn", "unet") != item_id("x", "fcn", "deeplab")
    True
    """
    return hashlib.blake2b("\0".join(words).encode("utf-8", "surrogateescape"), digest_size=9).hexdigest()


def choice_items(slots: Slots, pairs: Collection[tuple[str, str]] = ()) -> list[ChoiceItem]:
    """Return the choices between two models that a selection asks for, in its order: of duels, and on drawn
    images between the models of each of ``pairs``.
    """
    if slots.draws:
        asked = [sorted(pair) for pair in pairs]
        return [
            ChoiceItem(item_id(image, first, second), image, first, second)
            for image in slots.images
            for first, second in asked
        ]
    classes: dict[tuple[str, str, str], list[str]] = {}
    for row in slots.duels:
        first, second = sorted((row.defender, row.attacker))
        held = classes.setdefault((row.image, first, second), [])
        held += [row.class_] if row.class_ and row.class_ not in held else []
    return [ChoiceItem(item_id(*key), *key, tuple(names)) for key, names in classes.items()]


def question_items(study: Study, slots: Slots, truth: str, glosses: dict[str, str]) -> list[QuestionItem]:
    """Return the questions that a selection of classifiers asks, in its order, without those about labelled
    images.
    """
    wanted = questions(study, slots, truth)
    return [
        QuestionItem(item_id(*key), *key, glosses.get(key[1], ""))
        for key, settled in wanted.items()
        if not settled
    ]


def open_pixels(study: Study, drawn: Sequence[Pixel], truth: str, together: int) -> list[Pixel]:
    """Return the pixels that people are asked about, without those in images that have a map of the truth: in
    the order in which they were first drawn, but those of one image in a row within every ``together``.

    The first answers are a fair sample of the draws only if no draw is left out for long, so points are not
    brought together across a whole selection.
    """
    mapped = with_maps(study, list(dict.fromkeys(image for image, _, _ in drawn)), truth)
    asked = [pixel for pixel in drawn if pixel[0] not in mapped]
    out = list[Pixel]()
    for start in range(0, len(asked), together):
        by_image: dict[str, list[Pixel]] = {}
        for pixel in asked[start : start + together]:
            by_image.setdefault(pixel[0], []).append(pixel)
        out += [pixel for mine in by_image.values() for pixel in mine]
    return out


def point_id(image: str, row: int, column: int) -> str:
    """Return the id of the question what a pixel of an image shows."""
    return item_id(POINTS, image, str(row), str(column))
