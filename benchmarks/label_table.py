"""Write docs/benchmarks/labels.md from what label_efficiency.py has found, with label-notes.md below the
tables.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from label_sets import KEPT, SETS
from page_text import HEAD, figure_cell, fold

SHOWN = (100, 200, 400)  # labels at which coverage is shown
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


def agreements(held: dict[str, Any]) -> list[str]:
    """Return a table: a row a selector and ranking, a column a budget, in a cell the Spearman correlation and
    the regret.
    """
    methods = held["methods"]
    budgets = sorted({int(b) for rows in methods.values() for b in rows})
    lines = [
        "| selector | ranking | " + " | ".join(map(str, budgets)) + " |",
        "|---|---|" + "---|" * len(budgets),
    ]
    for method, rows in methods.items():
        lines.append(f"| {method} | " + " | ".join(cell(rows.get(str(b))) for b in budgets) + " |")
    return lines


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


def page(made: str, sets: dict[str, list[str]], repeats: str, coverage: list[str]) -> str:
    """Return the page from the lines of its tables: {title of a set: its description and its table}."""
    notes = (ROOT / "benchmarks" / "label-notes.md").read_text().split("<!-- cut -->")
    first, shows, cells, intervals = (note.strip() for note in notes)
    first = first.replace("{figure}", figure_cell("labels", "draw_curves()")).replace("{made}", made)
    parts = [HEAD + "# How many labels a ranking needs", first, shows, cells]
    for title, lines in sets.items():
        parts += [f"### {title}", lines[0], fold(f"All selectors and rankings on {title}", lines[1:])]
    parts += ["### Coverage of nominal 95 % intervals", f"{intervals} Repeats: {repeats}."]
    return "\n\n".join([*parts, fold("Coverage by selector and estimator", coverage)]) + "\n"


def write() -> None:
    found = {name: json.loads(file.read_text()) for name in SETS if (file := KEPT / f"{name}.json").exists()}
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    made = (
        f"Made by `python benchmarks/label_efficiency.py`; {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, {processor()},"
        f" {os.cpu_count()} cores, Python {platform.python_version()}, {libraries}."
    )
    sets = {WHAT[name]: [describe_set(held), *agreements(held)] for name, held in found.items()}
    repeats = ", ".join(f"{held['coverage_repeats']} of {WHAT[name]}" for name, held in found.items())
    text = page(made, sets, repeats, coverages(found))
    (ROOT / "docs" / "benchmarks" / "labels.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
