"""Every selector with every ranking on every set, for the choice of the defaults: ``python
benchmarks/leave_one_out.py [SET ...] [--repeats N]``.

A repeat hides all labels, lets each selector ask for them, and ranks after 1, 2, ... of them. Every twenty
repeats are one JSON file in a folder for temporary files, so that an interrupted run goes on;
``choice_table.py`` reads them. Answers are right or wrong where votes are weighed by
``estimates.vote_weights`` of the labels so far. `information` learns after each ten labels (``--more 10``),
``information, at once`` never, its top after each label. The estimators here are the rooms' own without
intervals, which ``verify`` holds against them in the first block.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from label_methods import top_pairs
from label_sets import SETS, Set

from faultscape.ranking.agreement import spearman
from faultscape.ranking.drawn import estimates
from faultscape.ranking.methods.bradley_terry import bradley_terry, wins
from faultscape.selection import information, model_picker, proposals
from faultscape.selection.draws import draw
from faultscape.selection.weights import INFORMED, drawing_weights

KEPT = Path(tempfile.gettempdir()) / "faultscape-choice"
BLOCK, REPEATS = 20, 200
BUDGETS = (25, 50, 100, 200, 400)
# labels at which the leader is looked at; it leads since the last look
FIRST = (*range(1, 21), *range(24, 101, 4))
GRID = np.array(sorted({*FIRST, *BUDGETS}))
ROUND = 10
# what is drawn at once, and its selector; the place of each is that of its stream
AT_ONCE = {name: name for name in ("random", "disputed", "expected-loss", "vma", "mad")} | {
    f"{name}, at once": name for name in INFORMED
}
DETERMINISTIC = 1  # blocks of the tops, where only ties differ between repeats


class Pool:
    """One set, or some of its images: what the models differ on, and the losses to expect there under any
    weights of the votes.
    """

    def __init__(self, chosen: Set, sharpness: float) -> None:
        self.set, self.sharpness, self.size = chosen, sharpness, chosen.losses.shape[1]
        self.graded = chosen.labels is None
        nothing = np.zeros((0, 0, 0), np.intp)
        self.both = nothing if chosen.concordance is None else chosen.concordance
        self.labels = nothing if chosen.labels is None else chosen.labels
        self.truth = nothing if chosen.truth is None else chosen.truth
        self.differ = np.flatnonzero((chosen.discrepancy > 0).any(0))
        self.place = np.full(self.size, len(self.differ))  # the last column is of images on which all agree
        self.place[self.differ] = np.arange(len(self.differ))
        self.j = len(chosen.losses)
        if self.graded:
            some = self.both[:, :, self.differ]
            self.value: Callable[[np.ndarray], np.ndarray] = lambda belief: (
                information.information_of_similarities(some, belief, sharpness)
            )
            expected = chosen.expected[:, self.differ]
            self.proxies = [
                self.padded(told)
                for told in (expected, *(estimates.margins(expected, p) for p in (1.0, 1 / 3)))
            ]
        else:
            labels = self.labels[:, self.differ]
            self.value = information.LabelValues(labels, sharpness)
            # (J, J) on how many images they differ
            self.apart = np.array([(own != labels).sum(1) for own in labels])
            # of each model, the first that says the same
            self.first = np.argmax(labels[:, None] == labels, axis=0)
            self.cell = (self.first * len(self.differ) + np.arange(len(self.differ))).ravel()
        self.facts = {
            "complete": np.ones(self.size, bool),
            "dispute": proposals.disputed(chosen.discrepancy, graded=self.graded),
            "expected": chosen.expected,
            "discrepancy": chosen.discrepancy,
        }

    def padded(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.zeros((len(values), 1))], 1)

    def told(self, images: np.ndarray) -> Callable[[int], list[tuple[np.ndarray, np.ndarray]]]:
        """Return what gives, after a number of labels of ``images`` (M,), the proxies (J, number) of losses,
        margins (and damped margins of maps) there and their sums over all images.
        """
        at = self.place[images]
        if self.graded:
            known = [(proxy[:, at], proxy.sum(1)) for proxy in self.proxies]
            return lambda number: [(seen[:, :number], total) for seen, total in known]
        labels, losses = self.labels[:, images], self.set.losses[:, images]
        apart = (labels[:, None] != labels).astype(float)

        def after(number: int) -> list[tuple[np.ndarray, np.ndarray]]:
            trust = estimates.vote_weights(losses[:, :number])
            trust /= trust.sum()
            seen, total = np.tensordot(trust, apart[:, :, :number], 1), trust @ self.apart
            return [(seen, total), (seen - seen.mean(0), total - total.mean())]

        return after

    def belief(self, images: np.ndarray) -> np.ndarray:
        if self.graded:
            there = self.both[:, :, images]
            return information.belief_of_similarities(there, 1 - self.set.losses[:, images], self.sharpness)
        return information.belief_of_labels(self.set.losses[:, images] == 0, self.sharpness)

    def weights(self, selector: str, taken: Sequence[int] | np.ndarray = ()) -> np.ndarray:
        """Return the weights (I,) of a selector after the labels of the images ``taken``; only those of
        information hang on them.
        """
        if selector not in INFORMED:
            return drawing_weights(selector, self.facts)
        value = np.zeros(self.size)
        value[self.differ] = self.value(self.belief(np.asarray(taken, np.intp)))
        return drawing_weights(selector, self.facts | {"value": value})


def drawn(pool: Pool, repeat: int, most: int) -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """Return the images of each selector that draws, in order, the probability of each step and the number
    that could be drawn.
    """
    none, out = np.zeros(0, np.intp), {}
    for place, (name, selector) in enumerate(AT_ONCE.items()):
        weight = pool.weights(selector)
        found = draw(weight, min(most, int((weight > 0).sum())), seed=1000 * repeat + place)
        out[name] = (found.images, found.probability, found.pool)
    for place, name in enumerate(INFORMED, len(AT_ONCE)):
        images, chance, whole = none, np.zeros(0), len(pool.differ)
        while len(images) < min(most, whole):
            number = min(ROUND, most - len(images), whole - len(images))
            found = draw(pool.weights(name, images), number, seed=1000 * repeat + place, taken=images)
            images, chance = np.append(images, found.images), np.append(chance, found.probability)
        out[name] = (images, chance, whole)
    return out


def tops(pool: Pool, repeat: int, most: int) -> dict[str, np.ndarray]:
    """Return the images of each selector that takes the largest, ties by chance."""
    chosen, differ = pool.set, pool.differ
    chance = np.random.default_rng([repeat, 11]).permutation(len(differ))
    most = min(most, len(differ))

    def one_by_one(score: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        taken: list[int] = []
        for _ in range(most):
            now = np.round(score(differ[taken]), 12)
            now[taken] = -np.inf
            taken.append(int(chance[np.argmax(now[chance])]))
        return differ[taken]

    out = {
        "entropy, top": differ[
            chance[np.argsort(-np.round(chosen.entropy[differ][chance], 12), kind="stable")]
        ][:most],
        "mad, top of each pair": differ[chance][top_pairs(chosen.part(differ[chance]), most)[0]],
        "information, top": one_by_one(lambda taken: pool.value(pool.belief(taken))),
    }
    if not pool.graded:
        classes = int(max(pool.labels.max(), pool.truth.max())) + 1
        score = picker(pool, classes)
        out["model-picker"] = one_by_one(
            lambda taken: score(model_picker.belief(pool.labels[:, taken], pool.truth[taken]))
        )
    return out


def picker(pool: Pool, classes: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return what ``model_picker.query`` minimises, negated, for all images where models differ."""
    odds, images = (1 - model_picker.EPSILON) / model_picker.EPSILON, len(pool.differ)
    named = pool.first == np.arange(pool.j)[:, None]

    def score(belief: np.ndarray) -> np.ndarray:
        def mass(of: np.ndarray) -> np.ndarray:
            return np.bincount(pool.cell, np.repeat(of, images), pool.j * images).reshape(pool.j, images)

        plain = belief * np.log(np.where(belief > 0, belief, 1))
        more = odds * belief * np.log(np.where(belief > 0, odds * belief, 1))
        total = 1 + (odds - 1) * mass(belief)
        left = np.log(total) - (plain.sum() + mass(more - plain)) / total
        return -np.where(named, left + plain.sum(), 0).sum(0) / classes

    return score


