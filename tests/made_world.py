"""What examples of verbs begin with: twelve images of four classes, the maps of three models, labels, a network,
tables of scores, and a study of them in which images are drawn, labelled and ranked.
"""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np

import faultscape as fs
from networks_of_tests import colour_network

NAMES = ("sky", "road", "car", "tree")
COLOURS = np.array([[60, 120, 220], [90, 90, 90], [200, 40, 40], [40, 160, 60]], np.uint8)
ERRORS = {"unet": 0.05, "psp": 0.2, "fcn": 0.4}
HIGH, WIDE = 48, 64


def make_world(folder: Path) -> None:
    """Write all that examples name into a folder."""
    rng = np.random.default_rng(0)
    names = (
        "images",
        "truth",
        "training-masks",
        "scores/knn",
        "anomaly",
        *(f"maps/{name}" for name in ERRORS),
    )
    for name in names:
        (folder / name).mkdir(parents=True)
    for k in range(12):
        truth = scene(rng)
        pixels = np.clip(COLOURS[truth].astype(int) + rng.normal(0, 12, (HIGH, WIDE, 3)), 0, 255)
        save(folder / "images" / f"street-{k:02}.png", pixels.astype(np.uint8)[..., ::-1])
        save(folder / "truth" / f"street-{k:02}.png", truth)
        save(folder / "training-masks" / f"other-{k:02}.png", scene(rng))
        save(folder / "anomaly" / f"street-{k:02}.png", (truth == 2).astype(np.uint8))
        np.save(
            folder / "scores" / "knn" / f"street-{k:02}.npy", (truth == 2) + rng.normal(0, 0.5, truth.shape)
        )
        for name, wrong in ERRORS.items():
            save(folder / "maps" / name / f"street-{k:02}.png", disturbed(rng, truth, wrong))
    classes = [{"id": k, "name": name, "colour": COLOURS[k].tolist()} for k, name in enumerate(NAMES)]
    (folder / "classes.json").write_text(json.dumps({"classes": classes, "void": [255]}))
    colour_network(folder / "net.onnx", COLOURS / 255 - 0.4)
    lines = ["case,unet,fcn", *(f"{k},{0.8 + 0.01 * (k % 7)},{0.7 + 0.01 * (k % 5)}" for k in range(80))]
    (folder / "scores.csv").write_text("\n".join(lines) + "\n")


def make_study() -> None:
    """Make the study ``study`` in the current folder, labelled and ranked."""
    models = {name: f"maps/{name}/" for name in ERRORS}
    fs.run("study", "images/", models, classes="classes.json", engine="local")
    fs.label.import_("study", "truth/")
    fs.rank("study", engine="local")


def scene(rng: np.random.Generator) -> np.ndarray:
    """Return a map of sky above a road, with a tree and a car."""
    out = np.zeros((HIGH, WIDE), np.uint8)
    out[rng.integers(20, 28) :] = 1
    for class_, side in ((3, 14), (2, 10)):
        row, column = rng.integers(8, HIGH - side), rng.integers(0, WIDE - side)
        out[row : row + side, column : column + side] = class_
    return out


def disturbed(rng: np.random.Generator, truth: np.ndarray, wrong: float) -> np.ndarray:
    """Return a map with squares of other classes, so many that about this share is wrong."""
    out = truth.copy()
    for _ in range(rng.poisson(wrong * HIGH * WIDE / 64)):
        row, column = rng.integers(0, HIGH - 8), rng.integers(0, WIDE - 8)
        out[row : row + 8, column : column + 8] = rng.integers(len(NAMES))
    return out


def save(path: Path, pixels: np.ndarray) -> None:
    """Write a PNG."""
    assert cv2.imwrite(str(path), pixels)
