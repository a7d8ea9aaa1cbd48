"""The form of a page of measurements: notebook in Markdown, first the question and a figure, last the tables, folded.

Conventions: `make docs` runs the cell of a figure, which reads the tables of the page itself or a file in
docs/benchmarks/data; docs/_figures draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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


def fold(summary: str, lines: Sequence[str]) -> str:
    """Return lines that show once somebody asks for them."""
    return "\n".join(["<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>"])


def speed_page(title: str, notes: Path, page: str, made: str, rows: Sequence[str]) -> str:
    """Return a page of measured ratios: what stands in its notes around one table (what, measured, target)."""
    before, after = notes.read_text().split("<!-- table -->")
    before = before.replace("{figure}", figure_cell("speeds", f'draw_ratios("{page}")')).replace(
        "{made}", made
    )
    table = ["| what | measured | target |", "|---|---|---|", *rows]
    return "\n\n".join([f"{HEAD}# {title}", before.strip(), "\n".join(table), after.strip()]) + "\n"
