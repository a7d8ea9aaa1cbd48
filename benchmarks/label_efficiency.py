"""How many labels a ranking needs, by selector and ranking: ``python benchmarks/label_efficiency.py [SET ...]
[--repeats N] [--coverage]``.

Every repeat hides all labels, lets each selector ask for them, and ranks from the first 25, 50, ... of them.
What it finds lies as JSON in a folder for temporary files, one a set; docs/benchmarks/labels.md is written
from all that lie there. ``--coverage`` measures anew how often intervals hold the truth, in the same draws,
and nothing else.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict

import label_methods as methods
import label_table
import numpy as np
from label_sets import KEPT, SETS, Set
from label_table import SHOWN

from faultscape.ranking.agreement import spearman
from faultscape.ranking.drawn.estimate_intervals import difference_intervals, loss_intervals, margin_intervals
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.selection.draws import draw

BUDGETS = (25, 50, 100, 145, 200, 400)
AS_MEASURED = {"emotion": (72, 104)}  # budgets of figures that were measured before,
MANY = 300  # which alone get more repeats than these
REPEATS = {
    "emotion": 1000,
    "cue-conflict": 100,
    "16class-22nets": 100,
    "frames": 200,
    "crops": 600,
    "colour": 100,
    "noise": 100,
}
# repeats of the model picker, which asks for one label at a time
SLOW = {"emotion": 100, "cue-conflict": 20, "16class-22nets": 5}
Found = dict[str, dict[str, dict[str, list[float]]]]


def one(whole: Set, repeat: int, found: Found, slow: bool) -> None:
    """Add what one repeat finds: rankings of every selector at every budget, and whether the intervals hold
    the truth.
    """
    shuffled = np.random.default_rng([repeat, 7]).permutation(whole.losses.shape[1])
    chosen = whole.part(shuffled[: whole.draws])  # the order of images decides ties
    risk, everywhere = chosen.losses.mean(1), whole.losses.mean(1)
    measured = AS_MEASURED.get(whole.name, ())
    budgets = [
        b
        for b in sorted({*measured, *(BUDGETS if repeat < MANY or not measured else ())})
        if b <= len(shuffled)
    ]

    def add(
        selector: str, ranking: str, budget: int, score: np.ndarray, extra: dict[str, float] | None = None
    ) -> None:
        cell = found[f"{selector} | {ranking}"][str(budget)]
        cell["spearman"].append(float(np.nan_to_num(spearman(score, -risk))))  # all tied: no order, 0
        if whole.draws:
            cell["spearman_all"].append(float(np.nan_to_num(spearman(score, -everywhere))))
        best = np.flatnonzero(np.round(score, 12) >= np.round(score, 12).max())
        # ties: the mean of those who share the first place
        cell["regret"].append(float(100 * (risk[best] - risk.min()).mean()))
        for key, value in (extra or {}).items():
            cell[key].append(value)

    for place, (name, weight) in enumerate(methods.weights(chosen).items()):
        draws = draw(weight, max(budgets), seed=1000 * repeat + place)
        proxies = methods.proxies(chosen, weight)
        pool = methods.truth(chosen, proxies["images"])
        for budget in (b for b in budgets if b <= len(draws.images)):
            for ranking, score in methods.reused(chosen.losses[:, draws.images[:budget]]).items():
                add(name, ranking, budget, score)
            own = methods.controlled(chosen.losses[:, draws.images[:budget]], draws.images[:budget], proxies)
            add(name, "margins re-used + control", budget, own)
            for ranking, estimate in methods.weighted(chosen, draws, budget, proxies).items():
                add(name, ranking, budget, -estimate.loss, covered(ranking, estimate, pool))
    asked = {"entropy, top": np.argsort(-np.round(chosen.entropy, 12), kind="stable")[: max(budgets)]}
    if slow and chosen.labels is not None:
        asked["model-picker"] = methods.picked(chosen, max(budgets))
    asked["mad, top of each pair"], duels = methods.top_pairs(chosen, max(budgets))
    proxies = methods.proxies(chosen, (chosen.discrepancy > 0).any(0))
    for name, images in asked.items():
        for budget in (b for b in budgets if b <= len(images)):
            losses = chosen.losses[:, images[:budget]]
            for ranking, score in methods.reused(losses).items():
                add(name, ranking, budget, score)
            add(
                name,
                "margins re-used + control",
                budget,
                methods.controlled(losses, images[:budget], proxies),
            )
            if name.startswith("mad"):
                own = duels[np.maximum.accumulate(duels[:, 1]) < budget]
                add(
                    name,
                    "Perron" if chosen.labels is not None else "aggressiveness",
                    budget,
                    methods.faithful(chosen, losses, own),
                )


def again(whole: Set, repeat: int, found: Found) -> None:
    """Add whether the intervals of one repeat hold the truth, in the draws of ``one``."""
    chosen = whole.part(np.random.default_rng([repeat, 7]).permutation(whole.losses.shape[1])[: whole.draws])
    for place, (name, weight) in enumerate(methods.weights(chosen).items()):
        draws = draw(weight, max(BUDGETS), seed=1000 * repeat + place)
        proxies = methods.proxies(chosen, weight)
        pool = methods.truth(chosen, proxies["images"])
        for budget in (b for b in SHOWN if b <= len(draws.images)):
            for ranking, estimate in methods.weighted(chosen, draws, budget, proxies).items():
                for key, value in covered(ranking, estimate, pool).items():
                    found[f"{name} | {ranking}"][str(budget)][key].append(value)


def covered(ranking: str, found: Estimates, pool: dict[str, np.ndarray]) -> dict[str, float]:
    """Return the share of intervals that hold the truth, of losses (or margins) and of differences, and how
    wide those of losses are.
    """
    margins = ranking.startswith("margins")
    real = pool["margin" if margins else "loss"]
    own, gap = (margin_intervals if margins else loss_intervals)(found), difference_intervals(found)
    first, second = np.triu_indices(len(real), 1)
    low, high = gap[first, second].T
    pool, real = real, real[first] - real[second]
    return {
        "loss_covered": float(((own[:, 0] - 1e-12 <= pool) & (pool <= own[:, 1] + 1e-12)).mean()),
        "difference_covered": float(((low - 1e-12 <= real) & (real <= high + 1e-12)).mean()),
        "half_width": float(100 * (own[:, 1] - own[:, 0]).mean() / 2),
    }


def measure(name: str, repeats: int) -> None:
    """Measure all of a set, and keep it."""
    whole, found = SETS[name](), nothing()
    for repeat in range(repeats):
        one(whole, repeat, found, slow=repeat < SLOW.get(name, 0))
        if repeat % 50 == 0:
            print(name, repeat, flush=True)
    summary = {
        method: {
            budget: {"repeats": len(cell["spearman"]), **means(cell)} for budget, cell in budgets.items()
        }
        for method, budgets in found.items()
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    about = {
        "models": len(whole.losses),
        "images": whole.losses.shape[1],
        "disputed": float((whole.discrepancy > 0).any(0).mean()),
        "coverage_repeats": min(repeats, MANY) if name in AS_MEASURED else repeats,
    }
    (KEPT / f"{name}.json").write_text(json.dumps(about | {"draws": whole.draws, "methods": summary}))


def measure_coverage(name: str, repeats: int) -> None:
    """Measure the coverage of a set anew, and keep it beside what was measured before."""
    kept = KEPT / f"{name}.json"
    if not kept.exists():
        raise SystemExit(f"there is no {kept}: measure {name} without --coverage first")
    held, whole, found = json.loads(kept.read_text()), SETS[name](), nothing()
    for repeat in range(repeats):
        again(whole, repeat, found)
    for method, budgets in found.items():
        for budget, cell in budgets.items():
            held["methods"][method][budget] |= means(cell)
    kept.write_text(json.dumps(held | {"coverage_repeats": repeats}))


def nothing() -> Found:
    return defaultdict(lambda: defaultdict(lambda: defaultdict(list)))


def means(cell: dict[str, list[float]]) -> dict[str, list[float]]:
    """Return the mean of each number and its standard error."""
    return {key: [float(np.mean(v)), float(np.std(v) / np.sqrt(len(v)))] for key, v in cell.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--coverage", action="store_true")
    given = parser.parse_args()
    for name in given.sets:
        if given.coverage:
            measure_coverage(name, given.repeats or min(REPEATS[name], MANY))
        else:
            measure(name, given.repeats or REPEATS[name])
    label_table.write()


if __name__ == "__main__":
    main()
