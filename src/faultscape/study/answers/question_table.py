"""A table of answers to questions, of which the latest of each person and question counts, for each truth; an
empty answer withdraws the previous one.

Conventions: a row is a frozen dataclass whose fields are columns of the table, among them ``truth``, ``key``
and ``time``. Rows are only added.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from faultscape.study.answers.database import Database
from faultscape.study.answers.new_rows import new_rows
from faultscape.study.answers.schema import TRAINING

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
