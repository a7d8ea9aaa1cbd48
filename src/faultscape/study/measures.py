"""statistics/NAME: per-image sufficient statistics of a model against a truth, a part a shard; read column by column.

Conventions: a row an image: id and one list a statistic (int64 or float64, of fixed length), whose shape stands in the column's metadata; an image that could
not be measured has no row but a failure in the manifest. Statistics that a part does not have (no confidence there) are read as 0 (counts) or NaN (others).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.study.corpus import part_name
from faultscape.study.folder import check_name
from faultscape.study.parts import Part, put_part, read_manifest, read_part

if TYPE_CHECKING:
    import pyarrow as pa


def folder(root: Path, against: str, name: str) -> Path:
    """Return the folder of a model's statistics against a truth (or in a data set)."""
    return root / "statistics" / check_name(against, "data set") / check_name(name)


def put_statistics(
    where: Path, shard: int, ids: Sequence[str], rows: Sequence[Mapping[str, np.ndarray]], cells: np.ndarray | None = None
) -> str:
    """Write one shard's statistics, and the confusion matrix of its images together, and return the checksum."""
    table = table_of(ids, rows)
    if cells is not None:
        table = table.replace_schema_metadata({"cells": json.dumps(cells.tolist())})
    return put_part(where, part_name(shard), table, compression="zstd", group=4096)


def table_of(ids: Sequence[str], rows: Sequence[Mapping[str, np.ndarray]]) -> pa.Table:
    """Return the table of one part; a statistic that some images lack is 0 (counts) or NaN there."""
    import pyarrow as pa

    names = sorted({name for row in rows for name in row})
    arrays, columns = [pa.array(list(ids), pa.string())], [pa.field("id", pa.string())]
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
    """A model's statistics over the images of a data set, read a column at a time: (I, ...) in the order of ``ids``, images that are not there 0 or NaN."""

    def __init__(self, where: Path, ids: Sequence[str]) -> None:
        self._where, self._place = where, {id_: k for k, id_ in enumerate(ids)}
        self._parts: list[tuple[str, Part]] = sorted(read_manifest(where).items())
        self._shapes: dict[str, tuple[tuple[int, ...], type]] = {}
        self.present = np.zeros(len(ids), bool)
        self.cells: np.ndarray | None = None  # (C + 1, C + 1), of all images
        for table in self._tables(None):
            if b"cells" in (table.schema.metadata or {}):
                cells = np.array(json.loads(table.schema.metadata[b"cells"]), np.int64)
                self.cells = cells if self.cells is None else self.cells + cells
            self.present[[self._place[i] for i in table["id"].to_pylist() if i in self._place]] = True
            for column in table.schema:
                if column.name != "id":
                    shape = tuple(int(n) for n in (column.metadata or {}).get(b"shape", b"").decode().split(",") if n)
                    kind = np.float64 if str(column.type.value_type) == "double" else np.int64
                    self._shapes[column.name] = (shape, kind)

    def __getitem__(self, name: str) -> np.ndarray:
        shape, kind = self._shapes[name]
        out = np.full((len(self._place), *shape), np.nan if kind is np.float64 else 0, kind)
        for table in self._tables([name]):
            if name in table.schema.names:
                rows = [(k, self._place[i]) for k, i in enumerate(table["id"].to_pylist()) if i in self._place]
                values = table[name].combine_chunks().flatten().to_numpy().reshape(len(table), *shape)
                out[[place for _, place in rows]] = values[[k for k, _ in rows]]
        return out

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def _tables(self, names: list[str] | None) -> Iterator[pa.Table]:
        import pyarrow.parquet as pq

        for part, entry in self._parts:
            if not entry.rows:
                continue
            wanted = names
            if names is not None:
                held = pq.read_schema(self._where / f"{part}-{entry.sha256[:16]}.parquet").names
                wanted = ["id", *(name for name in names if name in held)]
            yield read_part(self._where, part, entry, wanted)
