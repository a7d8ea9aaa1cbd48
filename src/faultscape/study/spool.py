"""A spool: the finished part of a running shard, so that a kill costs at most one batch of slow inference.

Conventions: an append-only file of records, each a little-endian length, a CRC-32 and the bytes. A record
torn by a kill, and everything after it, is cut off when the spool is opened again. Spools are exempt from the
laws on results, and are removed once their part is safe.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from faultscape.errors import StudyError
from faultscape.study.folder import cannot_write

_HEAD = struct.Struct("<QI")


class Spool:
    """The records of one spool, read from the disk one at a time; ``key`` identifies what they were made
    from, and a different key empties it.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 - closed by finish() or close()
            _hold(self._file.fileno())
            self._places = self._scan()
            if not self._places or self[0] != key.encode():
                self._file.truncate(0)
                self._places = []
                self._write(key.encode())
            del self._places[0]  # the key
        except OSError as error:
            raise cannot_write(path, error) from None

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> bytes:
        return b"".join(self._pieces(*self._places[number]))

    def __iter__(self) -> Iterator[bytes]:
        return (self[number] for number in range(len(self)))

    def append(self, record: bytes) -> None:
        """Add one record; StudyError if the disk is full."""
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
        start = self._file.seek(0, os.SEEK_END)
        view = memoryview(_HEAD.pack(len(record), zlib.crc32(record)) + record)
        while view:
            view = view[self._file.write(view) :]
        self._places.append((start + _HEAD.size, len(record)))

    def _pieces(self, start: int, length: int) -> Iterator[bytes]:
        """Yield bytes of the file in as few pieces as the system allows: on Linux 2 GiB at most."""
        while length:
            if not (piece := os.pread(self._file.fileno(), length, start)):
                raise StudyError(
                    f"{self.path}: ends within a record, so another program wrote to it; run the same"
                    " command again"
                )
            yield piece
            start = start + len(piece)
            length = length - len(piece)

    def _checksum(self, start: int, length: int) -> int:
        crc = 0
        for piece in self._pieces(start, length):
            crc = zlib.crc32(piece, crc)
        return crc

    def _scan(self) -> list[tuple[int, int]]:
        """Return the offset and length of each whole record, and cut off what follows the last."""
        size = self._file.seek(0, os.SEEK_END)
        at = 0
        places = []
        while at + _HEAD.size <= size:
            length, crc = _HEAD.unpack(os.pread(self._file.fileno(), _HEAD.size, at))
            start = at + _HEAD.size
            if start + length > size or self._checksum(start, length) != crc:
                break
            places.append((start, length))
            at = start + length
        self._file.truncate(at if places else 0)
        return places


def _hold(descriptor: int) -> None:
    """Wait until no worker of a killed run has the spool open any more."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def holds_more_than_its_key(path: Path) -> bool:
    """Return whether a spool that is not open has a record to continue from."""
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
    return len(head) == _HEAD.size and path.stat().st_size > _HEAD.size + _HEAD.unpack(head)[0]
