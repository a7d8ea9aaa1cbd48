"""The mixin of all results: a table that every library of data frames reads, HTML for notebooks, and a file.

Conventions: a result's table has one row a thing and plain column names, which ``columns`` explains; what is
undefined is null. Two results are equal if their contents are, where NaN equals NaN. pyarrow is imported when
a table is asked for, pandas when ``to_pandas`` is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from faultscape import __version__
from faultscape.errors import ResultError, reason
from faultscape.results.codec import plain
from faultscape.results.table import Column, Rows, arrow_table, html_table, html_text

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SCHEMA = 1  # of files of results; another number for another meaning of one of their keys


class Result:
    """What a verb or a function of a room found. ``columns`` are those of its table, in order.

    >>> from faultscape.nouns import Scale
    >>> scale = Scale(("sky", "boat"), (12, 0), (0.25, float("nan")), (0.5, float("nan")))
    >>> scale.to_arrow().to_pylist()[1]
    {'class': 'boat', 'images': 0, 'share_q1': None, 'share_q3': None}
    """

    columns: ClassVar[tuple[Column, ...]] = ()

    def _columns(self) -> Sequence[Column]:
        """Return the columns of this one's table, if they depend on what it holds."""
        return self.columns

    def _rows(self) -> Rows:
        """Return the rows of the table, tuples in the order of the columns."""
        raise NotImplementedError

    def _shown(self, rows: Rows) -> Rows:
        """Return the rows that a notebook shows: what one looks at first."""
        return rows

    def _says(self) -> str:
        """Return what a notebook shows above the table: what the table does not say."""
        return ""

    def to_arrow(self) -> pa.Table:
        """Return the table as Arrow: one row a thing, null for what is undefined."""
        return arrow_table(self._columns(), self._rows())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the table as a stream of Arrow's C interface, which pandas, polars and DuckDB read."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a DataFrame; ResultError if pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            raise ResultError(
                "to_pandas needs pandas, which is not installed: pip install 'faultscape[plot]'"
            ) from None
        return pd.DataFrame(self.to_arrow().to_pandas())

    def save(self, path: str | Path) -> None:
        """Write the result to a JSON file, which `fs.load` reads back to an equal one; ResultError if it
        cannot be written.
        """
        if not isinstance(path, str | Path) or not str(path):
            raise ResultError(f"save: expected the path of a file; got {path!r:.60}")
        held = {"faultscape": __version__, "result": type(self).__name__, "schema": SCHEMA}
        text = json.dumps({**held, "content": plain(self)}, ensure_ascii=False, allow_nan=False, indent=1)
        if not Path(path).absolute().parent.is_dir():
            raise ResultError(f"{path} cannot be written: there is no folder {Path(path).parent}")
        try:
            Path(path).write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            raise ResultError(f"{path} cannot be written: {reason(error)}") from None

    def _repr_html_(self) -> str:
        rows = self._rows()
        table = html_table(self._columns(), self._shown(rows), total=len(rows))
        return f"<div>{html_text(self._says())}{table}</div>"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and (self is other or plain(self) == plain(other))

    def __hash__(self) -> int:
        return hash(type(self))  # contents may hold lists, which have none
