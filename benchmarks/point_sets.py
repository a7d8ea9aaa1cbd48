"""The sets of the benchmark of points: what every model predicts at every pixel, and the truth of each.

Conventions: maps are (J, N), place C meaning no class; a truth is (H, W), place C meaning void. Pixels of
one image that are alike in all that matters here are one row. Void pixels are left out unless asked for, as
the first prototype did. A set is kept in a folder for temporary files once it is made.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from made_maps import field
from PIL import Image

from faultscape.ranking.points.pool import find_tuples
from faultscape.scenes import street

DATA = Path(os.environ.get("FAULTSCAPE_DATA") or Path(__file__).parents[2] / "shared" / "data")
KEPT = Path(tempfile.gettempdir()) / "faultscape-points"
# of every third VOC mask so many, at a quarter of its size; of drawn streets
VOC_IMAGES, VOC_STEP, SCENES = 200, 4, 80
Made = tuple[
    np.ndarray, list[np.ndarray], int
]  # maps (J, N), truths (H, W) of each image, the number of classes
STRENGTHS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0, 1.2)  # of the errors of made models


@dataclass(frozen=True, eq=False)
class Pixels:
    """A set: tuples (J, X), and rows (R,) of ``count`` pixels with the same image, tuple, true class, and
    class beyond the nearest border of the truth (-1 where none is within two pixels), sorted by image.
    """

    name: str
    said: np.ndarray
    image: np.ndarray
    place: np.ndarray
    truth: np.ndarray
    across: np.ndarray
    count: np.ndarray
    classes: int

    def of(self, models: list[int]) -> Pixels:
        """Return the set with some models only."""
        found = find_tuples(self.said[models], self.classes)
        return replace(self, said=found.said, place=found.place[self.place])


def load(name: str, *, void: bool = False) -> Pixels:
    """Return a set by its name, one of ``SETS``."""
    kept = KEPT / f"{name}.npz"
    if not kept.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        rows = _rows(*SETS[name]())
        np.savez(kept, allow_pickle=False, **rows)
    with np.load(kept) as held:
        found = {key: held[key] for key in held}
    classes = int(found.pop("classes"))
    said = found.pop("said")
    if not void:
        known = found["truth"] < classes
        found = {key: values[known] for key, values in found.items()}
        used, found["place"] = np.unique(found["place"], return_inverse=True)
        said = said[:, used]
    return Pixels(name, said, **found, classes=classes)


def _rows(maps: np.ndarray, truths: list[np.ndarray], classes: int) -> dict[str, np.ndarray]:
    found = find_tuples(maps, classes)
    sides = (len(truths), found.said.shape[1], classes + 1, classes + 1)
    parts = (
        np.repeat(np.arange(len(truths)), [truth.size for truth in truths]),
        found.place,
        np.concatenate([truth.ravel() for truth in truths]),
        np.concatenate([beyond_border(truth, classes).ravel() for truth in truths]) + 1,
    )
    keys, count = np.unique(np.ravel_multi_index(parts, sides), return_counts=True)
    image, place, truth, across = np.unravel_index(keys, sides)
    names = ("image", "place", "truth", "across", "count", "said", "classes")
    values = (image, place, truth, across - 1, count, found.said, np.array(classes))
    return dict(zip(names, values, strict=True))


def beyond_border(truth: np.ndarray, classes: int) -> np.ndarray:
    """Return (H, W) int16 the nearest other class within two pixels, -1 where there is none."""
    padded = np.pad(truth.astype(np.int16), 2, constant_values=classes)
    out = np.full(truth.shape, -1, np.int16)
    steps = sorted(np.ndindex(5, 5), key=lambda step: (step[0] - 2) ** 2 + (step[1] - 2) ** 2)
    for y, x in steps:
        if (y - 2) ** 2 + (x - 2) ** 2 <= 4:
            other = padded[y : y + truth.shape[0], x : x + truth.shape[1]]
            out = np.where((out < 0) & (other != truth) & (other < classes), other, out)
    return out


def _camvid() -> Made:
    zoo = sorted(path for path in (DATA / "camvid-zoo").iterdir() if path.is_dir())
    names = sorted(path.name for path in (zoo[0] / "labels").glob("*.png"))
    maps = np.array(
        [np.concatenate([_read(model / "labels" / name) for name in names]) for model in zoo], np.uint8
    )
    truths = [np.asarray(Image.open(DATA / "camvid" / "testannot" / name)) for name in names]
    return np.minimum(maps, 11), [np.minimum(truth, 11) for truth in truths], 11


def _voc() -> Made:
    folder = DATA / "voc2012" / "SegmentationClass"
    chosen = sorted(folder.glob("*.png"))[::3][:VOC_IMAGES]
    truths = [np.asarray(Image.open(path))[::VOC_STEP, ::VOC_STEP] for path in chosen]
    truths = [np.where(truth == 255, 21, truth).astype(np.uint8) for truth in truths]
    return _made(truths, 21, seed=1)


def _scenes() -> Made:
    truths = [street.corpus_scene(index).truth for index in range(SCENES)]
    return _made(truths, len(street.CLASSES), seed=2)


def _made(truths: list[np.ndarray], classes: int, seed: int) -> Made:
    maps = [
        np.stack([m.ravel() for m in wrong_maps(truth, classes, np.random.default_rng([seed, index]))])
        for index, truth in enumerate(truths)
    ]
    return np.concatenate(maps, axis=1), truths, classes


def wrong_maps(truth: np.ndarray, classes: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield a map a model: borders moved by smooth fields, and patches of another class, both of them
    partly shared, as models err together.
    """
    height, width = truth.shape
    side = max(height, width)
    rows, columns = np.mgrid[:height, :width]

    def own_field(sigma: float) -> np.ndarray:
        return field(rng, side, sigma)[:height, :width]

    shared = [own_field(sigma) for sigma in (6, 6, 16)]
    mistaken = rng.permutation(classes)[truth.clip(0, classes - 1)]  # what a class is taken for in this image
    for strength in STRENGTHS:
        y, x, wrong = (0.7 * s + 0.7 * own_field(sigma) for s, sigma in zip(shared, (6, 6, 16), strict=True))
        at = (
            np.clip(rows + 3 * strength * y, 0, height - 1).astype(int),
            np.clip(columns + 3 * strength * x, 0, width - 1).astype(int),
        )
        moved = np.where(truth < classes, truth, 0)[at]
        patch = wrong > 2.2 - 0.9 * strength
        other = np.where(own_field(16) > 0, mistaken, rng.integers(classes))
        yield np.where(patch, other, moved).astype(np.uint8)


def _read(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path)).ravel()


SETS: dict[str, Callable[[], Made]] = {
    "camvid": _camvid,
    "voc": _voc,
    "scenes": _scenes,
}