def ranked(pool: Pool, images: np.ndarray, chance: np.ndarray | None, size: int) -> dict[str, np.ndarray]:
    """Return {ranking: (G, J) scores after each number of labels}, large = good."""
    grid = GRID[len(images) >= GRID]
    losses, told = pool.set.losses[:, images], pool.told(images)
    out = {"mean": -(np.cumsum(losses, 1)[:, grid - 1] / grid).T}
    if pool.graded:
        out["Bradley-Terry"] = bradley_terry(np.array([wins(-losses[:, :number])[0] for number in grid]))
    even = estimates.uniform_steps(len(images), size)
    ways = {"re-used": even} | ({} if chance is None else {"drawn": chance})
    powers = {"": 1.0, ", cube root": 1 / 3} if pool.graded else {"": 1.0}
    every = [(losses, (0.0, 1.0))]
    every += [
        (estimates.margins(losses, power), (1 / pool.j - 1, 1 - 1 / pool.j)) for power in powers.values()
    ]
    names = {"re-used": ["mean + control"], "drawn": ["LURE + control"]}
    for word in powers:
        names["re-used"].append("margins re-used + control" + word)
        names["drawn"].append("margins + control" + word)
    rows: dict[str, list[np.ndarray]] = {}
    steps = {
        way: [values / q + np.cumsum(values, 1) - values for values, _ in every] for way, q in ways.items()
    }
    for number in grid.tolist():
        proxies = told(number)
        for way, q in ways.items():
            weights = np.ones(number) if way == "re-used" else estimates.lure_weights(q[:number], size)
            if way == "drawn":
                rows.setdefault("LURE", []).append(
                    -kept_inside((weights * losses[:, :number]).mean(1), losses[:, :number], size, (0, 1))
                )
            for name, (values, span), step, (seen, total) in zip(
                names[way], every, steps[way], proxies, strict=True
            ):
                found = controlled(
                    values[:, :number], step[:, :number], seen, total / size, q[:number], weights, size
                )
                rows.setdefault(name, []).append(-kept_inside(found, values[:, :number], size, span))
    return out | {name: np.array(scores) for name, scores in rows.items()}


