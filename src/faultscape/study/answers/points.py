"""What people see at single pixels of images: the answers to points (``select --points``).

Conventions: ``row`` and ``column`` are those of a pixel of the image, from 0 at its top left. An answer is
the name of a class, `void` (no class of the list), `cannot tell`, or two classes joined by ``|`` where the
pixel lies on a border between them; '' withdraws the person's previous one. A class with the name of one of
these words is meant before the word. The latest row of a truth, pixel, annotator and repeat counts. Rows
store the class names of their time; readers get the current names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from faultscape.nouns import BORDER, CANNOT_TELL, VOID
from faultscape.study.answers.database import Database
from faultscape.study.answers.new_rows import RenamedClasses
from faultscape.study.answers.question_table import QuestionTable
from faultscape.study.answers.schema import LABELS, POINTS
from faultscape.study.settings import ClassSettings, read_settings

_COLUMNS = (
    "number",
    "image",
    "row",
    "column",
    "answer",
    "annotator",
    "truth",
    "repeat",
    "seconds",
    "shown",
    "key",
    "time",
)


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


class PointAnswers(QuestionTable[PointAnswer]):
    """The answers to points of one study. ``classes`` returns its classes, by default as study.toml names
    them whenever answers are read.
    """

    table = POINTS
    says = "answer"
    question = staticmethod(point_question)
    meaning = staticmethod(lambda row: row.answer or None)

    def __init__(
        self,
        root: Path,
        database: Database | None = None,
        classes: Callable[[], ClassSettings] | None = None,
    ) -> None:
        super().__init__(root, database)
        self._root = root
        self._settings = classes or (lambda: read_settings(root).classes)

    @property
    def _classes(self) -> RenamedClasses:
        return RenamedClasses(self._root, self._held, "class of a point", self._settings)

    def rows(
        self, truth: str | None = None, *, after: int = 0, image: str | None = None
    ) -> list[PointAnswer]:
        if not (rows := self._held.read(POINTS, *_COLUMNS, after=after, **self._where(truth, image))):
            return []
        classes = self._classes
        return [
            PointAnswer(on, row, column, _renamed(classes, said, number), *more)
            for number, on, row, column, said, *more in rows
        ]

    def answers(self, truth: str = LABELS) -> list[PointAnswer]:
        """Return the answers of a truth that count: the latest per person and question, in the order in which
        the questions were first answered.
        """
        return self.latest(truth)

    def rename(self, renamed: Mapping[str, str]) -> None:
        """Rename classes of the study's list in all answers so far, {name: one that no class has}."""
        if rows := self._held.read(POINTS, "number", "answer"):
            words = [(number, word) for number, said in rows for word in (said, *_parts(said))]
            self._classes.rename(rows[-1][0], words, renamed)


def _parts(answer: str) -> tuple[str, ...]:
    """Return the words of an answer that names a border."""
    return tuple(answer.split(BORDER)) if BORDER in answer else ()


def _renamed(classes: RenamedClasses, answer: str, number: int) -> str:
    whole = classes.now(answer, number)
    if whole != answer or not (parts := _parts(answer)):
        return whole
    return BORDER.join(classes.now(word, number) for word in parts)
