"""How often something false is said about the order of models from a table of scores, and how many pairs are told
apart: ``python benchmarks/rank_tables.py [REPEATS]`` prints one row for each table, number of cases and method.

Conventions: from a table of many cases, whose means are the truth, n cases are drawn with replacement, REPEATS
times (150). *False* is the share of draws in which any pair of models is put in a wrong order: with the table as
it is, recentred (every model moved to the mean of all, so that any claim is false, with the skew of differences
kept) and with the models exchanged at random within each case. *Pairs* is the mean number of pairs told apart
with the table as it is, ``silent`` the share of draws in which ours says that there are too few cases. At most ten
models are drawn of a table; ``@2`` are two at a time. Finished rows are kept in the temporary folder, so that a run
continues where it stopped.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import label_sets
import numpy as np
from scipy.stats import t as student

from faultscape.formats.label_maps import read_map
from faultscape.metrics.intervals.units import units_of
from faultscape.ranking.intervals import bootstrap_weights
from faultscape.ranking.simultaneous_ranks import better as holm
from faultscape.ranking.tables import differences

KEPT = Path(tempfile.gettempdir()) / "faultscape-rank-tables"
CASES = (10, 25, 50, 100)
DRAWS = 499
MODELS = 10  # at most, of a table
TRUTHS = ("as it is", "recentred", "exchanged")
ZOO_CLASSES = (
    "sky",
    "building",
    "pole",
    "road",
    "pavement",
    "tree",
    "sign",
    "fence",
    "car",
    "pedestrian",
    "bicyclist",
)


def claims_of_table(scores, seed):
    """What `rank_table` claims, and whether it says that there are too few cases."""
    said = differences.compare(scores, units_of(scores.shape[1]), DRAWS, seed)
    return said.better.astype(int) - said.better.T, bool(said.few)


def stepped(observed, ratios, count):
    claims = np.zeros((count, count), int)
    first, second = np.triu_indices(count, 1)
    claims[first, second] = differences.step_down(observed, ratios)
    return claims - claims.T


def paired(scores):
    first, second = np.triu_indices(len(scores), 1)
    gap = np.round(scores[first] - scores[second], 9).T
    return gap, ratio(gap.mean(0), gap.var(0, ddof=1), len(gap))


def ratio(mean, variance, n):
    error = np.sqrt(np.maximum(variance, 0) / n)
    sure = np.sign(np.where(np.abs(mean) < 1e-9, 0, mean)) * 1e6
    return np.where(error > 1e-9, mean / np.maximum(error, 1e-12), sure)


def claims_of_holm(scores, _seed):
    gap, observed = paired(scores)
    j = len(scores)
    first, second = np.triu_indices(j, 1)
    p_values = np.full((j, j), np.nan)
    p_values[first, second] = student.sf(observed, len(gap) - 1)
    p_values[second, first] = student.sf(-observed, len(gap) - 1)
    found = holm(p_values).astype(int)
    return found - found.T, False


def claims_of_bootstrap(scores, seed):
    gap, observed = paired(scores)
    n = len(gap)
    weights = bootstrap_weights(n, DRAWS, seed)
    mean = weights @ gap / n
    spread = (weights @ gap**2 / n - mean**2) * n / (n - 1)
    return stepped(observed, ratio(mean - gap.mean(0), spread, n), len(scores)), False


def claims_of_signs(scores, seed):
    gap, observed = paired(scores)
    n = len(gap)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (DRAWS, n))
    mean = signs @ gap / n
    spread = ((gap**2).mean(0) - mean**2) * n / (n - 1)
    return stepped(observed, ratio(mean, spread, n), len(scores)), False


def claims_of_multivariate_t(scores, seed):
    gap, observed = paired(scores)
    n = len(gap)
    rng = np.random.default_rng(seed)
    spread = np.sqrt(gap.var(0, ddof=1) * (n - 1))
    normal = rng.normal(size=(DRAWS, n)) @ (gap - gap.mean(0)) / np.where(spread > 1e-9, spread, np.inf)
    return stepped(observed, normal / np.sqrt(rng.chisquare(n - 1, (DRAWS, 1)) / (n - 1)), len(scores)), False


METHODS = {
    "ours": claims_of_table,
    "Holm, Student's t": claims_of_holm,
    "bootstrap maximum": claims_of_bootstrap,
    "sign-flip maximum": claims_of_signs,
    "multivariate t": claims_of_multivariate_t,
}


def classifiers(name: str) -> np.ndarray:
    return 1 - label_sets.SETS[name]().losses


def zoo_dice() -> np.ndarray:
    """Dice (J, I, C) of ten networks on the CamVid test frames, NaN where the truth lacks the class."""
    kept = KEPT / "zoo-dice.npz"
    if not kept.exists():
        models = sorted(p for p in (label_sets.DATA / "camvid-zoo").iterdir() if p.is_dir())
        annotated = sorted((label_sets.DATA / "camvid" / "testannot").glob("*.png"))
        out = np.full((len(models), len(annotated), label_sets.VOID), np.nan)
        for i, path in enumerate(annotated):
            truth = read_map(path).astype(int)
            seen = truth < label_sets.VOID
            for j, model in enumerate(models):
                said = read_map(model / "labels" / path.name).astype(int)
                both = truth[seen] * label_sets.VOID + said[seen]
                cells = np.bincount(both, minlength=label_sets.VOID**2).reshape(label_sets.VOID, -1)
                size = cells.sum(1)
                out[j, i] = np.where(
                    size > 0, 2 * np.diag(cells) / np.maximum(size + cells.sum(0), 1), np.nan
                )
        np.savez(kept, dice=out)
    return np.load(kept)["dice"]


def dice(name: str) -> np.ndarray:
    found = zoo_dice()[:, :, ZOO_CLASSES.index(name)]
    return found[:, ~np.isnan(found).any(0)]


def rand_index() -> np.ndarray:
    """Mean Rand index (5, 30) of machine segmentations with those of people."""
    folder = label_sets.DATA / "bsds"
    people: dict[str, list[np.ndarray]] = {}
    for path in sorted((folder / "human").glob("*.png")):
        people.setdefault(path.stem.rpartition("_")[0], []).append(read_map(path).astype(np.int64).ravel())
    levels = sorted({path.stem.rpartition("_")[2] for path in (folder / "machine").glob("*.png")})
    found = [
        [rand_of(folder / "machine" / f"{i}_{level}.png", own) for i, own in people.items()]
        for level in levels
    ]
    return np.array(found)


def rand_of(path, people):
    said = read_map(path).astype(np.int64).ravel()
    values = []
    for truth in people:
        squares = [
            (np.unique(x, return_counts=True)[1].astype(float) ** 2).sum()
            for x in (said, truth, said * 10000 + truth)
        ]
        values.append(1 - (squares[0] + squares[1] - 2 * squares[2]) / len(said) ** 2)
    return np.mean(values)


def made(kind: str) -> np.ndarray:
    """Made tables of 12 models on 2,000 cases, with differences as skewed as those of real failures."""
    rng = np.random.default_rng(7)
    j, i = 12, 2000
    hard = rng.gamma(1, 1, i)
    if kind == "lognormal":
        return -np.exp(
            rng.normal(0, 0.8, (j, i)) + 0.5 * np.log(hard + 0.1) + np.linspace(0, 0.6, j)[:, None]
        )
    if kind == "rare failures":
        usual = 0.9 - 0.05 * rng.beta(2, 5, (j, i)) - 0.01 * hard
        failed = rng.random((j, i)) < np.linspace(0.002, 0.06, j)[:, None]
        return np.where(failed, usual * rng.random((j, i)) * 0.5, usual)
    if kind == "mostly equal":
        same = np.repeat(rng.beta(8, 2, (1, i)), j, 0)
        other = same + rng.normal(0, 0.05, (j, i)) - 0.5 * (rng.random((j, i)) < 0.15)
        return np.where(rng.random((j, i)) < 0.1, other, same)
    return rng.normal(0, 1, i) + rng.normal(0, 0.5, (j, i)) + np.linspace(0, 0.4, j)[:, None]


TABLES: dict[str, Callable[[], np.ndarray]] = {
    "made rare failures": lambda: made("rare failures"),
    "Dice bicyclist": lambda: dice("bicyclist"),
    "frames": lambda: classifiers("frames"),
    "16class-22nets": lambda: classifiers("16class-22nets"),
    "Dice car": lambda: dice("car"),
    "cue-conflict": lambda: classifiers("cue-conflict"),
    "Dice pedestrian": lambda: dice("pedestrian"),
    "BSDS Rand": rand_index,
    "made mostly equal": lambda: made("mostly equal"),
    "emotion": lambda: classifiers("emotion"),
    "Dice fence": lambda: dice("fence"),
    "Dice pavement": lambda: dice("pavement"),
    "made lognormal": lambda: made("lognormal"),
    "colour": lambda: classifiers("colour"),
    "noise": lambda: classifiers("noise"),
    "Dice sign": lambda: dice("sign"),
    "Dice pole": lambda: dice("pole"),
    "Dice tree": lambda: dice("tree"),
    "Dice sky": lambda: dice("sky"),
    "crops": lambda: classifiers("crops"),
    "made normal": lambda: made("normal"),
}


def count_claims(table: np.ndarray, n: int, repeats: int, models: int) -> dict[str, dict[str, float]]:
    """Return {method: its row}, counted over the same draws."""
    methods = METHODS if models > 2 else {name: METHODS[name] for name in ("ours", "Holm, Student's t")}
    found = {name: dict.fromkeys((*TRUTHS, "pairs", "silent"), 0.0) for name in methods}
    for place, kind in enumerate(TRUTHS):
        for k in range(repeats):
            rng = np.random.default_rng([n, place, k])
            of = table if len(table) <= models else table[rng.choice(len(table), models, replace=False)]
            if kind == "recentred":
                of = of - of.mean(1, keepdims=True)
            scores = of[:, rng.integers(0, of.shape[1], n)]
            truth = np.sign(np.round(of.mean(1)[:, None] - of.mean(1), 12)).astype(int)
            if kind == "exchanged":
                scores = rng.permuted(scores, axis=0)
                truth = truth * 0
            for name, method in methods.items():
                claims, silent = method(scores, k)
                found[name][kind] += bool((claims * (claims != truth)).any()) / repeats
                if kind == "as it is":
                    found[name]["pairs"] += (claims > 0).sum() / repeats
                    found[name]["silent"] += silent / repeats
    return found


def main(repeats: int) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"rows-{repeats}.jsonl"
    done = {}
    if kept.exists():
        done = {tuple(key): rows for key, rows in map(json.loads, kept.read_text().splitlines())}
    print(
        f"| table | cases | method | false, % as it is | recentred | exchanged | pairs | silent, % |\n|{'---|' * 8}"
    )
    for name, read in TABLES.items():
        table = None
        for models in (MODELS, 2):
            shown = f"{name} @2" if models == 2 else name
            for n in CASES:
                if (shown, n) not in done:
                    table = read() if table is None else table
                    done[shown, n] = count_claims(table, n, repeats, models)
                    with kept.open("a") as file:
                        file.write(json.dumps([[shown, n], done[shown, n]]) + "\n")
                for method, row in done[shown, n].items():
                    false = " | ".join(f"{100 * row[truth]:.1f}" for truth in TRUTHS)
                    print(
                        f"| {shown} | {n} | {method} | {false} | {row['pairs']:.1f} | {100 * row['silent']:.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150)
