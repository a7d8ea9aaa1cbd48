"""What boxes bring to training, on CamVid: networks from masks, from boxes, and from both.

    nice python benchmarks/box_training.py run FOLDER [--seeds 0,1,2] [--arms masks-12,boxes-48]
    python benchmarks/box_training.py table FOLDER     # writes docs/benchmarks/data/box_training.csv

Conventions: a job is an arm and a seed, and a finished one is not done again. A seed draws 48 frames of two
drives, of which the first 12 are the few with masks; boxes are made from masks, one around each connected
piece of a class. ``things`` are boxes of cars, pedestrians, bicyclists, poles and signs only. Each network is a
segformer-b0 from random weights, 160 x 120, trained for 200 steps of 4 images. It is judged on every second
test frame, of two drives that it never saw: mIoU over all their pixels. Intervals are of the difference to the few
masks: Student's over seeds, whose frames and weights are the same for all arms. Minutes: 25 a mask (Brostow et
al. 2009), 7 seconds a box by extreme clicking (Papadopoulos et al. 2017), 25.5 by dragging (Su et al. 2012, the
median).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from scipy.stats import t

from faultscape.maps.boxes import boxes_of_mask
from faultscape.uncertainty import description
from faultscape.uncertainty.training.box_labels import BoxLabels
from faultscape.uncertainty.training.labels import IGNORED
from faultscape.uncertainty.training.loop import Machine, Task, train
from faultscape.uncertainty.training.plan import CompletePlan
from faultscape.uncertainty.training.validation import Images, probabilities

DATA = Path(os.environ.get("FAULTSCAPE_DATA", "shared/data")) / "camvid"
OUT = Path(__file__).parents[1] / "docs" / "benchmarks" / "data" / "box_training.csv"
NAMES = (
    "sky", "building", "pole", "road", "pavement", "tree", "sign", "fence", "car", "pedestrian", "bicyclist",
)  # fmt: skip
THINGS = ("pole", "sign", "car", "pedestrian", "bicyclist")
MANY, FEW = 48, 12
ARMS = {  # {arm: images with masks, images with boxes, the classes that are boxed}
    "masks-12": (FEW, 0, ()),
    "masks-12-boxes-36": (FEW, MANY - FEW, NAMES),
    "masks-12-things-36": (FEW, MANY - FEW, THINGS),
    "boxes-48": (0, MANY, NAMES),
    "masks-48": (MANY, 0, ()),
}
PLAN = CompletePlan(
    steps=200, batch=4, rate=1e-3, warm_up=1, size=(160, 120), crop=(160, 128), scale=(0.75, 1.5)
)
MASK, CLICKED, DRAGGED = 25 * 60, 7.0, 25.5  # seconds


@cache
def frame(place: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the photo (H, W, 3) and the labels (H, W) of a frame of "train" or "test"."""
    labels = np.asarray(Image.open(DATA / f"{place}annot" / f"{name}.png")).astype(np.int16)
    photo = np.asarray(Image.open(DATA / place / f"{name}.jpg").convert("RGB"))
    return photo, np.where(labels < len(NAMES), labels, IGNORED).astype(np.int16)


def names_of(place: str) -> list[str]:
    """Return the names of the frames; those of the drive that "train" and "test" share only in "test"."""
    found = sorted(path.stem for path in (DATA / f"{place}annot").glob("*.png"))
    return [name for name in found if place == "test" or not name.startswith("0001TP")]


@cache
def boxes_of(name: str, boxed: tuple[str, ...]) -> BoxLabels:
    """Return the boxes of some classes of a frame."""
    photo, labels = frame("train", name)
    places = tuple(NAMES.index(one) for one in boxed)
    rows = [(place, *box[:4]) for place in places for box in boxes_of_mask(labels == place)]
    held = np.array(rows, np.int64).reshape(-1, 5)
    return BoxLabels((photo.shape[1], photo.shape[0]), places, held, np.ones((len(held), 2), bool))


