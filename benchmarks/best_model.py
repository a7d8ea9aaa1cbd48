"""Which rule finds the best classifier with fewest labels, in CODA's own measure: ``python
benchmarks/best_model.py [SET ...] [--repeats N]``, then ``--table``.

The measure is cumulative regret x 100: the sum over labels 1 to 100 of the best accuracy minus that of the
model chosen after each label, in points; less is better. Every repeat draws 1,500 images anew, of SET/some
also a third to two thirds of the models. *Made* sets: thirty models; twins (six models, and each with a fifth
of its answers exchanged); seven of fifteen that answer another question and are right on a tenth; two classes
at odds of 15 : 85. Of ours, draws and leaders are combined. Rule, written before the numbers: the combination
of least mean over the other sources is chosen, sets of one source counting together as one, and reported on
the source left out. Five repeats are one JSON file in a folder for temporary files. The peers are
`best_peers.py`'s.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from best_peers import classes_of, coda, model_selector, select_llm
from label_sets import SETS, Set, classes
from label_table import ROOT
from leave_one_out import Pool, alike, controlled
from page_text import keep_rows, split_row, write_row

from faultscape.ranking.agreement import spearman
from faultscape.ranking.drawn import estimates
from faultscape.ranking.drawn.leader import Consensus, leading_margins
from faultscape.selection import information, proposals
from faultscape.selection.draws import draw

KEPT = Path(tempfile.gettempdir()) / "faultscape-best-model"
BLOCK, REPEATS, IMAGES, MOST = 5, 20, 1500, 100
LOOKED = (*range(1, 7), 8, 10, 12, 16, 20, 28, 40, 60, 80, 100)  # a model leads since the last look
BEFORE = "information, rounds of 10 | margins with control"
CHOSEN = "information, rounds of 10 | shrunk to agreement"
CODA = "CODA, re-derived"
HEADING = "## Which classifier is best, beside other rules"
PEERS: dict[str, Callable[[Pool, tuple[int, ...], np.random.Generator], np.ndarray]] = {
    CODA: coda,
    "Model Selector": model_selector,
    "Select-LLM, re-derived": select_llm,
}
SOURCES = {  # sets that hold the same models, or images, are of one source
    "emotion": ["emotion", "emotion/some"],
    "cue-conflict": ["cue-conflict", "cue-conflict/some"],
    "16class-22nets": ["16class-22nets", "16class-22nets/some"],
    "16class-confidence": ["colour", "noise"],
    "made, thirty": ["thirty"],
    "made, twins": ["twins"],
    "made, below chance": ["below chance"],
    "made, two classes": ["two classes"],
}
SHOWN = [  # on the page
    *(one.split(" | ") for one in (CHOSEN, BEFORE)),
    ["information, rounds of 2", "shrunk to agreement"],
    ["information, rounds of 2", "half belief"],
    ["random where models differ", "shrunk to agreement"],
    *([name, "its own"] for name in PEERS),
]
COLUMNS = [
    *("emotion", "cue-conflict", "16class-22nets", "noise", "thirty", "twins", "below chance", "two classes"),
    *("mean over sources", "most above CODA", "rho"),
]
NAMES = [name for sets in SOURCES.values() for name in sets]


def answers(rng: np.random.Generator, right: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return answers (J, I) of models that are about so often ``right`` (J,), and the truth (I,): some images
    are hard for all, and wrong answers to one are often the same.
    """
    truth = rng.integers(number, size=IMAGES)
    hard = rng.normal(0, 1.2, IMAGES)
    likely = 1 / (1 + np.exp(hard - 1.25 * np.log(right / (1 - right))[:, None]))
    shape = len(right), IMAGES
    tempting = (truth + rng.integers(1, number, size=IMAGES)) % number
    other = (truth + rng.integers(1, number, size=shape)) % number
    wrong = np.where(rng.random(shape) < 0.6, tempting, other)
    return np.where(rng.random(shape) < likely, truth, wrong), truth


