"""How often the verdict says "use X" where another model is better for images to come: ``python
benchmarks/verdicts.py [SET ...] [--repeats N]`` prints one row for each number of labels.

Conventions: in every campaign half of the images, drawn anew, are the pool of a study, and the other half are
the images to come; what is better there, by the mean over images, is the truth. Of video frames and drawn
drives, whole runs of ten are drawn, and are groups of the study. Images are drawn as `select --goal order`
does and labelled by the truth. *Says* is the share of campaigns that name one model, *wrong* the share that
name one that is not the best of the images to come, *loss* by how many points it is then worse (largest).
``--whole`` takes the best of all images for the truth. ``--stopping`` looks after 20 labels and after each
doubling until one model is named, as the lines that `status` prints do. The set ``equal`` has five
classifiers that are equally good, of which none should be named.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict

import numpy as np
from label_sets import SETS, Set, classes
from ranking_coverage import Drawing

from faultscape.nouns import Draw
from faultscape.ranking import catalogue
from faultscape.ranking.assembly import assemble
from faultscape.ranking.drawn.rankings import Draws
from faultscape.ranking.drawn.scores import Expected
from faultscape.ranking.panel import Panel, RankingOptions
from faultscape.reporting.verdict_lines import verdict

BUDGETS = (20, 50, 100, 10**9)  # the last: all that can be drawn
DOUBLED = tuple(20 * 2**k for k in range(12))
NAMES = ("frames", "drives", "emotion", "cue-conflict", "16class-22nets", "colour", "noise")
RESAMPLES, RUN = 200, 10


def halves(images: int, run: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the images of the pool, those to come, and the run of every image; every other run of a random
    order is of the pool.
    """
    runs = np.arange(images) // run
    order = rng.permutation(runs.max() + 1)
    pool = np.isin(runs, order[::2])
    return np.flatnonzero(pool), np.flatnonzero(~pool), runs


def campaign(
    whole: Set, run: int, repeat: int, *, of_whole: bool, stopping: bool
) -> list[tuple[int, bool, float]]:
    """Return (number of labels, whether one model is named, how much worse it is than the best) of one
    campaign at each budget, or only where it stops.
    """
    rng = np.random.default_rng([repeat, 51])
    here, later, runs = halves(whole.losses.shape[1], run, rng)
    truth = whole.losses.mean(1) if of_whole else whole.losses[:, later].mean(1)
    drawing = Drawing(whole.part(here), [str(k) for k in here.tolist()], "order")
    models = [f"model-{k}" for k in range(len(truth))]
    pool = [drawing.keys[k] for k in drawing.pool.tolist()]
    groups = {key: f"run {runs[int(key)]}" for key in drawing.keys} if run > 1 else None
    images, chance = drawing.draw(min(BUDGETS[-1], len(pool)), repeat)
    out = []
    for budget in DOUBLED if stopping else BUDGETS:
        some = images[:budget]
        losses = drawing.set.losses[:, some]
        ids = [drawing.keys[k] for k in some.tolist()]
        rows = [
            Draw("information", 1, k + 1, id_, 1.0, float(p), len(pool))
            for k, (id_, p) in enumerate(zip(ids, chance.tolist(), strict=False))
        ]
        expected = Expected(pool, drawing.proxy(losses))
        standings = assemble(
            Panel.of(models, ids, 1 - losses, groups=groups),
            Draws(rows, learns=False, expected=expected),
            RankingOptions(resamples=RESAMPLES),
        )
        first = catalogue.ordered(standings.rankings, catalogue.CHANCE, "order")
        standings.rankings.clear()
        standings.rankings.update(first)
        said = verdict({"order": standings}, models=models)
        worse = float(truth[models.index(said.models[0])] - truth.min()) if said.decided else 0.0
        out.append((min(budget, len(images)), said.decided, worse))
        if stopping and (said.decided or budget >= len(images)):
            return out[-1:]
    return out


def equal() -> Set:
    """Return five classifiers that are right on four fifths of 4,000 images each, independently."""
    rng = np.random.default_rng(52)
    truth = rng.integers(0, 10, 4000)
    labels = np.tile(truth, (5, 1))
    for own in labels:
        wrong = rng.choice(4000, 800, replace=False)
        own[wrong] = (truth[wrong] + rng.integers(1, 10, 800)) % 10
    return classes("equal", labels, truth)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=NAMES)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--stopping", action="store_true")
    given = parser.parse_args()
    print("| set | labels | says, % | wrong, % | loss |")
    print("|---|---|---|---|---|")
    for name in given.sets:
        whole = equal() if name == "equal" else SETS[name]()
        run = RUN if name in ("frames", "drives") else 1
        found = defaultdict(list)
        for repeat in range(given.repeats):
            rows = campaign(whole, run, repeat, of_whole=given.whole, stopping=given.stopping)
            for place, (labels, says, worse) in enumerate(rows):
                found[place].append((labels, says, worse))
        for rows in found.values():
            labels, says, worse = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
            wrong = says.astype(bool) & (worse > 1e-12)
            print(
                f"| {name} | {np.median(labels):.0f} | {100 * says.mean():.1f} | {100 * wrong.mean():.1f} | "
                f"{100 * worse.max():.2f} |",
                flush=True,
            )
    print(f"{given.repeats} campaigns", file=sys.stderr)


if __name__ == "__main__":
    main()
