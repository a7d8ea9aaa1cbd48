"""How often looking after every label claims something false, and how early it stops: ``python
benchmarks/anytime.py [SET ...] [--repeats N] [--page]``.

Conventions: images are drawn from the pool as `select --goal order` does (``order``), evenly (``random``), or
as `select --goal best` does, ten at a time and learning from labels (``best``), and labelled by the truth, up
to `MOST` of them; every label is looked at. *Best* is a model that is said to be
the best of the pool and is not better than every other one, *all* any false statement about two models, at any
look of a campaign. Of *twins* two neighbors in order of accuracy exchange their answers on a random half of
the images on which they differ, so that they are equally good: then nobody is best. *Levelled* neighbors are
as good as each other, too, and fail where they did. *Stops* is the median
number of labels at which the best is named. *Plan* is the smallest number at which one look of a fixed
number, by Student's t and Holm over all pairs, names it in 95 % of campaigns; *peeks* what such looks claim
falsely of all pairs, at any of the numbers of `GRID`. Every fifty repeats are one JSON file in a folder for
temporary files, so that an interrupted run goes on; ``--page`` writes the table of docs/benchmarks/anytime.md from all that lie there.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from few_models import some_of
from label_sets import SETS, Set, classes
from ranking_coverage import Drawing
from scipy.special import stdtr

from faultscape.ranking.drawn import anytime
from faultscape.ranking.simultaneous_ranks import better

PAGES = Path(__file__).parents[1] / "docs" / "benchmarks"
KEPT = Path(tempfile.gettempdir()) / "faultscape-anytime"
BLOCK, CHUNK, MOST = 50, 2, 800
LEARNT = 300  # labels of draws that learn
LOOKED = 100  # repeats in which looks of a fixed number are tried
GRID = np.unique(np.round(np.geomspace(10, MOST, 90)).astype(int))
KINDS = {
    "twins": 0,
    "levelled": 0,
    "real": 0,
    "rank 4": 2,
    "rank 6": 4,
    "rank 8": 6,
}  # and models left out after the best
MADE = ("twins", "levelled")
NAMES = ("emotion", "cue-conflict", "16class-22nets", "colour", "noise", "frames", "crops")


def exchanged(whole: Set, rng: np.random.Generator) -> Set:
    """Return a set in which the first and second, third and fourth model in order of accuracy are twins."""
    order = np.argsort(whole.losses.mean(1), kind="stable")
    place = np.tile(np.arange(len(order))[:, None], whole.losses.shape[1])
    for a, b in zip(order[:-1:2].tolist(), order[1::2].tolist(), strict=True):
        apart = whole.losses[a] - whole.losses[b]
        differ = rng.permutation(np.flatnonzero(np.abs(apart) > 1e-12))
        differ = differ[np.argsort(-np.abs(apart[differ]), kind="stable")]
        sign = np.repeat(rng.choice([-1, 1], (len(differ) + 1) // 2), 2)[: len(differ)]
        sign[1::2] *= -1
        swap = differ[np.sign(apart[differ]) != sign]
        place[a, swap] = b
        place[b, swap] = a
    images = np.arange(whole.losses.shape[1])
    if whole.labels is not None and whole.truth is not None:
        return classes(whole.name, whole.labels[place, images], whole.truth)
    assert whole.concordance is not None
    both = whole.concordance[place[:, None], place[None], images]
    first, second = np.triu_indices(len(order), 1)
    return replace(
        whole,
        losses=whole.losses[place, images],
        expected=whole.expected[place, images],
        discrepancy=1 - both[first, second],
        concordance=both,
    )


def levelled(whole: Set, rng: np.random.Generator) -> Set:
    """Return a set in which the better of each two such models is made as bad as the other: a classifier by
    answers that are wrong at random, label maps by the same loss on every image, so that rare failures stay.
    """
    losses = whole.losses.copy()
    pool = np.flatnonzero((whole.discrepancy > 0).any(0))
    order = np.argsort(losses[:, pool].mean(1), kind="stable")
    for a, b in zip(order[:-1:2].tolist(), order[1::2].tolist(), strict=True):
        if whole.labels is None:
            losses[a] += losses[b, pool].mean() - losses[a, pool].mean()
        else:
            right = pool[losses[a, pool] == 0]
            lacks = int((losses[b, pool] - losses[a, pool]).sum())
            losses[a, rng.choice(right, lacks, replace=False)] = 1.0
    return replace(whole, losses=losses)


def campaigns(
    losses: np.ndarray,
    expected: np.ndarray,
    images: np.ndarray,
    chance: np.ndarray,
    *,
    twins: bool,
    looked: bool,
) -> list[dict[str, Any]]:
    """Return what each campaign claims, of losses (J, N) of a pool, the places there of the images (R, M) that
    it draws, and their probabilities; where ``looked``, also what looks of a fixed number do.
    """
    j, size = losses.shape
    seeds, number = images.shape
    own = losses[:, images].swapaxes(0, 1)
    said = expected[:, images].swapaxes(0, 1)
    mean = expected.mean(1)
    found = anytime.evidence(own, chance, size, said, mean)
    real = losses.mean(1)
    truly = np.round(real[None] - real[:, None], 12) > 0  # the row is better
    if twins:
        order = np.argsort(real, kind="stable")
        for a, b in zip(order[:-1:2].tolist(), order[1::2].tolist(), strict=True):
            truly[a, b] = truly[b, a] = False
    first, second = anytime.pairs(j)
    rows: list[dict[str, Any]] = []
    for k in range(seeds):
        held = np.full((j, j, number), np.inf)
        held[first, second] = found[0, k]
        held[second, first] = found[1, k]
        least = held.min(1)
        if twins:
            least[np.isinf(least)] = 0.0
        named = least >= anytime.log_inverse(j)
        ever = named.any(1)
        wrong = ever & ~(truly | np.eye(j, dtype=bool)).all(1)
        stop = int(named.any(0).argmax()) + 1 if ever.any() else np.inf
        # what is certain once few images are left tells even twins apart
        ends = np.where(np.isinf(found[:, k]), -np.inf, found[:, k]).max(-1) if twins else found[:, k, :, -1]
        beats = anytime.better_of_all(ends, j)
        rows.append(
            {
                "best": float(wrong.any()),
                "all": float((beats & ~truly).any()),
                "stop": float(stop),
            }
        )
    if looked:
        fixed(rows, own, said, mean, chance, size, truly)
    return rows


def fixed(
    rows: list[dict[str, Any]],
    own: np.ndarray,
    said: np.ndarray,
    mean: np.ndarray,
    chance: np.ndarray,
    size: int,
    truly: np.ndarray,
) -> None:
    """Add to the rows of campaigns what looks of a fixed number name and claim, from their losses (R, J, M),
    the expected ones, the means of these (J,) and the probabilities of the draws (R, M).
    """
    j, number = own.shape[1:]
    first, second = anytime.pairs(j)
    steps = anytime.controlled(
        anytime.single_steps(own, chance, size),
        anytime.single_steps(said, chance, size),
        mean,
        anytime.step_weights(number, size),
    )
    first, second = anytime.pairs(j)
    gap, variance, _ = anytime.running(
        steps[:, second] - steps[:, first], own[:, second] - own[:, first], chance, size
    )
    for k, row in enumerate(rows):
        peek = False
        names = []
        for n in (n for n in GRID.tolist() if n <= number):
            with np.errstate(divide="ignore", invalid="ignore"):
                t = gap[k, :, n - 1] / np.sqrt(variance[k, :, n - 1])
            p = np.full((j, j), np.nan)
            p[first, second] = stdtr(n - 1, -t)
            p[second, first] = stdtr(n - 1, t)
            if n == size:
                p = np.where(np.eye(j, dtype=bool), np.nan, np.where(truly, 0.0, 1.0))
            claims = better(p)
            peek |= bool((claims & ~truly).any())
            names.append(float((claims | np.eye(j, dtype=bool)).all(1).any()))
        row |= {"peek": float(peek), "names": names}


def draws(drawing: Drawing, how: str, pool: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places in the pool (M,) of the images that a campaign draws, and the probability of each."""
    if how == "best":
        images, chance = drawing.draw(min(LEARNT, len(pool) - 1), seed)
        return np.searchsorted(pool, images), chance
    weights = drawing.weights(np.zeros(0, np.intp))[pool] if how == "order" else np.ones(len(pool))
    rng = np.random.default_rng([seed, 55])
    order = np.argsort(rng.exponential(size=len(pool)) / weights)
    left = weights[order][::-1].cumsum()[::-1]
    return order[:MOST], np.minimum(weights[order] / left, 1.0)[:MOST]


