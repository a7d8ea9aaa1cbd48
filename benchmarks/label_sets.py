"""The sets of the label-efficiency benchmark: losses of every model on every image, and what was known before
any label.

Conventions: as in ``selection.proposals``; ``draws`` is how many images are drawn anew for every repeat (all,
unless named). Counts of label maps take half a minute and are kept in a folder for temporary files.
"""

from __future__ import annotations

import csv
import gzip
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

import faultscape as fs
from faultscape.formats.label_maps import read_map
from faultscape.maps import runs
from faultscape.scenes import street
from faultscape.selection import proposals
from faultscape.stages.demo import scene_classes
from faultscape.study.tables import label_maps as stored_maps
from faultscape.verbs.demo import networks

DATA = Path(os.environ.get("FAULTSCAPE_DATA") or Path(__file__).parents[2] / "shared" / "data")
KEPT = Path(tempfile.gettempdir()) / "faultscape-label-efficiency"
DRIVES, DRIVE = 60, 10  # drives, images of each
VOID, SHOWN = 11, 0.5  # a crop must be labelled for half of its pixels: 2,092 of 2,097 are


@dataclass(frozen=True, eq=False)
class Set:
    """One set: (J, I) losses and expected losses, (P, I) discrepancies, (I,) ensemble entropy, (J, I) labels
    for classes.
    """

    name: str
    losses: np.ndarray
    expected: np.ndarray
    discrepancy: np.ndarray
    entropy: np.ndarray
    labels: np.ndarray | None = None
    truth: np.ndarray | None = None
    draws: int | None = None
    concordance: np.ndarray | None = None  # (J, J, I) of label maps

    def part(self, images: np.ndarray) -> Set:
        """Return the set of some images only, in this order."""
        labels = None if self.labels is None else self.labels[:, images]
        truth = None if self.truth is None else self.truth[images]
        columns = (self.losses[:, images], self.expected[:, images], self.discrepancy[:, images])
        both = None if self.concordance is None else self.concordance[:, :, images]
        return Set(self.name, *columns, self.entropy[images], labels, truth, concordance=both)


def classes(name: str, labels: np.ndarray, truth: np.ndarray) -> Set:
    """Return a set of classifiers from labels (J, I) and truth (I,), numbered from 0."""
    first, second = np.triu_indices(len(labels), 1)
    return Set(
        name,
        (labels != truth).astype(float),
        proposals.expected_of_labels(labels),
        (labels[first] != labels[second]).astype(float),
        proposals.entropy_of_labels(labels),
        labels,
        truth,
    )


def emotion() -> Set:
    held = np.load(DATA / "classifiers" / "model-picker" / "emotion_detection.npz")
    return classes("emotion", held["predictions"].astype(int).T, held["labels"].ravel().astype(int))


def cue_conflict() -> Set:
    with (DATA / "classifiers" / "cue-conflict" / "predictions.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    models = [
        c for c in rows[0] if c not in {"image", "shape_label", "texture_label"} and not c.startswith("human")
    ]
    return numbered("cue-conflict", rows, models, "shape_label")


def sixteen_classes() -> Set:
    with gzip.open(
        DATA / "classifiers" / "16class-22nets" / "predictions.csv.gz", "rt", encoding="utf-8"
    ) as file:
        rows = list(csv.DictReader(file))
    return numbered("16class-22nets", rows, [c for c in rows[0] if c.startswith("net")], "true_class")


def colour() -> Set:
    return experiment("colour")


def noise() -> Set:
    return experiment("noise")


def experiment(name: str) -> Set:
    """Return the three networks of one experiment of 16class-confidence; an image under two conditions is
    two.
    """
    with gzip.open(
        DATA / "classifiers" / "16class-confidence" / "predictions.csv.gz", "rt", encoding="utf-8"
    ) as file:
        said = [row for row in csv.DictReader(file) if row["experiment"] == name]
    models = sorted({row["model"] for row in said})
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for row in said:
        rows.setdefault((row["condition"], row["image"]), {"true_class": row["true_class"]})[row["model"]] = (
            row["predicted_class"]
        )
    return numbered(name, list(rows.values()), models, "true_class")


