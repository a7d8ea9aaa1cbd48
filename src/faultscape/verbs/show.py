"""show: any file of a study as a table that a person can read."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.errors import OptionError, StudyError, counted

ROWS = 20


@dataclass(frozen=True)
class Table:
    """A table: its columns, the first rows, and how many there are."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    total: int

    def __repr__(self) -> str:
        cells = [[_cell(value) for value in row] for row in self.rows]
        width = [min(40, max([len(c), *(len(row[k]) for row in cells)])) for k, c in enumerate(self.columns)]
        lines = [f"{self.title}: {counted(self.total, 'row')}"]
        lines.append("  ".join(c.ljust(w) for c, w in zip(self.columns, width, strict=True)))
        lines += ["  ".join(v[:w].ljust(w) for v, w in zip(row, width, strict=True)).rstrip() for row in cells]
        if self.total > len(self.rows):
            lines.append(f"... {self.total - len(self.rows)} more; --rows N shows more")
        return "\n".join(lines)


def show(file: str, *, rows: int | None = None) -> Any:
    """Print a file of a study: Parquet tables, CSV, standings, manifests, study.toml, answers.sqlite.

    Parameters
    ----------
    file
        The file.
    rows
        How many rows of a table are shown (default 20).
    """
    from faultscape.ranking.standing import from_json
    from faultscape.study.tables.timings import frame_times

    path = Path(file)
    given, rows = rows is not None, ROWS if rows is None else rows
    if rows < 0:
        raise OptionError(f"--rows {rows}: give a number from 0")
    if path.is_dir() and (path / "study.toml").exists():
        path = path / "corpus.parquet"
    if not path.is_file():
        raise StudyError(f"{file}: there is no such file")
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            if path.name == "timings.parquet" and (times := frame_times(path.parent)):
                return _times(times)
            table = pq.read_table(path)
            first = table.slice(0, rows).to_pylist()
            return Table(path.name, tuple(table.column_names), tuple(tuple(r.values()) for r in first), table.num_rows)
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", errors="replace", newline="") as lines:
                table = list(csv.reader(lines))
            wide = len(table[0]) if table else 0
            body = tuple(tuple((r + [""] * wide)[:wide]) for r in table[1 : rows + 1])
            return Table(path.name, tuple(table[0]) if table else (), body, max(0, len(table) - 1))
        if path.suffix == ".sqlite":
            from faultscape.study.tables.answers import Answers

            thrown = Answers(path.parent).discarded()
            return Table("discarded images", ("image", "reason"), tuple(thrown.items())[:rows], len(thrown))
        text = path.read_text(encoding="utf-8")
        if given:
            print(f"note: --rows changes nothing: {path.name} is no table, and is shown whole")
        if path.suffix == ".json":
            raw = json.loads(text)
            return (
                from_json(raw)
                if isinstance(raw, dict) and "rankings" in raw and "models" in raw
                else _Text(json.dumps(raw, indent=1, ensure_ascii=False))
            )
        return _Text(text)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise StudyError(
            f"{file}: cannot be shown: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        ) from None


def _times(times: list[Any]) -> Table:
    """Return the time of a frame as people compare models by it."""
    columns = ("model", "ms model only", "quartiles", "ms with load, write", "quartiles", "frames", "device")
    rows = [
        (
            t.name,
            f"{t.model[1]:.1f}",
            f"{t.model[0]:.1f}-{t.model[2]:.1f}",
            f"{t.whole[1]:.1f}",
            f"{t.whole[0]:.1f}-{t.whole[2]:.1f}",
            t.frames,
            t.device,
        )
        for t in times
    ]
    return Table("time of a frame, median and quartiles, warm-up left out", columns, tuple(rows), len(rows))


class _Text(str):
    """A text that shows as itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        return text if text.isprintable() and len(text) < 500 else f"<{len(value)} bytes>"
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("\n", " ")
