"""How well points tell a model's own mIoU: ten networks of CamVid together, and each of them alone, with points
drawn for their own values (`select --points --goal values`).

    python benchmarks/point_values.py run --repeats 50      # resumable; hours on one core
    python benchmarks/point_values.py table                 # writes docs/benchmarks/data/point_values.csv

Conventions: as in points.py; rounds end at 100, 300 and 1,000 answers, all of them right. Void pixels are left
out. ``error`` is the mean absolute error over repeats, ``bias`` the mean error, ``covered`` the share of 95 %
intervals that hold the truth. Of ten networks together, the rows of classes are the coverage of the IoU of a
class by how many points decide it.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from point_sets import DATA, KEPT, load
from points import World

from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.measures import deciding_points, point_measure
from faultscape.ranking.points.totals import point_totals
from faultscape.selection.points.probabilities import point_probabilities

FILE = Path(__file__).parents[1] / "docs" / "benchmarks" / "data" / "point_values.csv"
BUDGETS = (100, 300, 1000)
TOGETHER = "together"
DECIDING = (1, 3, 5, 10, 20, 50)  # points that decide a class, from which on a row begins
COLUMNS = ("models", "of", "budget", "repeats", "error", "bias", "covered")


def names() -> list[str]:
    """Return the names of the networks, in the order of their maps."""
    return sorted(path.name for path in (DATA / "camvid-zoo").iterdir() if path.is_dir())


def measured(world: World, repeat: int, *, classes: bool) -> dict[str, Any]:
    """Return scores and intervals of one repeat at every budget."""
    pixels = world.pixels
    none = PointAnswers(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, pixels.classes + 1)))
    totals = point_totals(world.pool, none, void=False)
    row, q = np.zeros(0, np.int64), np.zeros(0)
    out = {}
    for budget in BUDGETS:
        chance = point_probabilities(totals, "values")
        more, of_more = world.draw(chance, (repeat, 7), budget - len(row), len(row))
        row = np.append(row, more)
        q = np.append(q, of_more)
        answers = PointAnswers(pixels.place[row], q, np.eye(pixels.classes + 1)[pixels.truth[row]])
        totals = point_totals(world.pool, answers, void=False)
        found = point_measure(totals)
        held = {"score": found.values.tolist(), "ends": found.intervals.tolist()}
        if classes:
            each = [point_measure(totals, f"iou {c}") for c in range(pixels.classes)]
            held["class_ends"] = [one.intervals.tolist() for one in each]
            held["deciding"] = deciding_points(world.pool, answers).T.tolist()
        out[str(budget)] = held
    return out


def run(repeats: int) -> None:
    """Add repeats of every world until there are so many."""
    pixels = load("camvid")
    for j, name in enumerate([*names(), TOGETHER]):
        world = World(pixels if name == TOGETHER else pixels.of([j]))
        file = KEPT / f"values, {name}.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        with file.open("a") as kept:
            if not lines:
                counts = world.of_image[0].sum(0)
                both = np.diagonal(counts, axis1=1, axis2=2)[:, :-1]
                either = counts[:, :, :-1].sum(1) + counts[:, :-1, :-1].sum(2) - both
                real = {"real": world.real.tolist(), "classes": (both / either).T.tolist()}
                kept.write(json.dumps(real) + "\n")
                lines = [""]
            for repeat in range(len(lines) - 1, repeats):
                kept.write(json.dumps(measured(world, repeat, classes=name == TOGETHER)) + "\n")
                kept.flush()
        print(name, flush=True)


def rows() -> Iterator[dict[str, object]]:
    """Yield the rows of the table."""
    for name in [*names(), TOGETHER]:
        file = KEPT / f"values, {name}.jsonl"
        if not file.exists():
            continue
        real, *found = [json.loads(line) for line in file.read_text().splitlines()]
        true = np.array(real["real"])
        for budget in BUDGETS:
            kept = [one[str(budget)] for one in found if str(budget) in one]
            if not kept:
                continue
            off = np.array([one["score"] for one in kept]) - true
            ends = np.array([one["ends"] for one in kept])
            held = (ends[..., 0] <= true) & (true <= ends[..., 1])
            models = names() if name == TOGETHER else [name]
            for j, model in enumerate(models):
                yield {
                    "models": "ten together" if name == TOGETHER else "alone",
                    "of": model,
                    "budget": budget,
                    "repeats": len(kept),
                    "error": round(float(np.abs(off[:, j]).mean()), 4),
                    "bias": round(float(off[:, j].mean()), 4),
                    "covered": round(float(held[:, j].mean()), 3),
                }
            if name == TOGETHER:
                yield from _of_classes(budget, kept, np.array(real["classes"]))


def _of_classes(budget: int, kept: list[dict[str, Any]], real: np.ndarray) -> Iterator[dict[str, object]]:
    """Yield the coverage of the IoU of classes by how many points decide them."""
    held = defaultdict[int, list[bool]](list)
    for one in kept:
        ends = np.array(one["class_ends"])
        inside = (ends[..., 0] <= real) & (real <= ends[..., 1])
        place = np.searchsorted(DECIDING, np.array(one["deciding"]), "right") - 1
        for k, yes in zip(place.ravel().tolist(), inside.ravel().tolist(), strict=True):
            held[k].append(yes)
    for k in sorted(held):
        yield {
            "models": "classes of ten",
            "of": "no point" if k < 0 else f"{DECIDING[k]} points or more",
            "budget": budget,
            "repeats": len(held[k]),
            "covered": round(float(np.mean(held[k])), 3),
        }


def table() -> None:
    """Write the file of the table, and print the means over the networks."""
    found = list(rows())
    with FILE.open("w", encoding="utf-8", newline="") as out:
        written: csv.DictWriter[str] = csv.DictWriter(out, COLUMNS)
        written.writeheader()
        written.writerows(found)
    for models in ("ten together", "alone"):
        for budget in BUDGETS:
            mine = [row for row in found if row["models"] == models and row["budget"] == budget]
            if not mine:
                continue
            means = {
                key: round(float(np.mean([row[key] for row in mine])), 4)
                for key in ("error", "bias", "covered")
            }
            print(models, budget, means)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--repeats", type=int, default=50)
    given = parser.parse_args()
    if given.action == "run":
        run(given.repeats)
    table()


if __name__ == "__main__":
    main()
