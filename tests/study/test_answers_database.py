"""Where answers lie, on both kinds of database: what is written is read, counts once, and is never changed;
tables of another version or of another study are refused.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import faultscape as fs
import postgres_server
from faultscape.errors import StudyError
from faultscape.study.answers import schema
from faultscape.study.answers.annotators import ORGANISER, Annotator, Annotators, Handed, digest
from faultscape.study.answers.checks import COMMENT, RESOLVED, Checks
from faultscape.study.answers.choices import WORDS, Choice, Choices
from faultscape.study.answers.database import Database, bind
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.settings import AnswerSettings, read_settings, write_settings
from refusals import refused, told

KINDS = ("sqlite", "postgres")
EARLIER = (  # tables without a word of their version
    (
        "CREATE TABLE answers (number {number}, image TEXT NOT NULL, class TEXT NOT NULL, annotator TEXT NOT"
        " NULL, answer TEXT NOT NULL, source TEXT NOT NULL, time FLOAT NOT NULL)"
    ),
    (
        "INSERT INTO answers (image, class, annotator, answer, source, time) VALUES ('p1', 'cat', 'ann',"
        " 'yes', 'old.csv', 1.0)"
    ),
)
NUMBER = {"sqlite": "INTEGER NOT NULL PRIMARY KEY", "postgres": "SERIAL PRIMARY KEY"}


class Place:
    """A database of one kind, empty at first, of a study without study.toml."""

    def __init__(self, kind: str, root: Path, url: str) -> None:
        self.kind, self.root, self.url = kind, root, url

    def open(self, *, stay_open: bool = False, key: str = "") -> Database:
        return Database(self.root, stay_open=stay_open, settings=AnswerSettings(url=self.url, key=key))

    def run(self, *statements: str) -> list[Any]:
        """Run statements past Faultscape, and return the rows of the last."""
        if self.kind == "postgres":
            import psycopg

            with closing(psycopg.connect(self.url, autocommit=True)) as held:
                rows = [held.execute(one.format(number=NUMBER["postgres"])) for one in statements][-1]
                return rows.fetchall() if rows.description else []
        with closing(sqlite3.connect(self.root / "answers.sqlite")) as held, held:
            return [held.execute(one.format(number=NUMBER["sqlite"])) for one in statements][-1].fetchall()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    url = request.getfixturevalue("postgres").address() if request.param == "postgres" else ""
    return Place(request.param, tmp_path, url)


@pytest.fixture
def held(place: Place) -> Iterator[Database]:
    with closing(place.open(stay_open=True)) as database:
        yield database


def choice(**more: Any) -> Choice:
    return Choice(
        **{"image": "p1", "first": "fcn", "second": "unet", "chosen": "first", "annotator": "ann", **more}
    )


def test_choices_are_read_as_they_were_written(place: Place, held: Database) -> None:
    said = [
        choice(
            first_shown="aa",
            second_shown="bb",
            left="second",
            repeat=1,
            seconds=2.5,
            shown='{"way": "fill"}',
            key="k-1",
            time=7.0,
        ),
        choice(
            image="bild ä/2 '\";--",
            chosen="not sure",
            annotator="ben",
            seconds=None,
            truth="other",
            key="k-2",
            time=8.0,
        ),
    ]
    choices = Choices(place.root, held)
    assert [choices.add(one, "test") for one in said] == [True, True]
    assert choices.rows() == said
    assert choices.rows("other") == said[1:]
    assert Choices(place.root, place.open()).rows() == said
    assert choices.truths() == ["labels", "other"]


def test_the_latest_row_of_a_question_counts_and_one_taken_back_counts_no_more(
    place: Place, held: Database
) -> None:
    choices = Choices(place.root, held)
    choices.add_all([choice(image=word) for word in WORDS], "test")
    for word in WORDS:  # the same two models, named the other way round
        choices.add(choice(image=word, first="unet", second="fcn", chosen=word, key=word), "test")
    assert [(one.first, one.chosen) for one in choices.choices()] == [("unet", word) for word in WORDS]
    choices.take_back(choices.choices(), "test")
    assert choices.choices() == []
    assert len(choices.rows()) == 3 * len(WORDS)
    assert choices.truths() == []


def test_answers_discards_tags_checks_people_and_what_they_were_handed_are_read_as_written(
    place: Place, held: Database
) -> None:
    answers = Answers(place.root, held)
    assert (
        answers.answer([("p1", "cat", "ann", "yes"), ("p2", "cat", "ann", "unsure")], "test", "second") == 2
    )
    assert answers.answers("second") == [("p1", "cat", "ann", "yes"), ("p2", "cat", "ann", "unsure")]
    assert answers.take_back([("p1", "cat", "ann")], "test", "second") == 1
    assert (answers.answers("second"), answers.answers()) == ([("p2", "cat", "ann", "unsure")], [])
    assert answers.discard([("p1", "blurred"), ("p2", "no photo")], "test") == 2
    assert answers.keep(["p1"]) == 1
    assert answers.discarded() == {"p2": "no photo"}
    held.add_once(
        schema.DISCARDS, {"image": "p4", "reason": "dark", "source": "test", "annotator": "ann", "key": "d-1"}
    )
    assert (answers.discarded(), answers.discard_votes()) == ({"p2": "no photo"}, {"p4": {"ann": "dark"}})
    tags, night = Tags(place.root, held), Tag("p1", "night", "ann")
    assert [
        tags.add(one, "test", key)
        for one, key in ((night, "t-1"), (Tag("p1", "small", "ann", "unet", "1,2,3,4"), "t-2"))
    ] == [True, True]
    assert tags.add(Tag("p1", "night", "ann", given=False), "test", "t-3")
    assert tags.tags() == [Tag("p1", "small", "ann", "unet", "1,2,3,4")]
    checks = Checks(place.root, held)
    assert checks.open("labels", "p1", "wrong class", "a bus", "ann", at=(3.5, 4.5), source="test", key="c-1")
    assert checks.answer(checks.checks()[0], COMMENT, "no, a tram", "ben", source="test", key="c-2")
    assert checks.answer(checks.checks()[0], RESOLVED, "", "ann", source="test", key="c-3")
    found = checks.checks()[0]
    assert (found.x, found.y, found.resolved, len(found.comments)) == (3.5, 4.5, True, 3)
    people = Annotators(place.root, held)
    made, token = people.invite("Ann", ORGANISER)
    assert (
        people.by_token(token)
        == made
        == Annotator(made.pseudonym, "Ann", ORGANISER, made.since, digest(token)[:16])
    )
    new = people.new_token(made.pseudonym)
    assert (people.by_token(token), people.by_token(new)) == (None, replace(made, link=digest(new)[:16]))
    people.delete(made.pseudonym)
    assert people.everybody() == []
    handed = Handed(made.pseudonym, "choices", "item", 1, "second", 3, 5.0)
    people.hand(handed)
    assert [
        (one.annotator, one.task, one.item, one.repeat, one.side, one.session) for one in people.handed()
    ] == [(made.pseudonym, "choices", "item", 1, "second", 3)]
    assert place.run("SELECT token FROM annotators") == []


def test_what_is_sent_again_under_its_key_is_added_once(place: Place, held: Database) -> None:
    choices = Choices(place.root, held)
    assert [
        choices.add(choice(key="same", chosen=word), "test") for word in ("first", "second", "first")
    ] == [True, False, False]
    assert [one.chosen for one in choices.rows()] == ["first"]
    assert [
        held.add_once(schema.DISCARDS, {"image": "p", "reason": "", "source": "", "key": "d"})
        for _ in range(2)
    ] == [True, False]
    assert [Tags(place.root, held).add(Tag("p", "night", "ann"), "test", "t") for _ in range(2)] == [
        True,
        False,
    ]


def test_eight_threads_that_send_the_same_keys_add_each_once(place: Place, held: Database) -> None:
    held.create_tables()
    added: list[bool] = []
    failed: list[Exception] = []
    together = threading.Barrier(8)

    def send() -> None:
        together.wait()
        try:
            added.extend(
                Choices(place.root, held).add(choice(image=f"p{k}", key=f"key-{k}"), "test")
                for k in range(25)
            )
        except Exception as error:  # noqa: BLE001 - said by the test
            failed.append(error)

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert (len(added), sum(added)) == (200, 25)
    assert sorted(one.image for one in Choices(place.root, held).rows()) == sorted(f"p{k}" for k in range(25))


def test_tables_are_made_once_when_several_open_an_empty_database_together(place: Place) -> None:
    failed: list[Exception] = []
    together = threading.Barrier(6)

    def first() -> None:
        together.wait()
        try:
            place.open().create_tables()
        except Exception as error:  # noqa: BLE001 - said by the test
            failed.append(error)

    threads = [threading.Thread(target=first) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert place.run("SELECT value FROM about WHERE name = 'version'") == [(str(schema.VERSION),)]


def test_the_database_itself_refuses_to_change_what_was_said(place: Place, held: Database) -> None:
    for table in schema.SAID:
        needed = [
            one
            for one in schema.tables()[table].columns
            if not one.nullable and one.name not in ("number", "time")
        ]
        held.add(table, [{one.name: 1 if one.type.python_type is int else "x" for one in needed}])
        for change in (f"UPDATE {table} SET time = 0", f"DELETE FROM {table}"):
            with refused(StudyError, "answers are only ever added"), held.connection("write") as connection:
                connection.execute(text(change))
        assert place.run(f"SELECT count(*) FROM {table}") == [(1,)]


def test_classes_and_models_are_read_by_what_they_are_called_now(place: Place, held: Database) -> None:
    choices, answers = Choices(place.root, held), Answers(place.root, held)
    choices.add(choice(key="1"), "test")
    answers.answer([("p1", "cat", "ann", "yes")], "test")
    choices.rename({"fcn": "zebra"})
    answers.rename({"cat": "feline"})
    choices.add(choice(image="p2", key="2"), "test")  # another model that is called fcn now
    answers.answer([("p2", "cat", "ann", "no")], "test")
    assert [(one.image, one.first) for one in choices.rows()] == [("p1", "zebra"), ("p2", "fcn")]
    assert answers.answers() == [("p1", "feline", "ann", "yes"), ("p2", "cat", "ann", "no")]


@pytest.mark.parametrize(("version", "do"), [("", "collect"), ("2", "collect"), ("9", "install a later one")])
def test_tables_of_another_version_are_refused_by_who_reads_and_who_writes(
    place: Place, version: str, do: str
) -> None:
    if version:
        place.open().create_tables()
        place.run(f"UPDATE about SET value = '{version}' WHERE name = 'version'")
    else:
        place.run(*EARLIER)
    tables = _tables(place)
    given = f"holds answers of {f'version {version}' if version else 'no version'}; this Faultscape reads"
    choices, people = Choices(place.root, place.open()), Annotators(place.root, place.open())
    for use in (
        choices.rows,
        people.everybody,
        lambda: choices.add(choice(key="1"), "test"),
        lambda: people.invite("Ann"),
    ):
        with refused(StudyError, f"{given} version 3: {do}"):
            use()
    assert _tables(place) == tables


def _tables(place: Place) -> set[str]:
    if place.kind == "postgres":
        return {
            row[0] for row in place.run("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
        }
    return {row[0] for row in place.run("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_a_word_that_the_database_cannot_hold_is_refused_in_one_line_and_nothing_else_fails(
    place: Place, held: Database
) -> None:
    choices = Choices(place.root, held)
    with refused(StudyError, "cannot write"):
        choices.add(choice(key="bad", shown="\ud800"), "test")
    assert choices.add(choice(key="good"), "test")


# What `label serve --database` does with an address.


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study of three images and two classes, with answers of its own."""
    (tmp_path / "ids.csv").write_text("image\np1\np2\np3\n")
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    root = tmp_path / "study"
    fs.collect(root, tmp_path / "ids.csv", task="classification", classes=tmp_path / "classes.txt")
    return root


