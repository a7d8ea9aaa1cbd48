"""How well models are ranked without any label, by the consistency of their maps under corruption, beside
what so many labels of random images give.

    python benchmarks/zero_labels.py FOLDER [PLAIN SHAKEN]     # ten minutes; networks of examples/train_camvid.py, for which FAULTSCAPE_DATA is needed

Conventions: two pools. *demo*: the five networks that ship with the package and the ten ensembles of two of
them, on 120 drawn scenes; *CamVid*: two networks that were trained with and without shaken colours and their
ensemble, on the 233 test images. Consistency is that of `reliability` under the four corruptions of `stress
corrupt --preset s3-data` at severities 1 to 5. The truth is the mIoU of all images; of n labels it is the
mIoU of n images drawn without replacement, the same for all models, 300 times. Spearman's correlation, and
after the stroke the top-1 regret in points of mIoU. What FOLDER holds is not made again.
Source: arXiv 2503.00450 (CRank).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np

import faultscape as fs
from faultscape.metrics.intervals.robustness import image_miou
from faultscape.ranking.agreement import spearman
from faultscape.reporting.reliability.document import CORRUPTED, Card
from faultscape.study.settings import read_settings
from faultscape.study.tables import pixel_counts
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.demo import networks
from faultscape.verbs.demo.scenes import scene_classes

DATA = Path(os.environ.get("FAULTSCAPE_DATA", Path(__file__).parents[2] / "shared" / "data"))
BUDGETS, REPEATS, SCENES = (1, 2, 5, 10, 25, 50, 100), 300, 120


def demo(study: Path) -> Card:
    """Return the card of the demo's networks and their ensembles."""
    if not study.exists():
        for name in ("images", "truth"):
            (study.parent / name).mkdir(parents=True, exist_ok=True)
        for k in range(SCENES):
            scene = fs.scenes.corpus_scene(20_000 + k)
            cv2.imwrite(
                str(study.parent / "images" / f"{k:03}.png"), np.ascontiguousarray(scene.image[..., ::-1])
            )
            cv2.imwrite(str(study.parent / "truth" / f"{k:03}.png"), scene.truth)
        fs.collect(str(study), str(study.parent / "images"), classes=replace(scene_classes(), void=(255,)))
        fs.label.import_(str(study), str(study.parent / "truth"))
        fs.stress.corrupt(str(study), preset="s3-data")
    names = networks()
    pairs = {f"{a}+{b}": f"ensemble:{a},{b}" for a, b in combinations(names, 2)}
    fs.predict(str(study), names | pairs, measure=True)
    return fs.reliability(str(study), worst=0, resamples=0).document


def camvid(study: Path, plain: str, shaken: str) -> Card:
    """Return the card of two networks and their ensemble."""
    if not study.exists():
        fs.collect(
            str(study), str(DATA / "camvid"), known=fs.options.KnownData(layout="camvid", split="test")
        )
        fs.stress.corrupt(str(study), preset="s3-data")
    shown = fs.options.Shown(input_size="240x176", mean=[0.41, 0.42, 0.43], std=[0.3, 0.31, 0.31])
    fs.predict(str(study), {"plain": plain, "shaken": shaken}, measure=True, shown=shown)
    fs.predict(str(study), {"both": "ensemble:plain,shaken"}, measure=True)
    return fs.reliability(str(study), worst=0, resamples=0).document


def scores(card: Card, condition: str, metric: str, names: Sequence[str]) -> np.ndarray:
    """Return a number of each model."""
    held = {
        c["model"]: c["value"] for c in card["cells"] if (c["condition"], c["metric"]) == (condition, metric)
    }
    return np.array([held[name] for name in names])


def judged(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Return Spearman's correlation with the truth, and how many points the best lies above the first."""
    return float(np.nan_to_num(spearman(found, truth))), 100 * float(truth.max() - truth[int(found.argmax())])


def rows(study: Path, card: Card, names: Sequence[str]) -> list[str]:
    """Return the rows of the table of some models."""
    clean = next(c["name"] for c in card["conditions"] if c["kind"] == "clean")
    truth, consistency = scores(card, clean, "miou", names), scores(card, CORRUPTED, "consistency", names)
    corrupted = scores(card, CORRUPTED, "miou", names)
    out = [
        "0, consistency | {:.3f} / {:.2f} | {:.3f} / {:.2f} |".format(
            *judged(consistency, truth), *judged(consistency, corrupted)
        )
    ]
    classes = len(read_settings(study).class_list)
    maps = [
        pixel_counts.read_map_counts(pixel_counts.counts_folder(study, name, pixel_counts.MAPS), classes)
        for name in names
    ]
    ids = [image.id for image in read_corpus(study) if image.set == clean]
    ids = [id_ for id_ in ids if all(id_ in held and held[id_].cells is not None for held in maps)]
    cells = np.stack([[held[id_].cells for id_ in ids] for held in maps])
    for budget in (b for b in BUDGETS if b <= len(ids)):
        found = []
        for repeat in range(REPEATS):
            chosen = np.random.default_rng([budget, repeat]).choice(len(ids), budget, replace=False)
            found.append(judged(np.array([image_miou(of[chosen].sum(0)) for of in cells]), truth))
        out.append("{} | {:.3f} / {:.2f} | |".format(budget, *np.mean(found, axis=0)))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("networks", nargs="*")
    given = parser.parse_args()
    study = given.folder / "demo" / "study"
    card = demo(study)
    found = {
        "demo, 5 networks": (study, card, list(networks())),
        "demo, 15 models": (study, card, [m["name"] for m in card["models"]]),
    }
    if given.networks:
        study = given.folder / "camvid"
        card = camvid(study, *given.networks)
        found["CamVid, 3 models"] = (study, card, [m["name"] for m in card["models"]])
    for name, about in found.items():
        print(f"\n| {name}: labels | mIoU clean | mIoU corrupted |\n|---|---|---|")
        print("\n".join(f"| {row}" for row in rows(*about)), flush=True)


if __name__ == "__main__":
    main()