def controlled(
    values: np.ndarray,
    step: np.ndarray,
    proxy: np.ndarray,
    mean: np.ndarray,
    q: np.ndarray,
    weights: np.ndarray,
    size: int,
) -> np.ndarray:
    """Return the losses (J,) of ``estimates.prediction_powered``, from the losses' own ``step`` (J, M) times
    the size, the ``proxy`` (J, M) and its ``mean`` (J,) over all images.
    """
    number, c = len(q), 0.0
    if 1 < number < size:
        m = np.arange(1, number + 1)
        share = 1 / ((size - m) * (size - m + 1.0))
        other = proxy / q + np.cumsum(proxy, 1) - proxy
        own = share * (step - size * (weights * values).mean(1)[:, None])
        other = share * (other - size * (weights * proxy).mean(1)[:, None])
        if (spread := float((other * other).sum())) > 1e-20 * float((share * share).sum()) * float(
            (proxy * proxy).sum() or 1
        ):
            c = float((own * other).sum()) / spread * number / (number + estimates.TRUST)
    return (weights * (values - c * proxy)).mean(1) + c * mean


def kept_inside(found: np.ndarray, values: np.ndarray, size: int, span: tuple[float, float]) -> np.ndarray:
    """Return means where labels leave them room, as ``estimates.inside``."""
    known, rest = values.sum(1) / size, 1 - values.shape[1] / size
    return np.clip(found, known + rest * span[0], known + rest * span[1])


def measure(pool: Pool, repeat: int, block: int) -> dict[str, dict[str, float]]:
    """Return {selector | ranking: {budget: Spearman's rho, "coda": cumulative regret}} of one repeat."""
    risk = pool.set.losses.mean(1)
    most = max(BUDGETS)
    asked = {name: (*found,) for name, found in drawn(pool, repeat, most).items()}
    if block < DETERMINISTIC:
        asked |= {name: (images, None, len(pool.differ)) for name, images in tops(pool, repeat, most).items()}
    out = {}
    for name, (images, chance, size) in asked.items():
        for ranking, scores in ranked(pool, images, chance, size).items():
            grid = GRID[: len(scores)]
            row = {
                str(b): float(np.nan_to_num(spearman(np.round(scores[list(grid).index(b)], 12), -risk)))
                for b in BUDGETS
                if b in grid
            }
            row["coda"] = coda(np.round(np.nan_to_num(scores, nan=-np.inf), 12), risk, grid)
            out[f"{name} | {ranking}"] = row
    return out


