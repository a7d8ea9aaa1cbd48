"""How often looking after every label claims something false, and how early it stops: ``python
benchmarks/anytime.py [SET ...] [--repeats N] [--page]``.

Conventions: images are drawn from the pool as `select --goal order` does (``order``) or evenly (``random``),
and labelled by the truth, up to `MOST` of them; every label is looked at. *Best* is a model that is said to be
the best of the pool and is not better than every other one, *all* any false statement about two models, at any
look of a campaign. Of *twins* two neighbors in order of accuracy exchange their answers on a random half of
the images on which they differ, so that they are equally good: then nobody is best. *Levelled* neighbors are
as good as each other, too, and fail where they did. *Stops* is the median
number of labels at which the best is named. *Plan* is the smallest number at which one look of a fixed
number, by Student's t and Holm over all pairs, names it in 95 % of campaigns; *peeks* what such looks claim
falsely of all pairs, at any of the numbers of `GRID`. Every fifty repeats are one JSON file in a folder for
temporary files, so that an interrupted run goes on; ``--page`` prints the table of all that lie there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from few_models import some_of
from label_sets import SETS, Set, classes
from ranking_coverage import Drawing
from scipy.special import stdtr

from faultscape.ranking.drawn import anytime
from faultscape.ranking.simultaneous_ranks import better

KEPT = Path(tempfile.gettempdir()) / "faultscape-anytime"
BLOCK, CHUNK, MOST = 50, 2, 800
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
NAMES = ("emotion", "cue-conflict", "16class-22nets", "colour", "noise", "frames", "crops", "drives")


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
    losses: np.ndarray, expected: np.ndarray, weights: np.ndarray, seeds: range, *, twins: bool, looked: bool
) -> list[dict[str, Any]]:
    """Return what one campaign for each seed claims, of losses (J, N) of a pool and the weights (N,) of its
    draws; where ``looked``, also what looks of a fixed number do.
    """
    j, size = losses.shape
    number = min(MOST, size)
    images = np.zeros((len(seeds), number), np.intp)
    chance = np.zeros((len(seeds), number))
    for k, seed in enumerate(seeds):
        rng = np.random.default_rng([seed, 55])
        order = np.argsort(rng.exponential(size=size) / weights)
        left = weights[order][::-1].cumsum()[::-1]
        images[k] = order[:number]
        chance[k] = np.minimum(weights[order] / left, 1.0)[:number]
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
    for k in range(len(seeds)):
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
    drawing = Drawing(whole, [str(k) for k in range(whole.losses.shape[1])], "order")
    if how == "order":
        pool = drawing.pool
        weights = drawing.weights(np.zeros(0, np.intp))[pool]
    else:
        pool = np.arange(whole.losses.shape[1])
        weights = np.ones(len(pool))
    rows = []
    for start in range(0, BLOCK, CHUNK):
        seeds = range(BLOCK * number + start, BLOCK * number + start + CHUNK)
        rows += campaigns(
            drawing.set.losses[:, pool],
            drawing.set.expected[:, pool],
            weights,
            seeds,
            twins=twins,
            looked=number * BLOCK < LOOKED,
        )
    path.write_text(json.dumps(rows))


def table() -> list[str]:
    """Return the rows of the table."""
    out = [
        "| set | draws | models | false best, % | false of all, % | peeks, % | stops | plan | share | repeats |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in NAMES:
        for how in ("order", "random"):
            for kind in KINDS:
                files = sorted(KEPT.glob(f"{name}-{how}-{kind}-*.json"))
                rows = [row for file in files for row in json.loads(file.read_text())]
                if not rows:
                    continue
                looked = [row for row in rows if "names" in row]
                share = {key: 100 * np.mean([row[key] for row in rows]) for key in ("best", "all")}
                peeks = 100 * np.mean([row["peek"] for row in looked])
                cells = " | | " if kind in MADE else _stops(rows, looked)
                out.append(
                    f"| {name} | {how} | {kind} | {share['best']:.1f} | {share['all']:.1f} | {peeks:.0f} |"
                    f" {cells} | {len(rows)} |"
                )
    return out


def _stops(rows: list[dict[str, Any]], looked: list[dict[str, Any]]) -> str:
    stop = float(np.median([row["stop"] for row in rows]))
    enough = np.flatnonzero(np.mean([row["names"] for row in looked], 0) >= 0.95)
    plan = float(GRID[enough[0]]) if len(enough) else np.inf
    words = [f"{number:.0f}" if np.isfinite(number) else "more" for number in (stop, plan)]
    share = f"{stop / plan:.2f}" if np.isfinite(stop) and np.isfinite(plan) else ""
    return " | ".join([*words, share])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=NAMES)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    for number in range(0 if given.page else given.repeats // BLOCK):
        for name in given.sets:
            whole = SETS[name]()
            for kind, gone in KINDS.items():
                if len(whole.losses) >= gone + 3:  # information needs three
                    block(name, "order", kind, number, whole)
                    if kind in MADE:
                        block(name, "random", kind, number, whole)
    print("\n".join(table()))


if __name__ == "__main__":
    main()
