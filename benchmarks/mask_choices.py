"""What people's choices between two maps are worth beside masks: ``python benchmarks/mask_choices.py [SET ...]
[--repeats N] [--table]``.

Images are drawn, the first get masks and more of them choices, by people who see what the metric sees, who err
in a tenth of choices, who look at the pixel accuracy instead of mIoU, or who toss a coin. Sets are the CamVid
zoo's frames and crops, the first VOC masks with made models, and drawn streets (``point_sets``); models the
best two, the best four, or all. People are asked about neighbours in order. The least number of masks
with which `rank` counts choices is chosen by leaving a family of sets out. Every cell (set, models, draws) is
one JSON file in a folder for temporary files, so that an interrupted run goes on; ``--table`` prints the tables
of docs/benchmarks/plan.md from all that lie there, and keeps all rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import point_sets
from label_sets import DATA, SHOWN
from page_text import DATA as ROWS
from page_text import keep_rows, write_row

import faultscape as fs
from faultscape.formats.label_maps import read_map
from faultscape.ranking.drawn.choice_control import Preferences, with_choices
from faultscape.ranking.drawn.estimate_intervals import difference_intervals
from faultscape.ranking.drawn.estimates import Estimates, prediction_powered
from faultscape.scenes import street
from faultscape.selection import draws, proposals
from faultscape.selection.weights import drawing_weights

KEPT = Path(tempfile.gettempdir()) / "faultscape-mask-choices"
FAMILIES = {"CamVid": ("frames", "crops"), "VOC": ("voc",), "streets": ("streets",)}
SETS = tuple(name for names in FAMILIES.values() for name in names)
VOC_IMAGES, STREETS = 700, 300
MODELS = ("two", "four", "all")
MASKS, TIMES = (10, 15, 20, 40), (4, 10)
PEOPLE = ("metric", "a tenth wrong", "pixel accuracy", "coin")
TIE, WRONG = 0.01, 0.1  # maps whose scores differ by less look alike
MORE, HELD = 1.03, 0.93  # the largest variance beside masks alone, the least share of intervals that hold
MINUTES = 25, 90  # a mask
SECONDS = {"choice": 10, "point": 4}
LIMITS = {
    "two": 2.80,
    "four": 3.48,
    "ten": 3.96,
}  # standard errors at which a difference is told, in point_forecast.csv
APART = 1.5  # the difference there
MEASURED = (
    "own_square",
    "own_held",
    "own_half",
    "square",
    "held",
    "half",
)  # of the ranking, and of the first


@cache
def scores(name: str) -> dict[str, np.ndarray]:
    """Return mIoU and pixel accuracy (J, I) of every model on every image of a set, best model first, what
    predictions let expect of losses (J, I), and the concordances of the models (J, J, I).
    """
    kept = KEPT / f"{name}.npz"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        maps, truth, classes = _maps(name)
        seen = [k for k, of in enumerate(truth) if (of != classes).mean() >= SHOWN]
        truth = [truth[k] for k in seen]
        maps = {model: [of[k] for k in seen] for model, of in maps.items()}
        pairs = fs.comparison.count(maps, classes=classes, truth=truth, void=classes)
        given = {"miou": fs.comparison.accuracies(pairs)}
        given["accuracy"] = fs.comparison.accuracies(pairs, "pixel_accuracy")
        given["agreement"] = fs.comparison.concordances(pairs)
        np.savez(kept, allow_pickle=False, **given)
    held = dict(np.load(kept))
    best = np.argsort(-held["miou"].mean(1), kind="stable")
    return {
        "miou": held["miou"][best],
        "accuracy": held["accuracy"][best],
        "agreement": held["agreement"][np.ix_(best, best)],
    }


def _maps(name: str) -> tuple[dict[str, list[np.ndarray]], list[np.ndarray], int]:
    """Return the maps of all models, the truth, and the number of classes, which stands for void there."""
    if name in FAMILIES["CamVid"]:
        cuts = 3 if name == "crops" else 1
        ids = sorted(path.name for path in (DATA / "camvid" / "testannot").glob("*.png"))
        folders = sorted(path for path in (DATA / "camvid-zoo").iterdir() if path.is_dir())
        maps = {folder.name: _cut(folder / "labels", ids, cuts) for folder in folders}
        return maps, _cut(DATA / "camvid" / "testannot", ids, cuts), 11
    if name == "voc":
        files = sorted((DATA / "voc2012" / "SegmentationClass").glob("*.png"))[:VOC_IMAGES]
        step = point_sets.VOC_STEP
        truth = [read_map(path)[::step, ::step] for path in files]
        truth, classes = [np.where(of == 255, 21, of).astype(np.uint8) for of in truth], 21
    else:
        truth, classes = [street.corpus_scene(k).truth for k in range(STREETS)], len(street.CLASSES)
    maps = {str(model): [] for model in range(len(point_sets.STRENGTHS))}
    for k, of in enumerate(truth):
        made = point_sets.wrong_maps(of, classes, np.random.default_rng([len(maps), k]))
        for held, one in zip(maps.values(), made, strict=True):
            held.append(one)
    return maps, truth, classes


def _cut(folder: Path, ids: list[str], cuts: int) -> list[np.ndarray]:
    whole = (read_map(folder / name) for name in ids)
    return [part for m in whole for row in np.split(m, cuts) for part in np.split(row, cuts, axis=1)]


def asked_pairs(models: int) -> np.ndarray:
    """Return the pairs (P, 2) that people are asked about: neighbours."""
    return np.array([*pairwise(range(models))])


def said(
    miou: np.ndarray, accuracy: np.ndarray, pairs: np.ndarray, people: str, rng: np.random.Generator
) -> np.ndarray:
    """Return what people choose (P, M): 1 for the first of a pair, -1 for the second, 0 for neither."""
    seen = accuracy if people == "pixel accuracy" else miou
    apart = seen[pairs[:, 0]] - seen[pairs[:, 1]]
    chosen = np.sign(apart) * (np.abs(apart) > TIE)
    if people == "coin":
        return rng.choice([-1.0, 1.0], size=chosen.shape)
    return np.where(rng.random(chosen.shape) < WRONG, -chosen, chosen) if people == PEOPLE[1] else chosen


def looked(found: Estimates, real: np.ndarray) -> list[float]:
    """Return, over all pairs of models, the mean squared error of a difference, how often its interval holds
    the true one, and its half-width.
    """
    first, second = np.triu_indices(len(real), 1)
    true = real[first] - real[second]
    low, high = difference_intervals(found)[first, second].T
    off = found.loss[first] - found.loss[second] - true
    return [float(x.mean()) for x in (off**2, (low <= true) & (true <= high), (high - low) / 2)]


def cell(name: str, models: str, drawn_by: str, repeats: int) -> list[dict]:
    """Return a row for each number of masks, of choices, and kind of people."""
    held = scores(name)
    some = slice({"two": 2, "four": 4}.get(models))
    miou, accuracy = held["miou"][some], held["accuracy"][some]
    agreement = held["agreement"][some, some].astype(float)
    j = len(miou)
    pairs = asked_pairs(j)
    expected = proposals.expected_of_concordances(agreement)
    agreement[range(j), range(j)] = 1
    every = np.ones(miou.shape[1], bool)
    facts = {"complete": every, "agreement": agreement, "dispute": 1 - agreement.mean((0, 1))}
    weights = every.astype(float) if drawn_by == "random" else drawing_weights("information", facts)
    # on all others models agree
    inside = np.flatnonzero(weights > 0)
    weights, miou, accuracy, expected = (x[..., inside] for x in (weights, miou, accuracy, expected))
    pool, real = len(inside), 1 - miou.mean(1)
    rows: dict[tuple[int, int, str], list[list[float]]] = {}
    for repeat in range(repeats):
        most = min(max(MASKS) * (1 + max(TIMES)), pool)
        found = draws.draw(weights, most, seed=[repeat, 97])
        rng = np.random.default_rng([repeat, 98])
        losses = 1 - miou[:, found.images]
        chose = {
            people: said(miou[:, found.images], accuracy[:, found.images], pairs, people, rng)
            for people in PEOPLE
        }
        for masks in MASKS:
            few = found.images[:masks]
            alone = prediction_powered(losses[:, :masks], found.probability[:masks], expected, few)
            base = looked(alone, real)
            rows.setdefault((masks, 0, ""), []).append([*base, *base, 1.0])
            for times, people in ((t, p) for t in TIMES for p in PEOPLE):
                asked = min(masks * (1 + times), pool)
                choices = Preferences(pairs, chose[people][:, :asked], np.full(len(pairs), asked))
                both = with_choices(
                    losses[:, :masks],
                    found.probability[:asked],
                    pool,
                    choices,
                    proxy=expected,
                    drawn=few,
                )
                own = looked(both, real)
                # `rank` puts it first if it makes masks worth more
                shown = own if both.gain > 1 else base
                rows.setdefault((masks, times, people), []).append([*own, *shown, both.gain])
    return [
        dict(
            zip(
                ("masks", "times", "people", "asked", *MEASURED, "gain"),
                (masks, times, people, min(masks * (1 + times), pool), *np.mean(values, 0).tolist()),
                strict=True,
            )
        )
        for (masks, times, people), values in rows.items()
    ]


def read() -> dict[tuple[str, str, str], list[dict]]:
    """Return the rows of every cell that lies there."""
    out = {}
    for path in sorted(KEPT.glob("*.json")):
        name, models, drawn_by = path.stem.split("-")
        out[name, models, drawn_by] = json.loads(path.read_text())
    return out


def alone(rows: list[dict], masks: int) -> dict:
    return next(row for row in rows if row["masks"] == masks and not row["times"])


def compared(found: dict[tuple[str, str, str], list[dict]], names: list[str]) -> list[tuple[dict, dict]]:
    """Return the rows with choices of some sets, each beside that of masks alone."""
    return [
        (row, alone(rows, row["masks"]))
        for (name, _, _), rows in found.items()
        for row in rows
        if name in names and row["times"]
    ]


def least_masks(rows: list[tuple[dict, dict]]) -> int:
    """Return the least number of masks from which on choices nowhere make a variance more than 3 % larger, and
    intervals hold at least 93 %, whatever people do.
    """
    fits = [
        masks
        for masks in MASKS
        if all(
            row["square"] <= MORE * base["square"] and row["held"] >= HELD
            for row, base in rows
            if row["masks"] >= masks
        )
    ]
    return min(fits, default=max(MASKS))


def rule(found: dict[tuple[str, str, str], list[dict]]) -> list[str]:
    """Return a table: what the other families choose for the one left out, and how it does there."""
    lines = [
        "| left out | masks at least | "
        + " | ".join(f"variance, {people}" for people in PEOPLE)
        + " | held |",
        "|---|---|" + "---|" * (len(PEOPLE) + 1),
    ]
    for family, names in FAMILIES.items():
        others = [name for other, of in FAMILIES.items() if other != family for name in of]
        chosen = least_masks(compared(found, others))
        mine = [(row, base) for row, base in compared(found, list(names)) if row["masks"] >= chosen]
        told = []
        for people in PEOPLE:
            ratios = [row["square"] / base["square"] for row, base in mine if row["people"] == people]
            told.append(f"{min(ratios):.2f} to {max(ratios):.2f}")
        held = [100 * row["held"] for row, _ in mine]
        lines.append(write_row([family, str(chosen), *told, f"{min(held):.0f} to {max(held):.0f} %"]))
    return lines


def minutes(rows: list[dict], people: str, half: float, mask: float, pairs: int) -> tuple[float, str]:
    """Return the least minutes after which an interval is so wide, with choices of some people, and what they
    are: masks, and choices where these pay.
    """
    enough = max(MASKS)
    best = (enough * mask, f"{enough} masks")
    for times in TIMES:
        mine = sorted(
            (row for row in rows if row["times"] == times and row["people"] == people),
            key=lambda row: row["masks"],
        )
        sizes = np.log([row["half"] for row in mine])[::-1]
        if not sizes[0] <= np.log(half) <= sizes[-1]:
            continue
        masks = float(np.exp(np.interp(np.log(half), sizes, np.log([row["masks"] for row in mine])[::-1])))
        choices = pairs * np.interp(masks, [row["masks"] for row in mine], [row["asked"] for row in mine])
        spent = masks * mask + choices * SECONDS["choice"] / 60
        if spent < best[0]:
            best = spent, f"{masks:.0f} masks, {choices:,.0f} choices"
    return best


def points(name: str, models: str, half: float) -> tuple[float, str]:
    """Return the minutes of points alone to an interval of a difference of pooled mIoU that is so wide, from
    the number that tells two models apart.
    """
    with (ROWS / "point_forecast.csv").open(encoding="utf-8") as file:
        (needed,) = (
            int(row["needed"])
            for row in csv.DictReader(file)
            if (row["set"], row["models"], row["after"]) == (name, models, "0")
        )
    number = needed * (1.96 * APART / LIMITS[models] / (100 * half)) ** 2
    return number * SECONDS["point"] / 60, f"{number:,.0f} points"


def table(found: dict[tuple[str, str, str], list[dict]]) -> list[str]:
    """Return the table of minutes to the half-width that most masks alone have."""
    some = PEOPLE[:-1]
    ways = ("masks alone", *(f"with choices: {people}" for people in some), "points alone")
    lines = [
        "| set, models | a mask | half-width | " + " | ".join(ways) + " |",
        "|---|---|---|" + "---|" * len(ways),
    ]
    for name, family, own in (("frames", "CamVid", "camvid"), ("voc", "VOC", "voc")):
        for models, mask in ((models, mask) for models in MODELS for mask in MINUTES):
            rows = found[name, models, "order"]
            pairs = len(asked_pairs({"two": 2, "four": 4}.get(models, len(scores(name)["miou"]))))
            half = alone(rows, max(MASKS))["half"]
            cells = [(max(MASKS) * mask, f"{max(MASKS)} masks")]
            cells += [minutes(rows, people, half, mask, pairs) for people in some]
            cells.append(points(own, "ten" if models == "all" else models, half))
            told = [f"{spent:,.0f} ({what})" for spent, what in cells]
            lines.append(write_row([f"{family}, {models}", f"{mask} min", f"±{100 * half:.1f}", *told]))
    return lines


def every_row(found: dict[tuple[str, str, str], list[dict]]) -> list[str]:
    """Return all rows, beside masks alone."""
    names = ("set", "models", "draws", "masks", "people", "asked", "variance", "held", "half_width", "gain")
    lines = [write_row(list(names)), "|" + "---|" * len(names)]
    for key, rows in found.items():
        for row in rows:
            base = alone(rows, row["masks"])
            told = (row["square"] / base["square"], row["held"], 100 * row["half"], row["gain"])
            cells = [str(row["masks"]), row["people"], str(row["asked"] if row["times"] else 0)]
            lines.append(write_row([*key, *cells, *(f"{value:.3f}" for value in told)]))
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    cv2.setNumThreads(1)
    for name, models, drawn_by in (
        (name, *of) for name in given.sets for of in (("two", "random"), *((m, "order") for m in MODELS))
    ):
        path = KEPT / f"{name}-{models}-{drawn_by}.json"
        if not given.table and not path.exists():
            scores(name)
            path.write_text(json.dumps(cell(name, models, drawn_by, given.repeats)))
            print(path.stem, flush=True)
    if given.table:
        found = read()
        keep_rows("mask_choices", every_row(found))
        print("\n".join([*table(found), "", *rule(found)]))
