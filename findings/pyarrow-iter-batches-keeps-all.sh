#!/usr/bin/env bash
# pyarrow 26.0.1: ParquetFile.iter_batches keeps what it has read: after the last batch the whole file is in memory.
# Expected: batches are for files larger than memory; a batch that the caller dropped is freed.
# Seen: with pre_buffer, on by default, 80 MB of a file of 80 MB are still allocated after the last batch, though each was
# dropped at once, until the ParquetFile is closed or reads something else. With pre_buffer=False, or one call for each row
# group, hardly more than a row group is ever allocated. Issue 39808 of Arrow describes it for datasets, and says that
# iter_batches frees its batches.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check pyarrow==26.0.1 numpy==2.4.6
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUPS = 40
rng = np.random.default_rng(0)
schema = pa.schema([("blob", pa.binary())])
with pq.ParquetWriter("blobs.parquet", schema, compression="none", use_dictionary=False) as out:
    for _ in range(GROUPS):
        out.write_table(pa.table({"blob": pa.array([rng.bytes(40_000) for _ in range(50)], pa.binary())}, schema))
size = Path("blobs.parquet").stat().st_size


def allocated(calls, **options):
    """Return the most that is allocated after a dropped batch, in megabytes, and what is allocated at the end."""
    before = pa.total_allocated_bytes()
    file = pq.ParquetFile("blobs.parquet", **options)
    most = 0
    for groups in calls:
        for batch in file.iter_batches(batch_size=50, row_groups=groups):
            del batch
            most = max(most, pa.total_allocated_bytes() - before)
    return [round(number / 1e6) for number in (most, pa.total_allocated_bytes() - before)]


seen = {
    "pre_buffer=False": allocated([None], pre_buffer=False),
    "a call for each row group": allocated([[k] for k in range(GROUPS)]),
    "default": allocated([None]),
}
print("pyarrow", version("pyarrow"), f"{size / 1e6:.0f} MB in {GROUPS} row groups; most, and at the end:", seen)
assert min(seen.pop("default")) > 0.9 * size / 1e6, "the behaviour changed"
assert max(max(one) for one in seen.values()) < 0.2 * size / 1e6, "the behaviour changed"
PYTHON
