"""per_image.parquet: one row per data set, model and image: each metric of the single image, and the counts
by class behind it.

Conventions: undefined metrics are null, as are counts that a model lacks; each model is one row group, so
that only one is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.study.folder import put


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
