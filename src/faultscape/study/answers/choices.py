"""Which of two models' maps people find better: two-alternative choices (Yan et al. 2021, section 4.4).

Conventions: a choice is of an image and two models, whose order means nothing; ``chosen`` is `first`,
`second`, `both good`, `both bad`, `not sure` or `skip`, and '' where it was taken back. The latest of a
person's rows for an image, two models and a repeat counts. A row says which maps were shown, by their
digests: once a model's map changes, choices about the old one no longer count. Models stand in a row as they
were called then; who reads is told what they are called now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from faultscape.study.answers.database import Database
from faultscape.study.answers.new_rows import new_rows
from faultscape.study.answers.renames import chains
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
    """What one person said about two maps of one image; ``left`` is `first` or `second`, ``repeat`` 0 or 1
    where the same was asked again in the other order.
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
    """What is asked of one person: an image, two models in the order of their names, and whether for the
    second time.
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
        """Take one choice; returns False for one that was taken before, by its key."""
        return self._held.add_once(CHOICES, _row(choice, source))

    def add_all(self, choices: Iterable[Choice], source: str) -> int:
        """Take choices of a file: those that stand already are left out (`new_rows`). Returns how many are
        new.
        """
        new = new_rows(self.rows(), choices, lambda one: (one.truth, question_of(one)), _said)
        self._held.add(CHOICES, [_row(one, source) for one in new])
        return len(new)

    def rows(self, truth: str | None = None, *, after: int = 0, image: str | None = None) -> list[Choice]:
        """Return all rows, or those of an ``image`` alone, or whose number is beyond ``after``, those that
        take back and those before them too, in the order in which they came, of models by what they are
        called now.
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
        """Return the choices of a truth that count: of one person and question the latest, in the order in
        which the questions were first answered.
        """
        last = {question_of(one): one for one in self.rows(truth)}
        return [one for one in last.values() if one.chosen]

    def truths(self) -> list[str]:
        """Return the names of the truths that choices are of, sorted."""
        last = {(one.truth, question_of(one)): one for one in self.rows()}
        return sorted({of for (of, _), one in last.items() if one.chosen and of != TRAINING})

    def take_back(self, choices: Iterable[Choice], source: str) -> None:
        """Take choices back; what was said stays in the database."""
        self._held.add(
            CHOICES, [_row(replace(one, chosen="", key=None, time=0.0), source) for one in choices]
        )

    def rename(self, renamed: Mapping[str, str]) -> None:
        """Call models otherwise, {was: now}, in all that was said so far."""
        if rows := self._held.read(CHOICES, "number"):
            self._held.add(
                RENAMED,
                [
                    {"until": rows[-1][0], "was": was, "now": now, "kind": "model"}
                    for was, now in renamed.items()
                ],
            )


def _said(choice: Choice) -> str | None:
    """Return what a choice says whichever of the two models it names first, and of which maps; None where it
    was taken back.
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
