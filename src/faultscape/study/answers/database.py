"""Where answers are stored: answers.sqlite in the study, or a server's database that study.toml names.

Conventions: rows are only added, each call in its own transaction, and read in order of arrival. Reading
never changes a file; writing creates the tables if there are none. Tables of another version are refused.
While a server writes to the file, it keeps a write-ahead log (``stay_open``), so that others can read; the
log is merged when the last connection closes. An address is PostgreSQL's, without a password, which every
later command would need: libpq takes it from PGPASSWORD or its password file. SQLAlchemy is loaded only if
there are answers, and only this folder of the package imports it.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultscape.errors import StudyError, closest
from faultscape.study.answers import schema
from faultscape.study.settings import AnswerSettings, read_settings

if TYPE_CHECKING:
    import sqlalchemy as sa

FILE = "answers.sqlite"
_BUSY = 30  # seconds that a writer waits for another writer
_REACHED = 10  # seconds that a server has to answer
_SERVERS = ("postgresql", "postgres")
_DRIVER = "postgresql+psycopg"
_SECRET = ("password", "sslpassword")  # keys that the query of an address may hold
_ROWS = 500  # per statement: databases limit the number of parameters
_ONE_AT_A_TIME = 0x666C7363  # the number of the lock under which tables are created


class Database:
    """The answers of one study. Errors: StudyError for a database that cannot be reached, read or written, or
    that belongs to another study.
    """

    def __init__(
        self, root: Path, *, stay_open: bool = False, settings: AnswerSettings | None = None
    ) -> None:
        self.root = root
        self._path = root / FILE
        self._open = stay_open
        self._given = settings
        self._created = False

    @cached_property
    def _settings(self) -> AnswerSettings:
        if self._given is not None:
            return self._given
        return read_settings(self.root).answers if (self.root / "study.toml").exists() else AnswerSettings()

    @property
    def place(self) -> str:
        """Where the answers are stored, for people."""
        return self._settings.url or str(self._path)

    @property
    def there(self) -> bool:
        """Whether there are any answers or discards yet."""
        return bool(self._settings.url) or self._path.exists()

    @cached_property
    def _engine(self) -> sa.Engine:
        import sqlalchemy as sa
        from sqlalchemy import event

        if self._settings.url:
            return _served(self._settings.url)
        aside = not os.access(self.root, os.W_OK) and not Path(f"{self._path}-wal").exists()
        more = "?mode=ro&immutable=1" if aside else ""
        address = f"sqlite:///file:{self._path}{more}&uri=true" if more else f"sqlite:///{self._path}"
        engine = sa.create_engine(address, connect_args={"timeout": _BUSY})
        if self._open:
            event.listen(
                engine, "connect", lambda connection, _: connection.execute("PRAGMA journal_mode=WAL").close()
            )
        return engine

    @contextmanager
    def connection(self, doing: str) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction, committed at the end; if it fails, StudyError names its
        purpose (``doing``).
        """
        from sqlalchemy.exc import OperationalError, SQLAlchemyError

        try:
            with self._engine.begin() as connection:
                yield connection
        except (SQLAlchemyError, sqlite3.Error, OSError, UnicodeError) as error:
            if self._settings.url and isinstance(error, OperationalError) and error.statement is None:
                # nothing was sent yet
                raise StudyError(f"the database {self.place} cannot be reached: {_said(error)}") from None
            raise StudyError(f"cannot {doing} {self.place}: {_reason(error)}") from None
        finally:
            if not self._open:
                self._engine.dispose()

    def close(self) -> None:
        """Close all connections; a write-ahead log is merged into its file."""
        if "_engine" not in self.__dict__:
            return
        if self._open and not self._settings.url and self._path.exists():
            from sqlalchemy.exc import SQLAlchemyError

            self._engine.dispose()
            with suppress(SQLAlchemyError, sqlite3.Error), self._engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA busy_timeout=0")  # other open connections merge the log
                connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
        self._engine.dispose()

    def add(self, name: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Add rows to a table; without rows, nothing is created."""
        if not rows:
            return
        self.create_tables()
        now = time.time()
        with self.connection("write") as connection:
            for begin in range(0, len(rows), _ROWS):
                connection.execute(
                    schema.tables()[name].insert(),
                    [{"time": now, **row} for row in rows[begin : begin + _ROWS]],
                )

    def add_once(self, name: str, row: Mapping[str, object]) -> bool:
        """Add a row unless one with its ``key`` exists; returns whether it was added, so that an answer sent
        twice counts once.
        """
        from sqlalchemy.dialects import postgresql, sqlite

        self.create_tables()
        table = schema.tables()[name]
        insert = (
            (postgresql if self._settings.url else sqlite).insert(table).values({"time": time.time(), **row})
        )
        with self.connection("write") as connection:
            once = insert.on_conflict_do_nothing(index_elements=["key"]).returning(table.c.number)
            return connection.execute(once).first() is not None

    def settle(self, name: str, value: str) -> str:
        """Return the value in ``about`` under a name, setting it to ``value`` if it is missing."""
        from sqlalchemy.dialects import postgresql, sqlite

        self.create_tables()
        about = schema.tables()[schema.ABOUT]
        insert = (postgresql if self._settings.url else sqlite).insert(about).values(name=name, value=value)
        with self.connection("write") as connection:
            connection.execute(insert.on_conflict_do_nothing(index_elements=["name"]))
            return str(connection.execute(about.select().where(about.c.name == name)).one().value)

    def note(self, name: str, value: str) -> None:
        """Set the value in ``about`` under a name, or replace it."""
        from sqlalchemy.dialects import postgresql, sqlite

        self.create_tables()
        about = schema.tables()[schema.ABOUT]
        insert = (postgresql if self._settings.url else sqlite).insert(about).values(name=name, value=value)
        with self.connection("write") as connection:
            connection.execute(
                insert.on_conflict_do_update(index_elements=["name"], set_={"value": insert.excluded.value})
            )

    def noted(self, name: str) -> str:
        """Return the value in ``about`` under a name, '' if there is none."""
        if not self.there:
            return ""
        about = schema.tables()[schema.ABOUT]
        with self.connection("read") as connection:
            if not self.has_tables(connection):
                return ""
            row = connection.execute(about.select().where(about.c.name == name)).first()
        return "" if row is None else str(row.value)

    def last_number(self, name: str) -> int:
        """Return the number of the last row of a table, 0 if it is empty."""
        if not self.there:
            return 0
        import sqlalchemy as sa

        with self.connection("read") as connection:
            if not self._has(connection, name):
                return 0
            return connection.execute(sa.select(sa.func.max(schema.tables()[name].c.number))).scalar() or 0

    def read(self, name: str, *columns: str, after: int = 0, **where: Any) -> list[Any]:
        """Return some columns of a table in row order, for rows with the values ``where`` and a number beyond
        ``after``; empty if the table does not exist yet.
        """
        if not self.there:
            return []
        import sqlalchemy as sa

        table = schema.tables()[name]
        with self.connection("read") as connection:
            if not self._has(connection, name):
                return []
            query = sa.select(*(table.c[column] for column in columns)).order_by(table.c.number)
            if after > 0:
                query = query.where(table.c.number > after)
            for column, value in where.items():
                query = query.where(table.c[column] == value)
            return [tuple(row) for row in connection.execute(query)]

    def create_tables(self) -> None:
        """Create the tables unless they exist; StudyError for tables of another version or another study."""
        if self._created:
            return
        with self.connection("write") as connection:
            alone = (
                f"SELECT pg_advisory_xact_lock({_ONE_AT_A_TIME})" if self._settings.url else "BEGIN IMMEDIATE"
            )
            connection.exec_driver_sql(alone)
            there = self.has_tables(connection)
            about = schema.tables()[schema.ABOUT]
            # an earlier Faultscape of the same version made fewer tables
            if not there or not _names(connection) >= {*schema.tables()}:
                about.metadata.create_all(connection)
                for statement in schema.guards(connection.dialect.name):
                    connection.exec_driver_sql(statement)
            if not there:
                connection.execute(about.insert(), [{"name": "version", "value": str(schema.VERSION)}])
        self._created = True

    def _has(self, connection: sa.Connection, name: str) -> bool:
        """Return whether there is a table, which answers of an earlier Faultscape may lack."""
        there = self.has_tables(connection)
        return there and ((self._open and self._created) or name in _names(connection))

    def has_tables(self, connection: sa.Connection) -> bool:
        """Return whether the tables exist; StudyError for those of another version or another study."""
        if self._open and self._created:
            return True
        names = _names(connection)
        if schema.ABOUT not in names:
            if not names & {*schema.SAID}:
                return False
            held = {}
        else:
            about = schema.tables()[schema.ABOUT]
            held = {str(row.name): str(row.value) for row in connection.execute(about.select())}
        if self._settings.key and held.get("study", self._settings.key) != self._settings.key:
            raise StudyError(
                f"{self.place} holds the answers of another study; name another database with `label serve"
                " --database URL`"
            )
        version = held.get("version", "")
        if version.isdecimal() and int(version) > schema.VERSION:
            raise StudyError(
                f"{self.place} holds answers of version {version}; this Faultscape reads version"
                f" {schema.VERSION}: install a later one (pip install --upgrade faultscape)"
            )
        if version != str(schema.VERSION):
            raise StudyError(
                f"{self.place} holds answers of {f'version {version}' if version else 'no version'}; this"
                f" Faultscape reads version {schema.VERSION}: collect the images again into a new study"
                " (faultscape collect NEW IMAGES), and answer there"
            )
        return True


def _names(connection: sa.Connection) -> set[str]:
    """Return the names of the tables of a database."""
    import sqlalchemy as sa

    return set(sa.inspect(connection).get_table_names())


def bind(root: Path, url: str) -> AnswerSettings:
    """Return the settings of study.toml for a server's database with the answers of a study, and copy the
    study's own file there; StudyError if it cannot be used.
    """
    plain = _without_password(url)
    own = read_settings(root).answers
    database = Database(root, settings=AnswerSettings(url=plain, key=own.key))
    try:
        database.create_tables()
        about = schema.tables()[schema.ABOUT]
        with database.connection("write") as connection:
            held = {str(n): str(v) for n, v in connection.execute(about.select())}
            if (key := held.get("study", "")) and key != own.key:
                raise StudyError(f"{plain} holds the answers of another study; name another database")
            if not key:
                key = secrets.token_hex(8)
                connection.execute(about.insert(), [{"name": "study", "value": key}])
                if not any(
                    connection.execute(schema.tables()[name].select().limit(1)).first()
                    for name in schema.SAID
                ):
                    _copy(root, connection)
    finally:
        database.close()
    return AnswerSettings(url=plain, key=key)


def _copy(root: Path, to: sa.Connection) -> None:
    """Copy all answers of a study to another database, which has none."""
    own = Database(root)
    if not own.there:
        return
    own.create_tables()
    for name, table in schema.tables().items():
        wanted = table.select()
        if name == schema.ABOUT:
            wanted = wanted.where(table.c.name.not_in(schema.OWN))
        with own.connection("read") as held:
            rows = [dict(row._mapping) for row in held.execute(wanted)]  # noqa: SLF001 - SQLAlchemy's public name of it
        for begin in range(0, len(rows), _ROWS):
            to.execute(table.insert(), rows[begin : begin + _ROWS])
        if rows and to.dialect.name == "postgresql" and "number" in table.c:
            to.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{name}', 'number'),"
                f" {max(row['number'] for row in rows)})"
            )


def _served(url: str) -> sa.Engine:
    """Return the engine of an address; StudyError for an invalid one, or if it needs a missing library."""
    import sqlalchemy as sa

    address = _parsed(url)
    kind = address.drivername.partition("+")[0]
    if kind not in _SERVERS:
        raise StudyError(
            f"--database {kind}://...: write postgresql://USER@HOST/NAME, or leave it out for answers.sqlite"
            f" in the study.{closest(kind, _SERVERS)}"
        )
    try:
        more = {"connect_timeout": _REACHED, "application_name": "faultscape"}
        return sa.create_engine(
            address.set(drivername=_DRIVER),
            pool_size=8,
            max_overflow=8,
            pool_pre_ping=True,
            connect_args=more,
        )
    except ImportError:
        raise StudyError("answers in PostgreSQL need psycopg: pip install 'faultscape[postgres]'") from None


def _parsed(url: str) -> sa.URL:
    import sqlalchemy as sa
    from sqlalchemy.exc import ArgumentError

    try:
        return sa.make_url(url)
    except (ArgumentError, ValueError):
        raise StudyError(
            "--database is not a database address; expected postgresql://USER@HOST/NAME, or leave it out"
            " for answers.sqlite in the study"
        ) from None


def _without_password(url: str) -> str:
    """Return an address without a password; StudyError if it has one."""
    address = _parsed(url)
    if (
        address.password is not None
        or (secret := next((name for name in _SECRET if name in address.query), "")) == "password"
    ):
        raise StudyError(
            "--database contains a password, which is not stored but which every later command needs: leave"
            " it out, and set PGPASSWORD or use libpq's password file (~/.pgpass)"
        )
    if secret:
        raise StudyError(
            f"--database contains {secret}, which is not stored but which every later command needs: put it"
            " into"
            " libpq's service file, and name the service in PGSERVICE"
        )
    return address.render_as_string()


def _reason(error: Exception) -> str:
    """Return why a database fails, in one line and without the data sent to it."""
    return f"{type(error).__name__}: {_said(error)}".rstrip(": ")


def _said(error: Exception) -> str:
    """Return the first line of the message of a database library."""
    return next(iter(str(getattr(error, "orig", None) or error).strip().splitlines()), "")
