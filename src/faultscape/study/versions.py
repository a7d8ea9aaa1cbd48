"""The version of a study, and how an earlier version is upgraded to this one: in place, step by step, after
copying what a step changes.

Conventions: study.toml has a ``version``; without one it is version 1. Readers accept an earlier version
unchanged; a writer upgrades it first (`lock.writing`). The files that a step changes are copied to
``STUDY/before-version-N`` first, whole or not at all; the number is written last, so that a killed step is
repeated, and the copy is made once. A study of a later version is always refused.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tomllib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from faultscape.errors import StudyError
from faultscape.study.answers.database import FILE, Database
from faultscape.study.folder import TEMPORARY, put
from faultscape.study.settings import checked_version


@dataclass(frozen=True)
class Step:
    """A step that upgrades a study to version ``to``: the ``files`` that it changes, if they exist, and the
    upgrade itself, which may be repeated.
    """

    to: int
    files: tuple[str, ...]
    change: Callable[[Path], None]


def _upgrade_answers(root: Path) -> None:
    """Upgrade the tables of answers to this version, if there are any."""
    if (root / FILE).exists():
        database = Database(root)
        database.upgrade()
        database.close()


# Version 2 gave every answer of classifiers the name of its truth, which was `labels`; version 3 records with
# every answer what was shown. The tables are upgraded to the last version at once, so both steps do it, and
# the copy is made before the first of them.
STEPS = (Step(2, (FILE,), _upgrade_answers), Step(3, (FILE,), _upgrade_answers))


def version_of(root: Path) -> int:
    """Return the version that study.toml names; StudyError for a later one than this Faultscape reads, or for
    anything but a number.
    """
    try:
        held = tomllib.loads((root / "study.toml").read_text(encoding="utf-8")).get("version", 1)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"{root / 'study.toml'} is not TOML: {error}") from None
    return checked_version(root, held)


def upgrade(root: Path, *, say: Callable[[str], None] = print) -> None:
    """Upgrade a study that is held for writing to this version; nothing if it has it already, or if there is
    no study yet.
    """
    if not (root / "study.toml").exists():
        return
    for step in STEPS[version_of(root) - 1 :]:
        copies = _copied(root, step)
        step.change(root)
        _write_version(root, step.to)
        say(f"{root}: is a study of version {step.to} now; {copies.name} holds what was changed, as it was")


def _copied(root: Path, step: Step) -> Path:
    """Return the folder with copies of what a step changes, created if it does not exist."""
    copies, unfinished = root / f"before-version-{step.to}", root / f"{TEMPORARY}before-version-{step.to}"
    if not copies.exists():
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        for name in ("study.toml", *step.files):
            if (root / name).exists():
                copy_file(root / name, unfinished / name)
        os.replace(unfinished, copies)
    return copies


def copy_file(file: Path, to: Path) -> None:
    """Copy a file; a database whole, with what a killed writer left beside it."""
    if file.suffix != ".sqlite":
        put(to, file.read_bytes())
        return
    with closing(sqlite3.connect(file)) as held, closing(sqlite3.connect(to)) as copy:
        held.backup(copy)


def _write_version(root: Path, version: int) -> None:
    path = root / "study.toml"
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    document["version"] = version
    put(path, tomlkit.dumps(document).encode())
