"""Studies that many tests begin with: each is made once a run, by whichever process of it asks first, and a
test gets a copy. What a copied study was made of (photos, maps, truth) stays where it is: who wants to change
that makes a study of their own.
"""

from __future__ import annotations

import fcntl
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
STUDY = "study"


class Goldens:
    """Folders of one run, below ``root``, which its processes share."""

    root: Path | None = None  # none outside a run of tests: what is asked for is made where it is wanted

    @classmethod
    def made(cls, name: str, make: Callable[[Path], T]) -> tuple[Path, T]:
        """Return the folder that ``make`` filled, and what it returned."""
        assert cls.root is not None
        cls.root.mkdir(exist_ok=True)
        folder, kept = cls.root / name, cls.root / f"{name}.kept"
        with (cls.root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                shutil.rmtree(folder, ignore_errors=True)  # of one who failed
                folder.mkdir()
                returned = make(folder)
                kept.write_bytes(pickle.dumps((returned, state_of(folder))))
            returned, state = pickle.loads(kept.read_bytes())
            if state_of(folder) != state:
                kept.unlink()  # one test fails for it, and the next begins anew
                raise AssertionError(f"a test before this one wrote into {folder}, which all tests share")
        return folder, returned


def moved(name: str, make: Callable[[Path], T], to: Path) -> tuple[Path, T]:
    """Copy all that ``make(folder)`` made, also what the study in it was made of, which then lies beside the
    copy: for studies of classifiers, of which texts alone say where that is. Return where it was made, and
    what was returned there.
    """
    folder, returned = Goldens.made(name, make)
    shutil.copytree(folder, to, dirs_exist_ok=True)
    for path in [*(to / STUDY).glob("*.toml"), *(to / STUDY).glob("*.json*")]:
        path.write_text(path.read_text().replace(str(folder), str(to)))
    return folder, returned


def state_of(folder: Path) -> str:
    """What would be another if somebody wrote into a folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return json.dumps([(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files])


def copied(name: str, make: Callable[[Path], T], to: Path) -> tuple[str, T]:
    """Return a copy of the study that ``make(folder)`` leaves as folder/study, and what it returned."""
    folder, returned = Goldens.made(name, make)
    return str(shutil.copytree(folder / STUDY, to)), returned
