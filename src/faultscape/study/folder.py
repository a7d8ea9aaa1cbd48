"""The study folder: where files are, and how a file is written so that a kill loses nothing.

Conventions: a file is written whole (made_aside.py). Names that become folders
contain letters of any script, digits and ``. _ - +`` and start with neither ``.`` nor ``-``, so that no name
can leave the study.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from faultscape.errors import StudyError, article, closest, write_cure
from faultscape.process.made_aside import UNFINISHED, write_whole, written_whole

NAME = re.compile(r"[^\W](?:[\w.+-])*|[+_][\w.+-]*", re.UNICODE)
TEMPORARY = UNFINISHED


def check_name(name: str, what: str = "model") -> str:
    """Return the name of a model, set, truth or selection if it is allowed; StudyError with the rule
    otherwise.

    >>> check_name("unet-2")
    'unet-2'
    """
    if not NAME.fullmatch(name) or len(name.encode()) > 100:
        rule = "letters, digits and . _ - + are allowed, it must not start with . or -, and at most 100 bytes"
        raise StudyError(f"{name!r} cannot name {article(what)}: {rule}")
    return name


def refuse_twin(name: str, known: Iterable[str], what: str = "model") -> None:
    """Raise StudyError for a name that differs from another only in case: on some disks they would share
    files.

    >>> refuse_twin("unet", ["unet", "fcn"])
    >>> refuse_twin("Unet", ["unet", "fcn"])
    Traceback (most recent call last):
    faultscape.errors.StudyError: model 'Unet' and model 'unet' differ only in upper and lower case, and
    their files would be one on some disks; choose another name
    """
    if twin := next((other for other in known if other != name and other.casefold() == name.casefold()), ""):
        raise StudyError(
            f"{what} {name!r} and {what} {twin!r} differ only in upper and lower case, and their files would"
            " be one on some disks; choose another name"
        )


def local(path: str | os.PathLike[str], what: str = "a study") -> Path:
    """Return a local path; StudyError for an address of a store, which has neither locks nor SQLite."""
    if re.match(r"[a-zA-Z][a-zA-Z0-9+]+:/", os.fspath(path)):
        raise StudyError(
            f"{os.fspath(path)}: {what} is a local folder; to keep its parts in a store, collect with"
            " --store s3://BUCKET/PREFIX"
        )
    return Path(path)


def existing(study: str | os.PathLike[str]) -> Path:
    """Return the study's path; StudyError if it has no study.toml."""
    root = local(study)
    if not str(study).strip():
        raise StudyError("the study's folder has an empty name; give a path")
    if not (root / "study.toml").is_file():
        raise no_study(root)
    return root


def no_study(root: Path) -> StudyError:
    """Return the error for a folder without study.toml; a misspelt study beside it is named."""
    beside = [path.parent.name for path in root.parent.glob("*/study.toml")]
    meant = closest(root.name, beside)
    return StudyError(
        f"{root} is not a study: it has no study.toml; start with `faultscape collect {root} IMAGES"
        f" --classes NAME`{'.' if meant else ''}{meant}"
    )


def file_version(path: Path) -> tuple[int, int, int] | None:
    """Return what changes whenever a file is replaced (`put`); None if it does not exist."""
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def put(path: Path, data: bytes) -> str:
    """Write a file whole or not at all and return its SHA-256; StudyError if the disk is full or not
    writable.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        raise cannot_write(path, error) from None
    return hashlib.sha256(data).hexdigest()


@contextmanager
def putting(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which gets its name when it is complete; StudyError if the disk is full or
    not writable.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as file:
            yield file
    except OSError as error:
        raise cannot_write(path, error) from None


def make_folder(path: Path) -> None:
    """Make a folder unless it exists; StudyError if that is not allowed."""
    local(path, "what is written for people")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> StudyError:
    """Return the error for a file that cannot be written, with its fix."""
    # as under /proc, or if a file has the name: more space does not help
    nowhere = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EEXIST)
    cure = write_cure(error) or f"{'' if nowhere else 'free some space or '}choose a folder you may write to"
    return StudyError(f"cannot write {path}: {error.strerror or error}; {cure}, then run the same line again")
