"""Training crops: a random part of an image at a random scale, mirrored or not, and the labels of the same
pixels.

Conventions: images are (H, W, 3) uint8 and labels (H, W) int16 places of classes, IGNORED (-100) or OUTSIDE
(-1). Randomness comes from a generator: the same generator state gives the same crop. Pixels outside the
image are IGNORED. Network input is (x / 255 - mean) / standard deviation, (3, H, W) float32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from faultscape.uncertainty.training.box_labels import BoxLabels, BoxTarget, target_of
from faultscape.uncertainty.training.labels import IGNORED
from faultscape.uncertainty.training.plan import CompletePlan, Size


@dataclass(frozen=True)
class Cut:
    """Where a crop lies: the size to which its image is resized, its rows and columns there, and whether it
    is mirrored.
    """

    size: Size
    rows: slice
    columns: slice
    mirrored: bool

    def boxes(self, about: BoxLabels, seen: np.ndarray, channels: int) -> BoxTarget:
        """Return what the boxes of an image say about this crop of it, (h, w, 3) uint8."""
        part = about.resized(self.size).cut(self.rows, self.columns)
        inside = np.zeros(seen.shape[:2], bool)
        inside[: part.size[1], : part.size[0]] = True
        if self.mirrored:
            part, inside = part.mirrored(seen.shape[1]), inside[:, ::-1]
        return target_of(part, seen, inside, channels)


def cut_of(size: Size, plan: CompletePlan, rng: np.random.Generator) -> Cut:
    """Return where a random crop of an image of a size (width, height) lies."""
    factor = math.exp(rng.uniform(math.log(plan.scale[0]), math.log(plan.scale[1])))
    left, top, mirrored = rng.random(3)
    width, height = (max(1, round(length * factor)) for length in plan.size or size)
    columns, rows = (
        _part(length, window, at)
        for length, window, at in ((width, plan.crop[0], left), (height, plan.crop[1], top))
    )
    return Cut((width, height), rows, columns, plan.flip and mirrored < 0.5)


def crop(
    photo: np.ndarray, labels: np.ndarray, plan: CompletePlan, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the image and the labels of a random crop, (h, w, 3) uint8 and (h, w) int16.

    >>> plan = CompletePlan(crop=(4, 2), scale=(1.0, 1.0), flip=False)
    >>> seen, said = crop(
    ...     np.full((2, 3, 3), 7, np.uint8), np.zeros((2, 3), np.int16), plan, np.random.default_rng(0)
    ... )
    >>> seen.shape, said.tolist()
    ((2, 4, 3), [[0, 0, 0, -100], [0, 0, 0, -100]])
    """
    return cropped(photo, labels, plan, cut_of((photo.shape[1], photo.shape[0]), plan, rng))


def cropped(
    photo: np.ndarray, labels: np.ndarray, plan: CompletePlan, cut: Cut
) -> tuple[np.ndarray, np.ndarray]:
    """Return the image and the labels of a crop that lies where ``cut`` says."""
    photo, labels = resized(photo, labels, cut.size)
    wide, tall = plan.crop
    seen = np.zeros((tall, wide, 3), np.uint8)
    said = np.full((tall, wide), IGNORED, np.int16)
    part = photo[cut.rows, cut.columns]
    seen[: part.shape[0], : part.shape[1]] = part
    said[: part.shape[0], : part.shape[1]] = labels[cut.rows, cut.columns]
    if cut.mirrored:
        seen = seen[:, ::-1]
        said = said[:, ::-1]
    return seen, said


def resized(photo: np.ndarray, labels: np.ndarray, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Return an image resized bilinearly, and its labels by nearest neighbour."""
    import cv2

    if (photo.shape[1], photo.shape[0]) == size == (labels.shape[1], labels.shape[0]):
        return photo, labels
    # as `predict` brings photos to their size
    at_size = cv2.resize(photo, size, interpolation=cv2.INTER_LINEAR)
    return at_size, cv2.resize(labels, size, interpolation=cv2.INTER_NEAREST_EXACT)


def pixels(photo: np.ndarray, mean: tuple[float, ...], std: tuple[float, ...]) -> np.ndarray:
    """Return (3, H, W) float32 of an image (H, W, 3) uint8."""
    scaled = photo.astype(np.float32) / np.float32(255)
    return np.ascontiguousarray(
        ((scaled - np.array(mean, np.float32)) / np.array(std, np.float32)).transpose(2, 0, 1)
    )


def _part(length: int, window: int, at: float) -> slice:
    free = max(0, length - window)
    first = min(free, int(at * (free + 1)))
    return slice(first, min(length, first + window))