def without(whole: Set, ranks: int) -> Set:
    """Return a set without the models that follow the best one, so many of them."""
    order = np.argsort(whole.losses.mean(1), kind="stable")
    return some_of(whole, np.sort(np.delete(order, np.arange(1, 1 + ranks))))


def block(name: str, how: str, kind: str, number: int, whole: Set) -> None:
    """Write one file of repeats, unless it is there."""
    path = KEPT / f"{name}-{how}-{kind}-{number:03}.json"
    if path.exists():
        return
    KEPT.mkdir(parents=True, exist_ok=True)
    twins = kind in MADE
    if twins:
        made = exchanged if kind == "twins" else levelled
        whole = made(whole, np.random.default_rng([number, 56]))
    elif KINDS[kind]:
        whole = without(whole, KINDS[kind])
    goal = "best" if how == "best" else "order"
    drawing = Drawing(whole, [str(k) for k in range(whole.losses.shape[1])], goal)
    pool = np.arange(whole.losses.shape[1]) if how == "random" else drawing.pool
    rows = []
    for start in range(0, BLOCK, CHUNK):
        drawn = [draws(drawing, how, pool, BLOCK * number + start + k) for k in range(CHUNK)]
        rows += campaigns(
            drawing.set.losses[:, pool],
            drawing.set.expected[:, pool],
            np.array([images for images, _ in drawn]),
            np.array([chance for _, chance in drawn]),
            twins=twins,
            looked=number * BLOCK < LOOKED,
        )
    path.write_text(json.dumps(rows))


