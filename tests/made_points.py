"""A small made world for points: tuples of predictions, and how many of their pixels have which true class.

Conventions: classes are three, the fourth true class is void. The third class is rare. Models err together:
all three see the same hard pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultscape.ranking.points.answers import GONE, PointAnswers
from faultscape.ranking.points.box_states import BoxStates
from faultscape.ranking.points.pool import PointPool, find_tuples, mask_counts

CLASSES = 3
IMAGES = 12


@dataclass(frozen=True, eq=False)
class World:
    """Of every pixel (N,): its image, its true class, and what each model says (J, N)."""

    image: np.ndarray
    truth: np.ndarray
    maps: np.ndarray

    def pool(self, masked: np.ndarray | None = None) -> tuple[PointPool, np.ndarray]:
        """Return the pool without the images ``masked`` (I,) bool, which are known in full, and the tuple
        of each pixel, GONE in those.
        """
        found = find_tuples(self.maps, CLASSES)
        gone = np.zeros(len(self.truth), bool) if masked is None else masked[self.image]
        known = mask_counts(self.maps[:, gone], self.truth[gone], CLASSES)
        return PointPool(found.said, found.pixels(~gone), CLASSES, known), np.where(gone, GONE, found.place)

    def boxed_pool(self, states: np.ndarray) -> tuple[PointPool, np.ndarray]:
        """Return the pool where boxes leave the classes of each pixel in these states (N, C), and the tuple of
        each.
        """
        columns, place, pixels = np.unique(
            np.concatenate([self.maps, states.T]), axis=1, return_inverse=True, return_counts=True
        )
        boxes = BoxStates(*np.unique(columns[len(self.maps) :].T, axis=0, return_inverse=True))
        return PointPool(columns[: len(self.maps)], pixels, CLASSES, boxes=boxes), place.ravel()

    @property
    def confusion(self) -> np.ndarray:
        """(J, C + 1, C + 1) true counts."""
        return mask_counts(self.maps, self.truth, CLASSES)

    def answers(self, place: np.ndarray, pixel: np.ndarray, probability: np.ndarray) -> PointAnswers:
        """Return true answers at pixels (M,) drawn with these probabilities (N,)."""
        return PointAnswers(place[pixel], probability[pixel], np.eye(CLASSES + 1)[self.truth[pixel]])


def world(seed: int = 0, pixels: int = 4000, models: int = 3, *, void: float = 0.05) -> World:
    """Return a world of twelve images."""
    rng = np.random.default_rng(seed)
    image = np.sort(rng.integers(0, IMAGES, pixels))
    lean = rng.dirichlet((5.0, 4.0, 0.6), IMAGES)  # images differ
    truth = (rng.random(pixels)[:, None] > lean[image].cumsum(1)).sum(1)
    hard = rng.random(pixels) < 0.3
    maps = []
    for j in range(models):
        wrong = rng.random(pixels) < np.where(hard, 0.5 + 0.1 * j, 0.03 + 0.01 * j)
        other = (truth + 1 + (rng.random(pixels) < 0.3)) % CLASSES
        maps.append(np.where(wrong, other, truth))
    blank = rng.random(pixels) < void
    return World(image, np.where(blank, CLASSES, truth), np.array(maps))


def unequal(world: World, seed: int = 1) -> np.ndarray:
    """Return probabilities (N,) of pixels that favour those on which models differ, and otherwise are
    random."""
    differ = (world.maps != world.maps[0]).any(0)
    weight = np.where(differ, 3.0, 0.5) * np.random.default_rng(seed).uniform(0.5, 1.5, len(world.truth))
    return weight / weight.sum()