def bound(root: Path, url: str) -> AnswerSettings:
    found = bind(root, url)
    write_settings(root, read_settings(root).model_copy(update={"answers": found}))
    return found


@pytest.mark.slow
def test_answers_of_the_study_are_copied_to_the_database_that_it_is_bound_to_and_their_numbers_go_on(
    study: Path, postgres: postgres_server.Server
) -> None:
    url = postgres.address()
    Answers(study).answer([("p1", "cat", "ann", "yes"), ("p2", "dog", "ben", "no")], "file.csv")
    Answers(study).discard([("p3", "blurred")], "file.csv")
    Choices(study).add_all([choice(time=3.0)], "file.jsonl")
    held = (Answers(study).answers(), Answers(study).discarded(), Choices(study).rows())
    file = (study / "answers.sqlite").read_bytes()
    bound(study, url)
    assert (Answers(study).answers(), Answers(study).discarded(), Choices(study).rows()) == held
    Answers(study).answer([("p3", "cat", "ann", "unsure")], "file.csv")
    assert Answers(study).answers() == [*held[0], ("p3", "cat", "ann", "unsure")]
    assert Choices(study).add(choice(image="p2", key="new"), "test")
    assert (study / "answers.sqlite").read_bytes() == file
    bound(study, url)  # the same line again copies nothing
    assert len(Answers(study).answers()) == 3
    other = postgres.address()
    bound(study, other)  # to another database go the answers from where they are now
    assert (len(Answers(study).answers()), len(Choices(study).rows())) == (3, 2)
    assert read_settings(study).answers.url != url


