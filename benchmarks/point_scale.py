"""What points cost on large pools: `select --points`, `rank` and the repeated look of the results page, on made
studies of which every image brings tuples of its own.

    python benchmarks/point_scale.py 2000 10000               # 10 models, 512 x 512, 21 classes: two hours
    python benchmarks/point_scale.py --classes 150 2000
    python benchmarks/point_scale.py --kind hard 200          # maps that hardly agree

Prints a row a step: seconds on the clock, ms of processor an image, peak MiB of the driver and of the largest
worker. Studies are kept in a temporary folder (--base), so that a run that was stopped goes on where it was. Cost
an image does not depend on their number, as every step goes through them shard by shard; what the driver keeps
of an image is told by the difference of two sizes.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import made_study
import numpy as np
from cost import Cost, measure_cost
from made_maps import maps

from faultscape.maps import runs
from faultscape.reading.study import Study
from faultscape.study.answers.points import PointAnswer
from faultscape.study.parts import Part, write_manifest
from faultscape.study.settings import ModelSettings, write_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name

MODELS, SIDE, POINTS, SCENES = 10, 512, 300, 40


def fresh(kind: str, classes: int, images: int) -> Iterator[np.ndarray]:
    """Yield (J, H, W) each image's maps: one of some scenes, with its classes exchanged at random, so that
    hardly a tuple occurs in two images.
    """
    scenes = [maps(kind, MODELS, SIDE, classes, seed) for seed in range(min(SCENES, images))]
    for k in range(images):
        exchanged = np.random.default_rng(k).permutation(classes).astype(np.uint8)
        yield exchanged[scenes[k % len(scenes)]]


def make(study: Path, kind: str, classes: int, images: int) -> None:
    """Write a study as collect and predict would leave it."""
    made_study.write_collected(study, images, SIDE, classes=classes)
    names = made_study.names(MODELS)
    settings = Study(study).settings
    settings.models = {name: ModelSettings(source=".", kind="folder") for name in names}
    write_settings(study, settings)
    parts: dict[str, dict[str, Part]] = {name: {} for name in names}
    stacks = fresh(kind, classes, images)
    for number, first in enumerate(range(0, images, made_study.SHARD)):
        held: dict[str, list[label_maps.StoredMap]] = {name: [] for name in names}
        for k in range(first, min(images, first + made_study.SHARD)):
            for name, label_map in zip(names, next(stacks), strict=True):
                held[name].append(label_maps.StoredMap(made_study.identity(k), runs.encode(label_map)))
        for name, stored in held.items():
            sha256 = label_maps.put_maps(label_maps.predictions(study, name), number, stored)
            parts[name][part_name(number)] = Part(sha256, len(stored), "")
    for name in names:
        write_manifest(label_maps.predictions(study, name), parts[name])


def answer(study: Path, points: slice, seed: int = 0) -> None:
    """Answer some points as the first model says, one in seven otherwise."""
    held = Study(study)
    said = held.maps(held.models[0])
    rng = np.random.default_rng(seed)
    names = held.classes.names
    answers = []
    for point in held.selection("points").slots.points[points]:
        label = int(said[point.image].ravel()[point.pixel])
        seen = label if rng.random() > 1 / 7 else int(rng.integers(len(names)))
        answers.append(PointAnswer(point.image, point.row, point.column, names[seen], "me"))
    held.point_answers.add_all(answers, "made")


def row(images: int, step: str, cost: Cost) -> None:
    each = 1e3 * cost.processor / images
    print(
        f"| {images:,} | {step} | {cost.seconds:.1f} | {each:.2f} | {cost.driver} | {cost.worker or '-'} |",
        flush=True,
    )


def measured(base: Path, kind: str, classes: int, images: int) -> None:
    """Print what each step costs on one study."""
    place = base / f"{kind}-{classes}-{images}"
    if not (place / "made").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        make(place / "study", kind, classes, images)
        row(images, "compare", measure_cost("compare", str(place / "study")))
        (place / "made").touch()
    study = place / "study"
    for left in ("tuples", "answers.sqlite", "selection-points.csv", "selection-points.json"):
        path = study / left
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    given = str(study)
    row(images, "select --points", measure_cost("select", given, selector="points"))
    answer(study, slice(0, POINTS - 1))
    row(images, "rank", measure_cost("rank", given, selection="points"))
    answer(study, slice(POINTS - 1, POINTS), seed=1)
    row(images, "rank again", measure_cost("rank", given, selection="points"))
    row(images, "select --more", measure_cost("select", given, as_="points", more=POINTS))
    kept = sum(path.stat().st_size for path in (study / "tuples").rglob("*.tuples"))
    codes = sum(path.stat().st_size for path in (study / "predictions").rglob("*.parquet"))
    print(f"{kept / images / 1e3:.1f} kB of tuples an image beside {codes / images / 1e3:.1f} kB of maps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--classes", type=int, default=21)
    parser.add_argument("--kind", default="web")
    parser.add_argument("--base", type=Path, default=Path(tempfile.gettempdir()) / "faultscape-point-scale")
    given = parser.parse_args()
    print(f"{MODELS} models, {SIDE} x {SIDE}, {given.classes} classes, maps {given.kind}\n")
    print("| images | step | s | ms an image | driver MiB | worker MiB |\n|---|---|---|---|---|---|")
    for images in given.sizes:
        measured(given.base, given.kind, given.classes, images)


if __name__ == "__main__":
    main()
