"""Which of two models' maps people find better: two-alternative choices (Yan et al. 2021, section 4.4).

Conventions: a choice is about an image and two models, whose order does not matter; ``chosen`` is `first`,
`second`, `both good`, `both bad`, `not sure` or `skip`, and '' if it was withdrawn. The latest of a person's
rows for an image, two models and a repeat counts. A row records the digests of the maps that were shown: once
a model's map changes, choices about the old one no longer count. Rows store the models' names of their time;
readers get the current names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from faultscape.study.answers.new_rows import chains
from faultscape.study.answers.question_table import QuestionTable
from faultscape.study.answers.schema import CHOICES, LABELS, RENAMED

WORDS = ("first", "second", "both good", "both bad", "not sure", "skip")
_COLUMNS = (
    "number",
    "truth",
    "image",
    "first",
    "second",
    "first_shown",
    "second_shown",
    "left",
    "chosen",
    "annotator",
    "repeat",
    "seconds",
    "key",
    "time",
)


@dataclass(frozen=True)
class Choice:
    """One person's choice between two maps of one image; ``left`` is `first` or `second`, ``repeat`` 0, or 1
    if the same was asked again in the other order.
    """

    image: str
    first: str
    second: str
    chosen: str
    annotator: str
    first_shown: str = ""
    second_shown: str = ""
    left: str = "first"
    repeat: int = 0
    seconds: float | None = None
    truth: str = LABELS
    shown: str = ""
    key: str | None = None
    time: float = 0.0

    @property
    def turned(self) -> Choice:
        """The same choice with the two models in the other order."""
        other = {"first": "second", "second": "first"}
        return Choice(
            self.image,
            self.second,
            self.first,
            other.get(self.chosen, self.chosen),
            self.annotator,
            self.second_shown,
            self.first_shown,
            other[self.left],
            self.repeat,
            self.seconds,
            self.truth,
            self.shown,
            self.key,
            self.time,
        )


class Question(NamedTuple):
    """A question to one person: an image, two models in the order of their names, and whether it is asked for
    the second time.
    """

    image: str
    models: tuple[str, str]
    annotator: str
    repeat: int


def question_of(choice: Choice) -> Question:
    """Return the question that a choice answers."""
    first, second = sorted((choice.first, choice.second))
    return Question(choice.image, (first, second), choice.annotator, choice.repeat)


def _said(choice: Choice) -> str | None:
    """Return a choice independent of the order of its two models, with the digests of its maps; None if it
    was withdrawn.
    """
    if not choice.chosen:
        return None
    one = choice if choice.first <= choice.second else choice.turned
    return f"{one.chosen}\n{one.first_shown}\n{one.second_shown}"


class Choices(QuestionTable[Choice]):
    """The two-alternative choices of one study."""

    table = CHOICES
    says = "chosen"
    question = staticmethod(question_of)
    meaning = staticmethod(_said)

    def rows(self, truth: str | None = None, *, after: int = 0, image: str | None = None) -> list[Choice]:
        rows = self._held.read(CHOICES, *_COLUMNS, "shown", after=after, **self._where(truth, image))
        called = chains(self._held.read(RENAMED, "until", "was", "now", kind="model")) if rows else None
        out = []
        for (
            number,
            of,
            on,
            first,
            second,
            a,
            b,
            left,
            chosen,
            annotator,
            repeat,
            seconds,
            key,
            time,
            shown,
        ) in rows:
            assert called is not None
            names = called(first, number)[-1], called(second, number)[-1]
            out.append(
                Choice(on, *names, chosen, annotator, a, b, left, repeat, seconds, of, shown, key, time)
            )
        return out

    def choices(self, truth: str = LABELS) -> list[Choice]:
        """Return the choices of a truth that count: the latest per person and question, in the order in which
        the questions were first answered.
        """
        return self.latest(truth)

    def rename(self, renamed: Mapping[str, str]) -> None:
        """Rename models, {old name: new name}, in all choices so far."""
        if rows := self._held.read(CHOICES, "number"):
            self._held.add(
                RENAMED,
                [
                    {"until": rows[-1][0], "was": was, "now": now, "kind": "model"}
                    for was, now in renamed.items()
                ],
            )
