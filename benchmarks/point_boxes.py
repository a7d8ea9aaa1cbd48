"""How many points boxes save: ``python benchmarks/point_boxes.py run [--repeats N]``, then ``table``.

Conventions: as ``points``, the design with ten models, whose rows without boxes are in points.csv. Boxes are made
from the masks, one around each connected piece of a class, in all images: of all classes (VOC: all but the
background), of ``few`` (CamVid: car, pedestrian and bicyclist), or of all but ``loose``: each side lies off by a
normal error of two pixels (VOC, at a quarter of its size: one), and one object in twenty has no box. A box takes 7
seconds (extreme clicking: Papadopoulos et al. 2017), a point 4 and a mask of CamVid 25 minutes, of VOC 239 seconds
(Bearman et al. 2016). Masks of VOC come from ``points.py run voc --models ten --methods masks``.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np
import points
from point_sets import KEPT, SETS, Pixels
from point_tables import COLUMNS, rows_of

from faultscape.maps.boxes import Box, boxes_of_mask
from faultscape.ranking.points.box_states import BoxStates
from faultscape.ranking.points.pool import PointPool, Tuples, find_tuples
from faultscape.reading.boxes.open_classes import open_classes

OUT = Path(__file__).parents[1] / "docs" / "benchmarks" / "data" / "point_boxes.csv"
BUDGETS = (100, 300, 1000)
FURTHER = {"camvid": 40, "voc": 200}  # repeats that go on to 1,000
BOXED = {"camvid": range(11), "voc": range(1, 21)}
FEW = {"camvid": (8, 9, 10)}
LOOSE = {"camvid": 2.0, "voc": 1.0}  # pixels
MISSED = 0.05  # of objects
BOX, POINT = 7, 4  # seconds
MASK = {"camvid": 1500, "voc": 239}
RUNS = (
    ("camvid", "boxes", 200),
    ("voc", "boxes", 200),
    ("camvid", "few boxes", 60),
    ("camvid", "loose boxes", 60),
    ("voc", "loose boxes", 60),
)


@dataclass(frozen=True, eq=False)
class BoxedWorld(points.World):
    """A set whose tuples are split by what boxes leave open (``states``, (X, C)); there are ``boxes``."""

    states: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    boxes: int = 0

    @cached_property
    def pool(self) -> PointPool:
        """All pixels, without any mask."""
        counts = np.bincount(self.pixels.place, self.pixels.count, self.pixels.said.shape[1])
        boxes = BoxStates(*np.unique(self.states, axis=0, return_inverse=True))
        return PointPool(self.pixels.said, counts, self.pixels.classes, boxes=boxes)


@cache
def boxed(name: str, kind: str) -> BoxedWorld:
    """Return a set with boxes, made once."""
    kept = KEPT / f"{name}, {kind}.npz"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        np.savez(kept, allow_pickle=False, **_made(name, kind))
    with np.load(kept) as held:
        found = {key: held[key] for key in held}
    boxes, classes = int(found.pop("boxes")), int(found.pop("classes"))
    states = found.pop("states")
    across = np.full(len(found["count"]), -1)
    return BoxedWorld(Pixels(name, **found, across=across, classes=classes), states=states, boxes=boxes)


@cache
def _tuples(name: str) -> tuple[Tuples, list[np.ndarray], int]:
    maps, truths, classes = SETS[name]()
    return find_tuples(maps, classes), truths, classes


def _made(name: str, kind: str) -> dict[str, np.ndarray]:
    tuples, truths, classes = _tuples(name)
    rng = np.random.default_rng(4)
    boxes = 0
    shapes: dict[bytes, int] = {}  # states of classes, numbered
    state: list[np.ndarray] = []
    for truth in truths:
        size = truth.shape[1], truth.shape[0]
        drawn: dict[int, list[Sequence[int]]] = {}
        for place in FEW[name] if kind == "few boxes" else BOXED[name]:
            found = boxes_of_mask(truth == place)
            boxes += len(found)
            if kind == "loose boxes":
                found = list(_loosened(found, LOOSE[name], truth.shape, rng))
            drawn[place] = [box[:4] for box in found]
        left_open = open_classes(json.dumps(drawn), size, size, classes)
        numbers = [shapes.setdefault(row.tobytes(), len(shapes)) for row in left_open.states]
        state.append(np.array(numbers)[left_open.rows.ravel()])
    truth = np.concatenate([one.ravel() for one in truths])
    image = np.repeat(np.arange(len(truths)), [one.size for one in truths])
    known = truth < classes
    sides = (len(truths), tuples.said.shape[1], len(shapes), classes)
    parts = [part[known] for part in (image, tuples.place, np.concatenate(state), truth)]
    keys, count = np.unique(np.ravel_multi_index(parts, sides), return_counts=True)
    image, place, mine, truth = np.unravel_index(keys, sides)
    both, place = np.unique(place * len(shapes) + mine, return_inverse=True)
    states = np.array([np.frombuffer(row, np.uint8) for row in shapes])
    return {
        "image": image,
        "place": place,
        "truth": truth,
        "count": count,
        "said": tuples.said[:, both // len(shapes)],
        "states": states[both % len(shapes)],
        "boxes": np.array(boxes),
        "classes": np.array(classes),
    }


def _loosened(
    boxes: Sequence[Box], error: float, shape: tuple[int, ...], rng: np.random.Generator
) -> Iterator[Box]:
    """Yield boxes whose sides lie off, without those that are missed."""
    for box in boxes:
        off = np.rint(rng.normal(0, error, 4)).astype(int)
        ends = np.clip(np.array(box[:4]) + off, 0, [shape[1], shape[0]] * 2).tolist()
        if rng.random() >= MISSED and ends[0] < ends[2] and ends[1] < ends[3]:
            yield Box(*ends)


def run(repeats: int | None) -> None:
    """Add the repeats that are missing."""
    for name, kind, usual in RUNS:
        world = partial(boxed, name, kind)
        points.add_repeats(f"{name}, ten, design, {kind}", repeats or usual, world, _one)
        boxed.cache_clear()


def _one(world: points.World, repeat: int) -> points.Found:
    budgets = BUDGETS if repeat < FURTHER[world.pixels.name] else BUDGETS[:2]
    return points.from_points(world, None, (repeat, 1), budgets=budgets)


def table() -> None:
    """Write point_boxes.csv, with what boxes cost, and print it and the hours to an error."""
    out = list[dict[str, str | int]]()
    for name, kind, _ in RUNS:
        with np.load(KEPT / f"{name}, {kind}.npz") as held:
            about = {"boxes": int(held["boxes"]), "images": int(held["image"].max()) + 1}
        out += [row | about for row in rows_of(KEPT / f"{name}, ten, design, {kind}.jsonl")]
    for name in BOXED:
        images = {row["images"] for row in out if row["set"] == name}.pop()
        own = KEPT / f"{name}, ten, masks.jsonl"
        there = [row for row in _points() if (row["set"], row["method"]) == (name, "masks")]
        others = rows_of(own) if own.exists() else there
        out += [row | {"boxes": 0, "images": images} for row in others]
    with OUT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*COLUMNS, "boxes", "images"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(out)
    for row in out:
        print(row)
    for name in BOXED:
        print("\n".join(_hours(name, [row for row in out if row["set"] == name])))


def _points() -> list[dict[str, str]]:
    with (OUT.parent / "points.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["models"] == "ten"]


def _hours(name: str, rows: list[dict[str, str | int]]) -> list[str]:
    """Return lines: the hours until differences have some error, by points, boxes and points, and masks."""
    images = int(rows[0]["images"])
    plain = [row for row in _points() if (row["set"], row["method"]) == (name, "design")]
    masks = next(row for row in rows if row["method"] == "masks" and row["budget"] == "32")
    out = []
    for error in (1.0, 0.5, 0.25):
        found = {"points": _needed(plain, error) * POINT}
        for kind in dict.fromkeys(str(row["method"]) for row in rows if row["method"] != "masks"):
            mine = [row for row in rows if row["method"] == kind]
            found[kind] = _needed(mine, error) * POINT + int(mine[0]["boxes"]) * BOX
        # of all images the error is 0
        each = float(masks["rmse"]) ** 2 / (1 / 32 - 1 / images)
        found["masks"] = MASK[name] / (error**2 / each + 1 / images)
        out.append(f"{name}, {error}: " + ", ".join(f"{k} {v / 3600:.1f} h" for k, v in found.items()))
    return out


def _needed(rows: Sequence[Mapping[str, str | int]], error: float) -> float:
    """Return how many points leave an error, by those that 300 and 1,000 leave."""
    found = [float(row["rmse"]) ** 2 * int(row["budget"]) for row in rows if row["budget"] in ("300", "1000")]
    return float(np.mean(found)) / error**2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--repeats", type=int)
    given = parser.parse_args()
    run(given.repeats) if given.action == "run" else table()


if __name__ == "__main__":
    main()
