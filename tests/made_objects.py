"""Cut-outs of tests: images of noise, square masks, and folders of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import faultscape as fs
from faultscape.corpus.objects.folder import ObjectFolder

SIZE = 40


def photo(seed: int = 0, size: tuple[int, int] = (SIZE, SIZE)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)


def square(at: int = 10, side: int = 20, value: int = 1) -> np.ndarray:
    """A mask (40, 40) with a square whose corner is (at, at)."""
    mask = np.zeros((SIZE, SIZE), np.uint8)
    mask[at : at + side, at : at + side] = value
    return mask


def put(path: Path, pixels: np.ndarray | str, **how: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(pixels, str):
        path.write_text(pixels)
    else:
        Image.fromarray(pixels).save(path, **how)
    return path


def rgba(seed: int = 0, mask: np.ndarray | None = None) -> np.ndarray:
    return np.dstack([photo(seed), (square() if mask is None else mask) * np.uint8(255)])


def read(place: Path, smallest: int = 400) -> ObjectFolder:
    return fs.corpus.read_cutouts(place, smallest=smallest, say=lambda _: None)


def classes(found: ObjectFolder) -> list[tuple[str, str, str]]:
    return sorted((one.class_, one.split, one.use) for one in found.cutouts)


def voc(
    place: Path, labels: np.ndarray, objects: np.ndarray | None = None, name: str = "a", seed: int = 0
) -> None:
    put(place / "JPEGImages" / f"{name}.png", photo(seed))
    put(place / "SegmentationClass" / f"{name}.png", labels)
    if objects is not None:
        put(place / "SegmentationObject" / f"{name}.png", objects)
