"""A study of made pictures with objects: its truth in a file of COCO, models as results of COCO, as a panoptic
file and as maps.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import faultscape as fs
import made
from faultscape.formats import coco
from faultscape.maps.instances import runs_of_mask

SIZE = (24, 32)
NAMES = ("ground", "car", "person")
CLASSES = [{"name": name, "id": k, "colour": [99 * k] * 3} for k, name in enumerate(NAMES)]
COUNT = 14


@dataclass
class MadeInstances:
    """What was written: the study, and for each image the masks (N, H, W), classes (places), and, of the
    results, scores, and which true masks are crowds.
    """

    study: str
    folder: Path
    truth: list[tuple[np.ndarray, list[int], list[bool]]] = field(default_factory=list)
    results: list[tuple[np.ndarray, list[int], list[float]]] = field(default_factory=list)
    panoptic: list[tuple[np.ndarray, dict[int, int]]] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)


def rle(mask: np.ndarray) -> dict[str, Any]:
    """A mask as COCO writes it."""
    return {"size": [*SIZE], "counts": coco.text_of_runs(runs_of_mask(mask))}


def objects(rng: np.random.Generator) -> tuple[np.ndarray, list[int]]:
    """Some boxes, which may overlap."""
    masks, classes = [], []
    for _ in range(rng.integers(1, 5)):
        mask = np.zeros(SIZE, bool)
        top, left = rng.integers(0, SIZE[0] - 8), rng.integers(0, SIZE[1] - 9)
        mask[top : top + rng.integers(5, 9), left : left + rng.integers(5, 10)] = True
        masks.append(mask)
        classes.append(int(rng.integers(1, 3)))
    return np.array(masks), classes


def numbers_of(masks: np.ndarray) -> np.ndarray:
    """A map of segment numbers, k + 1 for mask k, later ones on top."""
    out = np.zeros(SIZE, np.int64)
    for k, mask in enumerate(masks):
        out[mask] = 10 * (k + 1)
    return out


def study(folder: Path, *, models: bool = True) -> MadeInstances:
    """Collect the pictures, import the truth and predict with the models `results`, `panoptic` and `maps`."""
    rng = np.random.default_rng(7)
    out = MadeInstances(str(folder / "study"), folder)
    files, truth_rows, result_rows, panoptic_rows = [], [], [], []
    for k in range(COUNT):
        id_ = f"{k + 1:012d}"
        out.ids.append(id_)
        photo = rng.integers(0, 256, (*SIZE, 3), np.uint8)
        made.write(folder / "photos" / f"{id_}.png", photo)
        files.append({"id": k + 1, "file_name": f"{id_}.png", "width": SIZE[1], "height": SIZE[0]})
        masks, classes = objects(rng)
        crowd = [bool(rng.random() < 0.15) for _ in classes]
        out.truth.append((masks, classes, crowd))
        for mask, class_, many in zip(masks, classes, crowd, strict=True):
            truth_rows.append(
                {"id": 100 + len(truth_rows), "image_id": k + 1, "category_id": class_ + 1}
                | {"segmentation": rle(mask), "iscrowd": int(many), "area": int(mask.sum())}
            )
        moved = np.array([np.roll(m, (rng.integers(-1, 2), rng.integers(-2, 3)), (0, 1)) for m in masks])
        extra, of = objects(rng)
        said = np.concatenate([moved, extra[:1]])
        scores = [round(float(rng.random()), 3) for _ in said]
        out.results.append((said, [*classes, of[0]], scores))
        for mask, class_, score in zip(said, [*classes, of[0]], scores, strict=True):
            result_rows.append(
                {"image_id": k + 1, "category_id": class_, "segmentation": rle(mask), "score": score}
            )
        numbers = numbers_of(moved)
        shown = [int(n) for n in np.unique(numbers) if n]
        meant = {n: classes[n // 10 - 1] for n in shown}
        out.panoptic.append((numbers, meant))
        made.write(
            folder / "panoptic" / f"{id_}.png",
            np.stack([numbers & 255, numbers >> 8, numbers * 0], 2).astype(np.uint8),
        )
        infos = [{"id": n, "category_id": c + 1, "iscrowd": 0} for n, c in meant.items()]
        panoptic_rows.append({"image_id": k + 1, "file_name": f"{id_}.png", "segments_info": infos})
        labels = np.zeros(SIZE, np.uint8)
        for mask, class_ in zip(moved, classes, strict=True):
            labels[np.roll(mask, 1, 0)] = class_
        made.write(folder / "maps" / f"{id_}.png", labels)
    categories = [{"id": k + 1, "name": name} for k, name in enumerate(NAMES)]
    head = {"images": files, "categories": categories}
    for name, rows in (
        ("truth.json", {**head, "annotations": truth_rows}),
        ("results.json", result_rows),
        ("panoptic.json", {**head, "annotations": panoptic_rows}),
    ):
        (folder / name).write_text(json.dumps(rows))
    (folder / "classes.json").write_text(json.dumps({"classes": CLASSES, "background": 0, "void": [255]}))
    fs.collect(out.study, str(folder / "photos"), classes=str(folder / "classes.json"))
    if models:
        places = {name: str(folder / f"{name}{'' if name == 'maps' else '.json'}") for name in MODELS}
        fs.predict(out.study, places, engine="local")
        fs.label.import_(out.study, str(folder / "truth.json"))
    return out


def masks(made_: MadeInstances, folder: Path) -> Path:
    """Write the label maps that the truth draws, and return their folder."""
    for id_, (each, classes, _) in zip(made_.ids, made_.truth, strict=True):
        labels = np.zeros(SIZE, np.uint8)
        for mask, class_ in zip(each, classes, strict=True):
            labels[mask] = class_
        made.write(folder / "masks" / f"{id_}.png", labels)
    return folder / "masks"


MODELS = ("results", "panoptic", "maps")
