"""Records that are more than memory holds: by key in a file that nobody sees, so that what belongs together
is read together.

Conventions: a record is a tuple of texts and numbers, as JSON has them. Few records never leave memory. The
file has no name, so no kill leaves it, and lies in ``folder``, or where temporary files do.
"""

from __future__ import annotations

import heapq
import json
import threading
import weakref
from array import array
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any

import zstandard

from faultscape.study.folder import cannot_write

AT_ONCE = 1 << 17  # records in memory
_IN_MEMORY = 1 << 23  # bytes
_PIECE = 1 << 10  # records, of each of the rows that are merged


class BytesAside:
    """Pieces of bytes in a file without a name; StudyError where it cannot be written."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY, dir=folder)  # noqa: SIM115 - open as long as this is
        self.close = weakref.finalize(self, self._file.close)  # at the latest when nobody asks any more
        self._end = 0
        self._one_reader = threading.Lock()

    def add(self, data: bytes) -> tuple[int, int]:
        """Append bytes, compressed, and return where they are."""
        packed = zstandard.compress(data, 1)
        try:
            self._file.seek(self._end)
            self._file.write(packed)
        except OSError as error:
            raise cannot_write(Path(self._folder or gettempdir()), error) from None
        start, self._end = self._end, self._end + len(packed)
        return start, len(packed)

    def read(self, start: int, length: int) -> bytes:
        """Return what `add` returned the place of; any thread may ask."""
        with self._one_reader:
            self._file.seek(start)
            packed = self._file.read(length)
        return zstandard.decompress(packed)


def in_order(records: Iterable[tuple[Any, ...]], folder: str | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield records in their order.

    >>> list(in_order([("b", 1), ("a", 2)]))
    [('a', 2), ('b', 1)]
    """
    waiting = iter(records)
    held = sorted(islice(waiting, AT_ONCE))
    more = next(waiting, None)
    if more is None:
        yield from held
        return
    aside = BytesAside(folder)
    rows = list[list[tuple[int, int]]]()
    while held:
        pieces = (held[first : first + _PIECE] for first in range(0, len(held), _PIECE))
        rows.append([aside.add(json.dumps(piece).encode()) for piece in pieces])
        held = sorted(islice(chain([] if more is None else [more], waiting), AT_ONCE))
        more = None

    def read(places: list[tuple[int, int]]) -> Iterator[tuple[Any, ...]]:
        for place in places:
            yield from map(tuple, json.loads(aside.read(*place)))

    try:
        yield from heapq.merge(*map(read, rows))
    finally:
        aside.close()


class Scattered:
    """Records by key, each key's in the order in which they came.

    >>> scattered = Scattered()
    >>> for record in (("b", 1), ("a", 2), ("b", 3)):
    ...     scattered.add(record[0], record)
    >>> [list(scattered.of(key)) for key in sorted(scattered.keys())]
    [[('a', 2)], [('b', 1), ('b', 3)]]
    """

    def __init__(self, folder: str | None = None) -> None:
        self._held = dict[Hashable, list[tuple[Any, ...]]]()
        self._count = 0
        self._aside = BytesAside(folder)
        self._places: dict[Hashable, array[int]] = {}

    def add(self, key: Hashable, record: tuple[Any, ...]) -> None:
        """Add a record of a key."""
        self._held.setdefault(key, []).append(record)
        self._count += 1
        if self._count >= AT_ONCE:
            for one, records in self._held.items():
                place = self._aside.add(json.dumps(records).encode())
                self._places.setdefault(one, array("q")).extend(place)
            self._held.clear()
            self._count = 0

    def keys(self) -> set[Hashable]:
        """Return the keys that have a record."""
        return {*self._held, *self._places}

    def of(self, key: Hashable) -> Iterator[tuple[Any, ...]]:
        """Yield the records of a key."""
        places = iter(self._places.get(key, ()))
        for start in places:
            yield from map(tuple, json.loads(self._aside.read(start, next(places))))
        yield from self._held.get(key, ())

    def close(self) -> None:
        """Give the space back."""
        self._held.clear()
        self._aside.close()
