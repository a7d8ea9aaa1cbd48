"""The unknown objects of benchmarks/doubt.py: four families, each from three sources that share nothing: some
that teach, some by which settings are chosen, some that test.

Conventions: *drawn* are drawings of animals and things by code, *noise* random shapes of coloured noise,
*textures* such shapes cut out of ImageNet photos, *cut-outs* regions that a person outlined in BSDS photos;
those that test are other regions, and horses of the Weizmann set. No drawing that teaches looks like one that
tests, and no photo serves two purposes. None shows a class that is withheld.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from faultscape.corpus.objects.lookalikes import look_of, lookalikes
from faultscape.stressors.objects.cutout import Cutout, connected_cutouts, cutout_of_mask, usable_cutouts
from faultscape.stressors.objects.drawn import drawn_cutouts
from faultscape.stressors.objects.shapes import noise_shapes, texture_shapes

DATA = Path(os.environ.get("FAULTSCAPE_DATA", Path(__file__).parents[2] / "shared" / "data"))
FAMILIES = ("drawn", "noise", "textures", "cut-outs")
SIGN = 6  # of CamVid's labels
SHAPES = {"teach": 200, "choose": 40, "test": 40}
SEEDS = {"teach": 1, "choose": 2, "test": 3}
REGION = (0.008, 0.2)  # of its photo, at least and at most


def objects_of(family: str, use: str) -> list[Cutout]:
    """Return the objects of a family that ``teach``, serve to ``choose`` settings, or ``test``."""
    if family == "drawn":
        return drawings(use)
    if family == "noise":
        return noise_shapes(SHAPES[use], SEEDS[use])
    if family == "textures":
        every = sorted((DATA / "imagenet-images").glob("*.jpg"))
        mixed = [*every[0::3], *every[1::3], *every[2::3]]  # in order of kinds of things
        part = {"teach": mixed[:30], "choose": mixed[30:45], "test": mixed[45:]}[use]
        return texture_shapes([photo_of(path) for path in part], SHAPES[use], SEEDS[use])
    every = sorted((DATA / "bsds" / "images").glob("*.jpg"))
    part = {"teach": every[:20], "choose": every[20:25], "test": every[25:]}[use]
    return [*regions(part), *(horses() if use == "test" else ())]


def drawings(use: str) -> list[Cutout]:
    """Return drawings; those that teach are of the same kinds of things as the others, and none looks like
    one of them.
    """
    others = drawn_cutouts()
    if use != "teach":
        return [cutout for cutout in others if cutout.split == {"choose": "validation"}.get(use, use)]
    mine = drawn_cutouts(12, seed=54)
    looks = {cutout.digest: look_of(cutout) for cutout in mine}
    alike = lookalikes(looks, [(cutout.digest, look_of(cutout)) for cutout in others])
    return [cutout for cutout in mine if cutout.digest not in alike]


def regions(photos: Sequence[Path]) -> list[Cutout]:
    """Return regions that one person outlined in photos of BSDS, and that lie inside."""
    found: list[Cutout] = []
    for path in photos:
        first = min((DATA / "bsds" / "human").glob(f"{path.stem}_*.png"))
        numbers = np.asarray(Image.open(first)).astype(np.int64)
        shares = np.bincount(numbers.ravel()) / numbers.size
        names = {int(k): "" for k in np.flatnonzero((shares > REGION[0]) & (shares < REGION[1]))}
        cut = connected_cutouts(photo_of(path), numbers, names, path.stem, use="anomaly", smallest=900)
        found += usable_cutouts(cut)[0]
    return [replace(cutout, family="cut-outs") for cutout in found]


def horses() -> list[Cutout]:
    """Return the horses of the Weizmann set that their photos do not cut off."""
    found: list[Cutout] = []
    place = DATA / "objects" / "weizmann_horses"
    for path in sorted((place / "images").iterdir()):
        mask = np.asarray(Image.open(next((place / "masks").glob(f"{path.stem}.*"))).convert("L")) > 0
        found.append(replace(cutout_of_mask(photo_of(path), mask, path.stem, "horse"), family="cut-outs"))
    return usable_cutouts(found)[0]


def photo_of(path: Path) -> np.ndarray:
    """Return the pixels (H, W, 3) of a photo."""
    return np.asarray(Image.open(path).convert("RGB"))


def road_signs(tree: Path) -> list[Cutout]:
    """Return the road signs of CamVid's training images: the known objects of fishyscapes-v3, since no
    network here knows cars or persons.
    """
    found: list[Cutout] = []
    for row in (tree / "train.txt").read_text().splitlines():
        name = Path(row.split()[0]).stem
        photo, labels = (
            np.asarray(Image.open(tree / "train" / f"{name}.jpg")),
            np.asarray(Image.open(tree / "trainannot" / f"{name}.png")),
        )
        found += usable_cutouts(connected_cutouts(photo, labels, {SIGN: "sign"}, name))[0]
    return found


def write_objects(folder: Path, cutouts: Sequence[Cutout]) -> str:
    """Write cut-outs as images with transparency and objects.csv, and return their folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = ["file,class,split,use,family"]
    for number, cutout in enumerate(cutouts):
        pixels = np.dstack([cutout.pixels, cutout.alpha])
        tall, wide = pixels.shape[:2]
        placed = cutout.use == "known"
        height, width = cutout.frame if placed else (tall + 2, wide + 2)
        left, top = cutout.corner if placed else (1, 1)
        # an object that reaches the border of its file counts as cut
        whole = np.zeros((height, width, 4), np.uint8)
        whole[top : top + tall, left : left + wide] = pixels
        Image.fromarray(whole).save(folder / f"{number}.png")
        rows.append(f"{number}.png,{cutout.class_},,{cutout.use},{cutout.family}")
    (folder / "objects.csv").write_text("\n".join(rows) + "\n")
    return str(folder)
