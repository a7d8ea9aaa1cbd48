"""Who may write to a study now, and what a killed writer left is swept away.

Conventions: one writer at a time, by a lock that the system lets go of when the process ends. Files of parts that no manifest names do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faultscape.errors import StudyError
from faultscape.study.folder import TEMPORARY, cannot_write
from faultscape.study.part_folders import made
from faultscape.study.parts import sweep


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Hold the study for one writer at a time; StudyError when another process is at work in it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        file = (root / ".lock").open("a+")
    except OSError as error:
        raise cannot_write(root, error) from None
    with file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no fcntl on Windows: a study there is on its own
            pass
        except OSError:
            raise StudyError(f"another faultscape is writing to {root}; wait until it has finished") from None
        rooms = ("predictions/*/", "pairs/*/", "truth/*/", "statistics/*/*/", "measures/", "measures/statistics/*/*/")
        folders = [root, *(folder for room in rooms for folder in root.glob(room))]
        for folder in folders:
            for left in folder.glob(f"{TEMPORARY}*"):
                left.unlink(missing_ok=True)
        for folder in {*folders[1:], *made(root)}:
            sweep(folder)
        yield
