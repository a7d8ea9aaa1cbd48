"""How good the forecast of points is: ``python benchmarks/point_forecast.py``, after ``python
benchmarks/points.py run --methods design``, whose repeats it reads.

Conventions: a number is *really needed* by two models if their true difference, and the variance that the
repeats show of it at 1,000 and 3,000 points, tell them apart in four of five cases with all pairs at once.
*Before any answer* is the number for two models 1.5 points of mIoU apart, from the predictions alone; *after
N* that of the leader and each of the two next models which N answers leave open. Rows go to
docs/benchmarks/data/point_forecast.csv.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
from point_sets import KEPT, SETS, load
from points import BUDGETS, GROUPS, World, group_of
from scipy.special import ndtri, stdtrit

from faultscape.ranking.drawn.gaps import level_of_all
from faultscape.ranking.planning.label_needs import POWER, apart_needed, limit_of_all
from faultscape.ranking.planning.point_needs import point_curve, points_to_tell
from faultscape.selection.points.foreseen import foreseen_covariance
from faultscape.standings import Gap

APART = 0.015
OUT = Path(__file__).parents[1] / "docs" / "benchmarks" / "data" / "point_forecast.csv"
HEAD = (
    "set",
    "models",
    "repeats",
    "after",
    "pairs",
    "said",
    "needed",
    "times",
    "within 2",
    "within 4",
    "held",
)
Repeats = list[dict[str, dict[str, Any]]]


def foreseen(world: World) -> float:
    """Return the number of points for two models 1.5 points apart, before any answer."""
    return apart_needed(APART, point_curve(foreseen_covariance(world.pool, void=False)))


def variances(repeats: Repeats, real: np.ndarray) -> np.ndarray:
    """Return (P,) the variance of what one draw adds to each difference, as the repeats show it."""
    first, second = np.triu_indices(len(real), 1)
    each = []
    for budget in BUDGETS[-2:]:
        off = np.array([one[str(budget)]["corrected"] for one in repeats]) - real
        each.append(budget * ((off[:, first] - off[:, second]) ** 2).mean(0))
    return np.mean(each, axis=0)


def forecasts(repeats: Repeats, real: np.ndarray, budget: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (M,) forecast over really needed of the pairs that are open, (M,) whether its range holds, and
    (M,) the same ratio for a plain forecast: as if the difference so far were the true one.
    """
    models = len(real)
    first, second = np.triu_indices(models, 1)
    place = {pair: k for k, pair in enumerate(zip(first.tolist(), second.tolist(), strict=True))}
    limit = limit_of_all(models) + float(ndtri(POWER))
    needed = variances(repeats, real) * (limit / (real[first] - real[second])) ** 2
    times, held, plain = [], [], []
    for one in repeats:
        found = one[str(budget)]
        score = np.array(found["score"])
        leader, *others = np.argsort(-score).tolist()
        for other in others[:2]:
            pair = place[min(leader, other), max(leader, other)]
            error = found["error_of_differences"][pair]
            half = stdtrit(found["freedom_of_differences"][pair], (1 + level_of_all(models)) / 2) * error
            gap = score[leader] - score[other]
            if half < gap:
                continue
            need = points_to_tell(Gap("", "", gap, [gap - half, gap + half], False), budget, models)
            times.append(need.points / needed[pair])
            held.append(need.low <= needed[pair] <= need.high)
            plain.append(budget * (limit * half / limit_of_all(models) / gap) ** 2 / needed[pair])
    return np.array(times), np.array(held), np.array(plain)


def rows_of(name: str, group: str) -> list[tuple[str, ...]]:
    """Return the rows of a set and group of models; none without repeats."""
    file = KEPT / f"{name}, {group}, design.jsonl"
    if not file.exists():
        return []
    head, *lines = [json.loads(line) for line in file.read_text().splitlines()]
    real = np.array(head["real"])
    world = World(group_of(load(name), group))
    said = foreseen(world)
    limit = limit_of_all(len(real)) + float(ndtri(POWER))
    needed = float(np.median(variances(lines, real))) * (limit / APART) ** 2
    about = (name, group, f"{len(lines)}")
    out = [(*about, "0", "", f"{said:.0f}", f"{needed:.0f}", f"{said / needed:.2f}", *[""] * 5)]
    for budget in BUDGETS[:-1]:
        times, held, plain = forecasts(lines, real, budget)
        if len(times):
            shares = (*_within(times), held.mean(), *_within(plain))
            numbers = (f"{np.median(times):.2f}", *(f"{share:.2f}" for share in shares))
            out.append((*about, f"{budget}", f"{len(times)}", "", "", *numbers))
    return out


def _within(times: np.ndarray) -> tuple[float, float]:
    """Return the share of ratios within a factor of two, and of four."""
    off = np.abs(np.log(times))
    return float((off < np.log(2)).mean()), float((off < np.log(4)).mean())


def main() -> None:
    rows = [row for name in SETS for group in GROUPS for row in rows_of(name, group)]
    with OUT.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])
    for row in (HEAD, *rows):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
