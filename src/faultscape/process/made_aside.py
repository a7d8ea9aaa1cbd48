"""What is made aside: files and folders that exist only while a process works on them, and that a kill
leaves.

Conventions: their process holds a lock on them (flock), which ends with it however it ends. Who next makes
one in the same place removes those that nobody holds. Where files cannot be locked (Windows, some network
disks) nothing is removed.
"""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

UNFINISHED = ".writing-"  # how names of unfinished files begin
_FILE = re.compile(rf"{re.escape(UNFINISHED)}[0-9a-f]{{8}}-.+")
_FOLDER = "faultscape-"
_HELD = "held"
_OPEN_FILES = "/proc/self/fd"  # where Linux says what an open folder is called now
_AGAIN = 60.0  # seconds until a folder that this process writes to is swept again
_BEGUN = 60.0  # seconds after which an empty file is no longer one that is just being opened
_swept: dict[str, float] = {}


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: beside its place, fsync, rename. OSError if that is not possible."""
    with written_whole(path) as file:
        file.write(data)


@contextmanager
def written_whole(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which gets its name when it is complete; nothing is left of it after an
    error. OSError if it cannot be written.
    """
    _sweep(path.parent)
    # two machines may use the same process id
    unfinished = path.with_name(f"{UNFINISHED}{secrets.token_hex(4)}-{path.name}")
    try:
        with unfinished.open("wb") as file:
            held = hold(file)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if held:
                unfinished.replace(path)
        if not held:  # without locks: Windows, where a file that is open has to keep its name
            unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def held_folder(what: str = "") -> Iterator[str]:
    """Yield a temporary folder, named after ``what`` it is for, that is removed at the end; those of killed
    processes are removed first.
    """
    locks = glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), f"{_FOLDER}*", _HELD))
    for lock in filter(os.path.isfile, locks):
        with suppress(OSError), open(lock, "r+b") as file:
            if hold(file):
                shutil.rmtree(os.path.dirname(lock), ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=_FOLDER + what, ignore_cleanup_errors=True) as folder,
        open(os.path.join(folder, "holding"), "wb") as file,
    ):
        if hold(file):  # others can find it by its name only once it is locked
            os.rename(file.name, os.path.join(folder, _HELD))
        with _kept_in_place(folder):
            yield folder


def identity(folder: str) -> tuple[int, int] | None:
    """Return what identifies the folder of this name, or None if there is none; a link is not one."""
    with suppress(OSError):
        if stat.S_ISDIR((found := os.lstat(folder)).st_mode):
            return found.st_dev, found.st_ino
    return None


@contextmanager
def _kept_in_place(folder: str) -> Iterator[None]:
    """Have a folder under its name at the end, so that it is removed, wherever a program moved it and
    whatever it put in its place.
    """
    made = identity(folder)
    number = os.open(folder, os.O_RDONLY) if os.path.isdir(_OPEN_FILES) else None
    try:
        yield
    finally:
        if identity(folder) != made:
            if identity(folder):
                shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):
                os.unlink(folder)
            with suppress(OSError):
                os.rename(os.readlink(f"{_OPEN_FILES}/{number}"), folder)
        if number is not None:
            os.close(number)


def hold(file: IO[bytes] | int) -> bool:
    """Lock a file, or the number of an open one, until it is closed, and return whether that was possible."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def _sweep(folder: Path) -> None:
    """Remove the unfinished files of killed processes from a folder, unless that was done a moment ago."""
    name = os.path.abspath(folder)
    now = time.monotonic()
    if now - _swept.get(name, -_AGAIN) < _AGAIN:
        return
    _swept[name] = now
    with suppress(OSError), os.scandir(folder) as entries:
        for left in [entry.path for entry in entries if _FILE.fullmatch(entry.name)]:
            with suppress(OSError), open(left, "r+b") as file:
                found = os.fstat(file.fileno())
                # its process locks a file before it writes to it, and must find it unlocked until then
                begun = found.st_size > 0 or found.st_mtime < time.time() - _BEGUN
                if begun and hold(file):
                    os.unlink(left)
