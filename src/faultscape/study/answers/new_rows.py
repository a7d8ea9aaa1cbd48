"""Find the rows of a file that a table of answers lacks, so that a file may be read twice.

Conventions: a row is a frozen dataclass. With a ``key`` it is new if no row has that key; without a key but
with a ``time``, if the table holds the same row less often; a row with neither is new if it differs from the
latest one of its question, and the file's last row for the question does not already count.

The current names of classes and models in older answers.

Conventions: a row (until, was, now) applies to all answers up to the one whose number is ``until``. A table
of answers stores the class names of its time; a new name is a row of ``renamed`` of the ``kind`` of the
table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from faultscape.study.answers.database import Database
from faultscape.study.answers.schema import RENAMED
from faultscape.study.settings import ClassSettings


class _Row(Protocol):
    @property
    def key(self) -> str | None: ...
    @property
    def time(self) -> float: ...


Row = TypeVar("Row", bound=_Row)


def new_rows(
    held: Iterable[Row],
    rows: Iterable[Row],
    question: Callable[[Row], Hashable],
    says: Callable[[Row], object],
) -> list[Row]:
    """Return the rows that a table with the rows ``held`` lacks, in their order; ``says`` returns None for a
    withdrawal.

    >>> from faultscape.study.answers.tags import Tag
    >>> rows = [
    ...     Tag("x", "dark", "ann", key="1"),
    ...     Tag("x", "dark", "ann", given=False, time=5.0),
    ...     Tag("x", "dark", "ann", key="1"),
    ... ]
    >>> (
    ...     len(new_rows([], rows, lambda one: one.image, lambda one: one.given or None)),
    ...     len(new_rows(rows[:2], rows, lambda one: one.image, lambda one: one.given or None)),
    ... )
    (2, 0)
    """
    keys = set[str]()
    there = Counter[tuple[object, ...]]()
    last = dict[Hashable, object]()
    rows = list(rows)
    for one in held:
        if one.key is None:
            there[_whole(one)] += 1
        else:
            keys.add(one.key)
        last[question(one)] = says(one)
    ends = {question(one): says(one) for one in rows if one.key is None and not one.time}
    settled = {asked for asked, said in ends.items() if asked in last and last[asked] == said}
    new = list[Row]()
    for one in rows:
        asked = question(one)
        if one.key is not None and one.key in keys:
            continue
        if one.time and one.key is None and there[_whole(one)] > 0:
            there[_whole(one)] -= 1
            continue
        if not one.time and (last.get(asked) == says(one) or (one.key is None and asked in settled)):
            continue
        if one.key is not None:
            keys.add(one.key)
        last[asked] = says(one)
        new.append(one)
    return new


def _whole(row: object) -> tuple[object, ...]:
    return tuple(vars(row).values())


def chains(renamed: Sequence[tuple[int, str, str]]) -> Callable[[str, int], tuple[str, ...]]:
    """Return a function from a name in an answer and the answer's number to all names that its class or model
    has had since, from rows (until, was, now).

    >>> called = chains([(5, "cat", "feline"), (5, "feline", "felid"), (9, "dog", "cat")])
    >>> called("cat", 5), called("cat", 6), called("dog", 6)
    (('cat', 'feline', 'felid'), ('cat',), ('dog', 'cat'))
    """
    until = [number for number, _, _ in renamed]

    @cache
    def chain(word: str, begin: int) -> tuple[str, ...]:
        names = [word]
        for _, was, now in renamed[begin:]:
            names += [now] if was == names[-1] else []
        return tuple(names)

    return lambda word, number: chain(word, bisect_left(until, number))


def latest_name(names: Sequence[str], known: Mapping[str, str]) -> str:
    """Return the current class at the end of a chain of names; if its last name is unknown, the class of the
    name before, since a command may have been killed before it stored the new list.
    """
    return next((known[name] for name in names[:-3:-1] if name in known), names[-1])


class RenamedClasses:
    """How the classes in the answers of one table are called now; ``classes`` returns those of the study."""

    def __init__(self, root: Path, held: Database, kind: str, classes: Callable[[], ClassSettings]) -> None:
        self._root = root
        self._held = held
        self._kind = kind
        self._classes = classes

    @cached_property
    def _chains(self) -> Callable[[str, int], tuple[str, ...]]:
        return chains(self._held.read(RENAMED, "until", "was", "now", kind=self._kind))

    @cached_property
    def _known(self) -> dict[str, str]:
        """{name, or first name: current name} of the study's classes; a name that is the first name of
        another class is its own.
        """
        if not (self._root / "study.toml").exists():
            return {}
        classes = self._classes()
        return {first: name for name, first in classes.first_name_of.items()} | {
            name: name for name in classes.names
        }

    def now(self, word: str, number: int) -> str:
        """Return the current name of the class that answer ``number`` calls ``word``."""
        return latest_name(self._chains(word, number), self._known)

    def rename(self, last: int, words: Iterable[tuple[int, str]], renamed: Mapping[str, str]) -> None:
        """Rename classes, {name: a name that no class of the study has}, in all answers up to the ``last``,
        whose words are (number, name).

        Answers in older files under the first name of a class that was renamed before are entered under its
        current name, so that no later list loses them.
        """
        names_of = dict.fromkeys(self._chains(word, number) for number, word in words)
        settled = {
            names[-1]: now for names in names_of if (now := latest_name(names, self._known)) != names[-1]
        }
        about = {"until": last, "kind": self._kind}
        self._held.add(
            RENAMED, [{**about, "was": was, "now": now} for was, now in [*settled.items(), *renamed.items()]]
        )
