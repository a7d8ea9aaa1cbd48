"""failures.csv, timings.parquet and log.jsonl: what could not be used and why, how long it took, who ran what when."""

from __future__ import annotations

import csv
import getpass
import io
import json
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.study.folder import put

_FAILURE_COLUMNS = ["stage", "name", "image", "reason"]


@dataclass(frozen=True, order=True)
class Failure:
    """One thing that could not be used: by which verb, of which model or truth (or nothing), which image or file, and why."""

    stage: str
    name: str
    image: str
    reason: str


def read_failures(root: Path) -> list[Failure]:
    """Return the rows of failures.csv."""
    path = root / "failures.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        return [Failure(row["stage"], row["name"], row["image"], row["reason"]) for row in csv.DictReader(file)]


def replace_failures(root: Path, stage: str, name: str, failures: list[Failure]) -> None:
    """Make failures.csv say this, and only this, of one stage and name."""
    rows = [f for f in read_failures(root) if (f.stage, f.name) != (stage, name)] + failures
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_FAILURE_COLUMNS)
    writer.writerows((f.stage, f.name, f.image, f.reason) for f in sorted(set(rows)))
    put(root / "failures.csv", text.getvalue().encode("utf-8", "surrogateescape"))


def add_timings(root: Path, rows: list[dict[str, Any]]) -> None:
    """Add (stage, name, shard, items, seconds) rows to timings.parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not rows:
        return
    path = root / "timings.parquet"
    schema = pa.schema(
        [("stage", pa.string()), ("name", pa.string()), ("shard", pa.int32()), ("items", pa.int64()), ("seconds", pa.float64())]
    )
    new = pa.Table.from_pylist(rows, schema=schema)
    old = [pq.read_table(path, schema=schema)] if path.exists() else []
    sink = pa.BufferOutputStream()
    pq.write_table(pa.concat_tables([*old, new]), sink)
    put(path, sink.getvalue().to_pybytes())


def log(root: Path, verb: str, **what: Any) -> None:
    """Add a line to log.jsonl: when, who, which verb with which options."""
    try:
        who = getpass.getuser()
    except (KeyError, OSError):
        who = "unknown"
    entry = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "user": who, "host": platform.node(), "verb": verb, **what}
    with (root / "log.jsonl").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(json.dumps(entry, ensure_ascii=False, default=str) + "\n")
