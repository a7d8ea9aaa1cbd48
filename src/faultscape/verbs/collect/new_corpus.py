"""The corpus with what a command changes in it, made row by row while it is written, so that memory does not
grow with its images.

Conventions: first the shards that are there, with changed rows and without those that leave, then new images,
in the order of their ids, in shards of their own. Near-duplicates of new images are searched among half a
million at a time, and among all first images of groups before these.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faultscape.corpus.shards import LOOKS, groups_of, looks
from faultscape.study.folder import cannot_write
from faultscape.study.tables.corpus import SCHEMA, Corpus, Image, images_of, table_of
from faultscape.study.tables.moved_images import CORPUS, moved_images

if TYPE_CHECKING:
    from faultscape.verbs.collect.changes import Gathered

TOGETHER = 1 << 19  # images
_IN_MEMORY = 1 << 24  # bytes of rows


class RowsAside:
    """Rows of images that wait in a file, in the folder of a study, which nobody sees and no kill leaves."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(root))  # noqa: SIM115 - open as long as this is
        self._begins = list[int]()
        self._left_out = _Ids()
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._count

    def add(self, rows: pa.Table) -> None:
        """Add rows behind the others."""
        if not len(rows):
            return
        try:
            self._begins.append(self._file.seek(0, os.SEEK_END))
            with pa.ipc.new_stream(pa.PythonFile(self._file, "w"), rows.schema) as stream:
                stream.write_table(rows)
        except OSError as error:
            raise cannot_write(self._root, error) from None
        self._count += len(rows)

    def leave_out(self, ids: Collection[str]) -> None:
        """Leave out the rows of some images, as far as there are any."""
        self._left_out = _Ids(ids)
        self._count = sum(map(len, self))

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield the rows, as many at a time as were added together."""
        for begin in self._begins:
            self._file.seek(begin)
            with pa.ipc.open_stream(pa.PythonFile(self._file, "r")) as stream:
                table = stream.read_all()
            yield table.filter(_call("invert", self._left_out.among(table)))

    def together(self, most: int) -> Iterator[pa.Table]:
        """Yield the rows, about as many at a time as may be held."""
        held = list[pa.Table]()
        for table in self:
            held.append(table)
            if sum(map(len, held)) >= most:
                yield pa.concat_tables(held).combine_chunks()
                held.clear()
        if held:
            yield pa.concat_tables(held).combine_chunks()


def rows_of_corpus(corpus: Corpus, gathered: Gathered, start: int, size: int) -> Iterator[pa.Table]:
    """Yield the rows of the new corpus, in the order of shards and ids; new images are in shards of ``size``
    from ``start`` on.
    """
    with RowsAside(corpus.root) as firsts:
        yield from _rows(corpus, gathered, start, size, firsts)


def _rows(corpus: Corpus, gathered: Gathered, start: int, size: int, firsts: RowsAside) -> Iterator[pa.Table]:
    again = _searched_again(corpus, gathered)
    kept = [
        row for row in gathered.changed.values() if row.near_duplicate_of == row.id and row.id not in again
    ]
    others = {*gathered.left, *gathered.changed, *again}

    def earlier() -> Iterator[pa.Table]:
        yield looks(kept)
        elsewhere = _Ids(others)
        for table in corpus.each_table("near_duplicate_of", *LOOKS):
            began = _call("equal", table["id"], table["near_duplicate_of"])
            yield table.filter(_call("and_not", began, elsewhere.among(table))).select(LOOKS)
        yield from firsts

    blocks = gathered.new.together(TOGETHER)
    block = next(blocks, SCHEMA.empty_table())
    found = groups_of(pa.concat_tables([looks([*again.values()]), block.select(LOOKS)]), earlier())
    groups = dict(zip(again, found, strict=False))
    now = gathered.changed | {id_: replace(row, near_duplicate_of=groups[id_]) for id_, row in again.items()}
    yield from _earlier_rows(corpus, now, gathered.left)
    found = found[len(again) :]
    place = 0
    while len(block):
        first = pa.array(found, pa.string())
        shard = pa.array(start + np.arange(place, place + len(block)) // size, pa.int32())
        yield _with(_with(block, "near_duplicate_of", first), "shard", shard)
        place += len(block)
        firsts.add(block.filter(_call("equal", block["id"], first)).select(LOOKS))
        block = next(blocks, SCHEMA.empty_table())
        found = groups_of(block.select(LOOKS), earlier()) if len(block) else []


def _searched_again(corpus: Corpus, gathered: Gathered) -> dict[str, Image]:
    """Return {id: row} of images that the study has or had whose near-duplicates are searched again: they
    look different, come back, or the first image of their group does or leaves.
    """
    again = {id_: gathered.changed[id_] for id_ in sorted(gathered.again)}
    lost = {*again, *gathered.left}
    firsts = _Ids(lost)
    for table in corpus.each_table("id", "near_duplicate_of") if lost else ():
        members = table.filter(firsts.among(table, "near_duplicate_of"))["id"].to_pylist()
        rows = corpus.by_id([id_ for id_ in members if id_ not in lost])
        again |= {id_: gathered.changed.get(id_, row) for id_, row in rows.items()}
    return again


def _earlier_rows(corpus: Corpus, now: dict[str, Image], left: Collection[str]) -> Iterator[pa.Table]:
    """Yield the rows that the corpus has, as they are ``now``, without those that ``left``, and with those
    that come back.
    """
    root = corpus.root
    touched = _Ids({*now, *left})
    there = {*corpus.by_id([*now])}
    back = sorted((row for row in now.values() if row.id not in there), key=_place)
    moved = bool(moved_images(root / CORPUS, root))
    for table in corpus.each_table():
        last = (table["shard"][-1].as_py(), table["id"][-1].as_py())
        before = [row for row in back if _place(row) < last]
        back = back[len(before) :]
        if moved or before or _call("any", touched.among(table)).as_py():
            rows = [now.get(row.id, row) for row in images_of(table, root) if row.id not in left]
            yield table_of(sorted([*rows, *before], key=_place), root)
        else:
            yield table
    yield table_of(back, root)


def _place(image: Image) -> tuple[int, str]:
    return image.shard, image.id


class _Ids:
    """Ids, of which a table is compared with those alone that its own ids enclose: Arrow takes in all that it
    is to compare with, for every table again.
    """

    def __init__(self, ids: Collection[str] = ()) -> None:
        self._sorted = sorted(ids)
        self._array = pa.array(self._sorted, pa.string())

    def among(self, table: pa.Table, column: str = "id") -> pa.ChunkedArray:
        """Return (I,) whether each row is about one of them."""
        bounds = pc.call_function("min_max", [table[column]]).as_py()
        low = bisect_left(self._sorted, bounds["min"] or "")
        high = bisect_right(self._sorted, bounds["max"] or "")
        some = pc.SetLookupOptions(self._array.slice(low, max(high - low, 0)))
        return pc.call_function("is_in", [table[column]], some)


def _call(name: str, *arguments: pa.Array | pa.ChunkedArray) -> Any:
    return pc.call_function(name, list(arguments))


def _with(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """Return a table with other values in a column."""
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), values)