def test_a_binding_that_was_killed_before_it_copied_copies_the_next_time(
    study: Path, postgres: postgres_server.Server
) -> None:
    url = postgres.address()
    Answers(study).answer([("p1", "cat", "ann", "yes")], "file.csv")
    Database(study, settings=AnswerSettings(url=url)).create_tables()  # so far it had come
    bound(study, url)
    assert Answers(study).answers() == [("p1", "cat", "ann", "yes")]


def test_the_database_of_another_study_is_refused(
    study: Path, postgres: postgres_server.Server, tmp_path: Path
) -> None:
    url = postgres.address()
    bound(study, url)
    other = tmp_path / "other"
    fs.collect(other, tmp_path / "ids.csv", task="classification", classes=tmp_path / "classes.txt")
    with refused(StudyError, "holds the answers of another study; name another database"):
        bind(other, url)
    settings = read_settings(other)
    write_settings(
        other, settings.model_copy(update={"answers": AnswerSettings(url=url, key="0123456789abcdef")})
    )
    with refused(StudyError, "holds the answers of another study"):
        Answers(other).answer([("p1", "cat", "ann", "yes")], "test")


@pytest.mark.parametrize(
    ("was", "hidden"), [("@/", ":Geheim9@/"), ("?", "?password=Geheim9&"), ("?", "?sslpassword=Geheim9&")]
)
def test_a_password_in_an_address_is_refused_since_later_commands_would_lack_it(
    study: Path, was: str, hidden: str
) -> None:
    before = {path: path.read_bytes() for path in study.rglob("*") if path.is_file()}
    where = (
        "PGSERVICE"
        if "ssl" in hidden
        else "leave it out, and set PGPASSWORD or use libpq's password file (~/.pgpass)"
    )
    with refused(StudyError, re.escape(where)) as error:
        bind(study, "postgresql://ann@/answers?host=/nowhere/at/all".replace(was, hidden, 1))
    assert "Geheim9" not in str(error.value)
    assert {path: path.read_bytes() for path in study.rglob("*") if path.is_file()} == before


