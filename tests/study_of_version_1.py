"""A study as version 1 wrote it: the writer of that version's files, so that no data of it need be kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import faultscape as fs

TABLES = (  # as SQLAlchemy made them then
    (
        "CREATE TABLE answers (number INTEGER NOT NULL PRIMARY KEY, image TEXT NOT NULL, class TEXT NOT NULL,"
        " annotator TEXT NOT NULL, answer TEXT NOT NULL, source TEXT NOT NULL, time FLOAT NOT NULL)"
    ),
    "CREATE INDEX ix_answers_image ON answers (image)",
    (
        "CREATE TABLE discards (number INTEGER NOT NULL PRIMARY KEY, image TEXT NOT NULL, reason TEXT NOT"
        " NULL, source TEXT NOT NULL, time FLOAT NOT NULL)"
    ),
    "CREATE INDEX ix_discards_image ON discards (image)",
)
ANSWERS = [("p1", "cat", "ann", "yes"), ("p2", "dog", "ann", "no"), ("p2", "cat", "bob", "yes")]
DISCARDS = [("p3", "blurred")]


def write(root: Path, *, answers: bool = True) -> Path:
    """A study of three images and three classes with a model, and with answers and a discard."""
    ids, classes, said = root.with_name("ids.csv"), root.with_name("classes.txt"), root.with_name("said.csv")
    ids.write_text("image\np1\np2\np3\n")
    classes.write_text("cat\ndog\nhen\n")
    said.write_text("image,label\np1,cat\np2,dog\np3,hen\n")
    fs.collect(str(root), str(ids), task="classification", classes=str(classes))
    fs.predict(str(root), f"net={said}")
    toml = root / "study.toml"
    toml.write_text(
        "".join(line for line in toml.read_text().splitlines(keepends=True) if not line.startswith("version"))
    )
    if answers:
        with closing(sqlite3.connect(root / "answers.sqlite")) as file, file:
            for table in TABLES:
                file.execute(table)
            file.executemany(
                "INSERT INTO answers (image, class, annotator, answer, source, time) VALUES (?, ?, ?, ?,"
                " 'old.csv', 1.0)",
                ANSWERS,
            )
            file.executemany(
                "INSERT INTO discards (image, reason, source, time) VALUES (?, ?, 'old.csv', 1.0)", DISCARDS
            )
    return root
