"""A copy of a study's files is of what counts: of a data base, without what a writer that was killed had half
written.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import children
from faultscape.verbs.status.consequences import copy_file

ROWS = 4000
KILLED = """
import os, sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("PRAGMA cache_size = 1")  # what does not fit into memory is written before it counts
held.execute("BEGIN IMMEDIATE")
held.execute("UPDATE answer SET said = 'no'")
os._exit(0)
"""


def said(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as held:
        return {word for (word,) in held.execute("SELECT said FROM answer")}


def test_a_data_base_is_copied_without_what_a_killed_writer_had_begun(tmp_path: Path) -> None:
    answers = tmp_path / "answers.sqlite"
    with closing(sqlite3.connect(answers)) as held:
        held.execute("CREATE TABLE answer (image TEXT, said TEXT)")
        held.executemany("INSERT INTO answer VALUES (?, 'yes')", [(f"image {k}" * 9,) for k in range(ROWS)])
        held.commit()
    children.python("-c", KILLED, answers)
    assert (tmp_path / "answers.sqlite-journal").stat().st_size > 0  # what SQLite goes back by
    shutil.copyfile(answers, tmp_path / "bytes.sqlite")
    assert "no" in said(tmp_path / "bytes.sqlite")  # a copy of its bytes alone holds what never counted
    copy_file(answers, tmp_path / "copy.sqlite")
    assert said(tmp_path / "copy.sqlite") == {"yes"}
    assert said(answers) == {"yes"}


def test_another_file_is_copied_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\0\xff")
    copy_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"\0\xff"
