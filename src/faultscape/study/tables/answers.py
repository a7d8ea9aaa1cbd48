"""answers.sqlite: what people said that is no label map: which images they discarded, and whether an image shows a class.

Conventions: every answer is a row that is never changed; the latest row of a key counts, and a row that takes back leaves none that does. Answers of different truths are of different groups of people, and never meet.
A class stands in a row as it was called then: that it is called something else is a row of its own (``renamed``), which is of all answers up to the one whose number is ``until``. Whoever reads is told what classes are called now.
Files of studies of version 1 hold no name of a truth: all that they hold is of truth `labels`; they are read as they are, and who writes has added the column before (study.versions).
SQLAlchemy, so that the same tables can lie in a server's database; this is its only home in the package, and it is loaded where there are answers.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.errors import StudyError
from faultscape.study.settings import read_settings

if TYPE_CHECKING:
    import sqlalchemy as sa

LABELS = "labels"  # the truth of answers of version 1
_TAKEN_BACK = ""  # the answer of a row that takes back
_NO_DISCARD = "(taken back)"  # the source of a row that takes a discard back
_DISCARDS, _ANSWERS, _RENAMED = "discards", "answers", "renamed"


@cache
def _tables() -> Mapping[str, sa.Table]:
    import sqlalchemy as sa

    def text(name: str, **more: Any) -> sa.Column[str]:
        return sa.Column(name, sa.Text, nullable=False, **more)

    def table(name: str, *columns: sa.Column[Any]) -> sa.Table:
        number, moment = sa.Column("number", sa.Integer, primary_key=True), sa.Column("time", sa.Float, nullable=False)
        return sa.Table(name, together, number, *columns, moment, *behind.get(name, ()))

    def said(name: str, *columns: sa.Column[str]) -> sa.Table:
        return table(name, text("image", index=True), *columns, text("source"))

    together, behind = sa.MetaData(), {_ANSWERS: [text("truth", server_default=LABELS)]}
    discards = said(_DISCARDS, text("reason"))
    answers = said(_ANSWERS, text("class"), text("annotator"), text("answer"))
    renamed = table(_RENAMED, sa.Column("until", sa.Integer, nullable=False), text("was"), text("now"))
    return {_DISCARDS: discards, _ANSWERS: answers, _RENAMED: renamed}


class Answers:
    """The answers of one study."""

    def __init__(self, root: Path) -> None:
        self._root, self._path = root, root / "answers.sqlite"

    @property
    def there(self) -> bool:
        """Whether anybody answered or discarded anything yet."""
        return self._path.exists()

    @cached_property
    def _engine(self) -> sa.Engine:
        import sqlalchemy as sa

        return sa.create_engine(f"sqlite:///{self._path}")

    def discard(self, images: Iterable[tuple[str, str]], source: str) -> int:
        """Take images (id, reason) out of every selection; those already discarded stay so. Returns how many are new."""
        held = self.discarded()
        rows = [
            {"image": image, "reason": reason, "source": source, "time": time.time()}
            for image, reason in dict(images).items()
            if held.get(image) != reason
        ]
        self._add(_DISCARDS, rows)
        return sum(row["image"] not in held for row in rows)

    def discarded(self) -> dict[str, str]:
        """Return {image: reason} of all discarded images."""
        out: dict[str, str] = {}
        for image, why, source in self._read(_DISCARDS, "image", "reason", "source"):
            if source == _NO_DISCARD:
                out.pop(image, None)
            else:
                out[image] = why
        return out

    def keep(self, images: Iterable[str]) -> int:
        """Take the discards of some images back. Returns how many were discarded."""
        held = self.discarded()
        mine = [image for image in dict.fromkeys(images) if image in held]
        self._add(_DISCARDS, [{"image": image, "reason": "", "source": _NO_DISCARD, "time": time.time()} for image in mine])
        return len(mine)

    def answer(self, answers: Iterable[tuple[str, str, str, str]], source: str, truth: str = LABELS) -> int:
        """Take answers (image, class, annotator, answer) of a truth; of one person and question the latest counts. Returns how many say something new."""
        held = {row[:3]: row[3] for row in self.answers(truth)}
        last = {row[:3]: row[3] for row in answers}
        new = [(*key, said) for key, said in last.items() if held.get(key) != said]
        names, more = ("image", "class", "annotator", "answer"), {"source": source, "truth": truth}
        self._add(_ANSWERS, [{**dict(zip(names, row, strict=True)), **more, "time": time.time()} for row in new])
        return len(new)

    def answers(self, truth: str = LABELS) -> list[tuple[str, str, str, str]]:
        """Return all answers (image, class, annotator, answer) of a truth in the order in which they came, of classes by what they are called now."""
        rows = [row[:4] for row in self._said() if row[4] == truth]
        last = {row[:3]: place for place, row in enumerate(rows) if row[3] == _TAKEN_BACK}
        return [row for place, row in enumerate(rows) if place > last.get(row[:3], -1)]

    def take_back(self, answers: Iterable[tuple[str, str, str]], source: str, truth: str = LABELS) -> int:
        """Take answers (image, class, annotator) of a truth back; what was said stays in the file. Returns how many counted."""
        held = {row[:3] for row in self.answers(truth)}
        mine = [key for key in dict.fromkeys(answers) if key in held]
        names, more = ("image", "class", "annotator"), {"answer": _TAKEN_BACK, "source": source, "truth": truth}
        self._add(_ANSWERS, [{**dict(zip(names, key, strict=True)), **more, "time": time.time()} for key in mine])
        return len(mine)

    def truths(self) -> list[str]:
        """Return the names of the truths that answers are of, sorted; one whose answers were all taken back is none."""
        counts = {(*key, truth): said for *key, said, truth in self._said()}
        return sorted({key[-1] for key, said in counts.items() if said != _TAKEN_BACK})

    def rename(self, renamed: Mapping[str, str]) -> None:
        """Call classes of the study's list, {name: one that no class of it has}, something else in all that was said so far.

        What older files hold under the first name of a class that was renamed before is entered under the name that it has now, so that no later list forgets it.
        """
        if not (rows := self._read(_ANSWERS, "number", "class")):
            return
        called, known = _chains(self._read(_RENAMED, "until", "was", "now")), self._classes()
        chains = dict.fromkeys(called(word, number) for number, word in rows)
        settled = {names[-1]: now for names in chains if (now := _latest(names, known)) != names[-1]}
        about = {"until": rows[-1][0], "time": time.time()}
        self._add(_RENAMED, [{**about, "was": was, "now": now} for was, now in [*settled.items(), *renamed.items()]])

    def name_truths(self) -> None:
        """Give answers that lack it the name of their truth, which is `labels`; nothing where all have one."""
        import sqlalchemy as sa
        from sqlalchemy.exc import SQLAlchemyError

        try:
            with self._engine.begin() as connection:
                there = sa.inspect(connection).has_table(_ANSWERS)
                if there and "truth" not in _columns(connection, _ANSWERS):
                    connection.exec_driver_sql(f"ALTER TABLE answers ADD COLUMN truth TEXT NOT NULL DEFAULT '{LABELS}'")
        except SQLAlchemyError as error:
            raise StudyError(f"cannot change {self._path}: {error.__class__.__name__}: {str(error).splitlines()[0]}") from None
        finally:
            self._engine.dispose()

    def _said(self) -> list[tuple[str, str, str, str, str]]:
        """Return all rows (image, class as it is called now, annotator, answer, truth), those that take back too."""
        if not (rows := self._read(_ANSWERS, "number", "image", "class", "annotator", "answer", "truth")):
            return []
        called, known = _chains(self._read(_RENAMED, "until", "was", "now")), self._classes()
        return [(image, _latest(called(word, number), known), *more) for number, image, word, *more in rows]

    def _classes(self) -> dict[str, str]:
        """Return {name, or first name: what the class is called now} of the study's classes; a name that is another's first is its own."""
        if not (self._root / "study.toml").exists():
            return {}
        classes = read_settings(self._root).classes
        return {first: name for name, first in classes.first_name_of.items()} | {name: name for name in classes.names}

    def _add(self, name: str, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        from sqlalchemy.exc import SQLAlchemyError

        table = _tables()[name]
        try:
            table.metadata.create_all(self._engine)
            with self._engine.begin() as connection:
                connection.execute(table.insert(), rows)
        except (SQLAlchemyError, OSError) as error:
            raise StudyError(f"cannot write {self._path}: {error.__class__.__name__}: {str(error).splitlines()[0]}") from None
        finally:
            self._engine.dispose()

    def _read(self, name: str, *columns: str) -> list[Any]:
        """Return some columns of a table in the order of its rows; none where there is no such table yet."""
        if not self._path.exists():
            return []
        import sqlalchemy as sa
        from sqlalchemy.exc import SQLAlchemyError

        table = _tables()[name]
        try:
            with self._engine.connect() as connection:
                if not sa.inspect(connection).has_table(name):
                    return []
                there = _columns(connection, name)
                wanted = [table.c[column] if column in there else sa.literal(LABELS) for column in columns]
                return [tuple(row) for row in connection.execute(sa.select(*wanted).select_from(table).order_by(table.c.number))]
        except SQLAlchemyError as error:
            raise StudyError(f"cannot read {self._path}: {error.__class__.__name__}: {str(error).splitlines()[0]}") from None
        finally:
            self._engine.dispose()


def _chains(renamed: Sequence[tuple[int, str, str]]) -> Callable[[str, int], tuple[str, ...]]:
    """Return a function from the class of an answer and its number to all that this class was called from then on, of rows (until, was, now).

    >>> called = _chains([(5, "cat", "feline"), (5, "feline", "felid"), (9, "dog", "cat")])
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


def _latest(names: Sequence[str], known: Mapping[str, str]) -> str:
    """Return which class of now a chain of names ends at; where its end is none, the name before, since a line may have been killed before it put the new list."""
    return next((known[name] for name in names[:-3:-1] if name in known), names[-1])


def _columns(connection: sa.Connection, name: str) -> set[str]:
    """Return the names of the columns that a table has in its file."""
    import sqlalchemy as sa

    return {column["name"] for column in sa.inspect(connection).get_columns(name)}
