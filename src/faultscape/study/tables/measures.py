"""statistics/NAME: per-image sufficient statistics of a model against a truth, one part per shard, read
column by column.

Conventions: one row per image: id and one list per statistic (int64 or float64, of fixed length), whose shape
is in the column's metadata; an image that could not be measured has no row but a failure in the manifest.
Statistics missing from a part (for example without confidence) are read as 0 (counts) or NaN (others).

per_image.parquet: one row per data set, model and image: each metric of the single image, and the counts by
class behind it.

Conventions: undefined metrics are null, as are counts that a model lacks; each model is one row group, so
that only one is in memory at a time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.study.folder import check_name, put
from faultscape.study.parts import Part, put_part, read_manifest, read_part, read_schema
from faultscape.study.tables.corpus import part_name


def folder(root: Path, against: str, name: str) -> Path:
    """Return the folder of a model's statistics against a truth (or in a data set)."""
    return root / "statistics" / check_name(against, "data set") / check_name(name)


def put_statistics(
    where: Path,
    shard: int,
    ids: Sequence[str],
    rows: Sequence[Mapping[str, np.ndarray]],
    cells: np.ndarray | None = None,
) -> str:
    """Write one shard's statistics, and the summed confusion matrix of its images, and return the
    checksum.
    """
    table = table_of(ids, rows)
    if cells is not None:
        table = table.replace_schema_metadata({"cells": json.dumps(cells.tolist())})
    return put_part(where, part_name(shard), table, compression="zstd", group=4096)


def table_of(ids: Sequence[str], rows: Sequence[Mapping[str, np.ndarray]]) -> pa.Table:
    """Return the table of one part; a statistic that some images lack is 0 (counts) or NaN there."""
    names = sorted({name for row in rows for name in row})
    arrays = [pa.array(list(ids), pa.string())]
    columns = [pa.field("id", pa.string())]
    for name in names:
        like = np.asarray(next(row[name] for row in rows if name in row))
        kind = np.float64 if like.dtype.kind == "f" else np.int64
        absent = np.full(like.shape, np.nan if kind is np.float64 else 0, kind)
        values = np.stack([np.asarray(row.get(name, absent), kind) for row in rows]).reshape(len(rows), -1)
        flat = pa.array(values.ravel())
        array = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        arrays.append(array)
        columns.append(pa.field(name, array.type, metadata={"shape": ",".join(map(str, like.shape))}))
    return pa.Table.from_arrays(arrays, schema=pa.schema(columns))


class Statistics(Mapping[str, np.ndarray]):
    """A model's statistics over the images of a data set: (I, ...) in the order of ``ids``, 0 or NaN for
    missing images.

    Parts are read once; only the curves, which are larger than everything else, are read on demand. ``only``
    these statistics are read; if it is empty, just which images are ``present``. ``parts`` are those of the
    manifest, if it was read already.
    """

    def __init__(
        self,
        where: Path,
        ids: Sequence[str],
        only: Collection[str] | None = None,
        parts: Mapping[str, Part] | None = None,
    ) -> None:
        self._only = only
        place = {id_: k for k, id_ in enumerate(ids)}
        self._where, self._images = where, len(ids)
        self._shapes: dict[str, tuple[tuple[int, ...], type]] = {}
        self._parts: list[tuple[str, Part, list[str], pa.Table, np.ndarray, np.ndarray]] = []
        self.present = np.zeros(len(ids), bool)
        self.cells: np.ndarray | None = None  # (C + 1, C + 1), summed over images
        for name, part in sorted((read_manifest(where) if parts is None else parts).items()):
            if part.rows:
                self._take(name, part, place)

    def __getitem__(self, name: str) -> np.ndarray:
        shape, kind = self._shapes[name]
        out = np.full((self._images, *shape), np.nan if kind is np.float64 else 0, kind)
        for part, entry, names, table, rows, places in self._parts:
            if name in names:
                held = read_part(self._where, part, entry, [name]) if _large(name) else table
                values = held[name].combine_chunks().flatten().to_numpy().reshape(entry.rows, *shape)
                out[places] = values[rows]
        return out

    def __contains__(self, name: object) -> bool:
        return name in self._shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def _take(self, name: str, part: Part, place: Mapping[str, int]) -> None:
        """Read one part without its curves, and note what it holds."""
        schema = read_schema(self._where, name, part)
        wanted = [
            column.name for column in schema if self._only is None or column.name in ("id", *self._only)
        ]
        for column in (column for column in schema if column.name != "id" and column.name in wanted):
            shape = tuple(int(n) for n in (column.metadata or {}).get(b"shape", b"").decode().split(",") if n)
            self._shapes[column.name] = (
                shape,
                np.float64 if str(column.type.value_type) == "double" else np.int64,
            )
        table = read_part(self._where, name, part, [column for column in wanted if not _large(column)])
        rows = [(k, place[id_]) for k, id_ in enumerate(table["id"].to_pylist()) if id_ in place]
        numbers = np.array(rows, np.int64).reshape(-1, 2)
        self.present[numbers[:, 1]] = True
        self._parts.append((name, part, schema.names, table, numbers[:, 0], numbers[:, 1]))
        if cells := (schema.metadata or {}).get(b"cells"):
            more = np.array(json.loads(cells), np.int64)
            self.cells = more if self.cells is None else self.cells + more


def _large(name: str) -> bool:
    return name.startswith("curve_")


@dataclass(frozen=True, eq=False)
class ModelRows:
    """The rows of one model in one data set: ``metrics`` {name: (I,)}, and ``counts`` {name: (I, C)}."""

    data_set: str
    model: str
    ids: Sequence[str]
    metrics: Mapping[str, np.ndarray]
    counts: Mapping[str, np.ndarray]


def put_per_image(
    path: Path, models: Iterable[ModelRows], metrics: Sequence[str], counts: Sequence[str]
) -> None:
    """Write the table with one column for each of ``metrics`` and ``counts``."""
    sink = pa.BufferOutputStream()
    writer = None
    for rows in models:
        n = len(rows.ids)
        columns: dict[str, pa.Array] = {
            "data_set": pa.array([rows.data_set] * n),
            "model": pa.array([rows.model] * n),
            "image": pa.array(list(rows.ids)),
        }
        columns |= {
            m: pa.array(rows.metrics.get(m, np.full(n, np.nan)), pa.float64(), from_pandas=True)
            for m in metrics
        }
        columns |= {count: _lists(rows.counts, count, n) for count in counts}
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(sink, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()
    put(path, sink.getvalue().to_pybytes())


def _lists(counts: Mapping[str, np.ndarray], name: str, n: int) -> pa.Array:
    """Return a column of lists of counts by class, null if a model has none."""
    if name not in counts:
        return pa.array([None] * n, pa.list_(pa.int64()))
    values = counts[name].reshape(n, -1)
    return pa.ListArray.from_arrays(
        np.arange(n + 1, dtype=np.int32) * values.shape[1], pa.array(values.ravel())
    )
