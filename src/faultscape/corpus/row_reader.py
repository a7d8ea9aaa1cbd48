"""Read images from rows of Parquet files as a stream.

Conventions: the last few rows of each row group being read are kept, so that rows requested in about the
file's order are read once and no row group is ever held whole. At most ``_GROUPS`` row groups are open; for a
row passed long ago, its row group is read again from the start.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from faultscape.corpus.parquet_rows import image_column, open_file, passing
from faultscape.errors import FaultscapeError, ImageError

_GROUPS = 4
_BATCHES = 8
_ROWS = 16


class _Group:
    """One row group being read."""

    def __init__(self, file: Any, group: int, column: str) -> None:
        self._start = lambda: passing(file, group, column, _ROWS)
        self._stream: Iterator[list[bytes | None]] = self._start()
        self._kept: OrderedDict[int, list[bytes | None]] = OrderedDict()
        self._next = 0

    def value(self, row: int) -> bytes | None:
        number = row // _ROWS
        if number not in self._kept and number < self._next:
            self._stream = self._start()
            self._next = 0
        while number not in self._kept:
            self._kept[self._next] = next(self._stream)
            self._next += 1
            while len(self._kept) > _BATCHES:
                self._kept.popitem(last=False)
        return self._kept[number][row % _ROWS]


class Rows:
    """The rows of any number of Parquet files; one thread reads at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[str, tuple[Any, str, list[int], str | None]] = OrderedDict()
        self._groups: OrderedDict[tuple[str, int], _Group] = OrderedDict()

    def state(self, path: str) -> str:
        """Return a text that changes with a file; ImageError if it cannot be opened."""
        with self._lock:
            return self._open(path)[1]

    def read(self, path: str, row: int) -> bytes:
        """Return the bytes of a row's image; ImageError names a row without one."""
        with self._lock:
            file, _, ends, column = self._open(path)
            if column is None:
                raise ImageError(f"{path}#{row}: the row names no image file")
            if row >= ends[-1]:
                raise ImageError(
                    f"{path}#{row}: the file has only {ends[-1]} rows; it was changed or replaced since"
                    " it was collected, so run collect again"
                )
            group = bisect_right(ends, row) - 1
            if (path, group) not in self._groups:
                self._groups[path, group] = _Group(file, group, column)
                while len(self._groups) > _GROUPS:
                    self._groups.popitem(last=False)
            self._groups.move_to_end((path, group))
            try:
                data = self._groups[path, group].value(row - ends[group])
            except Exception as fault:  # noqa: BLE001 - a damaged file may raise nearly anything
                del self._groups[path, group]
                raise ImageError(
                    f"{path}#{row}: cannot be read:"
                    f" {str(fault).splitlines()[0][:200] if str(fault) else type(fault).__name__}"
                ) from None
        if not data:
            raise ImageError(f"{path}#{row}: the row holds no image bytes")
        return data

    def forget(self) -> None:
        """Close every file, because it may have been replaced."""
        with self._lock:
            self._groups.clear()
            self._files.clear()

    def _open(self, path: str) -> tuple[Any, str, list[int], str | None]:
        if path not in self._files:
            file, state = open_file(path, ImageError)
            try:
                column = image_column(file.schema_arrow, path)[0]
            except FaultscapeError as error:
                raise ImageError(str(error)) from None
            about = file.metadata
            ends = [0, *accumulate(about.row_group(g).num_rows for g in range(about.num_row_groups))]
            self._files[path] = (file, state, ends, column)
            while len(self._files) > _GROUPS:
                self._files.popitem(last=False)
        self._files.move_to_end(path)
        return self._files[path]
