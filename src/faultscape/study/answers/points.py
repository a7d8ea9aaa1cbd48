"""What people see at single pixels of images: the answers to points (``select --points``).

Conventions: ``row`` and ``column`` are those of a pixel of the image, from 0 at its top left. An answer is
the name of a class, `void` (no class of the list), `cannot tell`, or two classes joined by ``|`` where the
pixel lies on a border between them; '' withdraws the person's previous one. A class with the name of one of
these words is meant before the word. The latest row of a truth, pixel, annotator and repeat counts. Rows
store the class names of their time; readers get the current names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import NamedTuple

from faultscape.nouns import BORDER, CANNOT_TELL, VOID
from faultscape.study.answers.question_table import ClassTable
from faultscape.study.answers.schema import LABELS, POINTS


@dataclass(frozen=True)
class PointAnswer:
    """One person's answer to what a pixel of an image shows; ``repeat`` is 0, or 1 if the same was asked
    again, ``shown`` what the page that asked reports about it.
    """

    image: str
    row: int
    column: int
    answer: str
    annotator: str
    truth: str = LABELS
    repeat: int = 0
    seconds: float | None = None
    shown: str = ""
    key: str | None = None
    time: float = 0.0


class PointQuestion(NamedTuple):
    """A question to one person: a pixel of an image, and whether it is asked for the second time."""

    image: str
    row: int
    column: int
    annotator: str
    repeat: int


def point_question(answer: PointAnswer) -> PointQuestion:
    """Return the question that an answer answers."""
    return PointQuestion(answer.image, answer.row, answer.column, answer.annotator, answer.repeat)


def classes_seen(answer: str, names: Collection[str]) -> tuple[str, ...] | None:
    """Return which classes of a list (``names``) an answer sees: one, two on a border, none where it is void
    or its person cannot tell; None if it means nothing.

    >>> names = ["road", "car"]
    >>> classes_seen("road", names), classes_seen("car|road", names), classes_seen("void", names)
    (('road',), ('car', 'road'), ())
    >>> classes_seen("rode", names), classes_seen("road|road", names)
    (None, None)
    """
    if answer in names:
        return (answer,)
    if answer in (VOID, CANNOT_TELL):
        return ()
    for place, letter in enumerate(answer):
        both = answer[:place], answer[place + 1 :]
        if letter == BORDER and both[0] != both[1] and all(name in names for name in both):
            return both
    return None


def _words(answer: str) -> tuple[str, ...]:
    """Return the names that an answer may hold: all of it, and those of a border."""
    return (answer, *_parts(answer))


def _parts(answer: str) -> tuple[str, ...]:
    """Return the words of an answer that names a border."""
    return tuple(answer.split(BORDER)) if BORDER in answer else ()


def _renamed(answer: str, now: Callable[[str], str]) -> str:
    whole = now(answer)
    if whole != answer or not (parts := _parts(answer)):
        return whole
    return BORDER.join(now(word) for word in parts)


class PointAnswers(ClassTable[PointAnswer]):
    """The answers to points of one study."""

    table = POINTS
    row = PointAnswer
    says = "answer"
    kind = "class of a point"
    question = staticmethod(point_question)
    meaning = staticmethod(lambda row: row.answer or None)
    words = staticmethod(_words)
    renamed = staticmethod(_renamed)