ODD = {
    "postgres://ann@127.0.0.1:1/answers": (
        "the database postgres://ann@127.0.0.1:1/answers cannot be reached: connection failed"
    ),
    "postgresql://ann@/answers?host=/nowhere/at/all": (
        "the database postgresql://ann@/answers.* cannot be reached: .*nowhere"
    ),
    "postgresql://ann:Geheim9@host:port/answers": "--database is not a database address",
    "Geheim9": "--database is not a database address",
    "": "--database",
    "mysql://ann@host/answers": "--database mysql://...: write postgresql://USER@HOST/NAME",
    "sqlite://": (
        "--database sqlite://...: write postgresql://USER@HOST/NAME, or leave it out for answers.sqlite in"
        " the study"
    ),
    "sqlite:////tmp/answers.sqlite": "--database sqlite://",
    "postgre://ann@host/answers": "Did you mean 'postgres",
    "postgresql://127.0.0.1:1/a?connect_timeout=Geheim9&nonsense=1": "cannot write .*nonsense",
}


@pytest.mark.parametrize("url", ODD)
def test_an_address_that_is_none_or_where_nobody_answers_is_refused_in_one_line_without_its_password(
    study: Path, url: str
) -> None:
    pytest.importorskip("psycopg", reason="no psycopg: the extra postgres is not installed")
    before = (study / "study.toml").read_bytes()
    with refused(StudyError, ODD[url]) as error:
        bind(study, url)
    if "connect_timeout" not in url:
        assert "Geheim9" not in str(error.value)
    assert (study / "study.toml").read_bytes() == before


