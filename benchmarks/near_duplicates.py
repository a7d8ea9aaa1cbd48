"""How far scores shift if drawn groups of near-duplicates are labelled on the image that duels chose: ``python
benchmarks/near_duplicates.py DATA [--repeats N]``, where DATA holds camvid and camvid-zoo.

A study of CamVid's 233 test images and ten networks is made in a temporary folder, with duels of one and of
three images a cell. Groups are those that `collect` finds, and runs of three and of five consecutive frames, a
harder case than any that it finds. Of each group the first image is labelled (*without*), or the one that duels
chose, if they chose one (*with*); in the last rows duels had chosen the most disputed image of every group.
Draws are those of ``--goal order``. Printed are the groups labelled on another image, the largest shift of a
margin over all groups, as labels show and as predictions foretell, the mean width of the intervals of margins,
the largest shift as a share of it, how often intervals hold the margins by the first images, without and with,
and how often a note reports a shift.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import faultscape as fs
from faultscape.ranking.drawn.estimate_intervals import margin_intervals
from faultscape.ranking.drawn.estimates import lure_weights, margins, prediction_powered
from faultscape.ranking.drawn.stand_ins import Shifts, score_shifts, shift_note
from faultscape.reading import evidence
from faultscape.reading.pool import gather, read_drawing_pool
from faultscape.reading.study import LABELS, Study
from faultscape.selection.definitions import weights_as_defined
from faultscape.selection.draws import draw, members, representatives
from faultscape.selection.selector_weights import fitted_sharpness
from faultscape.study.tables.selections import read_selection

BUDGETS = (20, 50, 100)
HEAD = (
    "images | duels | other images | margins shift | foretold | labels | width | share | held without | held"
    " with | note"
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--repeats", type=int, default=1000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = str(Path(folder) / "study")
        duels = made(asked.data, study)
        root = Path(study)
        define = read_selection(root, "order")[0].definition
        models = read_selection(root, "order")[0].models
        pool = read_drawing_pool(Study(root), define)[0]
        needs = ("agreement", "dispute", "expected")
        facts = gather(Study(root), models, define, needs)
        images, scores = evidence.accuracies(Study(root), models, LABELS, define)
    ids = pool.ids.to_pylist()
    losses = 1 - scores[:, [images.index(image) for image in ids]]
    define.setdefault("sharpness", fitted_sharpness(facts))
    facts["belief"] = np.full(len(models), 1 / len(models))
    weights = weights_as_defined(define, facts)
    claims = {str(k): np.isin(ids, chosen).astype(int) for k, chosen in duels.items()}
    claims["all groups"] = 1 + np.argsort(np.argsort(facts["dispute"]))
    print(f"| {HEAD} |\n{'|---' * 11}|")
    frames = np.argsort(np.argsort(ids))
    for words, families in (
        ("found by collect", pool.families),
        ("runs of 3", frames // 3),
        ("runs of 5", frames // 5),
    ):
        for name, own in claims.items():
            rows(words, name, families, own, weights, losses, facts["expected"], models, asked.repeats)


def made(data: Path, study: str) -> dict[int, list[str]]:
    """Make the study, and return {images a cell: the images that duels chose}."""
    fs.collect(study, str(data / "camvid" / "test"), classes=str(data / "camvid-zoo" / "classes.json"))
    zoo = sorted(path.parent for path in (data / "camvid-zoo").glob("*/labels"))
    fs.predict(study, {folder.name: folder / "labels" for folder in zoo})
    fs.compare(study)
    chosen = {k: list(fs.select(study, as_=f"duels-{k}", per_class=k).images) for k in (1, 3)}
    fs.select(study, goal="order", budget=10)
    fs.label.import_(study, str(data / "camvid" / "testannot"))
    fs.rank(study, selection="order", resamples=0)  # counts the labels
    return chosen


def rows(
    words: str,
    name: str,
    families: np.ndarray,
    claims: np.ndarray,
    weights: np.ndarray,
    losses: np.ndarray,
    expected: np.ndarray,
    models: tuple[str, ...],
    repeats: int,
) -> None:
    """Print the rows of one way to group images and one set of claims."""
    first = np.flatnonzero(representatives(families, weights > 0))
    stands = members(first, families, claims, weights > 0)
    right = margins(losses[:, first]).mean(1)
    shift = score_shifts(
        margins(losses[:, stands]), margins(losses[:, first]), np.full(len(first), 1 / len(first))
    )
    told = score_shifts(
        margins(expected[:, stands]), margins(expected[:, first]), np.full(len(first), 1 / len(first))
    )
    place = {image: k for k, image in enumerate(first.tolist())}
    for number in BUDGETS:
        if number >= len(first):
            continue
        held: dict[bool, list[float]] = {False: [], True: []}
        widths, notes = [], 0
        for seed in range(repeats):
            drawn = draw(weights, number, seed=seed, families=families)
            at = np.array([place[k] for k in drawn.images.tolist()])
            for claimed in (False, True):
                own = stands[at] if claimed else drawn.images
                found = prediction_powered(
                    margins(losses[:, own]), drawn.probability, margins(expected[:, first]), at
                )
                bounds = margin_intervals(found)
                held[claimed].append(float(((bounds[:, 0] <= right) & (right <= bounds[:, 1])).mean()))
            widths.append(bounds[:, 1] - bounds[:, 0])
            moves = score_shifts(
                margins(expected[:, stands[at]]),
                margins(expected[:, drawn.images]),
                lure_weights(drawn.probability, drawn.pool) / number,
            )
            notes += bool(shift_note(models, [Shifts(moves, widths[-1], "margin")], 1, number))
        width = np.mean(widths, 0)
        cells = (
            f"{words}, {len(first)} groups",
            name,
            f"{(stands != first).sum()}",
            f"{100 * np.abs(shift).max():.2f}",
            f"{100 * np.abs(told).max():.2f}",
            f"{number}",
            f"{100 * width.mean():.1f}",
            f"{(np.abs(shift) / width).max():.2f}",
            f"{np.mean(held[False]):.3f}",
            f"{np.mean(held[True]):.3f}",
            f"{notes / repeats:.2f}",
        )
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