def thirty(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return answers(rng, rng.uniform(0.62, 0.8, 30), 10)


def twins(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels, truth = answers(rng, rng.uniform(0.6, 0.85, 6), 10)
    copies = labels.copy()
    for j, copy in enumerate(copies):
        exchanged = rng.random(IMAGES) < 0.2
        copy[exchanged] = labels[(j + rng.integers(1, 6)) % 6, exchanged]
    return np.concatenate([labels, copies]), truth


def below_chance(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    labels, truth = answers(rng, rng.uniform(0.6, 0.85, 8), 10)
    other = (truth + 1 + (rng.random(IMAGES) < 0.5)) % 10
    follows = rng.random((7, IMAGES)) < rng.uniform(0.6, 0.9, 7)[:, None]
    astray = np.where(follows, other, rng.integers(10, size=(7, IMAGES)))
    return np.concatenate([labels, astray]), truth


def two_classes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    truth = (rng.random(IMAGES) < 0.15).astype(int)
    signal = (2 * truth - 1) * rng.uniform(0.6, 2.2, 14)[:, None] + rng.normal(0, 1, IMAGES)
    signal += rng.normal(0, 1, signal.shape)
    return (signal > rng.uniform(-0.8, 0.8, 14)[:, None]).astype(int), truth


MADE = {"thirty": thirty, "twins": twins, "below chance": below_chance, "two classes": two_classes}


def pool_of(name: str, whole: Set | None, repeat: int) -> Pool:
    """Return the pool of one repeat, with the sharpness that its predictions let expect."""
    rng = np.random.default_rng([repeat, 77])
    if whole is None:
        chosen = classes(name, *MADE[name](rng))
    else:
        assert whole.labels is not None
        assert whole.truth is not None
        images = rng.permutation(len(whole.truth))[:IMAGES]
        models = np.arange(len(whole.labels))
        if name.endswith("/some"):
            j = len(models)
            models = np.sort(rng.permutation(j)[: max(3, int(rng.integers(j // 3, 2 * j // 3 + 1)))])
        chosen = classes(name, whole.labels[np.ix_(models, images)], whole.truth[images])
    differ = np.flatnonzero((chosen.discrepancy > 0).any(0))
    some = np.random.default_rng(0).permutation(differ)[: information.SAMPLE]
    return Pool(chosen, information.fit_sharpness(alike(chosen, some)))


class Leaders:
    """The scores of the models of a pool after the labels of some images, by each way to lead."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.consensus = Consensus(pool.labels[:, pool.differ], classes_of(pool))

    def shrunk(self, images: np.ndarray) -> np.ndarray:
        scores = 1 - self.pool.set.losses[:, images]
        places = self.pool.place[images]
        return leading_margins(scores, self.consensus(scores), places, self.consensus.noise)

    def today(self, images: np.ndarray) -> np.ndarray:
        pool, number, size = self.pool, len(images), len(self.pool.differ)
        values = estimates.margins(pool.set.losses[:, images])
        q = estimates.uniform_steps(number, size)
        seen, total = pool.told(images)(number)[1]
        step = values / q + np.cumsum(values, 1) - values
        return -controlled(values, step, seen, total / size, q, np.ones(number), size)

    def half(self, images: np.ndarray) -> np.ndarray:
        """Return half what agreement lets expect, half today's."""
        trust = estimates.vote_weights(self.pool.set.losses[:, images])
        expected = (trust / trust.sum()) @ self.pool.apart / len(self.pool.differ)
        return 0.5 * (self.today(images) - (expected - expected.mean()))


LEADERS = {
    "margins with control": Leaders.today,
    "half belief": Leaders.half,
    "shrunk to agreement": Leaders.shrunk,
}


def led(belief: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Return half of a belief (J,), and the other half on the leader, so that draws compare others with it."""
    first = np.round(margins, 12) == np.round(margins, 12).max()
    return 0.5 * first / first.sum() + 0.5 * belief


def drawn(pool: Pool, leaders: Leaders, how: str, rounds: int, repeat: int) -> np.ndarray:
    """Return the images of one way to draw, in order."""
    images = np.zeros(0, np.intp)
    place = sum(map(ord, how))
    while len(images) < min(MOST, len(pool.differ)):
        weight = np.zeros(pool.size)
        weight[pool.differ] = 1.0
        if how != "disputed":
            belief = pool.belief(images)
            if how == "information and leader":
                belief = led(belief, leaders.shrunk(images))
            weight[pool.differ] = proposals.floored(pool.value(belief))
        number = min(rounds, MOST - len(images), int((weight > 0).sum()) - len(images))
        images = np.append(images, draw(weight, number, seed=[repeat, place], taken=images).images)
    return images


WAYS = {
    "random where models differ": ("disputed", MOST),
    "information, rounds of 10": ("information", 10),
    "information, rounds of 2": ("information", 2),
    "information and leader, rounds of 10": ("information and leader", 10),
    "information and leader, rounds of 2": ("information and leader", 2),
}


def measured(scores: np.ndarray, risk: np.ndarray) -> list[float]:
    """Return CODA's measure, that of the first ten labels, and Spearman's rho, mean of 40 and 100 labels."""
    looked = np.array(LOOKED[: len(scores)])
    scores = np.round(scores, 12)
    lead = scores >= scores.max(1, keepdims=True)
    regret = 100 * (lead * (risk - risk.min())).sum(1) / lead.sum(1)
    each = np.diff(np.minimum(looked, MOST), prepend=0) * regret
    rest = (MOST - looked[-1]) * regret[-1]
    rho = [float(np.nan_to_num(spearman(scores[k], -risk))) for k, n in enumerate(looked) if n in (40, 100)]
    return [float(each.sum() + rest), float(each[looked <= 10].sum()), float(np.mean(rho))]


def one(pool: Pool, repeat: int) -> dict[str, list[float]]:
    """Return what is measured of each way to draw with each way to lead, and of the peers."""
    risk = pool.set.losses.mean(1)
    leaders = Leaders(pool)
    out = {}
    for name, (how, rounds) in WAYS.items():
        images = drawn(pool, leaders, how, rounds, repeat)
        looked = [n for n in LOOKED if n <= len(images)]
        for leader, lead in LEADERS.items():
            scores = np.array([lead(leaders, images[:n]) for n in looked])
            out[f"{name} | {leader}"] = measured(scores, risk)
    for name, rule in PEERS.items():
        out[name] = measured(rule(pool, LOOKED, np.random.default_rng([repeat, 3])), risk)
    return out


def run(name: str, repeats: int) -> None:
    """Measure the blocks of a set that are not there yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    whole = None if name in MADE else SETS[name.removesuffix("/some")]()
    for block in range(-(-repeats // BLOCK)):
        file = KEPT / f"{name.replace('/', '+')}-{block}.json"
        if file.exists():
            continue
        start = time.process_time()
        rows = [one(pool_of(name, whole, k), k) for k in range(block * BLOCK, (block + 1) * BLOCK)]
        put = file.with_name(f".{file.name}")
        put.write_text(json.dumps(rows))
        put.rename(file)
        print(f"{name} {block}: {(time.process_time() - start) / BLOCK:.1f} s a repeat", flush=True)


Found = dict[str, dict[str, np.ndarray]]  # {set: {rule: (repeats, 3) as measured}}


def read() -> Found:
    """Return what was measured."""
    out = {}
    for name in NAMES:
        files = sorted(KEPT.glob(f"{name.replace('/', '+')}-*.json"))
        rows = [row for file in files for row in json.loads(file.read_text())]
        if rows:
            out[name] = {rule: np.array([row[rule] for row in rows]) for rule in rows[0]}
    return out


def mean_of_sources(found: Found, rule: str, without: str = "") -> float:
    """Return the mean of CODA's measure over sources, each the mean of its sets."""
    each = [
        np.mean([found[name][rule][:, 0].mean() for name in sets if name in found])
        for source, sets in SOURCES.items()
        if source != without and any(name in found for name in sets)
    ]
    return float(np.mean(each))


def chosen(found: Found, without: str = "") -> str:
    """Return the combination of ours that the rule chooses without one source."""
    ours = [f"{way} | {leader}" for way in WAYS for leader in LEADERS]
    return min(ours, key=lambda rule: mean_of_sources(found, rule, without))


def told(rule: str) -> list[str]:
    """Return the two cells of a rule: how images are chosen, and how models are ranked."""
    return rule.split(" | ") if " | " in rule else [rule, "its own"]


def table(found: Found) -> list[str]:
    """Return a row a rule: CODA's measure with its standard error on every set, the mean over sources, the
    most above CODA, and rho.
    """
    head = ["selector", "ranking", *found, "mean over sources", "most above CODA", "rho"]
    lines = [write_row(head), "|" + "---|" * len(head)]
    first = next(iter(found.values()))
    for rule in sorted(first, key=lambda rule: mean_of_sources(found, rule)):
        means = [rows[rule][:, 0].mean() for rows in found.values()]
        errors = [rows[rule][:, 0].std(ddof=1) / np.sqrt(len(rows[rule])) for rows in found.values()]
        above = max(mean - rows[CODA][:, 0].mean() for mean, rows in zip(means, found.values(), strict=True))
        rho = np.mean([rows[rule][:, 2].mean() for rows in found.values()])
        cells = [f"{m:.0f} ± {e:.0f}" for m, e in zip(means, errors, strict=True)]
        cells += [f"{mean_of_sources(found, rule):.0f}", f"{above:.0f}", f"{rho:.3f}".removeprefix("0")]
        lines.append(write_row([*told(rule), *cells]))
    return lines


def left_out(found: Found) -> list[str]:
    """Return a row a source left out: what the others choose, and how it, what was before and CODA do there."""
    head = ["left out", "selector", "ranking", "there", "before", "CODA there"]
    lines = [write_row(head), "|" + "---|" * len(head)]
    for source, sets in SOURCES.items():
        if not (there := [name for name in sets if name in found]):
            continue
        best = chosen(found, source)
        cells = [
            ", ".join(f"{found[name][rule][:, 0].mean():.0f}" for name in there)
            for rule in (best, BEFORE, CODA)
        ]
        lines.append(write_row([f"{source} ({', '.join(there)})", *told(best), *cells]))
    return lines


def section(every: Sequence[str], repeats: int) -> str:
    """Return the part of docs/benchmarks/choice.md on other people's rules, from all rows."""
    heading, _, *rows = map(split_row, every)
    columns = [0, 1, *(k for k, name in enumerate(heading) if name in COLUMNS)]
    kept = [heading, ["---"] * len(heading), *(row for row in rows if row[:2] in SHOWN)]
    shown = "\n".join(write_row([row[k] for k in columns]) for row in kept)
    notes = (ROOT / "benchmarks" / "best-notes.md").read_text(encoding="utf-8")
    return notes.replace("<!-- table -->", shown).replace("{repeats}", str(repeats))


def write(every: Sequence[str], repeats: int) -> None:
    """Replace that part of the page."""
    page = ROOT / "docs" / "benchmarks" / "choice.md"
    before, _, _ = page.read_text(encoding="utf-8").partition(HEADING)
    page.write_text(f"{before.rstrip()}\n\n{section(every, repeats)}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=NAMES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if not given.table:
        for name in given.sets:
            run(name, given.repeats)
    found = read()
    every, without = table(found), left_out(found)
    print("\n".join([*every, "", *without]))
    if given.table:
        keep_rows("best_model", every)
        keep_rows("best_model_left_out", without)
        write(every, min(len(rows[CODA]) for rows in found.values()))


if __name__ == "__main__":
    main()
