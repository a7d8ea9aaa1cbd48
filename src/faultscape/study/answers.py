"""answers.sqlite: what people said that is no label map - here, which images they discarded.

Conventions: every answer is a row that is never changed; the latest row of a key counts. SQLAlchemy, so that the same tables can lie in a server's
database; this is its only home in the package.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from faultscape.errors import StudyError

_TABLES = sa.MetaData()
_DISCARDS = sa.Table(
    "discards",
    _TABLES,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("image", sa.Text, nullable=False, index=True),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("time", sa.Float, nullable=False),
)


class Answers:
    """The answers of one study."""

    def __init__(self, root: Path) -> None:
        self._path = root / "answers.sqlite"
        self._engine = sa.create_engine(f"sqlite:///{self._path}")

    def discard(self, images: Iterable[tuple[str, str]], source: str) -> int:
        """Take images (id, reason) out of every selection; those already discarded stay so. Returns how many are new."""
        held = self.discarded()
        rows = [
            {"image": image, "reason": reason, "source": source, "time": time.time()}
            for image, reason in dict(images).items()
            if held.get(image) != reason
        ]
        if rows:
            try:
                _TABLES.create_all(self._engine)
                with self._engine.begin() as connection:
                    connection.execute(_DISCARDS.insert(), rows)
            except SQLAlchemyError as error:
                raise StudyError(f"cannot write {self._path}: {error.__class__.__name__}: {str(error).splitlines()[0]}") from None
            finally:
                self._engine.dispose()
        return sum(row["image"] not in held for row in rows)

    def discarded(self) -> dict[str, str]:
        """Return {image: reason} of all discarded images."""
        if not self._path.exists():
            return {}
        try:
            with self._engine.connect() as connection:
                rows = sa.select(_DISCARDS.c.image, _DISCARDS.c.reason).order_by(_DISCARDS.c.number)
                return {image: reason for image, reason in connection.execute(rows)}  # noqa: C416 - a result is no mapping
        except SQLAlchemyError as error:
            raise StudyError(f"cannot read {self._path}: {error.__class__.__name__}: {str(error).splitlines()[0]}") from None
        finally:
            self._engine.dispose()
