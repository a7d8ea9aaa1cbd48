"""Choose the defaults from what leave_one_out.py has found, by leaving one data set out, and write
docs/benchmarks/choice.md: ``python benchmarks/choice_table.py``.

The rule: the regret of a selector with a ranking on a set is how far it lies behind the best of that set, for
the order in standard deviations of rho by luck; the one whose largest regret over the sets is least is
chosen. Another is equal to it that lies no more than a standard error behind it on every set, repeat for
repeat, and then the simpler ranking wins, and of equally simple ones the one of less regret. Only what draws
with known probabilities is chosen; anything may be the best that regret is measured from.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from best_model import HEADING
from label_table import ROOT, processor
from leave_one_out import BUDGETS, KEPT
from page_text import HEAD, figure_cell, keep_rows, split_row, write_row

SETS = {  # held-out sets: the same drives, and the same networks, are one
    "emotion": ["emotion"],
    "cue-conflict": ["cue-conflict"],
    "16class-22nets": ["16class-22nets"],
    "camvid-zoo": ["frames", "crops"],
    "16class-confidence": ["colour", "noise"],
}
FEW_MODELS = (  # three networks: one pair of neighbours in the wrong order costs half of rho
    "16class-confidence"
)
RANKINGS = {  # how simple each is
    "mean": 0,
    "LURE": 1,
    "Bradley-Terry": 1,
    "mean + control": 2,
    "LURE + control": 2,
    "margins re-used + control": 3,
    "margins + control": 3,
}
# `rank` has no such row: what it re-uses with control are margins
CANDIDATES = [r for r in RANKINGS if r != "mean + control"]
SELECTORS = [
    "random",
    "disputed",
    "mad",
    "expected-loss",
    "vma",
    "information, at once",
    "mad+information, at once",
    "information",
    "mad+information",
]
GOALS = {"order": [str(b) for b in BUDGETS if b >= 50], "best": ["coda"]}
CITED = "mad, top of each pair | Bradley-Terry", "random | LURE + control"  # by the README
SHOWN = {  # on the page, with what is chosen
    "order": ("vma | margins re-used + control", "mad | margins + control", *CITED),
    "best": ("mad | mean", "information, at once | LURE", *CITED),
}
DIGITS = {"order": 3, "best": 0}
Regrets = dict[str, dict[str, list[np.ndarray]]]  # {method: {set: of each part, a number a repeat}}
# of each set: {method: {budget or "coda": a number a repeat}}
Cells = dict[str, dict[str, dict[str, list[float]]]]


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
            for method in [m for m in cells if m.endswith("| mean")]:
                # of answers right or wrong they are one
                cells[method.replace("| mean", "| Bradley-Terry")] = cells[method]
    return found, about


def regrets(found: Cells, goal: str) -> Regrets:
    """Return how far each method lies behind the best of a set in the mean, a number a repeat."""
    out: Regrets = defaultdict(lambda: defaultdict(list))
    for name, parts in SETS.items():
        for part in (p for p in parts if p in found):
            values = {
                m: np.mean([rows[key] for key in GOALS[goal] if key in rows], 0)
                for m, rows in found[part].items()
            }
            sign = 1 if goal == "order" else -1
            best = max(sign * value.mean() for value in values.values())
            for method, value in values.items():
                out[method][name].append(best - sign * value)
    return out


def in_deviations(table: Regrets, about: dict[str, dict[str, Any]]) -> Regrets:
    """Return regrets in rho as multiples of 1 / sqrt(J - 1), the standard deviation of rho of J models in
    random order.
    """
    many = {
        name: about[part]["models"] - 1 for name, parts in SETS.items() for part in parts if part in about
    }
    return {
        m: {name: [np.sqrt(many[name]) * part for part in parts] for name, parts in sets.items()}
        for m, sets in table.items()
    }


def mean(parts: list[np.ndarray]) -> float:
    """Return the mean over the parts of a set."""
    return float(np.mean([part.mean() for part in parts]))


def error(parts: list[np.ndarray]) -> float:
    """Return the standard error of that mean."""
    return float(np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts)) / len(parts))


def choose(table: Regrets, sets: list[str]) -> str:
    """Return the method that the rule chooses over some sets."""
    methods = [f"{selector} | {ranking}" for selector in SELECTORS for ranking in CANDIDATES]
    there = [m for m in methods if m in table and all(name in table[m] for name in sets)]
    worst = {m: max(mean(table[m][name]) for name in sets) for m in there}
    least = min(there, key=lambda m: worst[m])

    def no_worse(method: str, name: str) -> bool:
        behind = [own - other for own, other in zip(table[method][name], table[least][name], strict=True)]
        return mean(behind) <= error(behind)

    equal = [m for m in there if m == least or all(no_worse(m, name) for name in sets)]
    return min(equal, key=lambda m: (RANKINGS[m.split(" | ")[1]], worst[m]))


def words(method: str) -> str:
    return "{}, ranked by {}".format(*method.split(" | "))


def short(value: float, digits: int) -> str:
    told = f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0: minus zero is zero
    return told.replace("0.", ".", 1) if digits else told


def left_out(table: Regrets, deciding: Regrets, goal: str) -> list[str]:
    """Return a row a set left out: the goal, the set, what the others choose, and its regret there."""
    lines = []
    there = next(iter(table.values()))
    for name in (name for name in SETS if name in there):
        chosen = choose(deciding, [other for other in SETS if other in there and other != name])
        told = (short(number(table[chosen][name]), DIGITS[goal]) for number in (mean, error))
        lines.append(write_row([goal, name, words(chosen), " ± ".join(told)]))
    return lines


def rows(table: Regrets, deciding: Regrets, goal: str) -> list[str]:
    """Return a table: a row a method, a column a set, the regret in each cell and the largest, in what
    decides.
    """
    shown = [name for name in SETS if name in next(iter(table.values()))]
    largest = "largest, in deviations" if goal == "order" else "largest"
    lines = [
        "| selector | ranking | " + " | ".join(shown) + f" | {largest} |",
        "|---|---|" + "---|" * (len(shown) + 1),
    ]
    order = {m: max(mean(parts) for parts in sets.values()) for m, sets in deciding.items()}
    for method in sorted((m for m in table if "cube root" not in m), key=lambda m: order[m]):
        cells = [
            short(mean(table[method][name]), DIGITS[goal]) if name in table[method] else "" for name in shown
        ]
        selector, ranking = method.split(" | ")
        lines.append(
            f"| {selector} | {ranking} | " + " | ".join(cells) + f" | {short(order[method], DIGITS[goal])} |"
        )
    return lines


def other_rules(table: Regrets) -> str:
    """Return what the rule would choose for the order from plain rho, with and without the sets of few
    models.
    """
    every = [name for name in SETS if name in next(iter(table.values()))]
    without = choose(table, [name for name in every if name != FEW_MODELS])
    return (
        f"In plain rho the rule would choose {words(choose(table, every))}; in plain rho without {FEW_MODELS}"
        f" {words(without)}."
    )


def shown(lines: list[str], methods: Sequence[str]) -> list[str]:
    """Return the rows of a table that the page shows."""
    heading, rule, *rows = lines
    return [heading, rule, *(row for row in rows if " | ".join(split_row(row)[:2]) in methods)]


def page(made: str, chosen: dict[str, str], others: str, goals: dict[str, list[str]]) -> str:
    """Return the page from what is chosen, a sentence on other rules for the order, and of each goal all rows."""
    notes = (ROOT / "benchmarks" / "choice-notes.md").read_text().split("<!-- cut -->")
    first, method, order, again, best = (note.strip() for note in notes)
    defaults = ["| goal | selector | ranking |", "|---|---|---|"]
    defaults += [write_row([goal, *one.split(" | ")]) for goal, one in chosen.items()]
    tables = {goal: "\n".join(shown(every, (*SHOWN[goal], chosen[goal]))) for goal, every in goals.items()}
    parts = [HEAD + "# Which selector and ranking to use"]
    parts += [first.replace("{figure}", figure_cell("choice", "draw_regrets()")), "\n".join(defaults)]
    parts += [
        method.replace("{made}", made),
        "## The order of all",
        tables["order"],
        f"{order} {others} {again}",
    ]
    parts += ["## Which is best", tables["best"], best]
    return "\n\n".join(parts) + "\n"


def all_rows(goals: dict[str, list[str]]) -> list[str]:
    """Return one table of the rows of all goals, regrets of each in its own unit."""
    (heading, rule, *_), *_ = goals.values()
    lines = [write_row(["goal", *split_row(heading)[:-1], "largest"]), rule + "---|"]
    return lines + [
        write_row([goal, *split_row(line)]) for goal, every in goals.items() for line in every[2:]
    ]


def write() -> dict[str, str]:
    """Write the page, and return what is chosen for each goal."""
    found, about = read()
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    head = (
        f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, {processor()}, {os.cpu_count()} cores, Python"
        f" {platform.python_version()}, {libraries}"
    )
    tables = {goal: regrets(found, goal) for goal in GOALS}
    deciding = tables | {"order": in_deviations(tables["order"], about)}
    chosen = {goal: choose(table, list(next(iter(table.values())))) for goal, table in deciding.items()}
    made = f"Made by `python benchmarks/leave_one_out.py` and `python benchmarks/choice_table.py`; {head}."
    facts = [
        "| set | part | models | images | models differ on | sharpness | repeats |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, parts in SETS.items():
        for part in (p for p in parts if p in about):
            held = about[part]
            facts.append(
                f"| {name} | {part} | {held['models']} | {held['images']:,} | {100 * held['disputed']:.0f} %"
                f" | {held['sharpness']:.2f} | {len(found[part]['random | mean']['coda'])} |"
            )
    goals = {goal: rows(tables[goal], deciding[goal], goal) for goal in GOALS}
    without = ["| goal | left out | chosen on the others | regret on the one left out |", "|---|---|---|---|"]
    for goal in GOALS:
        without += left_out(tables[goal], deciding[goal], goal)
    keep_rows("choice", all_rows(goals))
    keep_rows("choice_sets", facts)
    keep_rows("choice_left_out", without)
    text = page(made, chosen, other_rules(tables["order"]), goals)
    file = ROOT / "docs" / "benchmarks" / "choice.md"
    _, heading, peers = file.read_text(encoding="utf-8").partition(HEADING)  # best_model.py writes this part
    file.write_text(f"{text}\n{heading}{peers}", encoding="utf-8")
    return chosen


if __name__ == "__main__":
    print(write())
