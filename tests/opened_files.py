"""Which files of a study are opened while something runs, by Python or by Arrow, and how often."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

_listening: list[tuple[Path, Counter[str]]] = []


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _listening:
        _note(arguments[0])


sys.addaudithook(_heard)  # cannot be removed again, so it listens only while somebody counts


def _note(place: object) -> None:
    if isinstance(place, str | Path):
        for root, found in _listening:
            if Path(place).is_relative_to(root):
                found[Path(place).relative_to(root).as_posix()] += 1


@contextmanager
def opened(root: Path) -> Iterator[Counter[str]]:
    """Count {file of a folder, relative to it: times that it is opened}."""
    found = Counter[str]()
    with pytest.MonkeyPatch.context() as patched:
        for name in ("ParquetFile", "read_table", "read_schema"):
            patched.setattr(pq, name, _noting(getattr(pq, name)))
        _listening.append((root, found))
        try:
            yield found
        finally:
            _listening.clear()


def unheard(task: Callable[..., Any]) -> Callable[..., Any]:
    """Return a task of a worker that runs in this process, where what it opens does not count: a worker reads
    for itself.
    """

    @wraps(task)
    def done(*args: Any, **kwargs: Any) -> Any:
        held = [*_listening]
        _listening.clear()
        try:
            return task(*args, **kwargs)
        finally:
            _listening.extend(held)

    return done


def _noting(made: Any) -> Any:
    """Return one of Arrow's readers, which opens files without Python's knowing."""

    def noted(source: Any, *args: Any, **kwargs: Any) -> Any:
        _note(source)
        return made(source, *args, **kwargs)

    return noted
