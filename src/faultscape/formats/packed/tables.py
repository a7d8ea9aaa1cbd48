"""One value of a column of a Parquet file, or of an Arrow file as `datasets` saves it: the bytes of an image
or a mask.

Conventions: a value is binary, or a struct with ``bytes`` (the Image of `datasets`). Arrow files are mapped
into memory and only the wanted column is read; their offsets are checked before a value is used. Of a Parquet
file the last few values of each row group being read are kept, so that rows in about its order are read once.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import accumulate
from threading import Lock
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.errors import FaultscapeError, library_text

_OPEN = 8  # columns being read
_BUFFER = 16  # values read at a time
_BATCHES = 8
_GROUPS = 4


class Column(Protocol):
    """An open column of a file; reading raises whatever its library does."""

    rows: int

    def value(self, row: int) -> Any:
        """Return the value of a row."""


class Group:
    """The rows of a row group, in the order in which ``start`` yields them, ``buffer`` at a time."""

    def __init__(self, start: Callable[[], Iterator[list[Any]]], buffer: int = _BUFFER) -> None:
        self._start = start
        self._buffer = buffer
        self._stream = start()
        self._kept: OrderedDict[int, list[Any]] = OrderedDict()
        self._next = 0

    def value(self, row: int) -> Any:
        """Return the value of a row; one that was passed long ago is read from the start again."""
        number = row // self._buffer
        if number not in self._kept and number < self._next:
            self._stream = self._start()
            self._next = 0
        while number not in self._kept:
            self._kept[self._next] = next(self._stream)
            self._next += 1
            while len(self._kept) > _BATCHES:
                self._kept.popitem(last=False)
        return self._kept[number][row % self._buffer]


class _ParquetColumn:
    def __init__(self, path: str, column: str) -> None:
        self._file = pq.ParquetFile(path, memory_map=False, buffer_size=1 << 23)
        _need(column, self._file.schema_arrow)
        about = self._file.metadata
        self._column = column
        self._ends = [0, *accumulate(about.row_group(g).num_rows for g in range(about.num_row_groups))]
        self._groups: OrderedDict[int, Group] = OrderedDict()
        self.rows = self._ends[-1]

    def value(self, row: int) -> Any:
        group = bisect_right(self._ends, row) - 1
        if group not in self._groups:
            self._groups[group] = Group(lambda: self._values(group))
            while len(self._groups) > _GROUPS:
                self._groups.popitem(last=False)
        self._groups.move_to_end(group)
        return self._groups[group].value(row - self._ends[group])

    def _values(self, group: int) -> Iterator[list[Any]]:
        options: Any = {"batch_size": _BUFFER, "row_groups": [group], "columns": [self._column]}
        for batch in self._file.iter_batches(**options, use_threads=False):
            yield batch.column(0).to_pylist()


class _ArrowColumn:
    def __init__(self, path: str, column: str) -> None:
        held = arrow_column(path, column)
        self._chunks = held.chunks
        self._ends = [0, *accumulate(len(chunk) for chunk in self._chunks)]
        self._sound: set[int] = set()
        self.rows = self._ends[-1]

    def value(self, row: int) -> Any:
        number = bisect_right(self._ends, row) - 1
        chunk = self._chunks[number]
        if number not in self._sound:
            chunk.validate(full=True)  # the offsets of a damaged file may lead anywhere
            self._sound.add(number)
        return chunk[row - self._ends[number]].as_py()


def arrow_schema(path: str) -> pa.Schema:
    """Return the schema of an Arrow file; its library's errors if it is none."""
    with pa.memory_map(path) as file:
        return _reader(file, None).schema


def arrow_column(path: str, column: str) -> pa.ChunkedArray:
    """Return a column of an Arrow file, mapped into memory and not yet checked."""
    place = _need(column, arrow_schema(path))
    options = pa.ipc.IpcReadOptions(included_fields=[place])
    reader = _reader(pa.memory_map(path), options)
    batches = (
        list(reader)
        if isinstance(reader, pa.ipc.RecordBatchStreamReader)
        else [reader.get_batch(k) for k in range(reader.num_record_batches)]
    )
    chunks = [batch.column(0) for batch in batches]
    return pa.chunked_array(chunks, reader.schema.field(0 if len(reader.schema) == 1 else place).type)


def columns_of(path: str) -> pa.Schema:
    """Return the schema of a Parquet or Arrow file; its library's errors if it is neither."""
    return arrow_schema(path) if is_arrow(path) else pq.read_schema(path)


def is_arrow(path: str) -> bool:
    """Whether a file is named as an Arrow file.

    >>> is_arrow("data-00000-of-00001.arrow"), is_arrow("a.parquet")
    (True, False)
    """
    return path.lower().endswith(".arrow")


_opened: OrderedDict[tuple[str, str], tuple[tuple[int, int], Column]] = OrderedDict()
_lock = Lock()


def read_row(path: str, column: str, row: int, error: type[FaultscapeError]) -> bytes:
    """Return the bytes in a row of a column; ``error`` in one sentence if there are none."""
    place = f"{path}:{column}#{row}"
    with _lock:
        try:
            about = os.stat(path)
            state = (about.st_size, about.st_mtime_ns)
            key = (path, column)
            if key not in _opened or _opened[key][0] != state:
                _opened[key] = (state, (_ArrowColumn if is_arrow(path) else _ParquetColumn)(path, column))
                while len(_opened) > _OPEN:
                    _opened.popitem(last=False)
            _opened.move_to_end(key)
            held = _opened[key][1]
            value = held.value(row) if row < held.rows else None
        except OSError as fault:
            raise error(f"{place}: {fault.strerror or library_text(fault)}") from None
        except Exception as fault:  # noqa: BLE001 - a damaged file may raise nearly anything
            _opened.pop((path, column), None)
            raise error(f"{place}: cannot be read: {library_text(fault)}") from None
    if row >= held.rows:
        raise error(f"{place}: the file has only {held.rows} rows; it has changed, so run collect again")
    data = value.get("bytes") if isinstance(value, dict) else value
    if not isinstance(data, bytes) or not data:
        raise error(f"{place}: the row holds no bytes of an image")
    return data


def forget() -> None:
    """Close every file, because it may have been replaced."""
    with _lock:
        _opened.clear()


def _need(column: str, schema: pa.Schema) -> int:
    place = schema.get_field_index(column)
    if place < 0:
        raise KeyError(f"no column {column!r}, only {', '.join(schema.names[:8])}")
    return place


def _reader(file: Any, options: Any) -> Any:
    """Return a reader of Arrow's streams, which `datasets` writes, or of its files."""
    start = file.read(6)
    file.seek(0)
    is_file = start == b"ARROW1"
    return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file, options=options)
