"""Which images people discarded, and their answers to whether an image shows a class.

Conventions: every answer is a row that is never changed; the latest row of a key counts, and after a
withdrawal none does. Answers of different truths come from different groups of people and are never mixed.
Rows store the class names of their time: a new name is a row of its own (``renamed``), which applies to all
answers up to number ``until``. Readers get the current names of classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.study.answers.database import Database
from faultscape.study.answers.new_rows import RenamedClasses, new_rows
from faultscape.study.answers.schema import ANSWERS, DISCARDS, LABELS, TRAINING
from faultscape.study.settings import ClassSettings, read_settings

_TAKEN_BACK = ""  # the answer of a row that withdraws
_NO_DISCARD = "(taken back)"  # the source of a row that withdraws a discard


@dataclass(frozen=True)
class Answer:
    """One row of yes/no answers: one person's answer about an image and a class; '' withdraws the person's
    previous answer.
    """

    image: str
    class_: str
    annotator: str
    answer: str
    truth: str = LABELS
    seconds: float | None = None
    shown: str = ""
    key: str | None = None
    time: float = 0.0


@dataclass(frozen=True)
class Discard:
    """One row of discards: an image that was discarded or, if ``kept``, no longer is. With an ``annotator``
    it is a vote to discard, withdrawn by a vote without a reason.
    """

    image: str
    reason: str
    annotator: str = ""
    kept: bool = False
    key: str | None = None
    time: float = 0.0


class Answers:
    """The yes/no answers and the discards of one study. ``classes`` returns its classes, by default as
    study.toml names them whenever answers are read.
    """

    def __init__(
        self,
        root: Path,
        database: Database | None = None,
        classes: Callable[[], ClassSettings] | None = None,
    ) -> None:
        self._root = root
        self._held = database or Database(root)
        self._settings = classes or (lambda: read_settings(root).classes)

    @property
    def there(self) -> bool:
        """Whether there are any answers or discards yet."""
        return self._held.there

    def discard(self, images: Iterable[tuple[str, str]], source: str) -> int:
        """Remove images (id, reason) from every selection; those already discarded stay so. Returns how many
        are new.
        """
        held = self.discarded()
        rows = [
            {"image": image, "reason": reason, "source": source}
            for image, reason in dict(images).items()
            if held.get(image) != reason
        ]
        self._held.add(DISCARDS, rows)
        return sum(row["image"] not in held for row in rows)

    def discarded(self) -> dict[str, str]:
        """Return {image: reason} of all discarded images."""
        out: dict[str, str] = {}
        for image, why, source, annotator in self._held.read(
            DISCARDS, "image", "reason", "source", "annotator"
        ):
            if source == _NO_DISCARD:
                out.pop(image, None)
            elif not annotator:
                out[image] = why
        return out

    def taken_back_discards(self) -> set[tuple[str, str]]:
        """Return (image, reason) of the discards that were withdrawn, of images that are not discarded."""
        out: dict[str, set[str]] = {}
        held: dict[str, str] = {}
        for image, why, source, annotator in self._held.read(
            DISCARDS, "image", "reason", "source", "annotator"
        ):
            if source == _NO_DISCARD and image in held:
                out.setdefault(image, set()).add(held.pop(image))
            elif source != _NO_DISCARD and not annotator:
                held[image] = why
        return {(image, why) for image, reasons in out.items() if image not in held for why in reasons}

    def discard_rows(self) -> list[Discard]:
        """Return all rows of discards and of votes, in order of arrival."""
        rows = self._held.read(DISCARDS, "image", "reason", "annotator", "source", "key", "time")
        return [
            Discard(image, why, by, source == _NO_DISCARD, key, time)
            for image, why, by, source, key, time in rows
        ]

    def add_discards(self, rows: Iterable[Discard], source: str) -> list[Discard]:
        """Add the discards and votes of a file, without those already stored (`new_rows`). Returns those that
        are new.
        """
        new = new_rows(
            self.discard_rows(),
            rows,
            lambda one: (one.image, one.annotator),
            lambda one: None if one.kept else one.reason,
        )
        self._held.add(
            DISCARDS,
            [
                {
                    "image": one.image,
                    "reason": one.reason,
                    "annotator": one.annotator,
                    "source": _NO_DISCARD if one.kept else source,
                    "key": one.key,
                    **({"time": one.time} if one.time else {}),
                }
                for one in new
            ],
        )
        return new

    def discard_votes(self) -> dict[str, dict[str, str]]:
        """Return {image: {annotator: reason}} of people's votes to discard an image since it was last kept;
        votes alone discard nothing.
        """
        out: dict[str, dict[str, str]] = {}
        for image, why, source, annotator in self._held.read(
            DISCARDS, "image", "reason", "source", "annotator"
        ):
            if source == _NO_DISCARD:
                out.pop(image, None)
            elif annotator and why:
                out.setdefault(image, {})[annotator] = why
            elif annotator:
                out.get(image, {}).pop(annotator, None)
        return {image: votes for image, votes in out.items() if votes}

    def take_back_votes(self, annotator: str, source: str) -> int:
        """Withdraw a person's votes to discard images; discarded images stay so. Returns how many votes
        counted.
        """
        mine = [image for image, votes in self.discard_votes().items() if annotator in votes]
        self._held.add(
            DISCARDS,
            [{"image": image, "reason": "", "source": source, "annotator": annotator} for image in mine],
        )
        return len(mine)

    def keep(self, images: Iterable[str]) -> int:
        """Withdraw the discards of some images. Returns how many were discarded."""
        held = self.discarded()
        mine = [image for image in dict.fromkeys(images) if image in held]
        self._held.add(DISCARDS, [{"image": image, "reason": "", "source": _NO_DISCARD} for image in mine])
        return len(mine)

    def answer(self, answers: Iterable[tuple[str, str, str, str]], source: str, truth: str = LABELS) -> int:
        """Add answers (image, class, annotator, answer) of a truth; the latest per person and question
        counts. Returns how many are new.
        """
        held = {row[:3]: row[3] for row in self.answers(truth)}
        last = {row[:3]: row[3] for row in answers}
        new = [(*key, said) for key, said in last.items() if held.get(key) != said]
        names = ("image", "class", "annotator", "answer")
        more = {"source": source, "truth": truth}
        self._held.add(ANSWERS, [{**dict(zip(names, row, strict=True)), **more} for row in new])
        return len(new)

    def all_rows(self) -> list[Answer]:
        """Return all rows of yes/no answers, of all truths and of training, in order of arrival, with current
        names of classes.
        """
        return [Answer(*row) for row in self._said(0, "seconds", "shown", "key", "time")]

    def add_all(self, answers: Iterable[Answer], source: str) -> int:
        """Add rows of a file, without those already stored (`new_rows`). Returns how many are new."""
        new = new_rows(
            self.all_rows(),
            answers,
            lambda one: (one.truth, one.image, one.class_, one.annotator),
            lambda one: one.answer or None,
        )
        self._held.add(
            ANSWERS,
            [
                {
                    "image": one.image,
                    "class": one.class_,
                    "annotator": one.annotator,
                    "answer": one.answer,
                    "truth": one.truth,
                    "seconds": one.seconds,
                    "shown": one.shown,
                    "key": one.key,
                    "source": source,
                    **({"time": one.time} if one.time else {}),
                }
                for one in new
            ],
        )
        return len(new)

    def answers(self, truth: str = LABELS) -> list[tuple[str, str, str, str]]:
        """Return all answers (image, class, annotator, answer) of a truth in order of arrival, with current
        names of classes.
        """
        rows: list[tuple[str, str, str, str]] = [(*row[:4],) for row in self._said() if row[4] == truth]
        last = {row[:3]: place for place, row in enumerate(rows) if row[3] == _TAKEN_BACK}
        return [row for place, row in enumerate(rows) if place > last.get(row[:3], -1)]

    def rows(self, truth: str, *, after: int = 0) -> list[tuple[str, str, str, str]]:
        """Return the rows (image, class, annotator, answer) of a truth whose number is beyond ``after``, in
        order of arrival; the answer of a withdrawal is ''.
        """
        return [row[:4] for row in self._said(after) if row[4] == truth]

    def take_back(self, answers: Iterable[tuple[str, str, str]], source: str, truth: str = LABELS) -> int:
        """Withdraw answers (image, class, annotator) of a truth; their rows stay in the file. Returns how
        many counted.
        """
        held = {row[:3] for row in self.answers(truth)}
        mine = [key for key in dict.fromkeys(answers) if key in held]
        names = ("image", "class", "annotator")
        more = {"answer": _TAKEN_BACK, "source": source, "truth": truth}
        self._held.add(ANSWERS, [{**dict(zip(names, key, strict=True)), **more} for key in mine])
        return len(mine)

    def truths(self) -> list[str]:
        """Return the names of the truths with answers, sorted, without those whose answers were all
        withdrawn.
        """
        counts = {(*key, truth): said for *key, said, truth in self._said()}
        return sorted(
            {key[-1] for key, said in counts.items() if said != _TAKEN_BACK and key[-1] != TRAINING}
        )

    def rename(self, renamed: Mapping[str, str]) -> None:
        """Rename classes of the study's list in all answers so far, {name: one that no class has}."""
        if rows := self._held.read(ANSWERS, "number", "class"):
            self._class_names.rename(rows[-1][0], rows, renamed)

    def _said(self, after: int = 0, *more: str) -> list[tuple[Any, ...]]:
        """Return all rows beyond a number (image, class as it is called now, annotator, answer, truth,
        columns of ``more``), including withdrawals.
        """
        columns = ("number", "image", "class", "annotator", "answer", "truth", *more)
        if not (rows := self._held.read(ANSWERS, *columns, after=after)):
            return []
        names = self._class_names
        return [(image, names.now(word, number), *rest) for number, image, word, *rest in rows]

    @property
    def _class_names(self) -> RenamedClasses:
        return RenamedClasses(self._root, self._held, "class", self._settings)
