"""Annotators: pseudonyms with one token each, and the items they were asked.

Conventions: answers name a pseudonym; a person's real name is stored only here, and is deleted with the
person. Only the SHA-256 of a token is stored, so a reader of the database cannot answer in someone else's
name. A row of ``handed`` records that someone was asked an item of a task (choices, questions, ...), for the
first time or again, which model was on the left, and in which session.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.errors import LabellingError, closest
from faultscape.study.answers.database import Database
from faultscape.study.answers.schema import ANNOTATORS, HANDED, tables

ANNOTATOR = "annotator"
ORGANISER = "organiser"
_COLUMNS = ("pseudonym", "name", "role", "since", "token")
_LINK = 16


@dataclass(frozen=True)
class Annotator:
    """One person: the pseudonym that answers use, the name shown to people, and whether they may see results
    and invite others.

    ``link`` distinguishes the person's links, so that a cookie set by a link ends with it; it grants no
    access by itself.
    """

    pseudonym: str
    name: str
    role: str
    since: float
    link: str = ""


@dataclass(frozen=True)
class Handed:
    """One item that someone was asked."""

    annotator: str
    task: str
    item: str
    repeat: int
    side: str
    session: int
    time: float = 0.0


def digest(token: str) -> str:
    """Return the digest of a token that is stored."""
    return hashlib.sha256(token.encode()).hexdigest()


def _annotator(row: Sequence[Any]) -> Annotator:
    pseudonym, name, role, since, token = row
    return Annotator(pseudonym, name, role, since, token[:_LINK])


class Annotators:
    """The people who answer questions of one study."""

    def __init__(self, root: Path, database: Database | None = None) -> None:
        self._held = database or Database(root)

    def invite(self, name: str, role: str = ANNOTATOR) -> tuple[Annotator, str]:
        """Return a new annotator and the access token, which is stored nowhere."""
        known = {one.pseudonym for one in self.everybody()}
        if name and name in {one.name for one in self.everybody()}:
            raise LabellingError(
                f"an annotator called {name!r} already exists; choose another name, or remove that one"
            )
        pseudonym = next(p for p in iter(lambda: f"person-{secrets.token_hex(3)}", "") if p not in known)
        token = secrets.token_urlsafe(24)
        made = Annotator(pseudonym, name, role, time.time(), digest(token)[:_LINK])
        self._held.create_tables()
        with self._held.connection("write") as connection:
            row = {
                "pseudonym": pseudonym,
                "name": name,
                "token": digest(token),
                "role": role,
                "since": made.since,
            }
            connection.execute(tables()[ANNOTATORS].insert(), [row])
        return made, token

    def new_token(self, pseudonym: str, role: str = "") -> str:
        """Return a new token for an annotator, who gets this ``role`` if one is given; the previous token
        becomes invalid.
        """
        token = secrets.token_urlsafe(24)
        table = tables()[ANNOTATORS]
        self._held.create_tables()
        with self._held.connection("write") as connection:
            new = {"token": digest(token), **({"role": role} if role else {})}
            done = connection.execute(table.update().where(table.c.pseudonym == pseudonym).values(new))
        if not done.rowcount:
            raise LabellingError(f"there is no annotator {pseudonym!r}")
        return token

    def everybody(self) -> list[Annotator]:
        """Return all annotators, oldest first."""
        if not self._held.there:
            return []
        import sqlalchemy as sa

        table = tables()[ANNOTATORS]
        with self._held.connection("read") as connection:
            if not self._held.has_tables(connection):
                return []
            wanted = sa.select(*(table.c[name] for name in _COLUMNS)).order_by(
                table.c.since, table.c.pseudonym
            )
            return [_annotator(row) for row in connection.execute(wanted)]

    def by_token(self, token: str) -> Annotator | None:
        """Return the annotator that a token belongs to; None if it is not valid."""
        if not self._held.there:
            return None
        import sqlalchemy as sa

        table = tables()[ANNOTATORS]
        with self._held.connection("read") as connection:
            if not self._held.has_tables(connection):
                return None
            wanted = sa.select(*(table.c[name] for name in _COLUMNS)).where(table.c.token == digest(token))
            row = connection.execute(wanted).first()
        return None if row is None else _annotator(row)

    def find(self, word: str) -> Annotator:
        """Return the annotator with a pseudonym or a name; LabellingError if there is none."""
        known = {one.pseudonym: one for one in self.everybody()}
        for one in known.values():
            if word and word in (one.pseudonym, one.name):
                return one
        names = [one.name or one.pseudonym for one in known.values()]
        have = f"there are {', '.join(names)}.{closest(word, names)}" if names else "there are none yet"
        raise LabellingError(f"there is no annotator {word!r}; {have}")

    def delete(self, pseudonym: str) -> None:
        """Delete a person's name and token; answers stay, under a pseudonym that no longer belongs to
        anyone.
        """
        self._held.create_tables()
        table = tables()[ANNOTATORS]
        with self._held.connection("write") as connection:
            connection.execute(table.delete().where(table.c.pseudonym == pseudonym))

    def hand(self, *handed: Handed) -> None:
        """Record that someone is asked items."""
        named = ("annotator", "task", "item", "repeat", "side", "session")
        self._held.add(HANDED, [{name: getattr(one, name) for name in named} for one in handed])

    def handed(self, annotator: str | None = None, *, after: int = 0) -> list[Handed]:
        """Return what was asked, in order: of one person or of everyone, only rows whose number is beyond
        ``after``.
        """
        where = {} if annotator is None else {"annotator": annotator}
        rows = self._held.read(
            HANDED, "annotator", "task", "item", "repeat", "side", "session", "time", after=after, **where
        )
        return [Handed(*row) for row in rows]
