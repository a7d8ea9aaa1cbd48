"""The tables of a page of measurements, read off the page itself or off the file of all its rows: a figure shows
what its tables say.

Conventions: a table is a list of rows, {heading of the column: text of the cell}; headings that stand twice
get " 2", " 3". Numbers of cells: "0.376 ± 0.003" is a value and its error, "1,629" a number, "**.910**" also.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path

PAGES = Path(__file__).parents[1] / "benchmarks"
Row = dict[str, str]
NUMBER = re.compile(r"[−-]?(?:\d[\d,]*)?\.?\d+(?:e-?\d+)?")


def read_table(page: str, *headings: str, place: int = 0) -> list[Row]:
    """Return the table of a page that has all these headings, the first unless ``place`` says another.

    Raises LookupError if the page has no such table.
    """
    found = [table for table in tables((PAGES / f"{page}.md").read_text("utf-8")) if has(table, headings)]
    if len(found) <= place:
        raise LookupError(f"docs/benchmarks/{page}.md has no table {place} with the columns {headings}")
    return found[place]


def read_rows(name: str) -> list[Row]:
    """Return all rows of docs/benchmarks/data/NAME.csv, of which a page shows some."""
    with (PAGES / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    return [dict(zip(unique(names), row, strict=True)) for row in rows]


def has(table: list[Row], headings: tuple[str, ...]) -> bool:
    return bool(table) and all(heading in table[0] for heading in headings)


def tables(text: str) -> Iterator[list[Row]]:
    r"""Yield every table of a Markdown text.

    >>> list(tables("| a | a |\n|---|---|\n| 1 | 2 |"))
    [[{'a': '1', 'a 2': '2'}]]
    """
    for block in re.findall(r"(?:^\|.*\|[ ]*\n?)+", text, re.MULTILINE):
        lines = [split_row(line) for line in block.splitlines()]
        if len(lines) > 2:
            names = unique(lines[0])
            yield [dict(zip(names, cells, strict=True)) for cells in lines[2:]]


def split_row(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def unique(names: list[str]) -> list[str]:
    return [name if (n := names[: k + 1].count(name)) == 1 else f"{name} {n}" for k, name in enumerate(names)]


def numbers(cell: str) -> list[float]:
    """Return the numbers of a cell, in their order.

    >>> numbers("4,149 (1,301 to 5,493)"), numbers("**.910**"), numbers("-0.014 ± 0.018")
    ([4149.0, 1301.0, 5493.0], [0.91], [-0.014, 0.018])
    """
    return [float(told.replace(",", "").replace("−", "-")) for told in NUMBER.findall(cell)]


def value_and_error(cell: str) -> tuple[float, float]:
    """Return a value and its error, NaN where there is none."""
    value, *error = numbers(cell) or [math.nan]
    return value, error[0] if error and "±" in cell else math.nan