def numbered(name: str, rows: list[dict[str, str]], models: list[str], truth: str) -> Set:
    words = sorted({row[c] for row in rows for c in [*models, truth]})
    place = {word: k for k, word in enumerate(words)}
    labels = np.array([[place[row[m]] for row in rows] for m in models])
    return classes(name, labels, np.array([place[row[truth]] for row in rows]))


def frames() -> Set:
    return zoo("camvid-zoo frames", 1)


def crops() -> Set:
    return zoo("camvid-zoo crops", 3, draws=1500)


def drives() -> Set:
    """Return the demo's five networks on drawn scenes, ten of each drive; a drive keeps its light."""
    return label_maps("drawn drives", "drives", of_drives)


def zoo(name: str, cuts: int, draws: int | None = None) -> Set:
    """Return ten networks' label maps on the CamVid test split, each frame cut into ``cuts`` x ``cuts``."""
    return label_maps(name, f"zoo-{cuts}", lambda: of_zoo(cuts), draws)


def label_maps(
    name: str, stored: str, counted: Callable[[], dict[str, np.ndarray]], draws: int | None = None
) -> Set:
    """Return the set of label maps that were counted, now or before."""
    kept = KEPT / f"{stored}.npz"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        np.savez(kept, **counted())
    held = np.load(kept)
    seen = held["labelled"] >= SHOWN
    concordance = held["concordance"][:, :, seen]
    first, second = np.triu_indices(len(concordance), 1)
    expected = proposals.expected_of_concordances(concordance)
    losses, apart = 1 - held["accuracy"][:, seen], 1 - concordance[first, second]
    return Set(name, losses, expected, apart, held["entropy"][seen], draws=draws, concordance=concordance)


def of_zoo(cuts: int) -> dict[str, np.ndarray]:
    models = sorted(p for p in (DATA / "camvid-zoo").iterdir() if p.is_dir())
    ids = sorted(p.name for p in (DATA / "camvid" / "testannot").glob("*.png"))

    def cut(folder: Path) -> list[np.ndarray]:
        whole = (read_map(folder / name) for name in ids)
        return [part for m in whole for row in np.split(m, cuts) for part in np.split(row, cuts, axis=1)]

    maps = {folder.name: cut(folder / "labels") for folder in models}
    return counted(maps, cut(DATA / "camvid" / "testannot"), VOID)


def of_drives() -> dict[str, np.ndarray]:
    lights = np.random.default_rng(51).choice(street.LIGHTS, DRIVES)
    scenes = [
        street.scene(k, seed=51, light=str(lights[k // DRIVE]), rare=True) for k in range(DRIVES * DRIVE)
    ]
    with tempfile.TemporaryDirectory() as folder:
        images = Path(folder) / "images"
        images.mkdir()
        for k, scene in enumerate(scenes):
            cv2.imwrite(str(images / f"{k:03}.png"), np.ascontiguousarray(scene.image[..., ::-1]))
        study = str(Path(folder) / "study")
        fs.collect(study, str(images), classes=replace(scene_classes(), void=(255,)))
        fs.predict(study, networks())
        maps = {}
        for name in networks():
            stored = stored_maps.read_maps(stored_maps.predictions(Path(study), name), 0)
            maps[name] = [runs.decode(stored[f"{k:03}"]) for k in range(len(scenes))]
    return counted(maps, [scene.truth for scene in scenes], len(street.CLASSES))


def counted(maps: dict[str, list[np.ndarray]], truth: list[np.ndarray], void: int) -> dict[str, np.ndarray]:
    """Return what a set needs of label maps with the classes 0 to ``void`` - 1."""
    pairs = fs.comparison.count(maps, classes=void, truth=truth, void=void)
    votes = [
        np.mean([[m == c for c in range(void)] for m in image], 0)
        for image in zip(*maps.values(), strict=True)
    ]
    return {
        "concordance": fs.comparison.concordances(pairs),
        "accuracy": fs.comparison.accuracies(pairs),
        "entropy": np.array([proposals.entropy(v.reshape(void, -1).T).mean() for v in votes]),
        "labelled": np.array([(m != void).mean() for m in truth]),
    }


SETS = {
    "emotion": emotion,
    "cue-conflict": cue_conflict,
    "16class-22nets": sixteen_classes,
    "frames": frames,
    "crops": crops,
    "drives": drives,
    "colour": colour,
    "noise": noise,
}
