"""The tables of docs/benchmarks/points.md, from what `points.py run` has kept.

Conventions: a row is a set, a group of models, a method and a budget (points, or masks). Errors of mIoU and of its
differences are in points (hundredths): the root of the mean squared error of all pairs' differences over repeats,
with its standard error over repeats; ``own`` is the mean absolute error of a model's own mIoU. ``rho`` is Spearman's
correlation with the true order. ``best`` is the share of repeats that put the two best models in the right order,
``claimed_wrong`` the share of the pairs said to differ that are said the wrong way round. ``pairs`` and ``models``
are the shares of 95 % intervals that hold the truth, ``worst`` that of the worst pair.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
from point_sets import KEPT
from scipy.special import stdtrit

from faultscape.ranking.agreement import spearman

FILE = Path(__file__).parents[1] / "docs" / "benchmarks" / "data" / "points.csv"
POINTS = ("100", "300", "1000", "3000")
LEAST = 10  # fewer repeats are not shown
SECONDS, MINUTES = 4, 25  # of a point; of a mask
COLUMNS: tuple[str, ...] = (
    "set",
    "models",
    "method",
    "budget",
    "repeats",
    "rmse",
    "rmse_error",
    "own",
    "rho",
    "best",
    "claimed_wrong",
    "pairs",
    "worst",
    "own_covered",
    "half_width",
)


def write() -> None:
    """Write the file of the tables, and print it."""
    rows = [row for file in sorted(KEPT.glob("*.jsonl")) for row in rows_of(file)]
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with FILE.open("w", encoding="utf-8", newline="") as out:
        table: csv.DictWriter[str] = csv.DictWriter(out, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    for row in rows:
        print(" ".join(f"{key}={value}" for key, value in row.items() if value != ""))
    print()
    print("\n".join(shown(rows)))
    for group in ("ten", "four", "two"):
        for method in ("masks", "masks by order", "masks+control"):
            print(group, method, exchange(rows, group, method))


def shown(rows: list[dict[str, str]]) -> list[str]:
    """Return the lines of the page's table: error and correlation by budget."""
    out = [
        f"| set | models | method | {' | '.join(POINTS)} points | repeats |",
        "|---|---|---|---|---|---|---|---|",
    ]
    held = {(row["set"], row["models"], row["method"], row["budget"]): row for row in rows}
    for name, group, method in dict.fromkeys(key[:3] for key in held):
        cells = [held.get((name, group, method, budget)) for budget in POINTS]
        found = [cell for cell in cells if cell is not None]
        if len(found) == len(POINTS):
            texts = [f"{cell['rmse']} / {float(cell['rho']):.2f}" for cell in found]
            out.append(f"| {name} | {group} | {method} | {' | '.join(texts)} | {found[0]['repeats']} |")
    return out


def exchange(rows: list[dict[str, str]], group: str, method: str, masks: str = "10") -> str:
    """Return how many points of the design are as good as some masks, and the share of their time."""
    ours = [
        (float(row["budget"]), float(row["rmse"]))
        for row in rows
        if (row["set"], row["models"], row["method"]) == ("camvid", group, "design")
    ]
    theirs = [
        float(row["rmse"])
        for row in rows
        if (row["set"], row["models"], row["method"], row["budget"]) == ("camvid", group, method, masks)
    ]
    if not ours or not theirs:
        return "not measured"
    number, error = np.log(np.array(sorted(ours)).T)
    points = float(np.exp(np.interp(-np.log(theirs[0]), -error, number)))
    minutes = float(masks) * MINUTES
    return (
        f"{theirs[0]:.2f} points: {points:.0f} clicks, 1/{minutes / (points * SECONDS / 60):.0f} of the time"
    )


def rows_of(file: Path) -> list[dict[str, str]]:
    """Return a row a budget of one file of repeats."""
    name, group, method = file.stem.split(", ", 2)
    lines = list(dict.fromkeys(file.read_text().splitlines()))  # two runs at once may repeat a repeat
    if len(lines) <= LEAST:
        return []
    first, *repeats = [json.loads(line) for line in lines]
    real = np.array(first["real"])
    out = []
    for budget in repeats[0] if repeats else ():
        found = [repeat[budget] for repeat in repeats if budget in repeat]
        about = {"set": name, "models": group, "method": method, "budget": budget, "repeats": str(len(found))}
        out.append(about | _errors(found, real) | _coverage(found, real))
    return out


def _errors(found: list[dict[str, list[float]]], real: np.ndarray) -> dict[str, str]:
    score = np.nan_to_num(np.array([one["score"] for one in found], float))
    off = score - real
    apart = off - off.mean(1, keepdims=True)
    square = 2 / (len(real) - 1) * (apart**2).sum(1)  # the mean over pairs of squared errors
    rmse = np.sqrt(square.mean())
    error = square.std() / np.sqrt(len(square)) / (2 * rmse)
    second, best = np.argsort(real)[-2:]
    right = np.sign(score[:, best] - score[:, second])
    return {
        "rmse": f"{100 * rmse:.2f}",
        "rmse_error": f"{100 * error:.2f}",
        "own": f"{100 * np.abs(off).mean():.2f}",
        "rho": f"{np.mean([np.nan_to_num(spearman(one, real)) for one in score]):.3f}",
        "best": f"{((1 + right) / 2).mean():.3f}",
    }


def _coverage(found: list[dict[str, list[float]]], real: np.ndarray) -> dict[str, str]:
    first, second = np.triu_indices(len(real), 1)
    gap = real[first] - real[second]
    score = np.array([one["score"] for one in found], float)
    off = np.abs(score[:, first] - score[:, second] - gap)
    if "half" in found[0]:  # the prototype
        half = np.array([one["half"] for one in found])
    elif "error_of_differences" in found[0]:
        freedom = np.array([one["freedom_of_differences"] for one in found])
        half = stdtrit(freedom, 0.975) * np.array([one["error_of_differences"] for one in found])
    else:
        return {}
    held = off <= half
    out = {
        "pairs": f"{held.mean():.3f}",
        "worst": f"{held.mean(0).min():.2f}",
        "half_width": f"{100 * np.median(half):.1f}",
    }
    if "error" in found[0]:
        freedom = np.array([one["freedom"] for one in found])
        own = stdtrit(freedom, 0.975) * np.array([one["error"] for one in found])
        out["own_covered"] = f"{(np.abs(score - real) <= own).mean():.3f}"
        claimed = np.array([one["better"] for one in found], bool)
        wrong = claimed & (real[:, None] < real)
        out["claimed_wrong"] = f"{wrong.sum() / max(claimed.sum(), 1):.3f}"
    return out
