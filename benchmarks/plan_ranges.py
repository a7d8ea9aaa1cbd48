"""What the ranges of `plan` hold on sets left out: ``python benchmarks/plan_ranges.py [SET ...] [--groups N]
[--table]``.

Cases are random groups of 2, 3 and 5 models of a set, of which the best is looked for by uniform draws:
before any label, from 25 labels and half way, as in label_plan.py. Of each the number really needed is kept
beside what worlds name. The width that holds four fifths of the cases of all other sets is chosen for the set
left out; crops and frames of the same drives, and the two experiments of 16class-confidence, are left out
together. One JSON file a set lies in a folder for temporary files.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import label_plan
import numpy as np
from label_sets import SETS

from faultscape.ranking.drawn import estimates
from faultscape.ranking.planning import label_needs as needs
from faultscape.ranking.planning import label_variances as variances

KEPT = Path(tempfile.gettempdir()) / "faultscape-plan-ranges"
WIDTHS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0)
WANTED, PLANS = 0.8, 3
TOGETHER = {
    "frames": "CamVid",
    "crops": "CamVid",
    "colour": "16class-confidence",
    "noise": "16class-confidence",
}
STAGES = {"start": "before any label", "few": f"from {label_plan.FEW} labels", "half": "half way"}


def quantiles(worlds: np.ndarray, curve: variances.Curve) -> list[list[float]]:
    """Return the range (low, high) of each width, of the labels that the best model needs."""
    found = needs.needed("best", worlds, curve)
    return [np.nanquantile(found, ((1 - w) / 2, (1 + w) / 2)).tolist() for w in WIDTHS]


def cases(name: str, number: int) -> list[dict]:
    """Return what is really needed and the ranges named, for random groups of the models of a set."""
    chosen, both = label_plan.without_copies(SETS[name]())
    images, out = chosen.losses.shape[1], []
    for size, k in ((size, k) for size in label_plan.GROUPS if size <= len(both) for k in range(number)):
        some = np.sort(np.random.default_rng([k, 8, size]).choice(len(both), size, replace=False))
        losses, part = chosen.losses[some], both[np.ix_(some, some)]
        risk, right = np.round(losses.mean(1), 12), np.zeros((images, 1))
        for repeat in range(100):
            found = np.round(
                losses[:, np.random.default_rng([repeat, k, 9]).permutation(images)].cumsum(1), 9
            )
            top = found == found.min(0)
            right[:, 0] += (top * (risk == risk.min())[:, None]).sum(0) / top.sum(0)
        real = label_plan.first_right(np.arange(1, images + 1), right / 100)
        kind = label_plan.task(chosen)
        curve, before = (
            variances.curve(np.ones(images), variances.moments(part, variances.OUTSIDE[kind])),
            label_plan.imagined(chosen, part),
        )
        row: dict = {"real": real, "start": [quantiles(before, curve)]}
        for key, labels in (("few", label_plan.FEW), ("half", max(int(real / 2), 3))):
            row[key] = []
            for repeat in range(PLANS):
                order, q = label_plan.drawn(np.ones(images), np.random.default_rng([repeat, 6]))
                measured = estimates.lure(losses[:, order[:labels]], q[:labels], images)
                later, worlds = needs.learnt(before, curve, measured, labels, 1.0, curve, seed=repeat)
                row[key].append(quantiles(worlds, later))
        out.append(row)
    return out


def held(rows: list[dict], stage: str) -> np.ndarray:
    """Return (n, W) whether the range of each width holds what is needed."""
    return np.array(
        [[low <= row["real"] <= high for low, high in ranges] for row in rows for ranges in row[stage]],
        dtype=float,
    )


def table() -> list[str]:
    """Return the lines of the table: the width chosen on the other sets, and what it holds on the one left
    out.
    """
    rows = {name: json.loads(path.read_text()) for name in SETS if (path := KEPT / f"{name}.json").exists()}
    lines = [
        "| left out | width chosen on the others | "
        + " | ".join(f"held {words}" for words in STAGES.values())
        + " | ranges of more than a factor of ten before labels | of those of at most ten, held |",
        "|---|---|---|---|---|---|---|",
    ]
    everything: dict[str, list[float]] = {stage: [] for stage in STAGES}
    wides, near = [], []
    families = list(dict.fromkeys(TOGETHER.get(name, name) for name in rows))
    for family in families:
        inside = [name for name in rows if TOGETHER.get(name, name) == family]
        others = [
            np.mean([held(rows[n], stage).mean(0) for stage in STAGES], 0) for n in rows if n not in inside
        ]
        enough = np.flatnonzero(np.mean(others, 0) >= WANTED)
        width = int(enough[0]) if len(enough) else len(WIDTHS) - 1
        mine = [row for name in inside for row in rows[name]]
        shares = {stage: held(mine, stage)[:, width] for stage in STAGES}
        ranges = np.array([row["start"][0][width] for row in mine])
        wide = ranges[:, 1] > needs.PREDICTABLE * ranges[:, 0]
        for stage, share in shares.items():
            everything[stage].append(share.mean())
        wides.append(wide.mean())
        near.append(shares["start"][~wide].mean() if (~wide).any() else np.nan)
        told = " | ".join(f"{100 * share.mean():.0f} %" for share in shares.values())
        lines.append(
            f"| {', '.join(inside)} | {100 * WIDTHS[width]:g} % of worlds | {told} | {100 * wides[-1]:.0f} %"
            f" | {'' if np.isnan(near[-1]) else f'{100 * near[-1]:.0f} %'} |"
        )
    told = " | ".join(f"{100 * np.mean(share):.0f} %" for share in everything.values())
    return [*lines, f"| mean | | {told} | {100 * np.mean(wides):.0f} % | {100 * np.nanmean(near):.0f} % |"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--groups", type=int, default=20)
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in () if given.table else given.sets:
        if not (KEPT / f"{name}.json").exists():
            (KEPT / f"{name}.json").write_text(json.dumps(cases(name, given.groups)))
            print(name, flush=True)
    print("\n".join(table()))


if __name__ == "__main__":
    main()
