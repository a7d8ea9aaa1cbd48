"""Whether `plan` names the right number of labels: ``python benchmarks/label_plan.py [SET ...] [--repeats
N]``, writes docs/benchmarks/plan.md.

What is really needed is found from the full labels: the smallest number from which on 95 % of repeats answer
the question right. Beside it stands what the plan names before any label and from half of that number of
labels (the median of some repeats). What is found lies as JSON in a folder for temporary files, one a set.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import platform
from importlib.metadata import version
from pathlib import Path

import label_methods as methods
import label_sets
import numpy as np
from label_sets import KEPT, SETS, Set
from page_text import HEAD, figure_cell, keep_rows, split_row, write_row

from faultscape.ranking.drawn import estimates
from faultscape.ranking.planning import label_needs as needs
from faultscape.ranking.planning import label_variances as variances

ROOT = Path(__file__).parents[1]
HALVES, WITHIN, GROUPS, FEW = 40, 0.01, (2, 3, 5), 25
WEIGHTED = ("expected-loss", "vma", "mad, temperature 1")
SELECTORS = ("random", "disputed", "expected-loss", "vma", "mad, temperature 1")
NAMED = {"best": "which is best", "order": "order of all", "scores": "scores within 1 point"}


def agreement(chosen: Set) -> np.ndarray:
    """Return what each model is worth if another has said the truth (J, J, I)."""
    if chosen.labels is not None:
        return (chosen.labels[:, None] == chosen.labels).astype(float)
    held = np.load(KEPT / f"zoo-{3 if chosen.name.endswith('crops') else 1}.npz")
    return held["concordance"][:, :, held["labelled"] >= label_sets.SHOWN]


def drawn(weights: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the whole pool in the order of draws without replacement, and the probability of each step."""
    pool = np.flatnonzero(weights > 0)
    order = pool[np.argsort(rng.exponential(size=len(pool)) / weights[pool], kind="stable")]
    own = weights[order]
    return order, np.minimum(own / own[::-1].cumsum()[::-1], 1.0)


def really(losses: np.ndarray, weights: np.ndarray, repeats: int) -> dict[str, float]:
    """Return the numbers of labels that are really needed."""
    j, images = losses.shape
    pool = int((weights > 0).sum())
    grid = np.unique(np.r_[np.geomspace(2, pool, 60), np.linspace(pool / 2, pool, 40)].astype(int))
    real = losses[:, weights > 0].mean(1)
    first, second = np.triu_indices(j, 1)
    sign = np.sign(np.round(real[first] - real[second], 12))
    right = {name: np.zeros((len(grid), j)) for name in NAMED}
    for repeat in range(repeats):
        order, q = drawn(weights, np.random.default_rng([repeat, 5]))
        for row, number in enumerate(grid.tolist()):
            found = (estimates.lure_weights(q[:number], pool) * losses[:, order[:number]]).mean(1)
            top = np.flatnonzero(np.round(found, 12) == np.round(found.min(), 12))
            right["best"][row] += np.isclose(real[top], real.min(), atol=1e-12).mean()
            right["order"][row] += (np.sign(np.round(found[first] - found[second], 12)) == sign)[
                sign != 0
            ].all()
            right["scores"][row] += np.abs(found - real) <= WITHIN
    return {
        name: float("nan") if name == "scores" and pool < images else first_right(grid, share / repeats)
        for name, share in right.items()
    }


def first_right(grid: np.ndarray, share: np.ndarray) -> float:
    """Return the number from which on every column is right in 95 % of repeats."""
    wrong = np.flatnonzero((share < 0.95).any(1))
    return float(grid[min(wrong[-1] + 1, len(grid) - 1)] if len(wrong) else grid[0])


def task(chosen: Set) -> str:
    return "segmentation" if chosen.labels is None else "classification"


def imagined(chosen: Set, both: np.ndarray) -> np.ndarray:
    """Return the worlds before any label."""
    return needs.worlds(both.mean(2), needs.BELIEVED[task(chosen)])


def named(curve: variances.Curve, worlds: np.ndarray) -> dict[str, list[float]]:
    """Return the median and the range of the plan's numbers."""
    out = {
        q: np.nanquantile(needs.needed(q, worlds, curve), (0.5, *needs.RANGE)).tolist()
        for q in ("best", "order")
    }
    return out | {"scores": [needs.scores_needed(curve, WITHIN)] * 3}


def learnt(
    losses: np.ndarray,
    weights: np.ndarray,
    number: int,
    curve: variances.Curve,
    before: np.ndarray,
    repeat: int,
) -> tuple[variances.Curve, np.ndarray]:
    """Return curve and worlds after some labels of one repeat."""
    order, q = drawn(weights, np.random.default_rng([repeat, 6]))
    found = estimates.lure(losses[:, order[:number]], q[:number], curve.pool)
    return needs.learnt(before, curve, found, number, curve.pool / losses.shape[1], curve, seed=repeat)


