"""Write docs/benchmarks/labels.md and its tables of all rows from what label_efficiency.py has found, with what
label-notes.md says around the table.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from label_sets import KEPT, SETS
from page_text import HEAD, figure_cell, keep_rows, split_row, write_row

SHOWN = (100, 200, 400)  # labels at which coverage is shown
UNWEIGHTED, WEIGHTED = "margins re-used + control", "LURE + control"  # the rankings of the figure
ROOT = Path(__file__).parents[1]
WHAT = {
    "emotion": "emotion",
    "cue-conflict": "cue-conflict (shape is the truth)",
    "16class-22nets": "16class-22nets",
    "frames": "camvid-zoo, whole frames",
    "crops": "camvid-zoo, 3 x 3 crops",
    "colour": "16class-confidence, colour",
    "noise": "16class-confidence, noise",
}


def short(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".replace("0.", ".", 1) if value < 1 else f"{value:.{digits}f}"


def agreements(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a table: a row a set, selector and ranking, a column a budget, in a cell the Spearman correlation
    and the regret.
    """
    budgets = sorted({int(b) for held in found.values() for rows in held["methods"].values() for b in rows})
    lines = [write_row(["set", "selector", "ranking", *map(str, budgets)]), "|" + "---|" * (3 + len(budgets))]
    for name, held in found.items():
        for method, rows in held["methods"].items():
            lines.append(write_row([name, method, *(cell(rows.get(str(b))) for b in budgets)]))
    return lines


def at_hundred(lines: list[str]) -> list[str]:
    """Return what the page shows of that table: a row a selector with the ranking of the figure, a column a set."""
    heading, _, *rows = map(split_row, lines)
    place = heading.index("100")
    weighted = {selector for _, selector, ranking, *_ in rows if ranking == WEIGHTED}
    shown: dict[str, dict[str, str]] = {}
    for row in rows:
        name, selector, ranking = row[:3]
        if ranking == (WEIGHTED if selector in weighted else UNWEIGHTED):
            shown.setdefault(f"{selector} | {ranking}", {})[name] = re.sub(r" \(.*\)", "", row[place])
    sets = list(dict.fromkeys(row[0] for row in rows))
    table = [write_row(["selector", "ranking", *sets]), "|" + "---|" * (2 + len(sets))]
    return table + [
        write_row([method, *(cells.get(name, "") for name in sets)])
        for method, cells in shown.items()
        if len(cells) > len(sets) // 2
    ]


def cell(found: dict[str, Any] | None) -> str:
    if not found:
        return ""
    every = f" ({short(found['spearman_all'][0])})" if "spearman_all" in found else ""
    return f"{short(found['spearman'][0])}{every} / {short(found['regret'][0], 2)}"


def coverages(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a table: a row a selector and estimator, a column a set; the share of intervals of losses and of
    differences.
    """
    lines = ["| selector | estimator | " + " | ".join(found) + " |", "|---|---|" + "---|" * len(found)]
    methods = dict.fromkeys(
        m for held in found.values() for m, rows in held["methods"].items() if "loss_covered" in rows["100"]
    )
    for method in methods:
        cells = []
        for held in found.values():
            rows = held["methods"].get(method, {})
            shown = [rows[str(b)] for b in SHOWN if str(b) in rows]
            cells.append(
                "; ".join(
                    f"{short(c['loss_covered'][0])}, {short(c['difference_covered'][0])}" for c in shown
                )
            )
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return lines


def processor() -> str:
    """Return the processor's name, where the system tells."""
    told = Path("/proc/cpuinfo")
    names = (
        [row.split(":")[1].strip() for row in told.read_text().splitlines() if row.startswith("model name")]
        if told.exists()
        else []
    )
    return names[0] if names else platform.machine()


def describe_set(held: dict[str, Any]) -> str:
    """Return the line above the table of a set: models, images, repeats."""
    repeats = {b: c["repeats"] for b, c in held["methods"]["random | mean"].items()}
    most = [b for b, n in repeats.items() if n > repeats["100"]]
    more = f", {repeats[most[0]]:,} at {' and '.join(sorted(most, key=int))} labels" if most else ""
    drawn = f", {held['draws']:,} drawn anew for each repeat" if held["draws"] else ""
    picked = held["methods"].get("model-picker | mean", {}).get("100", {}).get("repeats")
    few = f" ({picked} of the model picker)" if picked else ""
    disputed = f", models differ on {100 * held['disputed']:.0f} %" if held["disputed"] < 1 else ""
    about = f"{held['models']} models, {held['images']:,} images{drawn}{disputed}"
    return f"{about}; {repeats['100']} repeats{more}{few}."


def page(made: str, table: list[str]) -> str:
    """Return the page: what the notes say around the table."""
    first, shows = ((ROOT / "benchmarks" / "label-notes.md").read_text()).split("<!-- cut -->")
    first = first.replace("{figure}", figure_cell("labels", "draw_curves()")).strip()
    parts = [HEAD + "# How many labels a ranking needs", first, "\n".join(table)]
    return "\n\n".join([*parts, shows.replace("{made}", made).strip()]) + "\n"


def write() -> None:
    found = {name: json.loads(file.read_text()) for name in SETS if (file := KEPT / f"{name}.json").exists()}
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    made = (
        f"Made by `python benchmarks/label_efficiency.py`; {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, {processor()},"
        f" {os.cpu_count()} cores, Python {platform.python_version()}, {libraries}."
    )
    rows = agreements(found)
    keep_rows("labels", rows)
    keep_rows("label_coverage", coverages(found))
    about = [write_row([WHAT[name], describe_set(held)]) for name, held in found.items()]
    keep_rows("label_sets", ["| set | measured on |", "|---|---|", *about])
    (ROOT / "docs" / "benchmarks" / "labels.md").write_text(page(made, at_hundred(rows)), encoding="utf-8")


if __name__ == "__main__":
    write()
