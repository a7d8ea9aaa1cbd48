"""answers.sqlite: what people said that is no label map: which images they discarded, and whether an image shows a class.

Conventions: every answer is a row that is never changed; the latest row of a key counts, and a row that takes back leaves none that does. Answers of different truths are of different groups of people, and never meet.
Files of studies of version 1 hold no name of a truth: all that they hold is of truth `labels`; they are read as they are, and who writes has added the column before (study.versions).
SQLAlchemy, so that the same tables can lie in a server's database; this is its only home in the package, and it is loaded where there are answers.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.errors import StudyError

if TYPE_CHECKING:
    import sqlalchemy as sa

LABELS = "labels"  # the truth of answers of version 1
_TAKEN_BACK = ""  # the answer of a row that takes back
_NO_DISCARD = "(taken back)"  # the source of a row that takes a discard back
_DISCARDS, _ANSWERS = "discards", "answers"


@cache
def _tables() -> Mapping[str, sa.Table]:
    import sqlalchemy as sa

    def text(name: str, **more: Any) -> sa.Column[str]:
        return sa.Column(name, sa.Text, nullable=False, **more)

    def table(name: str, *columns: sa.Column[str]) -> sa.Table:
        number, moment = sa.Column("number", sa.Integer, primary_key=True), sa.Column("time", sa.Float, nullable=False)
        return sa.Table(
            name, together, number, text("image", index=True), *columns, text("source"), moment, *behind.get(name, ())
        )

    together, behind = sa.MetaData(), {_ANSWERS: [text("truth", server_default=LABELS)]}
    discards = table(_DISCARDS, text("reason"))
    return {_DISCARDS: discards, _ANSWERS: table(_ANSWERS, text("class"), text("annotator"), text("answer"))}


class Answers:
    """The answers of one study."""

    def __init__(self, root: Path) -> None:
        self._path = root / "answers.sqlite"

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
        """Return all answers (image, class, annotator, answer) of a truth in the order in which they came."""
        rows = [row[:4] for row in self._read(_ANSWERS, "image", "class", "annotator", "answer", "truth") if row[4] == truth]
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
        counts = {
            (*key, truth): said for *key, said, truth in self._read(_ANSWERS, "image", "class", "annotator", "answer", "truth")
        }
        return sorted({key[-1] for key, said in counts.items() if said != _TAKEN_BACK})

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


def _columns(connection: sa.Connection, name: str) -> set[str]:
    """Return the names of the columns that a table has in its file."""
    import sqlalchemy as sa

    return {column["name"] for column in sa.inspect(connection).get_columns(name)}
