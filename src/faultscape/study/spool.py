"""A spool: what a running shard has done so far, so that a kill costs at most one batch of slow inference.

Conventions: an append-only file of records, each a little-endian length, a CRC-32 and the bytes. A record torn by a kill, and whatever
follows it, is cut off when the spool is opened again. Spools lie outside every law and are removed when their part is safe.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from faultscape.study.folder import cannot_write

_HEAD = struct.Struct("<QI")


class Spool:
    """The records of one spool; ``key`` says what they were made from, and another key empties it."""

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - closed by finish() or close()
            _hold(self._file.fileno())
            self.records = self._read()
            if not self.records or self.records[0] != key.encode():
                self._file.truncate(0)
                self._write(key.encode())
                self.records = []
            else:
                self.records = self.records[1:]
        except OSError as error:
            raise cannot_write(path, error) from None

    def append(self, record: bytes) -> None:
        """Add one record; StudyError when the disk is full."""
        try:
            self._write(record)
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def close(self) -> None:
        """Keep the records for the next run."""
        self._file.close()

    def finish(self) -> None:
        """Remove the spool: what it held is safe elsewhere."""
        self._file.close()
        self.path.unlink(missing_ok=True)

    def _write(self, record: bytes) -> None:
        view = memoryview(_HEAD.pack(len(record), zlib.crc32(record)) + record)
        while view:
            view = view[self._file.write(view) :]

    def _read(self) -> list[bytes]:
        self._file.seek(0)
        data = self._file.read()
        records, end = [], 0
        while end + _HEAD.size <= len(data):
            length, crc = _HEAD.unpack_from(data, end)
            record = data[end + _HEAD.size : end + _HEAD.size + length]
            if len(record) < length or zlib.crc32(record) != crc:
                break
            records.append(record)
            end += _HEAD.size + length
        self._file.truncate(end)
        self._file.seek(0, os.SEEK_END)
        return records


def _hold(descriptor: int) -> None:
    """Wait until no worker of a killed run still has the spool open."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