def table() -> list[dict[str, str]]:
    """Return the rows of the table, as text."""
    out = []
    for name, how, kind in product(NAMES, ("order", "random", "best"), KINDS):
        files = sorted(KEPT.glob(f"{name}-{how}-{kind}-*.json"))
        rows = [row for file in files for row in json.loads(file.read_text())]
        if not rows:
            continue
        looked = [row for row in rows if "names" in row]
        cells = {"set": name, "draws": how, "models": kind}
        cells |= {
            f"false {key}": f"{100 * np.mean([row[key] for row in rows]):.1f}" for key in ("best", "all")
        }
        cells["false of all"] = cells.pop("false all")
        cells["peeks"] = f"{100 * np.mean([row['peek'] for row in looked]):.0f}" if how != "best" else ""
        stops = ("", "", "") if kind in MADE else _stops(rows, looked)
        out.append(
            cells | dict(zip(("stops", "plan", "share"), stops, strict=True)) | {"repeats": f"{len(rows)}"}
        )
    return out


def _stops(rows: list[dict[str, Any]], looked: list[dict[str, Any]]) -> tuple[str, str, str]:
    stop = float(np.median([row["stop"] for row in rows]))
    enough = np.flatnonzero(np.mean([row["names"] for row in looked], 0) >= 0.95)
    plan = float(GRID[enough[0]]) if len(enough) else np.inf
    words = [f"{number:.0f}" if np.isfinite(number) else "more" for number in (stop, plan)]
    return words[0], words[1], f"{stop / plan:.2f}" if np.isfinite(stop) and np.isfinite(plan) else ""


def page(rows: list[dict[str, str]]) -> None:
    """Write the table as a file of data, and into its page."""
    with (PAGES / "data" / "anytime.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    lines = [f"| {' | '.join(row.values())} |\n" for row in rows]
    head = [f"| {' | '.join(rows[0])} |\n", f"|{'---|' * len(rows[0])}\n"]
    text = (PAGES / "anytime.md").read_text(encoding="utf-8")
    found = re.search(r"(?m)^\| set \|.*\n(?:\|.*\n)+", text)
    assert found
    text = text.replace(found[0], "".join([*head, *lines]))
    (PAGES / "anytime.md").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=NAMES)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        page(table())
        return
    sets = {name: SETS[name]() for name in given.sets}
    for number in range(given.repeats // BLOCK):
        for name, whole in sets.items():
            for kind, gone in KINDS.items():
                if len(whole.losses) >= gone + 3:  # information needs three
                    block(name, "order", kind, number, whole)
                    for how in ("random", "best") if kind in MADE else ():
                        block(name, how, kind, number, whole)


if __name__ == "__main__":
    main()
