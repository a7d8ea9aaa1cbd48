"""Who is marked on the page People for answers to points, and what weighting people gains: ``python
benchmarks/point_people.py [--repeats N]`` prints the numbers of docs/how-to/people.md and
docs/reference/verbs/rank.md.

Conventions: points are drawn for the order of four or two CamVid networks, or four made models of VOC masks.
Careful people err in 5, 20 and 5 % of answers, mostly toward another class that models predict, and answer two of
five points within two pixels of a border by its other side. The first person is careful, clicks at random
among the classes offered, or always says the most frequent class. A point in twenty is asked again.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from point_sets import load
from points import World, group_of

from faultscape.labelling.people.careless_points import PointColumns, point_care_tests
from faultscape.labelling.people.estimated_accuracy import answer_weights
from faultscape.ranking.points.answers import PointAnswers
from faultscape.ranking.points.estimates import point_scores
from faultscape.ranking.points.totals import point_totals

ERRS = (0.05, 0.2, 0.05)
ACROSS, TWICE, OFFERED = 0.4, 0.05, 0.7
RANDOM, ONE_CLASS = "at random", "always one class"
CAMPAIGNS = ((1, 100, 1, 0.0), (1, 300, 1, 0.0), (3, 300, 1, 0.05), (3, 300, 2, 0.0), (3, 1000, 1, 0.05))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Points (M,): rows of a world, their probabilities, true classes, those beyond a border, and votes."""

    place: np.ndarray
    probability: np.ndarray
    truth: np.ndarray
    across: np.ndarray
    votes: np.ndarray


def drawn(world: World, number: int) -> Drawn:
    """Return independent draws by the design, before any answer."""
    row, probability = world.draw(world.probability, (1, 1), number)
    said = world.pool.said[:, world.pixels.place[row]]
    votes = np.stack([(said == c).sum(0) for c in range(world.pixels.classes + 1)], 1)
    return Drawn(
        world.pixels.place[row], probability, world.pixels.truth[row], world.pixels.across[row], votes
    )


def answer(rng: np.random.Generator, points: Drawn, k: int, error: float, border: float) -> int:
    """Return what a careful person says at a point."""
    if points.across[k] >= 0 and rng.random() < border:
        return int(points.across[k])
    if rng.random() >= error:
        return int(points.truth[k])
    others = np.delete(np.arange(points.votes.shape[1] - 1), points.truth[k])
    offered = others[points.votes[k, others] > 0]
    return int(rng.choice(offered if len(offered) and rng.random() < OFFERED else others))


def campaign(
    rng: np.random.Generator,
    points: Drawn,
    own: np.ndarray,
    *,
    people: int,
    overlap: int,
    masked: float,
    first_does: str = "",
    first: int = 0,
) -> PointColumns:
    """Return the answers to the points ``own`` (P,); some of them have a mask. The first person errs as often
    as the one of that number.
    """
    most = int(np.bincount(points.truth).argmax())
    shown = np.where(rng.random(len(own)) < masked, points.truth[own], -1)
    rows = []
    for place, k in enumerate(own.tolist()):
        for turn in range(overlap):
            who = (place * overlap + turn) % people
            for again in range(2 if rng.random() < TWICE else 1):
                said = answer(rng, points, k, ERRS[(who + first) % 3], ACROSS)
                offered = np.flatnonzero(points.votes[k, :-1])
                if who == 0 and first_does == RANDOM and len(offered):
                    said = int(rng.choice(offered))
                if who == 0 and first_does == ONE_CLASS:
                    said = most
                rows.append((place, who, said, 3.0, not again))
    return PointColumns(*(np.array(column) for column in zip(*rows, strict=True)), points.votes[own], shown)


def signs(name: str, group: str, repeats: int) -> None:
    """Print how often people are marked."""
    world = World(group_of(load(name), group))
    points = drawn(world, 1000 * repeats)
    for people, number, overlap, masked in CAMPAIGNS:
        rng = np.random.default_rng(1)
        innocent = 0
        found = {RANDOM: 0, ONE_CLASS: 0}
        for repeat in range(repeats):
            own = np.arange(number) + 1000 * repeat
            about = {"people": people, "overlap": overlap, "masked": masked, "first": repeat}
            tests = point_care_tests(campaign(rng, points, own, **about))
            innocent += any(test.marked for one in tests for test in one.values())
            for does in found:
                first, *_ = point_care_tests(campaign(rng, points, own, **about, first_does=does))
                found[does] += any(test.marked for test in first.values())
        shares = "  ".join(f"{100 * k / repeats:5.0f} %" for k in (innocent, *found.values()))
        print(f"{name:7} {group:4} {people:6} {number:6} {overlap:7} {masked:6}  {shares}", flush=True)


def weights(name: str, group: str, repeats: int, number: int = 300) -> None:
    """Print the errors of scores and differences of models, in points of mIoU, where people differ."""
    world = World(group_of(load(name), group))
    points = drawn(world, number * repeats)
    classes = world.pixels.classes
    first, second = np.triu_indices(len(world.real), 1)
    for overlap in (2, 3):
        errors: dict[str, list[np.ndarray]] = {"all right": [], "the same": [], "weighted": []}
        for repeat in range(repeats):
            rng = np.random.default_rng([repeat, overlap])
            own = np.arange(number) + number * repeat
            item = np.repeat(np.arange(number), overlap)
            who = np.arange(number * overlap) % 3
            said = np.array(
                [answer(rng, points, own[k], ERRS[w], 0.0) for k, w in zip(item, who, strict=True)]
            )
            worth = answer_weights(item, who, said, classes).weight
            for way, weight in (("all right", None), ("the same", np.ones(3)), ("weighted", worth)):
                votes = np.eye(classes)[points.truth[own]]
                if weight is not None:
                    votes = np.zeros((number, classes))
                    np.add.at(votes, (item, said), weight[who])
                best = np.isclose(votes, votes.max(1, keepdims=True))
                shares = np.pad(best / best.sum(1, keepdims=True), ((0, 0), (0, 1)))
                told = PointAnswers(points.place[own], points.probability[own], shares)
                score = point_scores(point_totals(world.pool, told, void=False)).score
                errors[way].append(score - world.real)
        for way, rows in errors.items():
            error = 100 * np.array(rows)
            of_difference = np.sqrt(((error[:, first] - error[:, second]) ** 2).mean())
            level = np.sqrt((error**2).mean())
            print(f"{name:7} {group:4} {overlap} people a point, {way:9}  {level:5.2f}  {of_difference:5.2f}")


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=100)
    repeats = parser.parse_args().repeats
    print("set     models people points overlap masked  anyone careful, at random, always one class")
    for name, group in (("camvid", "four"), ("camvid", "two"), ("voc", "four")):
        signs(name, group, repeats)
    print("error of scores, and of differences")
    for name, group in (("camvid", "four"), ("voc", "four")):
        weights(name, group, max(1, repeats // 3))


if __name__ == "__main__":
    main()
