"""How often nominal 95 % hold after the recommended draws: ``python benchmarks/ranking_coverage.py [SET ...]
[--goal order|best] [--repeats N] [--page]``.

Which images are drawn for a goal and what stands first are read off ``ranking.catalogue``. A repeat draws
anew, with what labels say where draws learn, and asks after each number of labels whether intervals hold the
scores by all labels of the pool. Draws take the images in the order among equals, as `select` does: in the
first repeat of each block the set is drawn from in class-sorted and in shuffled order too, and must give the
same images. The intervals are those of ``assemble``, held against it in that repeat as well. Every
hundred repeats are one JSON file in a folder for temporary files, so that an interrupted run goes on;
``--page`` writes docs/benchmarks/coverage.md from all that lie there.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import tempfile
from pathlib import Path

import numpy as np
import scipy
from label_sets import SETS, Set
from leave_one_out import ROUND, alike
from page_text import HEAD, figure_cell, keep_rows, split_row, write_row

from faultscape.nouns import Draw
from faultscape.ranking import catalogue as rankings_catalogue
from faultscape.ranking.assembly import assemble
from faultscape.ranking.drawn import estimates, scores
from faultscape.ranking.drawn.estimate_intervals import loss_intervals, margin_intervals
from faultscape.ranking.drawn.rankings import Draws
from faultscape.ranking.drawn.scores import Expected
from faultscape.ranking.panel import Panel, RankingOptions
from faultscape.ranking.replicates import held
from faultscape.selection import catalogue, information, proposals
from faultscape.selection.draws import draw
from faultscape.ties import tie_order

ROOT, KEPT = Path(__file__).parents[1], Path(tempfile.gettempdir()) / "faultscape-coverage"
BLOCK, REPEATS, RESAMPLES = 100, 1000, 200
BUDGETS = (25, 50, 100, 200, 400)
SHOWN = (25, 100, 400)  # on the page
MOST = 0.98  # a pool all but labelled: above this share of it nothing is left open
TOP = (
    "| goal | set | labels | ranking | repeats | held, % | worst, % | half-width |",
    "|---|---|---|---|---|---|---|---|",
)
RECOMMENDED = {"order": "prediction_powered", "best": "reuse_margins"}
WEIGHTED = "margins", "lure", "prediction_powered"


class Drawing:
    """A set in the order among equals of the ``keys`` of its images, and how images are drawn from it for a
    goal.
    """

    def __init__(self, whole: Set, keys: list[str], goal: str) -> None:
        order = tie_order(keys)
        self.set, self.goal, self.keys = whole.part(order), goal, [keys[k] for k in order]
        assert catalogue.GOALS[goal] == "information"
        differ = np.flatnonzero((self.set.discrepancy > 0).any(0))
        some = np.random.default_rng(0).permutation(differ)[: information.SAMPLE]
        self.pool, self.sharpness = differ, information.fit_sharpness(alike(self.set, some))
        labels = self.set.labels
        self.values = None if labels is None else information.LabelValues(labels[:, differ], self.sharpness)
        self.similar = alike(self.set, differ) if labels is None else None
        self.apart = None if labels is None else (labels[:, None, differ] != labels[:, differ]).astype(float)

    def weights(self, taken: np.ndarray) -> np.ndarray:
        """Return the weights (I,) after the labels of the images that are ``taken``."""
        losses = self.set.losses[:, taken]
        if self.values is not None:
            value = self.values(information.belief_of_labels(losses == 0, self.sharpness))
        else:
            assert self.similar is not None
            belief = information.belief_of_similarities(alike(self.set, taken), 1 - losses, self.sharpness)
            value = information.information_of_similarities(self.similar, belief, self.sharpness)
        out = np.zeros(self.set.losses.shape[1])
        out[self.pool] = proposals.floored(value)
        return out

    def draw(self, number: int, repeat: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the images in the order drawn and the probability of each step: at once for the order of
        all, in rounds that learn for the best.
        """
        images, chance = np.zeros(0, np.intp), np.zeros(0)
        while len(images) < number:
            more = min(ROUND if self.goal == "best" else number, number - len(images))
            found = draw(self.weights(images), more, seed=[repeat, 15], taken=images)
            images, chance = np.append(images, found.images), np.append(chance, found.probability)
        return images, chance

    def proxy(self, losses: np.ndarray) -> np.ndarray:
        """Return the loss (J, N) to expect on each image of the pool; the labels so far weigh the votes of
        classifiers.
        """
        if self.apart is None:
            return self.set.expected[:, self.pool]
        trust = estimates.vote_weights(losses)
        return np.tensordot(trust / trust.sum(), self.apart, 1)

    def real(self, name: str) -> np.ndarray:
        """Return the scores (J,) by all labels of the pool."""
        losses = self.set.losses[:, self.pool]
        return -estimates.margins(losses).mean(1) if "margins" in name else 1 - losses.mean(1)


