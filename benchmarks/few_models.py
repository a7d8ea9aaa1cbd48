"""Whether the default for the order of all also orders three, four or eight other models of each set well:
``python benchmarks/few_models.py [SET ...] [--repeats N]``.

Three networks of one set say more of the scale of Spearman's rho than of a selector
(docs/benchmarks/choice.md). Here three, four and eight models of each set of more are drawn anew in every
repeat, so that no choice of models decides. Rule, written before any number was seen: the default stands
where its largest regret over the sets is the least of all, or where on every set it lies within a standard
error, of paired repeats, of the one whose is. Every hundred repeats are one JSON file in a folder for
temporary files; then the table is printed, and what the rule says. docs/benchmarks/choice.md tells it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from label_sets import SETS, Set, classes
from leave_one_out import AT_ONCE, Pool, alike

from faultscape.ranking.agreement import spearman
from faultscape.ranking.drawn import estimates
from faultscape.selection import information, proposals
from faultscape.selection.draws import draw

KEPT = Path(tempfile.gettempdir()) / "faultscape-few-models"
BLOCK, REPEATS = 100, 200
BUDGETS, NUMBERS = (50, 100, 200, 400), (3, 4, 8)
MANY = ("emotion", "cue-conflict", "16class-22nets", "crops")
DEFAULT = "information, at once | LURE + control"


def some_of(whole: Set, models: np.ndarray) -> Set:
    """Return a set of some of its models."""
    if whole.labels is not None:
        assert whole.truth is not None
        return classes(whole.name, whole.labels[models], whole.truth)
    assert whole.concordance is not None
    both = whole.concordance[np.ix_(models, models)]
    first, second = np.triu_indices(len(models), 1)
    apart, expected = 1 - both[first, second], proposals.expected_of_concordances(both)
    return Set(whole.name, whole.losses[models], expected, apart, whole.entropy, concordance=both)


def one(whole: Set, number: int, repeat: int) -> dict[str, float]:
    """Return {selector | ranking: Spearman's rho, mean over the numbers of labels} of one repeat."""
    models = np.sort(np.random.default_rng([repeat, number]).permutation(len(whole.losses))[:number])
    chosen = some_of(whole, models)
    differ = np.flatnonzero((chosen.discrepancy > 0).any(0))
    sample = np.random.default_rng(0).permutation(differ)[: information.SAMPLE]
    pool = Pool(chosen, information.fit_sharpness(alike(chosen, sample)))
    weights = {name: pool.weights(selector) for name, selector in AT_ONCE.items()}
    real, out = -chosen.losses.mean(1), {}
    for place, (name, weight) in enumerate(weights.items()):
        inside = np.flatnonzero(weight > 0)
        found = draw(weight, min(max(BUDGETS), len(inside)), seed=[repeat, place])
        rhos: dict[str, list[float]] = {}
        for budget in (b for b in BUDGETS if b <= len(found.images)):
            images, q = found.images[:budget], found.probability[:budget]
            losses, at = chosen.losses[:, images], np.searchsorted(inside, images)
            expected = chosen.expected[:, inside]
            if chosen.labels is not None:
                trust = estimates.vote_weights(losses)
                apart = (chosen.labels[:, None, inside] != chosen.labels[:, inside]).astype(float)
                expected = np.tensordot(trust / trust.sum(), apart, 1)
            own, said, even = (
                estimates.margins(losses),
                estimates.margins(expected),
                estimates.uniform_steps(budget, len(inside)),
            )
            most = 1 - 1 / number
            scores = {
                "LURE + control": estimates.prediction_powered(losses, q, expected, at),
                "margins re-used + control": estimates.prediction_powered(own, even, said, at, (-most, most)),
            }
            for ranking, estimate in scores.items():
                rho = spearman(np.round(-estimates.inside(estimate).loss, 12), real)
                rhos.setdefault(ranking, []).append(float(np.nan_to_num(rho)))
        out |= {f"{name} | {ranking}": float(np.mean(values)) for ranking, values in rhos.items() if values}
    return out


def run(name: str, repeats: int) -> None:
    """Measure the blocks of a set that are not there yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    whole = SETS[name]()
    for number in NUMBERS:
        for block in range(-(-repeats // BLOCK)):
            if not (file := KEPT / f"{name}-{number}-{block}.json").exists():
                rows = [one(whole, number, repeat) for repeat in range(block * BLOCK, (block + 1) * BLOCK)]
                put = KEPT / f".{file.name}"
                put.write_text(json.dumps(rows))
                put.rename(file)
                print(name, number, block, flush=True)


def table(number: int) -> list[str]:
    """Return the lines of the table of so many models, and what the rule says."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for name in MANY:
        rows = [
            row
            for file in sorted(KEPT.glob(f"{name}-{number}-*.json"))
            for row in json.loads(file.read_text())
        ]
        if rows:
            methods = set(rows[0]).intersection(*rows)
            found[name] = {method: np.array([row[method] for row in rows]) for method in methods}
    shared = set.intersection(*(set(cells) for cells in found.values()))
    best = {name: max(cells[m].mean() for m in shared) for name, cells in found.items()}
    regret = {m: {name: best[name] - found[name][m].mean() for name in found} for m in shared}
    order = sorted(shared, key=lambda m: max(regret[m].values()))
    repeats = {len(next(iter(cells.values()))) for cells in found.values()}
    lines = [
        f"| {number} models ({min(repeats)} repeats) | " + " | ".join(found) + " | largest |",
        "|---|" + "---|" * (len(found) + 1),
    ]
    for method in order:
        cells = " | ".join(f"{value:.3f}" for value in regret[method].values())
        lines.append(
            f"| {method.replace(' | ', ', ranked by ')} | {cells} | {max(regret[method].values()):.3f} |"
        )
    within = {}
    for name, cells in found.items():
        gap = cells[order[0]] - cells[DEFAULT]
        within[name] = bool(gap.mean() <= gap.std(ddof=1) / np.sqrt(len(gap)))
    return [
        *lines,
        (
            f"The rule: the default {'stands' if all(within.values()) else 'does not stand'} for {number}"
            f" models {within}."
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(MANY))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    given = parser.parse_args()
    for name in given.sets:
        run(name, given.repeats)
    for number in NUMBERS:
        print("\n".join([*table(number), ""]))


if __name__ == "__main__":
    main()
