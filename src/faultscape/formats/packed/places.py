"""How a file within another file is written, and reading its bytes.

Conventions: ``FILE.tar#MEMBER`` is a member of a tar, ``FILE.parquet:COLUMN#ROW`` and
``FILE.arrow:COLUMN#ROW`` are a row of a table; a file that has such a name itself is that file.
"""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass

from faultscape.errors import FaultscapeError
from faultscape.formats.packed.tables import read_row
from faultscape.formats.packed.tars import read_member

_MEMBER = re.compile(r"(.+?\.tar)#(.+)", re.IGNORECASE | re.DOTALL)
_CELL = re.compile(r"(.+\.(?:parquet|pq|arrow)):([^:#/]+)#(\d{1,15})", re.IGNORECASE | re.DOTALL)
_ROW = re.compile(r"(.+\.(?:parquet|pq)(?:\?[^#]*)?)#(\d+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Packed:
    """A file within another ``file``: the ``member`` of a tar, or the ``row`` of a ``column``."""

    file: str
    member: str = ""
    column: str = ""
    row: int = 0

    @property
    def state(self) -> str:
        """A text that changes with the file that holds it; OSError if there is none."""
        about = os.stat(self.file)
        return f"{about.st_size}-{about.st_mtime_ns}"


def packed_of(source: str) -> Packed | None:
    """Return what a source means within another file; None if it is no such source.

    >>> packed_of("a/b.tar#c/d.png"), packed_of("a.png")
    (Packed(file='a/b.tar', member='c/d.png', column='', row=0), None)
    >>> packed_of("a.arrow:mask#12")
    Packed(file='a.arrow', member='', column='mask', row=12)
    """
    if "#" not in source or os.path.isfile(source):
        return None
    if match := _CELL.fullmatch(source):
        return Packed(match[1], column=match[2], row=int(match[3]))
    if match := _MEMBER.fullmatch(source):
        return Packed(match[1], member=match[2])
    return None


def file_of(source: str) -> str:
    """Return the file on a disk, or the address, that a source is in: itself, unless it is within another.

    >>> file_of("a.tar#b.png"), file_of("a.parquet#3"), file_of("a.parquet:mask#3"), file_of("a.png")
    ('a.tar', 'a.parquet', 'a.parquet', 'a.png')
    """
    if packed := packed_of(source):
        return packed.file
    match = _ROW.fullmatch(source)
    return match[1] if match and not os.path.isfile(source) else source


def read_packed(packed: Packed, error: type[FaultscapeError]) -> bytes:
    """Return the bytes of a file within another; ``error`` in one sentence if they cannot be read."""
    if packed.member:
        return read_member(packed.file, packed.member, error)
    return read_row(packed.file, packed.column, packed.row, error)


def opened_at(path: str, error: type[FaultscapeError]) -> str | io.BytesIO:
    """Return what a library opens to read a file: its path, or the bytes of a file within another."""
    packed = packed_of(path)
    return path if packed is None else io.BytesIO(read_packed(packed, error))