def rankings(goal: str) -> tuple[str, ...]:
    """Return the rankings whose intervals are looked at: what stands first, and the others that weigh labels
    as draws preferred them.
    """
    chosen = rankings_catalogue.BEST if goal == "best" else rankings_catalogue.CHANCE
    return tuple(dict.fromkeys([rankings_catalogue.FIRST[chosen][0], *WEIGHTED]))


def interval(
    name: str, losses: np.ndarray, q: np.ndarray, at: np.ndarray, proxy: np.ndarray
) -> np.ndarray | None:
    """Return the (J, 2) interval of scores that ``assemble`` gives a ranking, without its bootstrap;
    None where it gives no number.
    """
    if name == "prediction_powered":
        found = estimates.inside(estimates.prediction_powered(losses, q, proxy, at))
        return None if scores.unusable(found) else held(1 - loss_intervals(found)[:, ::-1], 1 - found.loss)
    if name == "lure":
        found = estimates.inside(estimates.lure(losses, q, proxy.shape[1]))
        return None if scores.unusable(found) else held(1 - loss_intervals(found)[:, ::-1], 1 - found.loss)
    own, said, most = estimates.margins(losses), estimates.margins(proxy), 1 - 1 / len(losses)
    found = estimates.inside(estimates.prediction_powered(own, q, said, at, (-most, most)))
    if scores.unusable(found):
        return None
    assert found.possible is not None
    bounds = -np.clip(margin_intervals(found), *found.possible.T[:, :, None])[:, ::-1]
    if name == "margins":
        return held(bounds, -found.loss)
    even = estimates.uniform_steps(len(q), said.shape[1])
    return held(
        bounds, -estimates.inside(estimates.prediction_powered(own, even, said, at, (-most, most))).loss
    )


