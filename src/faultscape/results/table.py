"""The columns of a result's table, and that table as Arrow, HTML, text and CSV.

Conventions: a row is a tuple in the order of the columns. What is undefined (None, NaN) is null in Arrow and
an empty cell in HTML. HTML holds no script and no colours of text or background, so that it is legible in
light and dark notebooks.
"""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

Cell: TypeAlias = "str | float | bool | Sequence[str] | None"
Row: TypeAlias = "tuple[Cell, ...]"
Rows: TypeAlias = "Sequence[Row]"

SHOWN = 60  # rows of a table in HTML
_WIDE = 40  # characters of a column of text
_LAST = 200  # and of the last one


@dataclass(frozen=True)
class Column:
    """A column of a result's table: its name, what it says, and the kind of its values."""

    name: str
    kind: Literal["text", "number", "count", "flag", "texts"]
    says: str  # what it says, in a few words
    unit: str = ""  # of numbers, where they have one
    aside: bool = False  # whether HTML, where room is short, leaves it out


def arrow_table(columns: Sequence[Column], rows: Rows) -> pa.Table:
    """Return rows as an Arrow table.

    >>> of = (Column("model", "text", "its name"), Column("score", "number", "its mIoU"))
    >>> arrow_table(of, [("a", 0.5), ("b", float("nan"))]).to_pylist()
    [{'model': 'a', 'score': 0.5}, {'model': 'b', 'score': None}]
    """
    import pyarrow as pa

    types = {
        "text": pa.string(),
        "number": pa.float64(),
        "count": pa.int64(),
        "flag": pa.bool_(),
        "texts": pa.list_(pa.string()),
    }
    values = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [
        pa.array([_known(value) for value in held], types[column.kind])
        for column, held in zip(columns, values, strict=True)
    ]
    return pa.Table.from_arrays(arrays, [column.name for column in columns])


def text_lines(names: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return a table as lines of text: its names, then its rows; columns but the last are cut where they are
    wide.

    >>> text_lines(["model", "score"], [("unet", 1 / 3), ("fcn", None)])
    ['model  score', 'unet   0.333333', 'fcn']
    """
    cells = [[_line_cell(value) for value in row] for row in rows]
    width = [min(_WIDE, max([len(name), *(len(row[k]) for row in cells)])) for k, name in enumerate(names)]
    width[-1:] = [_LAST]
    return [
        "  ".join(text[:w].ljust(w) for text, w in zip(row, width, strict=True)).rstrip()
        for row in [list(names), *cells]
    ]


def _line_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return _bytes_cell(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("\n", " ")


def _bytes_cell(value: bytes) -> str:
    text = value.decode("utf-8", "replace")
    return text if text.isprintable() and len(text) < 500 else f"<{len(value)} bytes>"


def csv_text(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    r"""Return a table as CSV: nothing for None.

    >>> csv_text(["a", "b"], [[1, None], [True, "x, y"]])
    'a,b\n1,\ntrue,"x, y"\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_csv_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return _bytes_cell(value) if isinstance(value, bytes) else value


def html_table(columns: Sequence[Column], rows: Rows, total: int | None = None) -> str:
    """Return rows as an HTML table: the first ``SHOWN``, without columns that are empty in all of them, and
    how many there are more of a ``total``.

    >>> "&lt;script&gt;" in html_table((Column("model", "text", "its name"),), [("<script>",)])
    True
    """
    shown = rows[:SHOWN]
    places = [
        place
        for place, column in enumerate(columns)
        if not column.aside and any(_known(row[place]) not in (None, "") for row in shown)
    ]
    if not places:
        return ""
    head = "".join(_cell("th", columns[place], columns[place].name.replace("_", " ")) for place in places)
    body = "".join(
        f"<tr>{''.join(_cell('td', columns[k], _text(row[k])) for k in places)}</tr>" for row in shown
    )
    left = (len(rows) if total is None else total) - len(shown)
    more = f"<p>and {left:,} more {'row' if left == 1 else 'rows'}: to_pandas()</p>" if left else ""
    return (
        '<table style="font-variant-numeric: tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
    )


def html_text(text: str) -> str:
    """Return text as HTML that keeps its lines.

    >>> html_text("a < b")
    '<pre style="white-space: pre-wrap; background: none; color: inherit">a &lt; b</pre>'
    """
    return (
        f'<pre style="white-space: pre-wrap; background: none; color: inherit">{html.escape(text)}</pre>'
        if text
        else ""
    )


def _cell(tag: str, column: Column, text: str) -> str:
    side = "left" if column.kind in ("text", "texts", "flag") else "right"
    title = f' title="{html.escape(_title(column))}"' if tag == "th" else ""
    return f'<{tag}{title} style="text-align: {side}">{html.escape(text)}</{tag}>'


def _title(column: Column) -> str:
    return f"{column.says} ({column.unit})" if column.unit else column.says


def _text(value: Cell) -> str:
    value = _known(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{round(value, 12) + 0.0:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return ", ".join(value)


def _known(value: Cell) -> Cell:
    """Return a value, None for what is undefined."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def ends_of(interval: Sequence[float | None] | None) -> tuple[float | None, float | None]:
    """Return the two ends of an interval, None where there is none.

    >>> ends_of([0.25, 0.5]), ends_of(None), ends_of([])
    ((0.25, 0.5), (None, None), (None, None))
    """
    low, high = interval or (None, None)
    return low, high
