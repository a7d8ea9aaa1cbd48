"""Columns of a CSV, TSV or Parquet file from an untrusted source, read in pieces within bounds.

Conventions: columns are texts without surrounding spaces, with "" for missing values. Even a small file may
unpack to any size, so rows, bytes and the length of cells are counted while reading, and exceeding a limit
raises a ModelError that names the place. Repeated cells are stored once.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds
from pyarrow import compute

from faultscape.errors import ModelError, counted

MOST_BYTES = 1 << 32  # unpacked in total
MOST_ROWS = 20_000_000
MOST_CHARACTERS = 10_000  # per cell
MOST_COLUMNS = 10_000
TAB = "\t"
_BLOCK = 1 << 22  # maximum bytes of a line of text
_BATCH = 1 << 14  # rows of Parquet at once
_PARQUET = (".parquet", ".pq")


def names_of(path: str) -> list[str]:
    """Return the names of a file's columns, in order; ModelError if it is not a table."""
    if not Path(path).stat().st_size:
        raise ModelError(f"{path}: is empty")
    with _reading(path):
        names = (
            _parquet(path).schema_arrow.names
            if path.lower().endswith(_PARQUET)
            else _text(path, None).schema.names
        )
    if len(names) > MOST_COLUMNS:
        raise ModelError(f"{path}: has {len(names):,} columns; at most {MOST_COLUMNS:,} are read")
    return names


def read(path: str, wanted: Sequence[str]) -> pa.Table:
    """Return some columns of a file as dictionary-encoded texts; ModelError if it is not a table, or is too
    large.
    """
    pieces = []
    rows = 0
    size = 0
    with _reading(path):
        for batch in _batches(path, wanted):
            rows += batch.num_rows
            if rows > MOST_ROWS:
                raise ModelError(f"{path}: has more than {MOST_ROWS:,} rows; at most this many are read")
            columns = []
            for name in wanted:
                column = _words(path, name, batch.column(name))
                size += _bounded(path, name, column, rows - batch.num_rows)
                columns.append(column)
            if size > MOST_BYTES:
                raise ModelError(f"{path}: {_too_much()}")
            pieces.append(pa.table(columns, names=[*wanted]))
        if not pieces:
            return pa.table(
                [pa.array([], pa.dictionary(pa.int32(), pa.string())) for _ in wanted], names=[*wanted]
            )
        return pa.concat_tables(pieces)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn pyarrow's exceptions about a file into a sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, NotImplementedError, MemoryError) as error:
        if is_text(path) and (binary := _no_text(path)):
            raise ModelError(f"{path}: {binary}; save the table as CSV in UTF-8") from None
        words = " ".join(str(error).split())[:200]
        if "straddling" in words or "out of sync" in words:
            words = f"a line is longer than {_BLOCK:,} bytes; check for an unclosed quotation mark"
        if "columns, got" in words and (odd := _odd_line(path)):
            tabs = _parted(path) == TAB
            other = (
                parted_otherwise(_first_line(path), tabs=tabs)
                or f"quote cells that hold a {'tab' if tabs else 'comma'}"
            )
            raise ModelError(f"{path}, {odd}; {other}") from None
        raise ModelError(f"{path}: cannot be read as a table: {words}") from None


def parted_otherwise(names: Sequence[str], *, tabs: bool = False) -> str:
    """Return a message if a first line, read as one column, seems to be separated by something other than
    commas (or ``tabs``), with what to do; else ''.

    >>> parted_otherwise(["image;label"])
    'its columns seem to be separated by semicolons; save it with commas, and decimal points in numbers'
    """
    marks = {"semicolons": ";", "commas": ",", "tabs": TAB} if len(names) == 1 else {}
    found = next(
        (word for word, mark in marks.items() if mark in names[0] and word != ("tabs" if tabs else "commas")),
        "",
    )
    between = "tabs, or name it .csv" if tabs else "commas, and decimal points in numbers"
    return f"its columns seem to be separated by {found}; save it with {between}" if found else ""


def _first_line(path: str) -> list[str]:
    """Return the columns of the first line of a text file; none if it cannot be read."""
    try:
        stream = io.TextIOWrapper(io.BufferedReader(_Counted(path)), encoding="utf-8-sig", newline="")
        return next(csv.reader(iter(lambda: stream.readline(_BLOCK), ""), delimiter=_parted(path)), [])
    except (ValueError, OSError, csv.Error):
        return []


