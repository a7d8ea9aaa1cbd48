"""The curves of docs/benchmarks/labels.md with the spread of single repeats: ``python benchmarks/label_curves.py
[SET ...]`` writes docs/benchmarks/data/label_curves.csv.

Conventions: the draws are those of label_efficiency.py, repeat for repeat, and so the means are those of the page's
tables, to the digits that these have; only the methods that the figure shows are measured. A row is a set, a selector
with its ranking, and a number of labels: the mean of Spearman's correlation, its standard error, the quartiles of the
repeats, and the mean regret in points with its standard error.
"""

from __future__ import annotations

import argparse
import csv

import label_methods as methods
import numpy as np
from label_efficiency import AS_MEASURED, BUDGETS, MANY, REPEATS
from label_sets import SETS, Set
from label_table import ROOT

from faultscape.ranking.agreement import spearman
from faultscape.ranking.drawn import estimates
from faultscape.selection.draws import draw

FILE = ROOT / "docs" / "benchmarks" / "data" / "label_curves.csv"
COLUMNS = (
    "set",
    "selector",
    "ranking",
    "labels",
    "repeats",
    "rho",
    "error",
    "low",
    "high",
    "regret",
    "regret_error",
)
DRAWN = ("random", "disputed", "expected-loss", "vma", "mad, temperature 1")
Cells = dict[tuple[str, str, int], list[tuple[float, float]]]


def one(whole: Set, repeat: int, found: Cells) -> None:
    """Add (correlation, regret) of one repeat for every method at every number of labels."""
    shuffled = np.random.default_rng([repeat, 7]).permutation(whole.losses.shape[1])
    chosen = whole.part(shuffled[: whole.draws])
    risk, measured = chosen.losses.mean(1), AS_MEASURED.get(whole.name, ())
    usual = BUDGETS if repeat < MANY or not measured else ()
    budgets = [b for b in sorted({*measured, *usual}) if b <= len(shuffled)]

    def add(selector: str, ranking: str, budget: int, score: np.ndarray) -> None:
        best = np.flatnonzero(np.round(score, 12) >= np.round(score, 12).max())
        regret = float(100 * (risk[best] - risk.min()).mean())
        found.setdefault((selector, ranking, budget), []).append(
            (float(np.nan_to_num(spearman(score, -risk))), regret)
        )

    for place, (name, weight) in enumerate(methods.weights(chosen).items()):
        if name not in DRAWN:
            continue
        draws, proxies = (
            draw(weight, max(budgets), seed=1000 * repeat + place),
            methods.proxies(chosen, weight),
        )
        for budget in (b for b in budgets if b <= len(draws.images)):
            images, q = draws.images[:budget], draws.probability[:budget]
            at = np.searchsorted(proxies["images"], images)
            estimate = estimates.prediction_powered(chosen.losses[:, images], q, proxies["loss"], at)
            add(name, "LURE + control", budget, -estimate.loss)
    images = np.argsort(-np.round(chosen.entropy, 12), kind="stable")
    proxies = methods.proxies(chosen, (chosen.discrepancy > 0).any(0))
    for budget in budgets:
        some = images[:budget]
        score = methods.controlled(chosen.losses[:, some], some, proxies)
        add("entropy, top", "margins re-used + control", budget, score)


def summarise(name: str, found: Cells) -> list[tuple[str, ...]]:
    """Return a row a method and number of labels, in the order of ``COLUMNS``."""
    out = []
    for (selector, ranking, budget), cell in found.items():
        rho, regret = np.array(cell).T
        numbers = (rho.mean(), rho.std() / np.sqrt(len(rho)), *np.quantile(rho, (0.25, 0.75)))
        numbers = (*numbers, regret.mean(), regret.std() / np.sqrt(len(regret)))
        out.append(
            (name, selector, ranking, str(budget), str(len(rho)), *(f"{value:.5f}" for value in numbers))
        )
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=[name for name in SETS if name in REPEATS][:5])
    parser.add_argument("--repeats", type=int)
    given = parser.parse_args()
    rows = list(csv.reader(FILE.open(encoding="utf-8")))[1:] if FILE.exists() else []
    for name in given.sets:
        whole, found = SETS[name](), {}
        for repeat in range(given.repeats or REPEATS[name]):
            one(whole, repeat, found)
            if repeat % 50 == 0:
                print(name, repeat, flush=True)
        rows = [row for row in rows if row[0] != name] + [list(row) for row in summarise(name, found)]
        with FILE.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main()