def coda(scores: np.ndarray, risk: np.ndarray, grid: np.ndarray) -> float:
    """Return 100 x the sum over labels 1 to 100 of how far the leader lies below the best; who share the
    first place are as likely to lead.
    """
    looks = np.flatnonzero(np.isin(grid, FIRST))
    lead = scores[looks] >= scores[looks].max(1, keepdims=True)
    regret = (lead * (risk - risk.min())).sum(1) / lead.sum(1)
    return float(100 * (np.diff(grid[looks], prepend=0) * regret).sum())


def verify(pool: Pool) -> None:
    """Hold the estimators against the rooms' own, on one repeat, and the picker against the room's."""
    for images, chance, size in drawn(pool, 0, 100).values():
        names = np.arange(pool.size) if size == pool.size else pool.differ
        place, losses = np.searchsorted(names, images), pool.set.losses[:, images]
        found = ranked(pool, images, chance, size)
        for k, number in (
            (k, n) for k, n in enumerate(GRID.tolist()) if n in (2, 25, 100) and n <= len(images)
        ):
            own = losses[:, :number]
            proxy = pool.set.expected[:, names]
            if not pool.graded:
                proxy = proposals.expected_of_labels(pool.labels[:, names], estimates.vote_weights(own))
            even = estimates.uniform_steps(number, size)
            span = (-1 + 1 / pool.j, 1 - 1 / pool.j)

            mine, said, at, q = (
                estimates.margins(own, 1.0),
                estimates.margins(proxy, 1.0),
                place[:number],
                chance[:number],
            )
            same = {
                "LURE": estimates.lure(own, q, size),
                "LURE + control": estimates.prediction_powered(own, q, proxy, at),
                "mean + control": estimates.prediction_powered(own, even, proxy, at),
                "margins + control": estimates.prediction_powered(mine, q, said, at, span),
                "margins re-used + control": estimates.prediction_powered(mine, even, said, at, span),
            }
            for name, one in same.items():
                np.testing.assert_allclose(
                    found[name][k], -estimates.inside(one).loss, rtol=0, atol=1e-9, err_msg=name
                )
    if not pool.graded:
        classes = int(max(pool.labels.max(), pool.truth.max())) + 1
        some = pool.differ[:20]
        belief = model_picker.belief(pool.labels[:, some], pool.truth[some])
        score = np.round(picker(pool, classes)(belief), 12)
        best = model_picker.query(pool.labels[:, pool.differ], belief, classes)
        assert score[best] >= score.max() - 2e-12


def alike(whole: Set, images: np.ndarray) -> np.ndarray:
    """Return the similarities (J, J, M) of the models on some images."""
    if whole.labels is not None:
        return (whole.labels[:, None, images] == whole.labels[:, images]).astype(float)
    assert whole.concordance is not None
    return whole.concordance[:, :, images]


def run(name: str, repeats: int) -> None:
    """Measure the blocks of a set that are not there yet."""
    KEPT.mkdir(parents=True, exist_ok=True)
    missing = [b for b in range(-(-repeats // BLOCK)) if not (KEPT / f"{name}-{b}.json").exists()]
    if not missing:
        return
    whole = SETS[name]()
    differ = np.flatnonzero((whole.discrepancy > 0).any(0))
    some = np.random.default_rng(0).permutation(differ)[: information.SAMPLE]
    sharpness = information.fit_sharpness(alike(whole, some))
    every = Pool(whole, sharpness)
    about = {
        "models": len(whole.losses),
        "images": every.size,
        "disputed": len(differ) / every.size,
        "sharpness": sharpness,
    }
    for block in missing:
        start, rows = time.time(), []
        for repeat in range(block * BLOCK, (block + 1) * BLOCK):
            pool = every
            if whole.draws:
                pool = Pool(
                    whole.part(np.random.default_rng([repeat, 7]).permutation(every.size)[: whole.draws]),
                    sharpness,
                )
            if repeat == 0:
                verify(pool)
            rows.append(measure(pool, repeat, block))
        cells: dict[str, dict[str, list[float]]] = {}
        for row in rows:
            for method, found in row.items():
                for key, value in found.items():
                    cells.setdefault(method, {}).setdefault(key, []).append(round(value, 9))
        put = KEPT / f".{name}-{block}.json"
        put.write_text(json.dumps({**about, "cells": cells}))
        put.rename(KEPT / f"{name}-{block}.json")
        print(f"{name} {block}: {(time.time() - start) / BLOCK:.2f} s a repeat", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    given = parser.parse_args()
    for name in given.sets:
        run(name, given.repeats)


if __name__ == "__main__":
    main()