def _no_text(path: str) -> str:
    """Return a message if a file does not begin as UTF-8 text; else ''."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(_Counted(path).read(_BLOCK))
    except UnicodeDecodeError:
        return "is not text in UTF-8"
    except (OSError, ModelError):
        return ""
    return "is not text" if "\0" in text else ""


def _odd_line(path: str) -> str:
    """Return a message about the first line of a text file whose number of columns differs from the first; ''
    if there is none.
    """
    stream = io.TextIOWrapper(io.BufferedReader(_Counted(path)), encoding="utf-8-sig", newline="")
    rows = csv.reader(iter(lambda: stream.readline(_BLOCK), ""), delimiter=_parted(path))
    wanted = 0
    try:
        for row in rows:
            wanted = wanted or len(row)
            if row and len(row) != wanted:
                return f"line {rows.line_num}: has {counted(len(row), 'column')}, the first line {wanted}"
    except (ValueError, OSError, csv.Error):
        return ""
    return ""


def is_text(path: str) -> bool:
    """Whether rows are lines of text below a first one: not in Parquet files or arrays."""
    return not path.lower().endswith((*_PARQUET, ".npz"))


def _parted(path: str) -> str:
    """Return the column separator of a text file."""
    return TAB if path.lower().endswith((".tsv", ".tsv.gz")) else ","


class _Counted(io.RawIOBase):
    """A stream that raises ModelError if it unpacks to more than the limit."""

    def __init__(self, path: str) -> None:
        self._path, self._stream, self._size = path, pa.input_stream(path), 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found = self._stream.read(size)
        self._size += len(found)
        if self._size > MOST_BYTES:
            raise ModelError(f"{self._path}: {_too_much()}")
        return found

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)


def _too_much() -> str:
    return f"unpacks to more than {MOST_BYTES >> 30} GiB; at most this much is read"


def _text(path: str, wanted: Sequence[str] | None) -> Any:
    """Return a reader of a text file that returns some of its columns as texts."""
    options = pc.ConvertOptions(
        column_types=dict.fromkeys(wanted or (), pa.string()),
        include_columns=[*(wanted or ())],
        strings_can_be_null=False,
    )
    return pc.open_csv(
        pa.PythonFile(_Counted(path), mode="r"),
        read_options=pc.ReadOptions(block_size=_BLOCK),
        parse_options=pc.ParseOptions(delimiter=_parted(path), newlines_in_values=True),
        convert_options=options,
    )


def _parquet(path: str, as_words: Sequence[str] = ()) -> Any:
    # repeated words are not unpacked, and what was read does not stay
    return pq.ParquetFile(path, read_dictionary=[*as_words], pre_buffer=False)


def _batches(path: str, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Return pieces of a file with some of its columns; ModelError for columns that are neither texts nor
    numbers.
    """
    if not path.lower().endswith(_PARQUET):
        yield from _text(path, wanted)
        return
    schema = _parquet(path).schema_arrow
    words = []
    for name in wanted:
        kind = schema.field(name).type
        plain = kind.value_type if kinds.is_dictionary(kind) else kind
        if any(
            is_(plain)
            for is_ in (kinds.is_string, kinds.is_large_string, kinds.is_binary, kinds.is_large_binary)
        ):
            words.append(name)
        elif not any(
            is_(plain) for is_ in (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_null)
        ):
            raise ModelError(f"{path}: column {name!r} holds {kind}; expected text or a number per line")
    yield from _parquet(path, words).iter_batches(_BATCH, columns=[*wanted])


def _words(path: str, name: str, column: Any) -> Any:
    """Return a column as a dictionary of texts, with their length unchanged."""
    try:
        plain = column.dictionary if pa.types.is_dictionary(column.type) else column
        if not pa.types.is_dictionary(column.type):
            return plain.cast(pa.string()).dictionary_encode()
        return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), plain.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ModelError(
            f"{path}: column {name!r}: {' '.join(str(error).split())[:200]}; expected text"
        ) from None


def _bounded(path: str, name: str, column: Any, before: int) -> int:
    """Return how many bytes the texts of a column take; ModelError naming the first cell that is too long."""
    lengths = np.asarray(compute.call_function("binary_length", [column.dictionary]).fill_null(0))
    if not len(lengths):
        return 0
    place = np.asarray(column.indices.fill_null(0))
    if lengths.max() > MOST_CHARACTERS and (long := np.flatnonzero(lengths[place] > MOST_CHARACTERS)).size:
        row = int(long[0])
        raise ModelError(
            f"{path}, line {before + row + 2}: the cell of column {name!r} has {int(lengths[place[row]]):,}"
            f" bytes; at most {MOST_CHARACTERS:,} are read"
        )
    return int(lengths[place].sum())
