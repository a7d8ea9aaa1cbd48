"""failures.csv, timings.parquet and log.jsonl: what could not be used and why, how long it took, and who ran
what when.
"""

from __future__ import annotations

import csv
import getpass
import io
import json
import os
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.errors import StudyError
from faultscape.study.folder import put

TIMINGS = (
    *("stage", "name", "shard", "items", "seconds", "load", "model", "score", "write", "warm", "device"),
    *("fitted", "methods"),
)
_OF_MODELS = ("predict", "inference")
_BEFORE_MODEL = ("measure", "fit")  # the name has a truth, data set or method, and a model
# first characters that make a spreadsheet run a cell, and the mark that prevents it
_RUN = ("=", "+", "-", "@", "\t", "\r", "'")
UPLOADED = "sent by "  # begins the source of what a person uploaded
_FAILURE_COLUMNS = ["stage", "name", "image", "reason"]


@dataclass(frozen=True, order=True)
class Failure:
    """One thing that could not be used: in which verb, for which model or truth (if any), which image or
    file, and why.
    """

    stage: str
    name: str
    image: str
    reason: str


def read_failures(root: Path) -> list[Failure]:
    """Return the rows of failures.csv."""
    path = root / "failures.csv"
    if not path.exists():
        return []
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            head, *rows = csv.reader(file, strict=True)
            if head != _FAILURE_COLUMNS:
                raise ValueError(f"its first line is {','.join(head)[:80]!r}")  # noqa: TRY301 - as any other damage
            return [Failure(*map(bare, row)) for row in rows if row]
    except (OSError, ValueError, TypeError, csv.Error) as error:
        raise StudyError(
            f"{path} is damaged ({error}); delete it, and run the verbs again whose failures it held"
        ) from None


def replace_failures(root: Path, stage: str, name: str, failures: list[Failure]) -> None:
    """Replace the rows of failures.csv for one stage and name."""
    _put_failures(root, [f for f in read_failures(root) if (f.stage, f.name) != (stage, name)] + failures)


def _put_failures(root: Path, rows: list[Failure]) -> None:
    table = [
        _FAILURE_COLUMNS,
        *(map(guarded, (f.stage, f.name, f.image, f.reason)) for f in sorted(set(rows))),
    ]
    put(root / "failures.csv", csv_text(table).encode("utf-8", "surrogateescape"))


def failures_of_model(root: Path, model: str) -> list[Failure]:
    """Return the rows of failures.csv about a model, whether the study has it or not."""
    return [f for f in read_failures(root) if _model_of(f.stage, f.name) == model]


def _model_of(stage: str, name: str) -> str:
    """Return the model that a row is about; '' if none.

    >>> _model_of("predict", "unet"), _model_of("measure", "labels/unet"), _model_of("measure", "labels")
    ('unet', 'unet', '')
    """
    if stage in _BEFORE_MODEL:  # the name has a truth, a data set or a method, and a model unless it has none
        _, slash, model = name.rpartition("/")
        return model if slash else ""
    return name if stage in _OF_MODELS else ""


def rename_rows(root: Path, names: Mapping[str, str | None]) -> None:
    """Rename models in failures.csv and timings.parquet; the rows of those whose new name is None are
    removed.
    """

    def now(stage: str, name: str) -> str | None:
        if stage in _BEFORE_MODEL:
            first, slash, model = name.rpartition("/")
            after = names.get(model, model) if slash else model
            return None if after is None else f"{first}{slash}{after}"
        return names.get(name, name) if stage in _OF_MODELS else name

    before = read_failures(root)
    after = [replace(f, name=name) for f in before if (name := now(f.stage, f.name)) is not None]
    if after != before:
        _put_failures(root, after)
    path = root / "timings.parquet"
    try:
        rows = pq.read_table(path).to_pylist() if path.exists() else []
    except (OSError, ValueError):  # times are for information: they never stop a run
        return
    rows = [Timing(**{key: row.get(key) for key in TIMINGS}) for row in rows]
    kept = [replace(row, name=name) for row in rows if (name := now(row.stage, row.name)) is not None]
    if kept != rows:
        _put_timings(path, [_timings(kept)])


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    r"""Return rows as CSV with lines that end in \n, fields quoted where they must be.

    >>> csv_text([("a\rb", 1)])
    '"a\rb",1\n'
    """
    lines = []
    for row in rows:
        line = io.StringIO(newline="")
        # this line ending contains both characters, so that fields with either are quoted
        csv.writer(line, lineterminator="\r\n").writerow(row)
        lines.append(line.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)


def guarded(cell: str) -> str:
    """Return a cell that no spreadsheet runs.

    >>> guarded("=1+1"), guarded("a cat"), guarded("-1.5")
    ("'=1+1", 'a cat', '-1.5')
    """
    return f"'{cell}" if cell.startswith(_RUN) and not _is_number(cell) else cell


