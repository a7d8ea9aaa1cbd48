"""Show any file of a study as a table, standings, or text.

Conventions: a study folder is shown as its corpus; a table has its first rows and the total number of rows.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from faultscape.errors import OptionError, StudyError
from faultscape.ranking.duel_standings import from_json
from faultscape.reading.study import opened
from faultscape.results.files import load
from faultscape.results.result import Result
from faultscape.results.table import csv_text
from faultscape.standings import Standings
from faultscape.study.tables.timings import FrameTimes, frame_times
from faultscape.verbs.select.chosen_images import chosen_images
from faultscape.verbs.select.chosen_result import ChosenImages
from faultscape.verbs.show.signature import ShownText, Table

if TYPE_CHECKING:
    from faultscape.reporting.competition.figure_data import FigureData
    from faultscape.reporting.reliability.document import Card
    from faultscape.verbs.options import ShowOptions


ROWS = 20


def show_file(options: ShowOptions) -> Table | Standings | ShownText | ChosenImages | FigureData:
    """Return the chosen images of a study, its figures, one of them, or what a file of one holds."""
    shown = _shown(options)
    return _csv(shown, options.file) if options.csv else shown


def _shown(options: ShowOptions) -> Table | Standings | ShownText | ChosenImages | FigureData:
    if options.images:
        return chosen_images(opened(options.file), options.selection)
    if options.figures or options.figure is not None:
        from faultscape.verbs.report.figures import figure_of, figures_of

        study = opened(options.file)
        if options.figure is not None:
            return figure_of(study, options.selection, options.figure)
        found = figures_of(study, options.selection)
        rows = tuple((one.figure, len(one.rows), one.kind.title) for one in found)
        return Table("figures", ("figure", "rows", "shows"), rows, len(rows))
    most = sys.maxsize if options.csv else ROWS
    shown = read_table(options.file, most if options.rows is None else options.rows)
    if options.rows is not None and not isinstance(shown, Table):
        name = Path(options.file).name
        print(f"note: --rows has no effect: {name} is not a table, so all of it is shown")
    return shown


def _csv(shown: Table | Result | ShownText, file: str) -> ShownText:
    """Return a table as CSV; OptionError for a text."""
    if isinstance(shown, ShownText):
        raise OptionError(f"--csv needs a table, and {Path(file).name} is shown as text; leave it out")
    if isinstance(shown, Table):
        return ShownText(csv_text(shown.columns, shown.rows).removesuffix("\n"))
    table = shown.to_arrow()
    rows = [[*row.values()] for row in table.to_pylist()]
    return ShownText(csv_text(table.column_names, rows).removesuffix("\n"))


def read_table(file: str, rows: int) -> Table | Standings | ShownText:
    """Return the first rows of a table, the standings, or a text; StudyError for a file that cannot be
    shown.
    """
    path = Path(file)
    if path.is_dir() and (path / "study.toml").exists():
        path = path / "corpus.parquet"
    if path.is_dir():
        raise StudyError(f"{file}: is a folder but not a study; give a study, or a file of one")
    if not path.is_file():
        raise StudyError(f"{file}: no such file")
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            if path.name == "timings.parquet" and (times := frame_times(path.parent)):
                return _times(times)
            table = pq.read_table(path)
            first = table.slice(0, rows).to_pylist()
            return Table(
                path.name, tuple(table.column_names), tuple(tuple(r.values()) for r in first), table.num_rows
            )
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", errors="replace", newline="") as lines:
                table = list(csv.reader(lines))
            wide = len(table[0]) if table else 0
            body = tuple(tuple((r + [""] * wide)[:wide]) for r in table[1 : rows + 1])
            return Table(path.name, tuple(table[0]) if table else (), body, max(0, len(table) - 1))
        if path.suffix == ".sqlite":
            from faultscape.study.answers.labels import Answers

            thrown = Answers(path.parent).discarded()
            return Table("discarded images", ("image", "reason"), tuple(thrown.items())[:rows], len(thrown))
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            raw = json.loads(text)
            if isinstance(raw, dict) and "rankings" in raw and "models" in raw:
                return from_json(raw)
            if isinstance(raw, dict) and "cells" in raw and "models" in raw:
                from faultscape.reporting.reliability.words import card_text

                return ShownText(card_text(str(path.parent), cast("Card", raw)))
            if isinstance(raw, dict) and {"faultscape", "result", "schema"} <= raw.keys():
                return ShownText(repr(load(path)))
            return ShownText(json.dumps(raw, indent=1, ensure_ascii=False))
    except UnicodeDecodeError:
        raise StudyError(f"{file}: cannot be shown: it is neither a table nor text") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise StudyError(
            f"{file}: cannot be shown: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        ) from None
    return ShownText(text)


def _times(times: list[FrameTimes]) -> Table:
    """Return the time per frame by which people compare models."""
    columns = (
        "model",
        "ms forward",
        "quartiles",
        "ms with score",
        "quartiles",
        "ms with load, write",
        "quartiles",
        "frames",
        "batch",
        "device",
    )
    rows = [
        (
            t.name,
            f"{t.model[1]:.1f}",
            f"{t.model[0]:.1f}-{t.model[2]:.1f}",
            f"{t.scored[1]:.1f}",
            f"{t.scored[0]:.1f}-{t.scored[2]:.1f}",
            f"{t.whole[1]:.1f}",
            f"{t.whole[0]:.1f}-{t.whole[2]:.1f}",
            t.frames,
            t.batch,
            t.device,
        )
        for t in times
    ]
    return Table("time of a frame, median and quartiles, warm-up left out", columns, tuple(rows), len(rows))
