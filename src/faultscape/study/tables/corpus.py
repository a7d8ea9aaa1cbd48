"""corpus.parquet: one row per image, and the shards.

Conventions: rows are sorted by (shard, id), a shard is never cut again; ``near_duplicate_of`` is the id of
the first image of a near-duplicate group, ``group`` the drive, city or patient that an image belongs to (''
if none). Studies of earlier versions, which stored near-duplicates in ``group``, can be read too. Paths are
stored as the file system's own bytes, so that any file name works.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.errors import StudyError, library_text
from faultscape.study.folder import putting
from faultscape.study.tables.moved_images import CORPUS, moved_images, put_place, with_place

ROWS_AT_ONCE = 1024
_ROWS_IN_GROUP = 4096  # so that one shard can be read without the others
_TYPES = {
    "source": pa.binary(),
    "width": pa.int32(),
    "height": pa.int32(),
    "shard": pa.int32(),
    "dhash": pa.int64(),
}
_LEAST = {"width": 0, "height": 0, "shard": 0}  # an id without an image has no size
_RECIPE, _HERE = "stress:", "//study//"  # prefix of a recipe, and its placeholder for the study's folder
_DEEPEST, _MARK = 4, re.compile(rf'(\\*)"{_HERE}')  # depth of recipes within recipes
_DUPLICATES = "near_duplicate_of"
_EARLIER = "group"


@dataclass(frozen=True, slots=True)
class Image:
    """One image of the corpus.

    ``source`` is a path, an address of a store or ``FILE.parquet#ROW``; ``digest`` the SHA-256 of its bytes,
    or what its store reports about them (``etag:...``); ``dhash`` 64 bits as a signed number, or None if the
    image was not read.
    """

    id: str
    source: str
    set: str
    role: str
    condition: str
    parent: str
    width: int
    height: int
    digest: str
    dhash: int | None
    near_duplicate_of: str
    shard: int
    group: str = ""

    @property
    def tagged(self) -> bool:
        """Return whether the digest is from the store, not the SHA-256 of the bytes."""
        return ":" in self.digest

    @property
    def key(self) -> str:
        """The key of the image in the order among equals: its digest if it is that of the bytes, else its
        id.
        """
        return tie_key(self.id, self.digest)


SCHEMA = pa.schema([(f.name, _TYPES.get(f.name, pa.string())) for f in fields(Image)])


class Corpus:
    """corpus.parquet of the study at ``root``: opened once, on first use, and each column read once. Without
    the file it is empty; StudyError if the file is damaged.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read = dict[str, pa.ChunkedArray]()

    @cached_property
    def _file(self) -> pq.ParquetFile | None:
        path = self.root / "corpus.parquet"
        with _damage_of(path):
            # what is read ahead would stay in memory until all is read
            return pq.ParquetFile(path, pre_buffer=False) if path.exists() else None

    @cached_property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [] if self._file is None else self._file.schema_arrow.names

    def columns(self, *names: str) -> pa.Table:
        """Return some columns, in corpus order."""
        if self._file is None:
            return pa.table({name: pa.array([], _TYPES.get(name, pa.string())) for name in names})
        if lacking := [name for name in names if name not in self._read]:
            with _damage_of(self.root / "corpus.parquet"):
                if gone := [name for name in lacking if name not in self.names]:
                    raise ValueError(f"it has no column {gone[0]}")
                found = _checked(self._file.read(lacking), lacking)
            self._read |= {name: found[name] for name in lacking}
        return pa.table({name: self._read[name] for name in names})

    def each_row(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of some columns of each image, in corpus order, and keep nothing of them."""
        if self._file is None:
            return
        with _damage_of(self.root / "corpus.parquet"):
            for batch in self._file.iter_batches(ROWS_AT_ONCE, columns=list(names)):
                columns = _checked(batch, names)
                yield from zip(*(columns[name].to_pylist() for name in names), strict=True)

    def each_table(
        self, *names: str, between: tuple[str, str | bytes, str | bytes] | None = None
    ) -> Iterator[pa.Table]:
        """Yield some columns, all by default, of a few thousand images at a time, in corpus order, and keep
        nothing of them; of all rows, or only where a column may hold values ``between`` two, (name, least,
        most).
        """
        if self._file is None:
            return
        columns = list(names) or self._of_images
        with _damage_of(self.root / CORPUS):
            for group in range(self._file.num_row_groups):
                if between is None or self._may_hold(group, *between):
                    yield _checked(self._file.read_row_group(group, columns), columns)

    def _may_hold(self, group: int, name: str, least: str | bytes, most: str | bytes) -> bool:
        """Return whether a column of a row group may have a value between two."""
        assert self._file is not None
        bounds = self._file.metadata.row_group(group).column(self.names.index(name)).statistics
        if bounds is None or not bounds.has_min_max:
            return True
        return bounds.min <= most and bounds.max >= least

    def ids_of_sources(self, sources: Collection[str], set_name: str | None = None) -> dict[str, str]:
        """Return {source: id} of the images, of one set or of all, that have one of some sources."""
        if self._file is None or not sources:
            return {}
        import pyarrow.compute as pc

        wanted = set(sources)
        recorded = pa.array((_recorded(source, self.root) for source in wanted), pa.binary())
        moved = bool(moved_images(self.root / CORPUS, self.root))
        found = dict[str, str]()
        least, most = min(recorded.to_pylist()), max(recorded.to_pylist())
        for table in self.each_table(
            "id", "source", "set", between=None if moved else ("source", least, most)
        ):
            # of a study that was moved, what is recorded is not where the files are
            mine = pc.call_function("is_in", [table["source"]], pc.SetLookupOptions(value_set=recorded))
            columns = (table if moved else table.filter(mine)).to_pydict()
            places = _sources(columns["source"], self.root / CORPUS, self.root)
            for id_, source, set_ in zip(columns["id"], places, columns["set"], strict=True):
                if source in wanted and set_name in (None, set_):
                    found[source] = id_
        return found

    def rows_of(self, ids: Iterable[str], *names: str) -> pa.Table:
        """Return some columns of some images, in corpus order, without ids that the study does not have. Of
        the file only those parts are read that may hold one of them, and nothing is kept.
        """
        asked = [id_ for id_ in ids if _is_utf8(id_)]  # as all ids are
        found = [pa.table({name: pa.nulls(0, _TYPES.get(name, pa.string())) for name in names})]
        if self._file is None or not asked:
            return found[0]
        import pyarrow.compute as pc

        wanted = pc.SetLookupOptions(value_set=words(asked))
        least, most = min(asked), max(asked)
        with _damage_of(self.root / CORPUS):
            for group in range(self._file.num_row_groups):
                if not self._may_hold(group, "id", least, most):
                    continue
                mine = pc.call_function("is_in", [self._file.read_row_group(group, ["id"])["id"]], wanted)
                if pc.call_function("any", [mine]).as_py():
                    rows = _checked(self._file.read_row_group(group, list(names)), names)
                    found.append(rows.filter(mine))
        return pa.concat_tables(found[1:] or found)

    def rows_outside(self, shards: Collection[int], *names: str) -> pa.Table:
        """Return some columns of the images outside some shards, in corpus order."""
        if not shards:
            return self.columns(*names)
        import pyarrow.compute as pc

        table = self.columns(*dict.fromkeys(["shard", *names]))
        inside = pc.SetLookupOptions(value_set=pa.array(list(shards), table["shard"].type))
        found = pc.call_function("is_in", [table["shard"]], inside)
        return table.filter(pc.call_function("invert", [found])).select(list(names))

    def shard(self, number: int) -> list[Image]:
        """Return the images of one shard, in corpus order."""
        import pyarrow.compute as pc

        columns = self.whole
        mine = pc.call_function("equal", [columns["shard"], number])
        return _images(columns.filter(mine), self.root)

    def images(self, ids: Iterable[str] | None = None) -> list[Image]:
        """Return all images, or those of some ids, in corpus order."""
        return _images(self.whole if ids is None else self.rows_of(ids, *self._of_images), self.root)

    def by_id(self, ids: Iterable[str]) -> dict[str, Image]:
        """Return {id: image} of some images, in corpus order."""
        return {image.id: image for image in self.images(ids)}

    def held(self, ids: Iterable[str]) -> set[str]:
        """Return those of some ids that the study has."""
        return set(self.rows_of(ids, "id")["id"].to_pylist())

    @property
    def whole(self) -> pa.Table:
        """All columns of all images, in corpus order."""
        return self.columns(*self._of_images)

    @property
    def is_earlier(self) -> bool:
        """Whether an earlier version wrote it, with other columns."""
        return self._file is not None and _DUPLICATES not in self.names

    @property
    def _of_images(self) -> list[str]:
        return [name for name in SCHEMA.names if not (self.is_earlier and name == _DUPLICATES)]

    def each_shard(self) -> Iterator[tuple[int, list[Image]]]:
        """Yield (number, images) of every shard, in corpus order, with one in memory at a time."""
        if self._file is None:
            return
        held = list[Image]()
        with _damage_of(self.root / "corpus.parquet"):
            for batch in self._file.iter_batches(ROWS_AT_ONCE):
                rows = _images(_checked(batch), self.root)
                for number, more in groupby(rows, key=lambda image: image.shard):
                    if held and held[0].shard != number:
                        yield held[0].shard, held
                        held = []
                    held += more
        if held:
            yield held[0].shard, held

    def each_digest(self) -> Iterator[tuple[int, list[tuple[str, str]]]]:
        """Yield (number, (id, digest) of each image) of every shard, in corpus order."""
        for number, rows in groupby(self.each_row("shard", "id", "digest"), key=lambda row: row[0]):
            yield number, [(id_, digest) for _, id_, digest in rows]

    @cached_property
    def ids(self) -> list[str]:
        """The ids of all images, in corpus order."""
        return self.columns("id")["id"].to_pylist()

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How many images each shard has."""
        found = Counter[int]()
        for table in self.each_table("shard"):
            numbers, sizes = np.unique(whole_numbers(table["shard"]), return_counts=True)
            found.update(dict(zip(numbers.tolist(), sizes.tolist(), strict=True)))
        return dict(found)

    @cached_property
    def aside(self) -> frozenset[int]:
        """The shards of images that were made from others (`stress`) and do not have the role pool: they are
        excluded from draws and pair counts.
        """
        if not (self.root / "sets.json").exists():
            return frozenset()
        import pyarrow.compute as pc

        columns = self.columns("shard", "parent", "role")
        made = pc.call_function("not_equal", [columns["parent"], ""])
        unasked = pc.call_function("not_equal", [columns["role"], "pool"])
        aside = pc.call_function("and", [made, unasked])
        others = set(columns.filter(pc.call_function("invert", [aside]))["shard"].to_pylist())
        return frozenset(set(columns["shard"].to_pylist()) - others)

    def shards_of(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the shards of some images, without those that are not in the study."""
        found = self.rows_of(set(ids), "id", "shard").to_pydict()
        return dict(zip(found["id"], found["shard"], strict=True))

    def tie_keys(self, ids: Sequence[str]) -> list[str]:
        """Return the keys of some images, in their order; an id that is not in the study is its own key."""
        table = self.rows_of(set(ids), "id", "digest").to_pydict()
        found = dict(zip(table["id"], table["digest"], strict=True))
        return [tie_key(id_, found.get(id_, "")) for id_ in ids]


def whole_numbers(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Return a column of numbers without gaps; pyarrow's own ``to_numpy`` imports pandas wherever it is
    installed, 30 MiB of it.
    """
    parts = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    chunks = [np.from_dlpack(part) for part in parts]
    return np.concatenate(chunks) if chunks else np.zeros(0, np.int64)


def bits(mask: np.ndarray) -> pa.BooleanArray:
    """Return a mask (I,) as Arrow's, without ``pa.array``, which imports pandas too."""
    return pa.BooleanArray.from_buffers(
        pa.bool_(), len(mask), [None, pa.py_buffer(np.packbits(mask, bitorder="little"))]
    )


def _is_utf8(text: str) -> bool:
    return text.isascii() or text.encode(errors="replace").decode() == text


def words(texts: Sequence[str]) -> pa.StringArray:
    """Return texts as Arrow's, as `bits` does."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def read_corpus(root: Path, shard: int | None = None) -> list[Image]:
    """Return all images, or those of one shard, in corpus order; empty if nothing was collected."""
    if not (root / "corpus.parquet").exists():
        return []
    return _images(read_columns(root, filters=None if shard is None else [("shard", "=", shard)]), root)


def each_shard(root: Path) -> Iterator[tuple[int, list[Image]]]:
    """Yield (number, images) of every shard, in corpus order, with one in memory at a time."""
    return Corpus(root).each_shard()


def read_columns(root: Path, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
    """Return columns of corpus.parquet (all by default), filtered as pyarrow does; StudyError if it is
    damaged.
    """
    path = root / "corpus.parquet"
    with _damage_of(path):
        return _checked(_read(path, columns, filters), columns)


def _read(path: Path, columns: list[str] | None, filters: list[tuple[str, str, Any]] | None) -> pa.Table:
    if filters:
        return pq.read_table(path, columns=columns, filters=filters)
    with pq.ParquetFile(path) as file:  # read_table takes three times as long for a small file
        if lacking := [name for name in columns or () if name not in file.schema_arrow.names]:
            raise ValueError(f"it has no column {lacking[0]}")
        return file.read(columns)


def _checked(table: Any, columns: Iterable[str] | None = None) -> Any:
    """Return a table, or a batch of one, unchanged; ValueError if a column is missing, has the wrong type, or
    lacks a required value.
    """
    earlier = _DUPLICATES not in table.schema.names
    for name in columns or [f.name for f in fields(Image) if not (earlier and f.name == _DUPLICATES)]:
        if name not in table.schema.names:
            raise ValueError(f"it has no column {name}")
        column = table[name]
        if name in _LEAST or name == "dhash":
            fits = pa.types.is_integer(column.type)
        else:
            fits = pa.types.is_string(column.type) or (name == "source" and pa.types.is_binary(column.type))
        if not fits:
            raise ValueError(f"its column {name} holds {column.type}")
        if column.null_count and name != "dhash":
            raise ValueError(f"its column {name} has {column.null_count} rows without a value")
        if name in _LEAST and len(column) and (low := int(whole_numbers(column).min())) < _LEAST[name]:
            raise ValueError(f"its column {name} holds {low}")
    return table


def write_corpus(root: Path, images: list[Image]) -> None:
    """Write corpus.parquet."""
    put_images(root / "corpus.parquet", images)


def read_images(path: Path) -> list[Image]:
    """Return all images of a file that `put_images` wrote; empty if it does not exist, StudyError if it is
    damaged.
    """
    if not path.exists():
        return []
    try:
        return _images(_checked(pq.read_table(path)), path.parent, path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StudyError(
            f"{path} is damaged ({library_text(error, most=150)}); put it back from a copy"
        ) from None


def put_images(path: Path, images: list[Image]) -> None:
    """Write a table of images, sorted by shard and id."""
    images = sorted(images, key=lambda image: (image.shard, image.id))
    put_tables(path, [table_of(images, path.parent)])


def put_tables(path: Path, tables: Iterable[pa.Table]) -> None:
    """Write a table of images from parts of it, in their order, that are made while it is written."""
    corpus = path.name == CORPUS
    if corpus:
        put_place(path.parent)
    schema = SCHEMA if corpus else with_place(SCHEMA.empty_table(), path.parent).schema
    with putting(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for rows in _in_row_groups(tables):
            writer.write_table(rows.cast(schema), row_group_size=_ROWS_IN_GROUP)


def _in_row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the rows of tables, as many at a time as make whole row groups."""
    held = SCHEMA.empty_table()
    for table in tables:
        held = pa.concat_tables([held, table.select(SCHEMA.names).cast(SCHEMA)])
        if whole := len(held) // _ROWS_IN_GROUP * _ROWS_IN_GROUP:
            yield held.slice(0, whole)
            held = held.slice(whole).combine_chunks()
    if len(held):
        yield held


def table_of(images: Sequence[Image], root: Path) -> pa.Table:
    """Return images of the study at ``root`` as rows of corpus.parquet, in their order."""
    columns = dict[str, pa.Array]()
    for field in SCHEMA:  # one after the other: a million images are gigabytes as rows
        values = (getattr(image, field.name) for image in images)
        if field.name == "source":
            values = (_recorded(source, root) for source in values)
        columns[field.name] = pa.array(values, field.type)
    return pa.table(columns, SCHEMA)


def read_ids(root: Path) -> set[str]:
    """Return the ids of all images."""
    return set(Corpus(root).ids)


def shard_sizes(corpus: Corpus) -> dict[int, int]:
    """Return how many images each shard has, without their rows; StudyError if nothing was collected."""
    path = corpus.root / "corpus.parquet"
    if not path.exists():
        raise StudyError(
            f"{path} is missing: nothing was collected, or it was deleted; run `faultscape collect` again"
        )
    return corpus.sizes


def images_of(rows: pa.Table, root: Path) -> list[Image]:
    """Return rows of corpus.parquet of the study at ``root``, as `read_columns` returns them with all
    columns, as images.
    """
    return _images(rows, root)


def shards(images: list[Image]) -> dict[int, list[Image]]:
    """Return the images of each shard, in corpus order."""
    return {number: list(rows) for number, rows in groupby(images, key=lambda image: image.shard)}


def pool(images: list[Image]) -> list[Image]:
    """Return the images that people may be asked to label: those of role pool."""
    return [image for image in images if image.role == "pool"]


def duplicates_column(names: Iterable[str]) -> str:
    """Return which column of corpus.parquet holds near-duplicates: studies of earlier versions use ``group``.

    >>> duplicates_column(["id", "near_duplicate_of", "group"]), duplicates_column(["id", "group"])
    ('near_duplicate_of', 'group')
    """
    return _DUPLICATES if _DUPLICATES in names else _EARLIER


def tie_key(id_: str, digest: str) -> str:
    """Return the digest of an image if it is that of its bytes, else its id.

    >>> tie_key("a", "5f3c"), tie_key("a", "etag:5f3c"), tie_key("a", "")
    ('5f3c', 'a', 'a')
    """
    return digest if digest and ":" not in digest else id_


def part_name(shard: int) -> str:
    """Return the name of a shard's part.

    >>> part_name(3)
    '00003'
    """
    return f"{shard:05d}"


def _images(table: pa.Table | pa.RecordBatch, root: Path, file: Path | None = None) -> list[Image]:
    """Return the rows of a table of the study at ``root`` as images; values shared by many are stored
    once. They were read from corpus.parquet, or another ``file``.
    """
    columns = table.to_pydict()
    columns["source"] = _sources(columns["source"], file or root / CORPUS, root)
    if _DUPLICATES not in columns:  # an earlier version
        columns |= {_DUPLICATES: columns[_EARLIER], "group": [""] * len(columns["id"])}
    for name in ("set", "role", "condition", "parent", "group"):
        columns[name] = [sys.intern(word) for word in columns[name]]
    return [Image(*row) for row in zip(*(columns[f.name] for f in fields(Image)), strict=True)]


def _recorded(source: str, root: Path) -> bytes:
    return os.fsencode(_without_place(source, root))


def _sources(recorded: list[bytes], file: Path, root: Path) -> list[str]:
    """Return the sources that a table of images holds, as they are where the study is now."""
    sources = [_with_place(os.fsdecode(source), root) for source in recorded]
    for moved in moved_images(file, root):
        sources = [moved.source(source) for source in sources]
    return sources


def _without_place(source: str, root: Path) -> str:
    """Return a source without the location of the study, so that the study can be moved: files of a recipe in
    the study are named relative to it (corpus.stress.recipes).
    """
    if source.startswith(_RECIPE):
        for depth in range(1, _DEEPEST + 1):
            source = source.replace(f'"{_in_json(root, depth)}/', f'"{_HERE}')
    return source


def _with_place(source: str, root: Path) -> str:
    """Return a source before `_without_place`, for the current location of the study; a quote of a recipe
    within a recipe is preceded by one backslash, at the next level by three.
    """
    if not source.startswith(_RECIPE):
        return source
    return _MARK.sub(lambda found: f'{found[1]}"{_in_json(root, (len(found[1]) + 1).bit_length())}/', source)


@lru_cache(maxsize=16)
def _in_json(root: Path, depth: int) -> str:
    """Return the absolute path of a study as a JSON text nested ``depth`` deep in JSON texts."""
    text = str(root.absolute())
    for _ in range(depth):
        text = json.dumps(text)[1:-1]
    return text


@contextmanager
def _damage_of(path: Path) -> Iterator[None]:
    """Turn what reading corpus.parquet raises into a sentence."""
    try:
        yield
    except (OSError, ValueError, pa.ArrowException) as error:
        said = library_text(error, most=150)
        raise StudyError(f"{path} is damaged ({said}); delete it and run collect again") from None
