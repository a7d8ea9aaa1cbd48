"""A table of answers to questions, of which the latest of each person and question counts, for each truth; an
empty answer withdraws the previous one.

Conventions: a row is a frozen dataclass whose fields are columns of the table, among them ``truth``, ``key``
and ``time``. Rows are only added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from faultscape.study.answers.database import Database
from faultscape.study.answers.new_rows import RenamedClasses, new_rows
from faultscape.study.answers.schema import LABELS, TRAINING
from faultscape.study.settings import ClassSettings, read_settings

Row = TypeVar("Row")


def stored(row: object, source: str) -> dict[str, object]:
    """Return the columns of a row; without a time it gets that at which it is added."""
    columns = {**vars(row), "source": source}
    return {name: value for name, value in columns.items() if name != "time" or value}


class QuestionTable(ABC, Generic[Row]):
    """The answers of one study in one ``table``; ``says`` is the column that is empty for a withdrawal,
    ``question`` what a row answers and whom it was asked, ``meaning`` equal for rows that say the same, None
    for a withdrawal.
    """

    table: ClassVar[str]
    says: ClassVar[str]
    question: ClassVar[staticmethod[[Any], Hashable]]
    meaning: ClassVar[staticmethod[[Any], object]]

    def __init__(self, root: Path, database: Database | None = None) -> None:
        self._held = database or Database(root)

    @abstractmethod
    def rows(self, truth: str | None = None, *, after: int = 0, image: str | None = None) -> list[Row]:
        """Return all rows in order of arrival, including withdrawals and what they withdraw, with current
        names; optionally only those of a ``truth`` or an ``image``, or with a number beyond ``after``.
        """

    def add(self, row: Row, source: str) -> bool:
        """Add one row; returns False if one with its key exists."""
        return self._held.add_once(self.table, stored(row, source))

    def add_all(self, rows: Iterable[Row], source: str) -> int:
        """Add the rows of a file, without those already stored (`new_rows`). Returns how many are new."""
        given: Iterable[Any] = rows
        held: Iterable[Any] = self.rows()
        new = new_rows(held, given, self._asked, self.meaning)
        self._held.add(self.table, [stored(one, source) for one in new])
        return len(new)

    def take_back(self, rows: Iterable[Row], source: str) -> int:
        """Withdraw answers; their rows stay in the database. Returns how many."""
        given: Iterable[Any] = rows
        gone = [replace(one, **{self.says: "", "key": None, "time": 0.0}) for one in given]
        self._held.add(self.table, [stored(one, source) for one in gone])
        return len(gone)

    def latest(self, truth: str) -> list[Row]:
        """Return the answers of a truth that count, in the order in which the questions were first
        answered.
        """
        last = {self.question(one): one for one in self.rows(truth)}
        return [one for one in last.values() if self.meaning(one) is not None]

    def truths(self) -> list[str]:
        """Return the names of the truths with answers, sorted."""
        last = {self._asked(one): self.meaning(one) for one in self.rows()}
        return sorted({of for (of, _), said in last.items() if said is not None and of != TRAINING})

    def _asked(self, row: Any) -> tuple[str, Hashable]:
        return row.truth, self.question(row)

    def _where(self, truth: str | None, image: str | None) -> dict[str, str]:
        return {name: value for name, value in (("truth", truth), ("image", image)) if value is not None}


class ClassTable(QuestionTable[Row]):
    """The answers of one study that name classes in the text that they say; ``kind`` is what renaming one of
    these classes is stored as, ``words`` the names that a text may hold, ``renamed`` the text with each name
    replaced by what a function returns. ``classes`` returns the classes of the study, by default as
    study.toml names them whenever answers are read.
    """

    row: ClassVar[type[Any]]
    kind: ClassVar[str]
    words: ClassVar[staticmethod[[str], Iterable[str]]]
    renamed: ClassVar[staticmethod[[str, Callable[[str], str]], str]]

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
        return RenamedClasses(self._root, self._held, self.kind, self._settings)

    def rows(self, truth: str | None = None, *, after: int = 0, image: str | None = None) -> list[Row]:
        columns = [column.name for column in fields(self.row)]
        rows = self._held.read(self.table, "number", *columns, after=after, **self._where(truth, image))
        classes = self._classes
        said = columns.index(self.says)
        return [
            self.row(*of[:said], self.renamed(of[said], partial(classes.now, number=number)), *of[said + 1 :])
            for number, *of in rows
        ]

    def answers(self, truth: str = LABELS) -> list[Row]:
        """Return the answers of a truth that count: the latest per person and question, in the order in which
        the questions were first answered.
        """
        return self.latest(truth)

    def rename(self, renamed: Mapping[str, str]) -> None:
        """Rename classes of the study's list in all answers so far, {name: one that no class has}."""
        if rows := self._held.read(self.table, "number", self.says):
            words = [(number, word) for number, said in rows for word in self.words(said)]
            self._classes.rename(rows[-1][0], words, renamed)
