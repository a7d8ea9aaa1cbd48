"""How often nominal 95 % hold, of the ranking that stands first after the recommended draws: ``python benchmarks/ranking_coverage.py [SET ...] [--order ORDER] [--repeats N] [--page]``.

What is drawn and what stands first is read off ``ranking.recommended``. A repeat draws anew from a set in natural, class-sorted or shuffled order and asks for each number of labels whether the
intervals hold the scores by all labels of the pool. The intervals are those of ``draw_rankings``, held against it in the first repeat of each block. Every hundred repeats are one JSON file
in a folder for temporary files, so that an interrupted run goes on; ``--page`` writes docs/benchmarks-coverage.md from all that lie there.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from label_methods import weights
from label_sets import SETS, Set
from leave_one_out import alike

from faultscape.nouns import Draw
from faultscape.ranking import estimates, recommended
from faultscape.ranking.draw_rankings import draw_rankings
from faultscape.ranking.estimate_intervals import loss_intervals, margin_intervals
from faultscape.ranking.replicated import held
from faultscape.selection import information, proposals
from faultscape.selection.draws import draw

ROOT, KEPT = Path(__file__).parents[1], Path(tempfile.gettempdir()) / "faultscape-coverage"
BLOCK, REPEATS, RESAMPLES = 100, 1000, 200
BUDGETS, ORDERS = (100, 200, 400), ("natural", "sorted", "shuffled")
MOST = 0.98  # a pool all but labelled: above this share of it nothing is left open


def ordered(whole: Set, order: str) -> Set:
    """Return a set with its images in natural order, sorted by class (of label maps by the mean loss), or shuffled."""
    if order == "natural":
        return whole
    if order == "shuffled":
        return whole.part(np.random.default_rng(1).permutation(whole.losses.shape[1]))
    return whole.part(np.argsort(whole.losses.mean(0) if whole.truth is None else whole.truth, kind="stable"))


def recommended_weights(chosen: Set) -> np.ndarray:
    """Return the weights of the draws that are recommended for the order of all, which learn nothing from labels."""
    if (selector := recommended.GOALS["order"]) != "information":
        return next(own for name, own in weights(chosen).items() if name.partition(",")[0] == selector)
    differ = np.flatnonzero((chosen.discrepancy > 0).any(0))
    some = np.random.default_rng(0).permutation(differ)[: information.SAMPLE]
    sharpness, belief = information.fit_sharpness(alike(chosen, some)), np.full(len(chosen.losses), 1 / len(chosen.losses))
    out = np.zeros(chosen.losses.shape[1])
    if chosen.labels is not None:
        value = information.information_of_labels(chosen.labels[:, differ], belief, sharpness)
    else:
        value = information.information_of_similarities(alike(chosen, differ), belief, sharpness)
    out[differ] = proposals.floored(value)
    return out


def real(chosen: Set, pool: np.ndarray, name: str) -> np.ndarray:
    """Return the scores (J,) by all labels of the pool."""
    losses = chosen.losses[:, pool]
    return -estimates.margins(losses).mean(1) if "margins" in name else 1 - losses.mean(1)


class Proxies:
    """The loss to expect of each model on every image of the pool, under any weights of the votes."""

    def __init__(self, chosen: Set, pool: np.ndarray) -> None:
        self.apart = None if chosen.labels is None else (chosen.labels[:, None, pool] != chosen.labels[:, pool]).astype(float)
        self.expected = chosen.expected[:, pool]

    def after(self, losses: np.ndarray) -> np.ndarray:
        """Return what is expected from the labels so far, whose losses (J, M) weigh the votes of classifiers."""
        if self.apart is None:
            return self.expected
        trust = estimates.vote_weights(losses)
        return np.tensordot(trust / trust.sum(), self.apart, 1)


def interval(name: str, losses: np.ndarray, q: np.ndarray, at: np.ndarray, proxy: np.ndarray) -> np.ndarray | None:
    """Return the (J, 2) interval of scores that ``draw_rankings`` gives a ranking, without its bootstrap; None where it has to say."""
    if name == "prediction_powered":
        found = estimates.inside(estimates.prediction_powered(losses, q, proxy, at))
        return held(1 - loss_intervals(found)[:, ::-1], 1 - found.loss)
    if name not in {"margins", "reuse_margins"}:
        return None
    own, said, most = estimates.margins(losses), estimates.margins(proxy), 1 - 1 / len(losses)
    found = estimates.inside(estimates.prediction_powered(own, q, said, at, (-most, most)))
    assert found.possible is not None
    bounds = -np.clip(margin_intervals(found), *found.possible.T[:, :, None])[:, ::-1]
    even = estimates.uniform_steps(len(q), said.shape[1])
    again = estimates.inside(estimates.prediction_powered(own, even, said, at, (-most, most)))
    return held(bounds, -found.loss if name == "margins" else -again.loss)


def one(chosen: Set, weight: np.ndarray, proxies: Proxies, repeat: int) -> dict[str, list]:
    """Return {number of labels: [ranking, share of intervals that hold, half-width]} of one repeat."""
    name = recommended.FIRST[recommended.CHANCE, recommended.GRADED if chosen.labels is None else recommended.BINARY][0]
    pool, out = np.flatnonzero(weight > 0), {}
    draws, truth = draw(weight, min(max(BUDGETS), len(pool)), seed=[repeat, 15]), real(chosen, pool, name)
    for number in (n for n in BUDGETS if n <= MOST * len(pool)):
        images, q = draws.images[:number], draws.probability[:number]
        losses, at = chosen.losses[:, images], np.searchsorted(pool, images)
        proxy = proxies.after(losses)
        bounds = interval(name, losses, q, at, proxy)
        if bounds is None or repeat % BLOCK == 0:
            by_room = ranked(name, losses, q, at, proxy, repeat)
            assert bounds is None or np.allclose(bounds, by_room, atol=1e-9)
            bounds = by_room
        low, high = bounds.T
        hold = ((low - 1e-12 <= truth) & (truth <= high + 1e-12)).mean()
        out[str(number)] = [name, float(hold), float((high - low).mean() / 2)]
    return out


def ranked(name: str, losses: np.ndarray, q: np.ndarray, at: np.ndarray, proxy: np.ndarray, seed: int) -> np.ndarray:
    """Return the (J, 2) interval of scores of a ranking as ``draw_rankings`` gives it."""
    models, names = [f"m{k:02d}" for k in range(len(losses))], [f"{k:06d}" for k in range(proxy.shape[1])]
    some = [names[k] for k in at]
    rows = [
        Draw("mad", 1, m, image, 1.0, float(chance), len(names)) for m, (image, chance) in enumerate(zip(some, q, strict=True), 1)
    ]
    table = draw_rankings(models, rows, 1 - losses, some, proxy=proxy, pool=names, resamples=RESAMPLES, seed=seed)
    return np.array([table.rankings[name]["score_interval"][m] for m in models])


def run(name: str, order: str, repeats: int) -> None:
    """Measure the blocks of a set in an order that are not there yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    missing = [b for b in range(-(-repeats // BLOCK)) if not (KEPT / f"{name}-{order}-{b}.json").exists()]
    if not missing:
        return
    chosen = ordered(SETS[name](), order)
    weight = recommended_weights(chosen)
    proxies = Proxies(chosen, np.flatnonzero(weight > 0))
    for block in missing:
        rows = [one(chosen, weight, proxies, repeat) for repeat in range(block * BLOCK, (block + 1) * BLOCK)]
        put = KEPT / f".{name}-{order}-{block}.json"
        put.write_text(json.dumps({"pool": int((weight > 0).sum()), "models": len(chosen.losses), "rows": rows}))
        put.rename(KEPT / f"{name}-{order}-{block}.json")
        print(name, order, block, flush=True)


def table() -> tuple[list[str], list[str]]:
    """Return the lines of the table, and those cells that lie outside of 92 to 98 %."""
    lines, outside = [], []
    for name in SETS:
        for order in ORDERS:
            blocks = [json.loads(path.read_text()) for path in sorted(KEPT.glob(f"{name}-{order}-*.json"))]
            for number in map(str, BUDGETS):
                rows = [row[number] for block in blocks for row in block["rows"] if number in row]
                if not rows:
                    continue
                ranking = max({row[0] for row in rows}, key=[row[0] for row in rows].count)
                share, half = (100 * np.array([row[k] for row in rows]) for k in (1, 2))
                error = share.std() / np.sqrt(len(rows))
                cell = f"| {name} ({blocks[0]['models']} models, {blocks[0]['pool']:,} images) | {order} | {number} | `{ranking}` | {len(rows):,} | {share.mean():.1f} ± {error:.1f} | {half.mean():.1f} |"
                lines.append(cell)
                if not 92 <= share.mean() <= 98:
                    outside.append(f"- {name}, {order}, {number} labels: {share.mean():.1f} %")
    return lines, outside


def page() -> None:
    lines, outside = table()
    text = (ROOT / "benchmarks" / "coverage-notes.md").read_text()
    told = "\n".join(outside) or "Nothing of what was run."
    (ROOT / "docs" / "benchmarks-coverage.md").write_text(text.replace("{table}", "\n".join(lines)).replace("{outside}", told))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--order", choices=ORDERS, action="append")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        page()
        return
    for order in given.order or ORDERS:
        for name in given.sets:
            run(name, order, given.repeats)


if __name__ == "__main__":
    main()
