"""The tables of answers.

Conventions: rows of answers (`SAID`) are only ever added: the database itself refuses to change or delete
one. ``number`` counts the rows of a table in order of arrival; ``time`` is seconds since 1970; ``source`` is
the file or the program that a row came from. ``key`` is the client's own id of an answer: a second row with
the same key is refused, so that an answer sent twice counts once; rows of files have none. ``about`` holds
the version of the tables, the id of their study, a secret, and instructions for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa

VERSION = 3
LABELS = "labels"  # the truth of answers that name none
SALT = "secret"  # the name of a row of ``about``
OWN = ("version", "study")  # rows of ``about`` that are not copied to another database
TRAINING = "(training)"  # instead of a truth, for items whose answer is known
DISCARDS, ANSWERS, RENAMED, CHOICES, TAGS, CHECKS, HANDED, POINTS, BOXES, ABOUT, ANNOTATORS = (
    "discards", "answers", "renamed", "choices", "tags", "checks", "handed", "points", "boxes", "about",
    "annotators",
)  # fmt: skip
_ONLY_ADDED = "answers are only ever added"
SAID = (DISCARDS, ANSWERS, RENAMED, CHOICES, TAGS, CHECKS, HANDED, POINTS, BOXES)


@cache
def tables() -> Mapping[str, sa.Table]:
    """Return {name: table}; loads SQLAlchemy."""
    import sqlalchemy as sa

    def text(name: str, **more: Any) -> sa.Column[Any]:
        return sa.Column(name, sa.Text, nullable=False, **more)

    def number(name: str, kind: Any = sa.Integer, **more: Any) -> sa.Column[Any]:
        return sa.Column(name, kind, nullable=False, **more)

    def key() -> sa.Column[Any]:
        return sa.Column("key", sa.Text, unique=True)

    def seconds() -> sa.Column[Any]:
        return sa.Column("seconds", sa.Float)

    def said(name: str, *columns: sa.Column[Any]) -> sa.Table:
        return sa.Table(
            name, together, number("number", primary_key=True), *columns, number("time", sa.Float)
        )

    together = sa.MetaData()
    empty = {"server_default": ""}
    return {
        DISCARDS: said(
            DISCARDS,
            text("image", index=True),
            text("reason"),
            text("source"),
            key(),
            text("annotator", **empty),
        ),
        ANSWERS: said(
            ANSWERS,
            text("image", index=True),
            text("class"),
            text("annotator"),
            text("answer"),
            text("source"),
            text("truth", server_default=LABELS),
            key(),
            seconds(),
            text("shown", **empty),
        ),
        RENAMED: said(
            RENAMED, number("until"), text("was"), text("now"), text("kind", server_default="class")
        ),
        CHOICES: said(
            CHOICES,
            key(),
            text("truth"),
            text("image", index=True),
            text("first"),
            text("second"),
            text("first_shown"),
            text("second_shown"),
            text("left"),
            text("chosen"),
            text("annotator"),
            number("repeat"),
            seconds(),
            text("shown"),
            text("source"),
        ),
        TAGS: said(
            TAGS,
            key(),
            text("image", index=True),
            text("region"),
            text("model"),
            text("tag"),
            number("given"),
            text("annotator"),
            text("source"),
        ),
        CHECKS: said(
            CHECKS,
            key(),
            text("truth"),
            text("image", index=True),
            number("of"),
            sa.Column("x", sa.Float),
            sa.Column("y", sa.Float),
            text("kind"),
            text("comment"),
            text("state"),
            text("annotator"),
            text("source"),
        ),
        HANDED: said(
            HANDED,
            text("annotator", index=True),
            text("task"),
            text("item"),
            number("repeat"),
            text("side"),
            number("session"),
        ),
        POINTS: said(
            POINTS,
            key(),
            text("truth"),
            text("image", index=True),
            number("row"),
            number("column"),
            text("answer"),
            text("annotator"),
            number("repeat"),
            seconds(),
            text("shown"),
            text("source"),
        ),
        BOXES: said(
            BOXES,
            key(),
            text("truth"),
            text("image", index=True),
            text("said"),
            text("annotator"),
            text("source"),
        ),
        ABOUT: sa.Table(ABOUT, together, sa.Column("name", sa.Text, primary_key=True), text("value")),
        ANNOTATORS: sa.Table(
            ANNOTATORS,
            together,
            sa.Column("pseudonym", sa.Text, primary_key=True),
            text("name"),
            text("token", unique=True),
            text("role"),
            number("since", sa.Float),
        ),
    }


def guards(dialect: str) -> list[str]:
    """Return the statements that make a database refuse to change answers; they may be run repeatedly."""
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER IF NOT EXISTS no_{verb.lower()}_of_{table} BEFORE {verb} ON {table} BEGIN SELECT"
            f" RAISE(ABORT, '{_ONLY_ADDED}'); END"
            for table in SAID
            for verb in ("UPDATE", "DELETE")
        ]
    refuse = (
        "CREATE OR REPLACE FUNCTION only_added() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE"
        f" EXCEPTION '{_ONLY_ADDED}'; END $$"
    )
    change = "BEFORE UPDATE OR DELETE ON"
    return [
        refuse,
        *(
            f"CREATE OR REPLACE TRIGGER no_change_of_{table} {change} {table} FOR EACH ROW EXECUTE FUNCTION"
            " only_added()"
            for table in SAID
        ),
    ]
