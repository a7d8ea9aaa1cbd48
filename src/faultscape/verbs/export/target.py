"""The folder that `export` writes: it is filled under another name beside its place, and gets its own when it
is complete, so that what a kill leaves never looks whole.

Conventions: the unfinished folder's name begins like that of an unfinished file, and its process holds a lock
in it; who next exports to the same place removes those that nobody holds.
"""

from __future__ import annotations

import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from faultscape.errors import OptionError
from faultscape.process.made_aside import UNFINISHED, hold
from faultscape.reading.study import Study
from faultscape.study.folder import cannot_write
from faultscape.study.store import is_address

_HELD = ".held"


def refuse_place(study: Study, out: str) -> None:
    """Raise OptionError for a target that is not a new or an empty folder outside the study."""
    if is_address(out):
        raise OptionError(f"{out}: export writes to a local folder; copy that to the store afterwards")
    folder = Path(out)
    if folder.resolve().is_relative_to(study.root.resolve()):
        raise OptionError(f"{out}: is inside the study; give a folder outside it")
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{out}: is a file; give a new or an empty folder")
    with suppress(OSError):  # reported when it is written to
        if held := sorted(path.name for path in folder.iterdir()):
            more = ", ..." if len(held) > 1 else ""
            raise OptionError(f"{out}: is not empty ({held[0]}{more}); give a new or an empty folder")


@contextmanager
def whole_folder(out: str) -> Iterator[Path]:
    """Yield a folder to fill, which becomes ``out`` when the block ends well and is removed otherwise;
    StudyError if it cannot be written.
    """
    place = Path(out).resolve()
    _sweep(place)
    folder = place.with_name(f"{UNFINISHED}{secrets.token_hex(4)}-{place.name}")
    try:
        folder.mkdir(parents=True)
        with (folder / _HELD).open("wb") as lock:
            hold(lock)
            yield folder
        (folder / _HELD).unlink()
        if place.is_dir():
            place.rmdir()
        folder.rename(place)
    except OSError as error:
        raise cannot_write(Path(out), error) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # gone by now where all went well


def _sweep(place: Path) -> None:
    """Remove the unfinished folders of killed exports to a place."""
    for left in glob.glob(
        f"{glob.escape(str(place.parent / UNFINISHED))}*-{glob.escape(place.name)}/{_HELD}"
    ):
        with suppress(OSError), open(left, "r+b") as lock:
            if hold(lock):
                shutil.rmtree(os.path.dirname(left), ignore_errors=True)


def size_of(folder: Path) -> int:
    """Return the bytes of all files of a folder, without those that are hard links of others."""
    files = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum(about.st_size for about in files if about.st_nlink == 1)