def ranked(
    drawing: Drawing, images: np.ndarray, q: np.ndarray, proxy: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """Return the (J, 2) intervals of scores of each ranking as ``assemble`` gives them."""
    losses = drawing.set.losses[:, images]
    models, pool = [f"m{k:02d}" for k in range(len(losses))], [f"{k:06d}" for k in drawing.pool]
    some = [f"{k:06d}" for k in images]
    rounds = [1 + m // ROUND if drawing.goal == "best" else 1 for m in range(len(images))]
    steps = zip(rounds, some, q.tolist(), strict=True)
    rows = [
        Draw("information", r, m, image, 1.0, chance, len(pool))
        for m, (r, image, chance) in enumerate(steps, 1)
    ]
    table = assemble(
        Panel.of(models, some, 1 - losses),
        Draws(rows, learns=drawing.goal == "best", expected=Expected(pool, proxy)),
        RankingOptions(resamples=RESAMPLES, seed=seed),
    ).rankings
    usable = (name for name in rankings(drawing.goal) if name in table and not table[name].unusable)
    return {name: np.array([table[name].score_interval[m] for m in models]) for name in usable}


def one(drawing: Drawing, repeat: int) -> dict[str, dict[str, list]]:
    """Return {number of labels: {ranking: [which models' intervals hold, as digits, mean half-width]}} of one
    repeat; nothing of a ranking that gives no number.
    """
    budgets, out = [n for n in BUDGETS if n <= MOST * len(drawing.pool)], {}
    drawn, chance = drawing.draw(max(budgets), repeat)
    for number in budgets:
        images, q = drawn[:number], chance[:number]
        losses, at = drawing.set.losses[:, images], np.searchsorted(drawing.pool, images)
        proxy = drawing.proxy(losses)
        cell = out[str(number)] = {}
        by_room = ranked(drawing, images, q, proxy, repeat) if repeat % BLOCK == 0 else {}
        for name in rankings(drawing.goal):
            bounds = interval(name, losses, q, at, proxy)
            if bounds is None:
                continue
            assert repeat % BLOCK or np.allclose(bounds, by_room[name], atol=1e-9), name
            truth = drawing.real(name)
            hold = (bounds[:, 0] - 1e-12 <= truth) & (truth <= bounds[:, 1] + 1e-12)
            cell[name] = [
                "".join(map(str, hold.astype(int))),
                float((bounds[:, 1] - bounds[:, 0]).mean() / 2),
            ]
    return out


def orders(whole: Set) -> list[np.ndarray]:
    """Return the images sorted by class (of label maps by the mean loss), and shuffled."""
    by = whole.losses.mean(0) if whole.truth is None else whole.truth
    return [np.argsort(by, kind="stable"), np.random.default_rng(1).permutation(len(by))]


def run(name: str, goal: str, repeats: int) -> None:
    """Measure the blocks of a set that are not there yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    missing = [b for b in range(-(-repeats // BLOCK)) if not (KEPT / f"{name}-{goal}-{b}.json").exists()]
    if not missing:
        return
    whole = SETS[name]()
    keys = [str(k) for k in range(whole.losses.shape[1])]
    drawing = Drawing(whole, keys, goal)
    others = [Drawing(whole.part(order), [keys[k] for k in order], goal) for order in orders(whole)]
    for block in missing:
        most = min(max(BUDGETS), int(MOST * len(drawing.pool)))
        same = [[own.keys[k] for k in own.draw(most, block * BLOCK)[0]] for own in (drawing, *others)]
        assert same[0] == same[1] == same[2], "the order of files has decided what is drawn"
        rows = [one(drawing, repeat) for repeat in range(block * BLOCK, (block + 1) * BLOCK)]
        put = KEPT / f".{name}-{goal}-{block}.json"
        put.write_text(json.dumps({"pool": len(drawing.pool), "models": len(whole.losses), "rows": rows}))
        put.rename(KEPT / f"{name}-{goal}-{block}.json")
        print(name, goal, block, flush=True)


def table(goal: str) -> tuple[list[str], list[str]]:
    """Return the lines of the table of a goal, and what of it lies outside of 92 to 98 %."""
    lines, outside = [], []
    for name in SETS:
        blocks = [json.loads(path.read_text()) for path in sorted(KEPT.glob(f"{name}-{goal}-*.json"))]
        if not blocks:
            outside.append(f"{name} was not run")
            continue
        rows = [row for block in blocks for row in block["rows"]]
        for ranking in rankings(goal):
            for number in map(str, BUDGETS):
                cells = [row[number][ranking] for row in rows if ranking in row.get(number, {})]
                if not any(number in row for row in rows):
                    continue
                about = (
                    f"| {goal} | {name} ({blocks[0]['models']} models, {blocks[0]['pool']:,} images) | {number} |"
                    f" `{ranking}` |"
                )
                if not cells:
                    lines.append(f"{about} 0 of {len(rows):,} | - | - | - |")
                    continue
                holds = 100 * np.array([[int(digit) for digit in cell[0]] for cell in cells])
                share, error = holds.mean(), holds.mean(1).std() / np.sqrt(len(cells))
                half = 100 * np.mean([cell[1] for cell in cells])
                count = f"{len(cells):,}" if len(cells) == len(rows) else f"{len(cells):,} of {len(rows):,}"
                lines.append(
                    f"{about} {count} | {share:.1f} ± {error:.1f} | {holds.mean(0).min():.1f} | {half:.1f} |"
                )
                if not 92 <= share <= 98:
                    outside.append(f"{name}, {number} labels, `{ranking}`: {share:.1f} %")
    return lines, outside


def recommended(goal: str, lines: list[str]) -> list[str]:
    """Return what the page shows of a table: a row a set, a column a number of labels, of the
    recommended ranking.
    """
    shown: dict[str, dict[str, str]] = {}
    for _, name, number, ranking, _, share, worst, _ in map(split_row, lines):
        if ranking == f"`{RECOMMENDED[goal]}`":
            told = "-" if share == "-" else f"{share.partition(' ')[0]} ({worst})"
            shown.setdefault(name, {})[number] = told
    budgets = [str(n) for n in SHOWN]
    table = [write_row(["set", *(f"{n} labels" for n in budgets)]), "|" + "---|" * (1 + len(budgets))]
    return table + [write_row([name, *(row.get(n, "") for n in budgets)]) for name, row in shown.items()]


def fill_page(machine: str, tables: dict[str, tuple[list[str], list[str]]]) -> str:
    """Return the page from the machine and, of each goal, the rows and what of them lies outside."""
    text = HEAD + (ROOT / "benchmarks" / "coverage-notes.md").read_text()
    for goal, (lines, outside) in tables.items():
        text = text.replace(f"{{table {goal}}}", "\n".join(recommended(goal, lines)))
        text = text.replace(f"{{outside {goal}}}", "; ".join(outside) or "none")
    return text.replace("{figure}", figure_cell("coverage", "draw_held()")).replace("{machine}", machine)


def page() -> None:
    machine = (
        f"{dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, Python"
        f" {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    )
    tables = {goal: table(goal) for goal in ("order", "best")}
    keep_rows("coverage", [*TOP, *(line for lines, _ in tables.values() for line in lines)])
    (ROOT / "docs" / "benchmarks" / "coverage.md").write_text(fill_page(machine, tables))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--goal", choices=("order", "best"), action="append")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.page:
        page()
        return
    for goal in given.goal or ("order", "best"):
        for name in given.sets:
            run(name, goal, given.repeats)


if __name__ == "__main__":
    main()