def test_a_server_that_is_gone_is_one_line_whoever_asks(study: Path) -> None:
    pytest.importorskip("psycopg", reason="no psycopg: the extra postgres is not installed")
    gone = AnswerSettings(url="postgresql://ann@127.0.0.1:1/answers", key="0123456789abcdef")
    write_settings(study, read_settings(study).model_copy(update={"answers": gone}))
    for ask in (
        Answers(study).answers,
        Choices(study).choices,
        lambda: fs.status(str(study)),
        Annotators(study).everybody,
    ):
        with refused(
            StudyError,
            re.escape(
                "the database postgresql://ann@127.0.0.1:1/answers cannot be reached: connection failed"
            ),
        ):
            ask()


def test_psycopg_that_is_not_there_is_asked_for(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with refused(StudyError, re.escape("pip install 'faultscape[postgres]'")):
        bind(study, "postgresql://ann@127.0.0.1:1/answers")


def test_lines_of_the_command_read_and_write_answers_of_a_server(
    study: Path, postgres: postgres_server.Server, tmp_path: Path
) -> None:
    bound(study, postgres.address())
    (tmp_path / "said.csv").write_text("image,class,annotator,answer\np1,cat,ann,yes\np2,cat,ann,no\n")
    told("label", "import", study, tmp_path / "said.csv")
    told("label", "answers", study, tmp_path / "out.jsonl")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2
    assert Answers(study).answers() == [("p1", "cat", "ann", "yes"), ("p2", "cat", "ann", "no")]
    assert not (study / "answers.sqlite").exists()


# A file beside others who use it.


def test_a_file_is_left_without_a_log_beside_it_and_another_reads_while_one_writes(tmp_path: Path) -> None:
    writer = Database(tmp_path, stay_open=True)
    choices = Choices(tmp_path, writer)
    choices.add(choice(key="1"), "test")
    assert (tmp_path / "answers.sqlite-wal").exists()
    with writer.connection("write") as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        assert len(Choices(tmp_path).rows()) == 1  # who reads does not wait
    writer.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.sqlite"]
    assert Choices(tmp_path).rows() == [choice(key="1", time=Choices(tmp_path).rows()[0].time)]


def test_who_closes_first_leaves_the_log_to_the_other_at_once(tmp_path: Path) -> None:
    one, other = Database(tmp_path, stay_open=True), Database(tmp_path, stay_open=True)
    Choices(tmp_path, one).add(choice(key="1"), "test")
    Choices(tmp_path, other).add(choice(image="p2", key="2"), "test")
    one.close()
    Choices(tmp_path, other).add(choice(image="p3", key="3"), "test")
    other.close()
    assert len(Choices(tmp_path).rows()) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.sqlite"]


@pytest.mark.skipif(not hasattr(os, "setresuid"), reason="no users here")
def test_a_folder_that_may_only_be_read_is_read_while_somebody_writes_and_after(tmp_path: Path) -> None:
    writer = Database(tmp_path, stay_open=True)
    Choices(tmp_path, writer).add(choice(key="1"), "test")
    with _may_only_read(tmp_path):
        assert len(Choices(tmp_path).rows()) == 1
    writer.close()
    with _may_only_read(tmp_path):
        assert len(Choices(tmp_path).rows()) == 1
        with refused(StudyError, "cannot write"):
            Choices(tmp_path).add(choice(key="2"), "test")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.sqlite"]


@contextmanager
def _may_only_read(folder: Path) -> Iterator[None]:
    """Within, nobody may write to the folder: as another user, where tests run as root."""
    for parent in folder.parents:
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    folder.chmod(0o555)
    user = os.getresuid()
    if user[1] == 0:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(*user)
        folder.chmod(0o755)
