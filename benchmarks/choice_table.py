"""Choose the defaults from what leave_one_out.py has found, by leaving one data set out, and write docs/benchmarks-choice.md: ``python benchmarks/choice_table.py``.

The rule: the regret of a selector with a ranking on a set is how far it lies behind the best of that set; the one whose largest regret over the sets is least is chosen. Another is equal to it
whose regret is within a standard error of its own on every set, and then the simpler ranking wins, and of equally simple ones the one of less regret. Only what draws with known probabilities is chosen; anything may be the best that regret is measured from.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from collections import defaultdict
from importlib.metadata import version
from typing import Any

import numpy as np
from label_table import ROOT, processor
from leave_one_out import BUDGETS, KEPT

SETS = {  # held-out sets: the same drives, and the same networks, are one
    "emotion": ["emotion"],
    "cue-conflict": ["cue-conflict"],
    "16class-22nets": ["16class-22nets"],
    "camvid-zoo": ["frames", "crops"],
    "16class-confidence": ["colour", "noise"],
}
FEW_MODELS = (
    5  # below it one pair of neighbours in the wrong order costs too much of Spearman's rho (1/2 of three models, 1/5 of four)
)
RANKINGS = {  # how simple each is
    "mean": 0, "LURE": 1, "Bradley-Terry": 1, "mean + control": 2, "LURE + control": 2, "margins re-used + control": 3, "margins + control": 3,
}  # fmt: skip
CANDIDATES = [r for r in RANKINGS if r != "mean + control"]  # `rank` has no such row: what it re-uses with control are margins
SELECTORS = ["random", "disputed", "mad", "expected-loss", "vma", "information, at once", "mad+information, at once", "information", "mad+information"]  # fmt: skip
GOALS = {"order": [str(b) for b in BUDGETS if b >= 50], "best": ["coda"]}
DIGITS = {"order": 3, "best": 0}
Cells = dict[str, dict[str, dict[str, list[float]]]]  # of each set: {method: {budget or "coda": a number a repeat}}


def read() -> tuple[Cells, dict[str, dict[str, Any]]]:
    """Return what was measured of every part of a set, and about it."""
    found: Cells = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    about = {}
    for file in sorted(KEPT.glob("*.json"), key=lambda f: int(f.stem.rsplit("-", 1)[1])):
        name, held = file.stem.rsplit("-", 1)[0], json.loads(file.read_text())
        about[name] = {key: value for key, value in held.items() if key != "cells"}
        for method, rows in held["cells"].items():
            for key, values in rows.items():
                found[name][method][key] += values
    for name, cells in found.items():
        if about[name]["models"] and not any("Bradley-Terry" in method for method in cells):
            for method in [m for m in cells if m.endswith("| mean")]:  # of answers right or wrong they are one
                cells[method.replace("| mean", "| Bradley-Terry")] = cells[method]
    return found, about


def regrets(found: Cells, goal: str) -> dict[str, dict[str, tuple[float, float]]]:
    """Return {method: {set: (regret, its standard error)}}; of a set of several parts the mean."""
    out: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for name, parts in SETS.items():
        for part in (p for p in parts if p in found):
            values = {}
            for method, rows in found[part].items():
                each = np.mean([rows[key] for key in GOALS[goal] if key in rows], 0)
                values[method] = (float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each))))
            best = (max if goal == "order" else min)(value for value, _ in values.values())
            for method, (value, error) in values.items():
                out[method][name].append((abs(best - value), error))
    return {
        method: {name: (float(np.mean([r for r, _ in rows])), float(np.sqrt(sum(e**2 for _, e in rows)) / len(rows))) for name, rows in sets.items()}
        for method, sets in out.items()
    }  # fmt: skip


def deciding(about: dict[str, dict[str, Any]], goal: str) -> list[str]:
    """Return the sets that decide: for the order those of enough models."""
    there = {name: [about[p]["models"] for p in parts if p in about] for name, parts in SETS.items()}
    return [name for name, models in there.items() if models and (goal == "best" or min(models) >= FEW_MODELS)]


def choose(table: dict[str, dict[str, tuple[float, float]]], sets: list[str]) -> str:
    """Return the method that the rule chooses over some sets."""
    methods = [f"{selector} | {ranking}" for selector in SELECTORS for ranking in CANDIDATES]
    there = [m for m in methods if m in table and all(name in table[m] for name in sets)]
    worst = {m: max(table[m][name][0] for name in sets) for m in there}
    least = min(there, key=lambda m: worst[m])

    def no_worse(method: str, name: str) -> bool:
        (regret, error), (own, other) = table[method][name], table[least][name]
        return regret - own <= np.hypot(error, other)

    equal = [m for m in there if m == least or all(no_worse(m, name) for name in sets)]
    return min(equal, key=lambda m: (RANKINGS[m.split(" | ")[1]], worst[m]))


def words(method: str) -> str:
    return "{}, ranked by {}".format(*method.split(" | "))


def short(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("0.", ".", 1) if digits else f"{value:.0f}"


def left_out(table: dict[str, dict[str, tuple[float, float]]], sets: list[str], goal: str) -> list[str]:
    """Return a table: a row a set left out, what the others choose, and its regret there."""
    lines = ["| left out | chosen on the others | regret on the one left out |", "|---|---|---|"]
    for name in SETS:
        if name in next(iter(table.values())):
            chosen = choose(table, [other for other in sets if other != name])
            regret, error = table[chosen][name]
            lines.append(f"| {name} | {words(chosen)} | {short(regret, DIGITS[goal])} ± {short(error, DIGITS[goal])} |")
    return lines


def rows(table: dict[str, dict[str, tuple[float, float]]], sets: list[str], goal: str) -> list[str]:
    """Return a table: a row a method, a column a set, the regret in each cell and the largest of the sets that decide."""
    shown = [name for name in SETS if name in next(iter(table.values()))]
    lines = ["| selector | ranking | " + " | ".join(shown) + " | largest |", "|---|---|" + "---|" * (len(shown) + 1)]
    order = {m: max((table[m][name][0] for name in sets if name in table[m]), default=np.inf) for m in table}
    for method in sorted((m for m in table if "cube root" not in m), key=lambda m: order[m]):
        cells = [short(table[method][name][0], DIGITS[goal]) if name in table[method] else "" for name in shown]
        selector, ranking = method.split(" | ")
        lines.append(f"| {selector} | {ranking} | " + " | ".join(cells) + f" | {short(order[method], DIGITS[goal])} |")
    return lines


def write() -> dict[str, str]:
    """Write the page, and return what is chosen for each goal."""
    found, about = read()
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    head = f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {libraries}"
    notes = (ROOT / "benchmarks" / "choice-notes.md").read_text().split("<!-- cut -->")
    tables = {goal: regrets(found, goal) for goal in GOALS}
    chosen = {goal: choose(table, deciding(about, goal)) for goal, table in tables.items()}
    lines = ["# Which selector and ranking stand first", "", f"Made by `python benchmarks/leave_one_out.py` and `python benchmarks/choice_table.py`; {head}.", ""]  # fmt: skip
    lines += [notes[0].strip(), "", "| goal | selector | ranking |", "|---|---|---|"]
    lines += [f"| {goal} | {one.split(' | ')[0]} | {one.split(' | ')[1]} |" for goal, one in chosen.items()]
    lines += ["", notes[1].strip(), "", "| set | part | models | images | models differ on | sharpness | repeats |", "|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, parts in SETS.items():
        for part in (p for p in parts if p in about):
            held = about[part]
            lines.append(
                f"| {name} | {part} | {held['models']} | {held['images']:,} | {100 * held['disputed']:.0f} % | {held['sharpness']:.2f} | {len(found[part]['random | mean']['coda'])} |"
            )
    for k, goal in enumerate(GOALS):
        sets = deciding(about, goal)
        lines += ["", f"## {'The order of all' if goal == 'order' else 'Who is best'}", "", notes[2 + k].strip(), ""]
        lines += [*left_out(tables[goal], sets, goal), ""]
        if goal == "order":
            lines += [f"With the sets of few models deciding too the rule would choose {words(choose(tables[goal], [n for n in SETS if n in tables[goal][chosen[goal]]]))}.", ""]  # fmt: skip
        lines += rows(tables[goal], sets, goal)
    lines += ["", notes[4].strip(), ""]
    (ROOT / "docs" / "benchmarks-choice.md").write_text("\n".join(lines), encoding="utf-8")
    return chosen


if __name__ == "__main__":
    print(write())
