"""How few clicks rank segmentation models: ``python benchmarks/points.py run [SET ...] [--methods ...]
[--repeats N]``, then ``python benchmarks/points.py table``.

    python benchmarks/points.py run camvid --models ten --methods design,uniform --repeats 100 python
    benchmarks/points.py run camvid --methods prototype --prototype points.py   # a file with the first
    prototype

Conventions: every repeat hides the truth, draws points (or whole masks) with known probabilities, reads the
truth there, and estimates the pooled mIoU of every model from the first 100, 300, 1,000 and 3,000. Repeats
lie as lines of JSON in a folder for temporary files, one file a set, group of models and method, and are
continued, never done again. The same repeat has the same draws whatever ran before. Void pixels are left
out, except in ``design, void``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import point_tables
from point_sets import KEPT, SETS, Pixels, load

from faultscape.ranking.drawn.estimates import lure_weights
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.belief import fit_beliefs
from faultscape.ranking.points.estimates import PointScores, point_scores
from faultscape.ranking.points.intervals import better_p_values, pool_spread
from faultscape.ranking.points.pool import PointPool
from faultscape.ranking.points.scores import Totals, score
from faultscape.ranking.points.totals import FOLDS, PointTotals, point_totals
from faultscape.ranking.simultaneous_ranks import better
from faultscape.selection.draws import draw
from faultscape.selection.points.point_draws import draw_points
from faultscape.selection.points.probabilities import point_probabilities
from faultscape.selection.weights import drawing_weights

BUDGETS = (100, 300, 1000, 3000)
MASKS = (1, 4, 10, 16, 32)
GROUPS = {"ten": None, "four": 4, "two": 2}  # the best so many models
FIRST, NEXT = 4.0, 2.5  # seconds of the first point of an image, and of each that follows at once
PER_MASK = 100  # pixels of a mask that the belief of whole masks learns from
Found = dict[str, dict[str, list[Any]]]


@dataclass(frozen=True, eq=False)
class World:
    """A set with what all repeats share."""

    pixels: Pixels
    void: bool = False

    @cached_property
    def pool(self) -> PointPool:
        """All pixels, without any mask."""
        counts = np.bincount(self.pixels.place, self.pixels.count, self.pixels.said.shape[1])
        return PointPool(self.pixels.said, counts, self.pixels.classes)

    @cached_property
    def of_image(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Confusion counts (I, J, C + 1, C + 1), and the rows of each image."""
        image = self.pixels.image
        edges = np.searchsorted(image, np.arange(image.max() + 2))
        rows = [np.arange(low, high) for low, high in pairwise(edges)]
        return np.array([self.counts(own, self.pixels.count[own]) for own in rows]), rows

    @cached_property
    def informative(self) -> np.ndarray:
        """(I,) the weights of images under `--goal order`, before any mask."""
        said = self.pool.said[:, self.pixels.place].astype(np.int64)
        side = self.pixels.classes + 1
        models = len(said)
        images = int(self.pixels.image.max()) + 1
        agreement = np.ones((models, models, images))
        for j, k in combinations(range(models), 2):
            key = (self.pixels.image * side + said[j]) * side + said[k]
            both = np.bincount(key, self.pixels.count, images * side**2).reshape(images, side, side)
            agreement[j, k] = agreement[k, j] = miou_of(both)
        facts = {
            "complete": np.ones(images, bool),
            "agreement": agreement,
            "dispute": 1 - agreement.mean((0, 1)),
        }
        return drawing_weights("information", facts)

    @cached_property
    def real(self) -> np.ndarray:
        """(J,) the true mIoU."""
        return miou_of(self.of_image[0].sum(0))

    @cached_property
    def probability(self) -> np.ndarray:
        """(X,) of the design, before any answer."""
        none = PointAnswers(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, self.pixels.classes + 1)))
        return point_probabilities(point_totals(self.pool, none, void=self.void))

    @cached_property
    def even(self) -> np.ndarray:
        """(X,) of uniform draws."""
        return np.full(len(self.pool.pixels), 1 / self.pool.size)

    def draw(
        self,
        probability: np.ndarray,
        seed: tuple[int, ...],
        number: int = max(BUDGETS),
        taken: int = 0,
        per_image: int = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows (M,) of points of looks after those ``taken``, and their probabilities."""
        row = np.arange(len(self.pixels.count))
        # rows as tuples: the tuple of each, once for every image and true class
        found = draw_points(
            self.pixels.image,
            row,
            self.pixels.count,
            probability[self.pixels.place],
            number,
            per_image=per_image,
            seed=seed,
            taken=taken,
        )
        return found.place, found.probability

    def counts(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return (J, C + 1, C + 1) weighted confusion counts of rows (M,)."""
        side = self.pixels.classes + 1
        truth = self.pixels.truth[rows]
        key = self.pool.said[:, self.pixels.place[rows]].astype(np.int64) * side + truth
        return np.array([np.bincount(own, weights, side**2).reshape(side, side) for own in key])


def miou_of(confusion: np.ndarray) -> np.ndarray:
    """Return (J,) the mIoU of confusion counts, over all classes that are predicted or true."""
    totals = Totals.of(np.asarray(confusion, float))
    return score(totals, "miou", (totals.predicted > 0) | (totals.true > 0)).value


def design(world: World, repeat: int, truth: np.ndarray | None = None) -> Found:
    """Points by the design: mixed draws in rounds that learn from the answers before, cross-fitted belief,
    shrunk scores.
    """
    return from_points(world, None, (repeat, 1), truth)


def three_a_look(world: World, repeat: int) -> Found:
    """The design with three points of an image in a row."""
    return from_points(world, None, (repeat, 1), per_image=3)


def uniform_control(world: World, repeat: int) -> Found:
    """Uniform points with the same estimator."""
    return from_points(world, world.even, (repeat, 2))


def from_points(
    world: World,
    probability: np.ndarray | None,
    seed: tuple[int, ...],
    truth: np.ndarray | None = None,
    per_image: int = 1,
    budgets: Sequence[int] = BUDGETS,
) -> Found:
    """Return what points find that are drawn with these probabilities (X,), or those of the design: every
    budget ends a round. With several points an image, a budget is the time of so many single ones.
    """
    truth = world.pixels.truth if truth is None else truth
    learns = probability is None
    now = world.probability if probability is None else probability
    row = np.zeros(0, np.int64)
    q = np.zeros(0)
    out = {}
    for budget in budgets:
        looks = round(budget * FIRST / (FIRST + NEXT * (per_image - 1)))
        taken = len(row) // per_image
        more, of_more = world.draw(now, seed, looks - taken, taken, per_image)
        row = np.append(row, more)
        q = np.append(q, of_more)
        shares = np.eye(world.pixels.classes + 1)[truth[row]]
        look = np.repeat(np.arange(looks), per_image)
        answers = PointAnswers(world.pixels.place[row], q, shares, look)
        totals = point_totals(world.pool, answers, void=world.void)
        out[str(budget)] = _kept(totals, point_scores(totals))
        if learns and budget < budgets[-1]:
            now = point_probabilities(totals)
    return out


def _kept(totals: PointTotals, found: PointScores) -> dict[str, list[Any]]:
    spread = pool_spread(totals, found)
    first, second = np.triu_indices(len(found.score), 1)
    surely = better(better_p_values(found, spread))
    return {
        "score": found.score.tolist(),
        "corrected": found.corrected.tolist(),
        "believed": found.believed.tolist(),
        "error": spread.error.tolist(),
        "freedom": spread.freedom.tolist(),
        "error_of_differences": spread.error_of_differences[first, second].tolist(),
        "freedom_of_differences": spread.freedom_of_differences[first, second].tolist(),
        "better": surely.astype(int).tolist(),
        "weights": list(found.weights),
    }


def uniform(world: World, repeat: int) -> Found:
    """Uniform points, no control: the mIoU of the sample itself."""
    row, _ = world.draw(world.even, (repeat, 2))
    return {
        str(budget): {"score": miou_of(world.counts(row[:budget], np.ones(budget))).tolist()}
        for budget in BUDGETS
    }


def masks(world: World, repeat: int) -> Found:
    """Whole masks of images drawn at random: the pooled mIoU of these images."""
    counts, _ = world.of_image
    order = np.random.default_rng([repeat, 3]).permutation(len(counts))
    return {str(m): {"score": miou_of(counts[order[:m]].sum(0)).tolist()} for m in MASKS}


def masks_by_order(world: World, repeat: int) -> Found:
    """Whole masks of the images that `--goal order` draws, weighted by their probabilities."""
    counts, _ = world.of_image
    drawn = draw(world.informative, max(MASKS), seed=(repeat, 7))
    found = {}
    for m in MASKS:
        weight = lure_weights(drawn.probability[:m], drawn.pool)
        total = np.tensordot(weight, counts[drawn.images[:m]], 1)
        found[str(m)] = {"score": miou_of(np.maximum(total, 0)).tolist()}
    return found


def masks_control(world: World, repeat: int) -> Found:
    """The same masks with the same control: the belief learns from pixels of the masks, and the rest of the
    images are corrected by what the masks show of theirs.
    """
    counts, rows = world.of_image
    order = np.random.default_rng([repeat, 3]).permutation(len(counts))
    found = {}
    for m in MASKS:
        totals = _totals_of_masks(world, counts, [rows[i] for i in order[:m]], order[:m], repeat)
        found[str(m)] = {"score": point_scores(totals).score.tolist()}
    return found


def _totals_of_masks(
    world: World, counts: np.ndarray, own: list[np.ndarray], chosen: np.ndarray, repeat: int
) -> PointTotals:
    classes = world.pixels.classes
    rest = len(counts) - len(chosen)
    masked = np.concatenate(own)
    in_masks = np.bincount(
        world.pixels.place[masked], world.pixels.count[masked], minlength=len(world.pool.pixels)
    )
    pool = PointPool(world.pool.said, world.pool.pixels - in_masks, classes, counts[chosen].sum(0))
    rng = np.random.default_rng([repeat, 4])
    learnt = []
    for image in own:
        weight = world.probability[world.pixels.place[image]] * world.pixels.count[image]
        learnt.append(rng.choice(image, PER_MASK, p=weight / weight.sum()))
    fold = np.arange(len(chosen)) % FOLDS
    points = np.concatenate(learnt)
    shares = np.eye(classes)[world.pixels.truth[points]]
    said = pool.said[:, world.pixels.place[points]]
    whole, others = fit_beliefs(said, shares, classes, np.repeat(fold, PER_MASK))
    others = others if len(chosen) > 1 else [whole]
    pad = ((0, 0), (0, 0), (0, 1))
    believed = np.pad(whole.confusion(pool.said, pool.pixels), pad)
    expected = np.zeros(believed.shape)
    left, place, look = [], [], []
    for k, belief in enumerate(others):
        expected += (fold == k).mean() * np.pad(belief.confusion(pool.said, pool.pixels), pad)
        for i in np.flatnonzero(fold == k):
            tuples, row = np.unique(world.pixels.place[own[i]], return_inverse=True)
            true = np.zeros((len(tuples), classes + 1))
            np.add.at(true, (row, world.pixels.truth[own[i]]), world.pixels.count[own[i]])
            true[:, :-1] -= true.sum(1, keepdims=True) * belief.probabilities(pool.said[:, tuples])
            left.append(true * rest)
            place.append(tuples)
            look.append(np.full(len(tuples), i))
    tuples = np.concatenate(place)
    return PointTotals(
        pool,
        whole,
        believed + pool.known,
        expected + pool.known,
        np.zeros(
            (len(tuples), classes + 1)
        ),  # pixels of an image err together: the belief expects too little
        np.ones(len(tuples)),
        np.concatenate(left),
        np.concatenate(look),
        pool.said[:, tuples],
        len(chosen),
        pool.said[:, :0],
        np.zeros((0, classes)),
        np.zeros(0),
        0,
        np.ones(classes, bool),
    )


def five_percent_wrong(world: World, repeat: int) -> Found:
    """The draws of the design, 5 % of the answers another class at random."""
    rng = np.random.default_rng([repeat, 5])
    size = len(world.pixels.truth)  # a row that is drawn twice is wrong twice: rare
    wrong = (world.pixels.truth + rng.integers(1, world.pixels.classes, size)) % world.pixels.classes
    return design(world, repeat, np.where(rng.random(size) < 0.05, wrong, world.pixels.truth))


def borders_wrong(world: World, repeat: int) -> Found:
    """The draws of the design, every point within two pixels of a border answered by its other side."""
    across = world.pixels.across
    return design(world, repeat, np.where(across >= 0, across, world.pixels.truth))


METHODS: dict[str, Callable[[World, int], Found]] = {
    "design": design,
    "design, 3 a look": three_a_look,
    "uniform": uniform,
    "uniform+control": uniform_control,
    "masks": masks,
    "masks by order": masks_by_order,
    "masks+control": masks_control,
    "design, 5 % wrong": five_percent_wrong,
    "design, borders wrong": borders_wrong,
    "design, void": design,
}


def prototype(file: Path) -> Callable[[World, int], Found]:
    """Return the method of the first prototype, read from its file: its mixed draws and its estimator."""
    spec = importlib.util.spec_from_file_location("prototype", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    held: dict[int, Any] = {}

    def method(world: World, repeat: int) -> Found:
        if id(world) not in held:
            tuples = module.Tuples(world.pool.said.astype(np.int64), world.pool.pixels, world.pixels.classes)
            held[id(world)] = tuples, tuples.probability(tuples.belief(tuples.prior))
        tuples, probability = held[id(world)]
        row, _ = world.draw(probability, (repeat, 6))
        place = world.pixels.place[row]
        answer = world.pixels.truth[row]
        out = {}
        for budget in BUDGETS:
            some = slice(budget)
            found, covariance = tuples.estimate(place[some], answer[some], probability[place[some]])
            half = module.differences(found, covariance)[1]
            first, second = np.triu_indices(len(found), 1)
            out[str(budget)] = {"score": found.tolist(), "half": half[first, second].tolist()}
        return out

    return method


def group_of(pixels: Pixels, group: str) -> Pixels:
    """Return a set with all its models, or the best few of them by their true mIoU."""
    number = GROUPS[group]
    if number is None:
        return pixels
    best = np.argsort(-World(pixels).real)[:number]
    return pixels.of(sorted(best.tolist()))


def run(name: str, group: str, method: str, repeats: int, function: Callable[[World, int], Found]) -> None:
    """Add repeats to the file of a set, group of models and method until it has so many."""
    void = method.endswith("void")

    def make() -> World:
        return World(group_of(load(name, void=void), group), void)

    add_repeats(f"{name}, {group}, {method}", repeats, make, function)


def add_repeats(
    kept: str, repeats: int, make: Callable[[], World], function: Callable[[World, int], Found]
) -> None:
    """Add repeats to a file until it has so many."""
    file = KEPT / f"{kept}.jsonl"
    done = len(file.read_text().splitlines()) if file.exists() else 0
    if done > repeats:
        return
    world = make()
    with file.open("a") as lines:
        if not done:
            lines.write(json.dumps({"real": world.real.tolist()}) + "\n")
            done = 1
        for repeat in range(done - 1, repeats):
            lines.write(json.dumps(function(world, repeat)) + "\n")
            lines.flush()
    print(kept, repeats, zlib.crc32(file.read_bytes()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--models", default="ten,four,two")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--prototype", type=Path)
    given = parser.parse_args()
    if given.action == "table":
        point_tables.write()
        return
    methods = dict(METHODS)
    if given.prototype:
        methods["prototype"] = prototype(given.prototype)
    wanted = [word.strip() for word in given.methods.replace("design, ", "design; ").split(",")]
    wanted = [word.replace("design; ", "design, ") for word in wanted]
    unknown = set(wanted) - set(methods)
    if unknown:
        sys.exit(f"no method {', '.join(sorted(unknown))}; known: {', '.join(methods)}")
    for name in given.sets:
        for group in given.models.split(","):
            for method in wanted:
                run(name, group, method, given.repeats, methods[method])


if __name__ == "__main__":
    main()