def bare(cell: str) -> str:
    """Return a cell as it was before `guarded`.

    >>> bare(guarded("=1+1")), bare(guarded("'tis")), bare("'60s")
    ('=1+1', "'tis", "'60s")
    """
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(_RUN) else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class Timing:
    """A row of timings.parquet. For inference it also has the times of loading, the model, its labels and
    scores, and the rest, the device, and whether the batch was ``warm``; then the time of all ``fitted``
    methods, and what each of the ``methods`` takes alone, with its parts. A fit has a row of its own.
    """

    stage: str
    name: str
    shard: int
    items: int
    seconds: float
    load: float | None = None
    model: float | None = None
    write: float | None = None
    device: str | None = None
    warm: bool | None = None
    score: float | None = None
    fitted: float | None = None
    methods: Mapping[str, float] | None = None


class Timings:
    """Rows to be added to timings.parquet, which is written whole: seldom once it is long, so that the cost
    does not grow with the square of a run.

    A kill loses at most a sixteenth of the rows; times are for information. Use it where the study's tables
    may change (`lock.changing`).
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._there = 0
        self._waiting: list[Timing] = []

    def add(self, rows: list[Timing]) -> None:
        """Add rows: stage, name, shard, items and seconds; for inference also the times of loading, the model
        and the rest, and the device.
        """
        self._waiting += rows
        if 16 * len(self._waiting) >= self._there:
            self.write()

    def write(self) -> None:
        """Write the waiting rows."""
        if self._waiting:
            self._there = add_timings(self._root, self._waiting)
            self._waiting = []
            pa.default_memory_pool().release_unused()  # memory kept for later grew by a megabyte per shard


def add_timings(root: Path, rows: list[Timing]) -> int:
    """Append these rows to timings.parquet, and return how many it holds."""
    path = root / "timings.parquet"
    new = _timings(rows)
    try:
        old = [pq.read_table(path, schema=new.schema)] if path.exists() else []
    except (OSError, ValueError):  # times are for information: they never stop a run
        old = []
    return _put_timings(path, [*old, new])


def _timings(rows: list[Timing]) -> pa.Table:
    """Return rows of timings.parquet as a table."""
    words = ("stage", "name", "device")
    numbers = ("seconds", "load", "model", "score", "write", "fitted")
    kinds = {
        **dict.fromkeys(words, pa.string()),
        "shard": pa.int32(),
        "items": pa.int64(),
        **dict.fromkeys(numbers, pa.float64()),
        "warm": pa.bool_(),
        "methods": pa.map_(pa.string(), pa.float64()),
    }
    return pa.Table.from_pylist(
        [asdict(row) for row in rows], schema=pa.schema([(key, kinds[key]) for key in TIMINGS])
    )


def _put_timings(path: Path, tables: list[pa.Table]) -> int:
    sink = pa.BufferOutputStream()
    whole = pa.concat_tables(tables)
    pq.write_table(whole, sink)
    put(path, sink.getvalue().to_pybytes())
    return whole.num_rows


def log(root: Path, verb: str, **what: Any) -> None:
    """Add a line to log.jsonl: when, who, which verb with which options."""
    try:
        who = getpass.getuser()
    except (KeyError, OSError):
        who = "unknown"
    entry = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "user": who,
        "host": platform.node(),
        "verb": verb,
        **what,
    }
    with (root / "log.jsonl").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.write(json.dumps(entry, ensure_ascii=False, default=str) + "\n")


def log_import(root: Path, source: str, **what: Any) -> None:
    """Add a line to log.jsonl about labels that were imported; a path is written as an absolute one."""
    log(root, "label import", source=os.path.abspath(source) if os.path.exists(source) else source, **what)


def imported_from(root: Path) -> tuple[str, ...]:
    """Return the files and folders that labels were imported from, as log.jsonl knows them, if they are
    still there.
    """
    found = dict.fromkeys(os.path.realpath(str(entry["source"])) for entry in _imports(root))
    return tuple(place for place in found if os.path.exists(place))


def truths_without_place(root: Path, truths: Iterable[str]) -> list[str]:
    """Return those of some truths of which log.jsonl lacks an import, or has it from a relative path (as
    earlier versions wrote it) that no later import completes.
    """
    entries = [entry for entry in _read(root) if entry.get("verb") in ("label import", "label consensus")]
    known = {str(entry.get("truth", "labels")) for entry in entries}
    whole = [Path(source).parts for entry in _imports(root) if os.path.isabs(source := str(entry["source"]))]
    lost = set[str]()
    for entry in _imports(root):
        source = str(entry["source"])
        parts = tuple(part for part in Path(os.path.normpath(source)).parts if part != os.pardir)
        uploaded = source.startswith(UPLOADED) or "://" in source
        if not (uploaded or os.path.isabs(source) or any(one[-len(parts) :] == parts for one in whole)):
            lost.add(str(entry.get("truth", "labels")))
    return sorted(lost | {truth for truth in truths if truth not in known})


def _imports(root: Path) -> list[dict[str, Any]]:
    return [entry for entry in _read(root) if entry.get("verb") == "label import" and entry.get("source")]


def _read(root: Path) -> list[dict[str, Any]]:
    """Return the lines of log.jsonl that are intact."""
    found = list[dict[str, Any]]()
    with suppress(FileNotFoundError), (root / "log.jsonl").open("rb") as file:
        for line in file:
            with suppress(ValueError, RecursionError):
                entry = json.loads(line)
                if isinstance(entry, dict):
                    found.append(entry)
    return found
