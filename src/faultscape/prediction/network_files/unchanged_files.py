"""A file that is checked and then read by a library must be the same file both times."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from faultscape.errors import ModelError


@contextmanager
def unchanged(path: str) -> Iterator[None]:
    """Raise ModelError if the file at a path is another one, or was written to, by the end of the block."""
    before = _state(path)
    yield
    if _state(path) != before:
        raise ModelError(f"{path}: changed while it was opened; run the same line again")


def _state(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