def without_copies(chosen: Set) -> tuple[Set, np.ndarray]:
    """Return the set without models that another is alike in all, and the agreement of the others."""
    both = agreement(chosen)
    alike = (both == 1).all(2)
    kept = [k for k in range(len(both)) if not alike[k, :k].any()]
    first, second = np.triu_indices(len(both), 1)
    pairs = np.isin(first, kept) & np.isin(second, kept)
    labels = None if chosen.labels is None else chosen.labels[kept]
    part = Set(
        chosen.name,
        chosen.losses[kept],
        chosen.expected[kept],
        chosen.discrepancy[pairs],
        chosen.entropy,
        labels,
        chosen.truth,
    )
    return part, both[np.ix_(kept, kept)]


def back_test(whole: Set, repeats: int) -> dict:
    chosen, both = without_copies(whole)
    expected = variances.moments(both, variances.OUTSIDE[task(chosen)])
    before = imagined(chosen, both)
    out = {}
    for selector, weights in methods.weights(chosen).items():
        if selector not in SELECTORS:
            continue
        curve = variances.curve(weights, expected)
        real, start = really(chosen.losses, weights, repeats), named(curve, before)
        out[selector] = {}
        for question, number in real.items():
            half = max(int(number / 2), 3) if np.isfinite(number) else 3
            later = [
                named(*learnt(chosen.losses, weights, half, curve, before, k))[question]
                for k in range(HALVES)
            ]
            out[selector][question] = {
                "real": number,
                "start": start[question],
                "half": np.median(later, 0).tolist(),
                "held": float(np.mean([row[1] <= number <= row[2] for row in later])),
                "spread": np.quantile(np.array(later)[:, 0], needs.RANGE).tolist(),
            }
            print(
                whole.name,
                selector,
                question,
                {k: np.round(v, 0) for k, v in out[selector][question].items()},
                flush=True,
            )
    return {
        "models": len(chosen.losses),
        "copies": len(whole.losses) - len(chosen.losses),
        "images": chosen.losses.shape[1],
        "repeats": repeats,
        "found": out,
        "few": of_few(chosen, both),
        "variances": [] if chosen.labels is None else simulated(chosen),
    }


def simulated(chosen: Set, repeats: int = 300) -> list[dict[str, float]]:
    """Return, for unequal draws with the true losses known, the variances of the plan and of Hajek's formula
    over simulated ones, each summed over all pairs.
    """
    losses, out = chosen.losses, []
    first, second = np.triu_indices(len(losses), 1)
    gap = losses[first] - losses[second]
    known = variances.Moments(gap, gap**2, losses, losses**2)
    for selector in WEIGHTED:
        weights = methods.weights(chosen)[selector]
        curve = variances.curve(weights, known)
        share = curve.pool / losses.shape[1]
        for number in (int(part * curve.pool) for part in (0.2, 0.5, 0.8, 0.95)):
            means, formula = [], 0.0
            for repeat in range(repeats):
                order, q = drawn(weights, np.random.default_rng([repeat, 77]))
                found = estimates.lure(losses[:, order[:number]], q[:number], curve.pool)
                means.append(share * (found.loss[first] - found.loss[second]))
                own = np.diagonal(found.covariance)
                formula += (
                    share**2
                    * (own[first] + own[second] - 2 * found.covariance[first, second]).sum()
                    / repeats
                )
            real = np.var(means, axis=0).sum()
            plan = variances.variance(curve, np.array(number), np.arange(len(first))).sum()
            out.append({"plan": float(plan / real), "hajek": float(formula / real)})
    return out


def of_few(chosen: Set, both: np.ndarray, number: int = 30) -> list[dict[str, float]]:
    """Return, for random groups of 2, 3 and 5 models under uniform draws, what finding the best really needs,
    what is named (median, range) before any label, from 25 and from half of what is needed.
    """
    out = []
    images = chosen.losses.shape[1]
    for size, k in ((size, k) for size in GROUPS for k in range(number)):
        some = np.sort(np.random.default_rng([k, 8, size]).choice(len(both), size, replace=False))
        losses, part = chosen.losses[some], both[np.ix_(some, some)]
        risk = np.round(losses.mean(1), 12)
        right = np.zeros((images, 1))
        for repeat in range(100):
            order = np.random.default_rng([repeat, k, 9]).permutation(images)
            found = np.round(losses[:, order].cumsum(1), 9)
            top = found == found.min(0)
            right[:, 0] += (top * (risk == risk.min())[:, None]).sum(0) / top.sum(0)
        real = first_right(np.arange(1, images + 1), right / 100)
        curve, before = (
            variances.curve(np.ones(images), variances.moments(part, variances.OUTSIDE[task(chosen)])),
            imagined(chosen, part),
        )
        row = {"real": real, "start": named(curve, before)["best"]}
        for key, labels in (("few", FEW), ("half", max(int(real / 2), 3))):
            row[key] = [
                named(*learnt(losses, np.ones(images), labels, curve, before, r))["best"] for r in range(5)
            ]
        out.append(row)
    return out


