"""The form of a page of measurements: notebook in Markdown, the question, a figure, the rows that answer it, and a
link to all rows.

Conventions: `make docs` runs the cell of a figure, which reads the tables of the page itself or a file in
docs/benchmarks/data; docs/_figures draws it. A table that is printed is kept by
``python benchmarks/page_text.py NAME < TABLE``.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Sequence
from pathlib import Path

DATA = Path(__file__).parents[1] / "docs" / "benchmarks" / "data"
HEAD = """---
file_format: mystnb
kernelspec:
  display_name: Python 3
  name: python3
---

"""


def figure_cell(module: str, call: str) -> str:
    """Return the cell that draws a figure with a function of docs/_figures/MODULE.py.

    >>> print(figure_cell("plan", "draw_predictions()").splitlines()[-2])
    plan.draw_predictions()
    """
    return (
        "```{code-cell} python\n:tags: [remove-input]\n\nimport sys\n\n"
        f'sys.path.insert(0, "..")\nfrom _figures import {module}\n\n{module}.{call}\n```'
    )


def split_row(line: str) -> list[str]:
    """Return the cells of a row of a table.

    >>> split_row("| emotion | .87 / .16 |  |")
    ['emotion', '.87 / .16', '']
    """
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def write_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def keep_rows(name: str, lines: Sequence[str]) -> None:
    """Write a Markdown table to docs/benchmarks/data/NAME.csv, cells as they are: a page shows some of its rows."""
    DATA.mkdir(exist_ok=True)
    with (DATA / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(map(split_row, [lines[0], *lines[2:]]))


def is_drawn(measured: str) -> bool:
    """Say whether the figure of a page of speeds shows what was measured: ratios above 1.

    >>> is_drawn("35.7x (0.42 ms)"), is_drawn("0.19x"), is_drawn("233 and 256")
    (True, False, False)
    """
    ratio = re.match(r"([\d.]+)x", measured)
    return ratio is not None and float(ratio[1]) > 1


def speed_page(title: str, notes: Path, page: str, made: str, rows: Sequence[str]) -> str:
    """Return a page of measured ratios: what stands in its notes around one table (what, measured, target), of the
    rows that its figure does not draw; all of them are kept.
    """
    before, after = notes.read_text().split("<!-- table -->")
    before = before.replace("{figure}", figure_cell("speeds", f'draw_ratios("{page}")')).replace(
        "{made}", made
    )
    table = ["| what | measured | target |", "|---|---|---|"]
    keep_rows(page, [*table, *rows])
    table += [row for row in rows if not is_drawn(split_row(row)[1])]
    return "\n\n".join([f"{HEAD}# {title}", before.strip(), "\n".join(table), after.strip()]) + "\n"


if __name__ == "__main__":
    keep_rows(sys.argv[1], [line for line in sys.stdin if line.startswith("|")])
