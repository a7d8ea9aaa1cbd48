"""Which of two models' maps people find better: two-alternative choices (Yan et al. 2021, section 4.4).

Conventions: a choice is about an image and two models, whose order does not matter; ``chosen`` is `first`,
`second`, `both good`, `both bad`, `not sure` or `skip`, and '' if it was withdrawn. The latest of a person's
rows for an image, two models and a repeat counts. A row records the digests of the maps that were shown: once
a model's map changes, choices about the old one no longer count. Rows store the models' names of their time;
readers get the current names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from faultscape.study.answers.database import Database
from faultscape.study.answers.new_rows import chains, new_rows
from faultscape.study.answers.schema import CHOICES, LABELS, RENAMED, TRAINING

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


class Choices:
    """The two-alternative choices of one study."""

    def __init__(self, root: Path, database: Database | None = None) -> None:
        self._held = database or Database(root)

    def add(self, choice: Choice, source: str) -> bool:
        """Add one choice; returns False if one with its key exists."""
        return self._held.add_once(CHOICES, _row(choice, source))

    def add_all(self, choices: Iterable[Choice], source: str) -> int:
        """Add the choices of a file, without those already stored (`new_rows`). Returns how many are new."""
        new = new_rows(self.rows(), choices, lambda one: (one.truth, question_of(one)), _said)
        self._held.add(CHOICES, [_row(one, source) for one in new])
        return len(new)

    def rows(self, truth: str | None = None, *, after: int = 0, image: str | None = None) -> list[Choice]:
        """Return all rows in order of arrival, including withdrawals and what they withdraw, with current
        names of models; optionally only those of an ``image``, or with a number beyond ``after``.
        """
        where = {name: value for name, value in (("truth", truth), ("image", image)) if value is not None}
        rows = self._held.read(CHOICES, *_COLUMNS, "shown", after=after, **where)
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
        last = {question_of(one): one for one in self.rows(truth)}
        return [one for one in last.values() if one.chosen]

    def truths(self) -> list[str]:
        """Return the names of the truths with choices, sorted."""
        last = {(one.truth, question_of(one)): one for one in self.rows()}
        return sorted({of for (of, _), one in last.items() if one.chosen and of != TRAINING})

    def take_back(self, choices: Iterable[Choice], source: str) -> None:
        """Withdraw choices; their rows stay in the database."""
        self._held.add(
            CHOICES, [_row(replace(one, chosen="", key=None, time=0.0), source) for one in choices]
        )

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


def _said(choice: Choice) -> str | None:
    """Return a choice independent of the order of its two models, with the digests of its maps; None if it
    was withdrawn.
    """
    if not choice.chosen:
        return None
    one = choice if choice.first <= choice.second else choice.turned
    return f"{one.chosen}\n{one.first_shown}\n{one.second_shown}"


def _row(choice: Choice, source: str) -> dict[str, object]:
    return {
        "key": choice.key,
        "truth": choice.truth,
        "image": choice.image,
        "first": choice.first,
        "second": choice.second,
        "first_shown": choice.first_shown,
        "second_shown": choice.second_shown,
        "left": choice.left,
        "chosen": choice.chosen,
        "annotator": choice.annotator,
        "repeat": choice.repeat,
        "seconds": choice.seconds,
        "shown": choice.shown,
        "source": source,
        **({"time": choice.time} if choice.time else {}),
    }