def job(arm: str, seed: int) -> dict[str, Any]:
    """Train a network, and return what it reaches and what its labels cost."""
    masks, boxed, classes = ARMS[arm]
    drawn = np.random.default_rng(seed).permutation(names_of("train"))
    names = [str(name) for name in drawn[: masks + boxed]]

    def read(number: int) -> tuple[np.ndarray, np.ndarray]:
        photo, labels = frame("train", names[number])
        return photo, labels if number < masks else np.full_like(labels, IGNORED)

    def boxes(number: int) -> BoxLabels | None:
        return None if number < masks else boxes_of(names[number], classes)

    about = description.Description("segformer-b0", NAMES, multiple=32, seed=seed)
    net = description.build(about)
    plan = CompletePlan(**{**vars(PLAN), "seed": seed})
    task = Task(len(names), read, mean=about.mean, std=about.std, boxes=boxes)
    with tempfile.TemporaryDirectory() as folder:
        for _ in train(net, plan, task, Path(folder), arm, Machine(readers=1)):
            pass
    drawn_boxes = sum(len(boxes_of(name, classes).boxes) for name in names[masks:]) if boxed else 0
    return {
        "miou": float(np.mean(ious := judge(net, about))),
        "ious": ious,
        "masks": masks,
        "boxed": boxed,
        "boxes": drawn_boxes,
    }


@torch.no_grad()
def judge(net: torch.nn.Module, about: description.Description) -> list[float]:
    """Return the IoU of each class over every second test frame."""
    held = names_of("test")[::2]
    shown = Images(len(held), lambda k: frame("test", held[k]), PLAN.size, 32, about.mean, about.std)
    cells = np.zeros((len(NAMES), len(NAMES)), np.int64)
    net.eval()
    for image, labels in shown.tensors("cpu"):
        found = probabilities(net(image), labels.shape[::-1])[0].argmax(0).numpy()
        known = labels >= 0
        np.add.at(cells, (labels[known], found[known]), 1)
    return (np.diag(cells) / (cells.sum(0) + cells.sum(1) - np.diag(cells))).tolist()


def run(folder: Path, seeds: list[int], arms: list[str]) -> None:
    """Do the jobs that are not done, a seed after another."""
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        for arm in arms:
            path = folder / f"{arm}-{seed}.json"
            if path.exists():
                continue
            begun = time.process_time()
            found = job(arm, seed) | {"seconds": time.process_time() - begun, "load": os.getloadavg()[0]}
            path.write_text(json.dumps(found))
            print(arm, seed, found, flush=True)


def table(folder: Path) -> None:
    """Write a row an arm, and print it."""
    found = {
        arm: {
            int(path.stem.rpartition("-")[2]): json.loads(path.read_text())
            for path in sorted(folder.glob(f"{arm}-[0-9].json"))
        }
        for arm in ARMS
    }
    rows = []
    for arm, runs in found.items():
        seeds = sorted(runs.keys() & found["masks-12"].keys())
        values = np.array([runs[seed]["miou"] for seed in seeds])
        gains = values - [found["masks-12"][seed]["miou"] for seed in seeds]
        half = t.ppf(0.975, len(gains) - 1) * gains.std(ddof=1) / np.sqrt(len(gains))
        masks, boxes = (float(np.mean([runs[seed][of] for seed in seeds])) for of in ("masks", "boxes"))
        clicked, dragged = ((masks * MASK + boxes * cost) / 3600 for cost in (CLICKED, DRAGGED))
        rows.append(
            {
                "arm": arm,
                "seeds": len(seeds),
                "miou": round(float(values.mean()), 3),
                "gain": round(float(gains.mean()), 3),
                "gain_low": round(float(gains.mean() - half), 3),
                "gain_high": round(float(gains.mean() + half), 3),
                "masks": int(masks),
                "boxes": round(boxes),
                "hours_clicked": round(clicked, 1),
                "hours_dragged": round(dragged, 1),
            }
        )
        print(rows[-1])
    with OUT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Read the line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--arms", default=",".join(ARMS))
    given = parser.parse_args()
    if given.what == "table":
        table(given.folder)
    else:
        run(given.folder, [int(seed) for seed in given.seeds.split(",")], given.arms.split(","))


if __name__ == "__main__":
    main()