def told(row: dict, key: str) -> str:
    """Return what is named beside its range, and the factor by which it misses."""
    middle, low, high = row[key]
    factor = middle / row["real"]
    return f"{middle:,.0f} ({low:,.0f} to {high:,.0f}) | {factor:.2f}"


def missed(rows: list[dict], key: str) -> str:
    """Return the median of named over needed, how often that is within 2 and 4, and how often the range holds
    what is needed.
    """
    pairs = [(n, r["real"]) for r in rows for n in ([r["start"]] if key == "start" else r[key])]
    times = np.array([n[0] / real for n, real in pairs])
    held = np.mean([n[1] <= real <= n[2] for n, real in pairs])
    near = [f"{100 * ((times >= 1 / f) & (times <= f)).mean():.0f} %" for f in (2, 4)]
    return " | ".join([f"{np.median(times):.2f}", *near, f"{100 * held:.0f} %"])


def page(found: dict[str, dict]) -> str:
    """Return docs/benchmarks/plan.md."""
    lines = [
        (
            "| set | selector | question | really needed | named at the start (90 % of worlds) | times |"
            " named half way | times | ranges that hold it |"
        ),
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, one in found.items():
        for selector, rows in one["found"].items():
            for question, row in rows.items():
                if np.isfinite(row["real"]):
                    # one number, no range
                    held = "" if question == "scores" else f"{100 * row['held']:.0f} %"
                    lines.append(
                        f"| {name} | {selector} | {NAMED[question]} | {row['real']:,.0f} of {one['images']:,}"
                        f" | {told(row, 'start')} | {told(row, 'half')} | {held} |"
                    )
    few = [
        (
            "| set | needed: a tenth below, median, a tenth above | named | median of times | within 2 |"
            " within 4 | in the range |"
        ),
        "|---|---|---|---|---|---|---|",
    ]
    everything = [row for one in found.values() for row in one["few"]]
    for name, rows in [*((name, one["few"]) for name, one in found.items()), ("all", everything)]:
        needed = "{:,.0f}, {:,.0f}, {:,.0f}".format(*np.quantile([r["real"] for r in rows], (0.1, 0.5, 0.9)))
        few += [
            f"| {name} | {needed} | {words} | {missed(rows, key)} |"
            for key, words in (("start", "at the start"), ("few", f"from {FEW} labels"), ("half", "half way"))
        ]
    ratios = {
        key: "{:.2f} to {:.2f}".format(
            *np.quantile([row[key] for one in found.values() for row in one["variances"]], (0, 1))
        )
        for key in ("plan", "hajek")
    }
    versions = ", ".join(
        [f"Python {platform.python_version()}", *(f"{n} {version(n)}" for n in ("numpy", "scipy"))]
    )
    repeats = min(one["repeats"] for one in found.values())
    keep_rows("plan", lines)
    keep_rows("plan_groups", few)
    return fill_page(str(dt.date(2026, 11, 22)), versions, repeats, lines, few, ratios)


def shown(table: list[str]) -> list[str]:
    """Return the rows of the page, draws by mad for which model is best, without what is the same in all."""
    heading, _, *rows = map(split_row, table)
    asked = [row for row in rows if row[1].startswith("mad") and row[2] == NAMED["best"]]
    lines = [write_row([name, *cells]) for name, _, _, *cells in [heading, *asked]]
    return [lines[0], "|" + "---|" * (len(heading) - 2), *lines[1:]]


def fill_page(
    date: str, versions: str, repeats: int, table: list[str], few: list[str], ratios: dict[str, str]
) -> str:
    """Return the page from what stands in plan-notes.md and the lines of its two tables."""
    notes = (ROOT / "benchmarks" / "plan-notes.md").read_text()
    return HEAD + notes.format(
        figure=figure_cell("plan", "draw_predictions()"),
        date=date,
        versions=versions,
        repeats=repeats,
        table="\n".join(shown(table)),
        few="\n".join([*few[:2], *(row for row in few if split_row(row)[0] == "all")]),
        **ratios,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--repeats", type=int, default=200)
    asked = parser.parse_args()
    for name in asked.sets:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"plan-{name}.json").write_text(json.dumps(back_test(SETS[name](), asked.repeats)))
    found = {
        name: json.loads(path.read_text()) for name in SETS if (path := KEPT / f"plan-{name}.json").exists()
    }
    (ROOT / "docs" / "benchmarks" / "plan.md").write_text(page(found))


if __name__ == "__main__":
    main()
