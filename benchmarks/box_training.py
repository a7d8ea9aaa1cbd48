"""What boxes bring to training, on CamVid: networks from masks, from boxes, and from both.

    nice python benchmarks/box_training.py run FOLDER [--seeds 1,2,3] [--arms masks-4,boxes-48]
    python benchmarks/box_training.py table FOLDER     # writes docs/benchmarks/data/box_training.csv

Conventions: a job is an arm and a seed, and a finished one is not done again. A seed draws 48 frames of two
drives, of which the first 4 are the few with masks; boxes are made from masks, one around each connected piece
of a class. Each network is a small U-Net from random weights, 160 x 120, trained for 500 steps of 4 images, and
judged on every second test frame, of two drives that it never saw: mIoU over all their pixels. Intervals are of
the difference to the few masks: Student's over seeds, whose frames and weights are the same for all arms. Seed 0
is not among them, because how boxes are weighed was chosen on it. Hours: 25 minutes a mask (Brostow et al. 2009),
7 seconds a box by extreme clicking (Papadopoulos et al. 2017), 25.5 by dragging (Su et al. 2012, the median).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import tempfile
import time
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from scipy.stats import t
from torch import Tensor, nn

from faultscape.maps.boxes import boxes_of_mask
from faultscape.uncertainty.networks.catalogue import IMAGENET
from faultscape.uncertainty.replace import replace_head
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
MANY, FEW = 48, 4
ARMS = {  # {arm: images with masks, images with boxes}
    "masks-4": (FEW, 0),
    "masks-4-boxes-44": (FEW, MANY - FEW),
    "boxes-48": (0, MANY),
    "masks-22": (22, 0),  # as many as the hours of 4 masks and 44 images with boxes by extreme clicking
    "masks-48": (MANY, 0),
}
PLAN = CompletePlan(
    steps=500, batch=4, rate=2e-3, warm_up=1, size=(160, 120), crop=(160, 128), scale=(0.75, 1.5)
)
MEAN, STD = IMAGENET
MASK, CLICKED, DRAGGED = 25 * 60, 7.0, 25.5  # seconds


class UNet(nn.Module):
    """Four levels of two convolutions each, from half the size of the image on."""

    def __init__(self, width: int = 12, levels: int = 4) -> None:
        super().__init__()
        wide = [width * 2**level for level in range(levels)]
        self.stem = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.down = nn.ModuleList(_block(*pair) for pair in zip([width, *wide], wide, strict=False))
        self.up = nn.ModuleList(_block(a + b, a) for a, b in pairwise(wide))
        self.head = nn.Conv2d(width, len(NAMES), 1)

    def forward(self, image: Tensor) -> Tensor:
        """Return logits at half the size."""
        found, kept = self.stem(image), list[Tensor]()
        for level, block in enumerate(self.down):
            found = block(nn.functional.max_pool2d(found, 2) if level else found)
            kept.append(found)
        for block, skipped in zip(reversed(self.up), reversed(kept[:-1]), strict=True):
            larger = nn.functional.interpolate(found, size=skipped.shape[2:], mode="bilinear")
            found = block(torch.cat([skipped, larger], 1))
        return self.head(found)


def _block(before: int, after: int) -> nn.Sequential:
    layers = [
        layer
        for width in (before, after)
        for layer in (nn.Conv2d(width, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU())
    ]
    return nn.Sequential(*layers)


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
def boxes_of(name: str) -> BoxLabels:
    """Return the boxes of a frame."""
    photo, labels = frame("train", name)
    places = range(len(NAMES))
    rows = [(place, *box[:4]) for place in places for box in boxes_of_mask(labels == place)]
    held = np.array(rows, np.int64).reshape(-1, 5)
    return BoxLabels((photo.shape[1], photo.shape[0]), (*places,), held, np.ones((len(held), 2), bool))


def job(arm: str, seed: int) -> dict[str, Any]:
    """Train a network, and return what it reaches and what its labels cost."""
    masks, boxed = ARMS[arm]
    drawn = np.random.default_rng(seed).permutation(names_of("train"))
    names = [str(name) for name in drawn[: masks + boxed]]

    def read(number: int) -> tuple[np.ndarray, np.ndarray]:
        photo, labels = frame("train", names[number])
        return photo, labels if number < masks else np.full_like(labels, IGNORED)

    def boxes(number: int) -> BoxLabels | None:
        return None if number < masks else boxes_of(names[number])

    torch.manual_seed(seed)
    net = replace_head(UNet(), "linear")
    plan = CompletePlan(**{**vars(PLAN), "seed": seed})
    task = Task(len(names), read, mean=MEAN, std=STD, boxes=boxes, masked=masks if masks < boxed else 0)
    with tempfile.TemporaryDirectory() as folder:
        for _ in train(net, plan, task, Path(folder), arm, Machine(readers=1)):
            pass
    drawn_boxes = sum(len(boxes_of(name).boxes) for name in names[masks:]) if boxed else 0
    return {
        "miou": float(np.mean(ious := judge(net))),
        "ious": ious,
        "masks": masks,
        "boxed": boxed,
        "boxes": drawn_boxes,
    }


@torch.no_grad()
def judge(net: nn.Module) -> list[float]:
    """Return the IoU of each class over every second test frame."""
    held = names_of("test")[::2]
    shown = Images(len(held), lambda k: frame("test", held[k]), PLAN.size, 16, MEAN, STD)
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
        seeds = sorted(runs.keys() & found["masks-4"].keys())
        values = np.array([runs[seed]["miou"] for seed in seeds])
        gains = values - [found["masks-4"][seed]["miou"] for seed in seeds]
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
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--arms", default=",".join(ARMS))
    given = parser.parse_args()
    if given.what == "table":
        table(given.folder)
    else:
        run(given.folder, [int(seed) for seed in given.seeds.split(",")], given.arms.split(","))


if __name__ == "__main__":
    main()
