"""Which version a study is of, and how one of an earlier version becomes one of this: in place, step by step,
after a copy of what a step changes.

Conventions: study.toml says ``version``; one without is of version 1. Who only reads takes an earlier version
as it is; who writes brings it to this one first (`lock.writing`). The files that a step changes are copied to
``STUDY/before-version-N`` before, whole or not at all; the number is written last, so that a step that was
killed is done again, and the copy is made once. A study of a later version is refused by all.
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
    """What makes a study one of version ``to``: the ``files`` that it changes, where they are there, and
    doing so, which may be done twice.
    """

    to: int
    files: tuple[str, ...]
    change: Callable[[Path], None]


def _upgrade_answers(root: Path) -> None:
    """Bring the tables of answers to this version, where there are some."""
    if (root / FILE).exists():
        database = Database(root)
        database.upgrade()
        database.close()


# Version 2 gave every answer of classifiers the name of its truth, which was `labels`; version 3 says about
# every answer what was shown. The tables are brought to
# the last version at once, so both steps do it, and the copy is made before the first of them.
STEPS = (Step(2, (FILE,), _upgrade_answers), Step(3, (FILE,), _upgrade_answers))


def version_of(root: Path) -> int:
    """Return the version that study.toml names; StudyError for a later one than this Faultscape reads, or for
    what is not a number.
    """
    try:
        held = tomllib.loads((root / "study.toml").read_text(encoding="utf-8")).get("version", 1)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"{root / 'study.toml'} is not TOML: {error}") from None
    return checked_version(root, held)


def upgrade(root: Path, *, say: Callable[[str], None] = print) -> None:
    """Bring a study that is held for writing to this version; nothing where it is, or where there is no study
    yet.
    """
    if not (root / "study.toml").exists():
        return
    for step in STEPS[version_of(root) - 1 :]:
        copies = _copied(root, step)
        step.change(root)
        _write_version(root, step.to)
        say(f"{root}: is a study of version {step.to} now; {copies.name} holds what was changed, as it was")


def _copied(root: Path, step: Step) -> Path:
    """Return the folder with copies of what a step changes, made unless it is there."""
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
    """Copy a file; a data base as a whole, with what a writer that was killed left beside it."""
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
