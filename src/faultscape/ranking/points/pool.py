"""The pixels that points speak for: how many there are of each tuple of predictions, and what masks know
already.

Conventions: a tuple is what all J models predict at a pixel; pixels with equal tuples are interchangeable.
``said`` (J, X) holds the place of the predicted class, 0..C - 1, or C where a model predicts none. A true
class is 0..C - 1, or C where the truth is void. Confusion counts are (J, C + 1, C + 1): model, prediction,
true class. Images with a mask are known in full: their pixels are counted in ``known`` and in no tuple, so
that no pixel counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from faultscape.errors import RankingError
from faultscape.maps import checked_arrays

if TYPE_CHECKING:
    from faultscape.ranking.points.belief import Belief
    from faultscape.ranking.points.box_states import BoxStates

_LARGEST = 2**62


class Pool(Protocol):
    """What an estimate asks of a pool: what is ``said`` in the tuples (J, X) that points lie in, what
    ``boxes`` leave open there, and sums over all pixels in images without a mask, however the pool holds
    these.
    """

    @property
    def said(self) -> np.ndarray: ...
    @property
    def boxes(self) -> BoxStates | None: ...
    @property
    def classes(self) -> int: ...
    @property
    def known(self) -> np.ndarray: ...
    @property
    def models(self) -> int: ...
    @property
    def size(self) -> float: ...
    @property
    def predicted(self) -> np.ndarray: ...
    def confusions(self, beliefs: Sequence[Belief]) -> list[np.ndarray]: ...


@dataclass(frozen=True, eq=False)
class PointPool:
    """Tuples (J, X) of predicted classes, their numbers of pixels (X,) in images without a mask, the
    confusion counts ``known`` (J, C + 1, C + 1) of all images with one, and what ``boxes`` leave open: pixels
    of one tuple between which boxes differ are two tuples.

    Errors: RankingError for other shapes, places beyond C, or counts below 0.

    >>> pool = PointPool(np.array([[0, 0, 1], [0, 1, 1]]), np.array([70, 10, 20]), classes=2)
    >>> pool.predicted.tolist()  # pixels of each prediction of each model, the last of them no class
    [[80.0, 20.0, 0.0], [70.0, 30.0, 0.0]]
    """

    said: np.ndarray  # (J, X) places of predicted classes
    pixels: np.ndarray  # (X,) pixels of each tuple in images without a mask
    classes: int  # C, how many classes there are
    # (J, C + 1, C + 1) confusion counts of the images with a mask
    known: np.ndarray = field(default_factory=lambda: np.zeros(0))
    boxes: BoxStates | None = None  # of the tuples (X,)

    def __post_init__(self) -> None:
        said = checked_arrays.whole_numbers(self.said, "said", RankingError, "J x X")
        pixels = checked_arrays.numbers(self.pixels, "pixels", RankingError, "X").astype(float)
        if len(said) == 0 or said.shape[1] != len(pixels):
            raise RankingError(
                f"a pool needs at least one model and a number of pixels for each of {said.shape[1]} tuples;"
                f" got {len(said)} models and {len(pixels)} numbers"
            )
        if said.size and not 0 <= said.min() <= said.max() <= self.classes:
            raise RankingError(
                f"said: places of classes must lie between 0 and {self.classes}; got {said.min()} to"
                f" {said.max()}"
            )
        if not (np.isfinite(pixels) & (pixels >= 0)).all():
            raise RankingError("pixels: a number of pixels must be finite and not below 0")
        if self.boxes is not None and (len(self.boxes.place), self.boxes.states.shape[1]) != (
            len(pixels),
            self.classes,
        ):
            raise RankingError(
                f"boxes: expected states of {len(pixels)} tuples and {self.classes} classes; got"
                f" {len(self.boxes.place)} and {self.boxes.states.shape[1]}"
            )
        shape = (len(said), self.classes + 1, self.classes + 1)
        known = np.zeros(shape) if not np.size(self.known) else np.asarray(self.known, dtype=float)
        if known.shape != shape:
            raise RankingError(f"known: expected confusion counts of shape {shape}; got {known.shape}")
        kind = np.uint8 if self.classes < 256 else np.uint16
        object.__setattr__(self, "said", np.ascontiguousarray(said.astype(kind)))
        object.__setattr__(self, "pixels", pixels)
        object.__setattr__(self, "known", known)

    @property
    def models(self) -> int:
        """J."""
        return len(self.said)

    @property
    def size(self) -> float:
        """The number of pixels without a mask."""
        return float(self.pixels.sum())

    @property
    def predicted(self) -> np.ndarray:
        """(J, C + 1) pixels of each prediction in images without a mask, void included."""
        return np.array([np.bincount(own, self.pixels, self.classes + 1) for own in self.said])

    def confusions(self, beliefs: Sequence[Belief]) -> list[np.ndarray]:
        """Return (J, C + 1, Y) what each belief expects of the images without a mask."""
        return [belief.confusion(self.said, self.pixels, self.boxes) for belief in beliefs]


@dataclass(frozen=True, eq=False)
class Tuples:
    """Tuples (J, X), and the tuple of each pixel (N,)."""

    said: np.ndarray
    place: np.ndarray

    def pixels(self, among: np.ndarray | None = None) -> np.ndarray:
        """Return (X,) the number of pixels of each tuple, of all or of those ``among`` (N,) bool."""
        place = self.place if among is None else self.place[among]
        return np.bincount(place, minlength=self.said.shape[1])


def find_tuples(maps: Sequence[np.ndarray] | Iterable[np.ndarray], classes: int) -> Tuples:
    """Return the tuples of N pixels from each model's predictions (N,), sorted by the first model, the
    second, ...

    A place beyond the last class counts as a prediction of none. Keys are numbered again whenever another
    model would make them too large, so that they never overflow, however many models and classes there are.
    RankingError for no model, or unequal numbers of pixels.

    >>> found = find_tuples([np.array([0, 1, 1, 0]), np.array([1, 255, 0, 1])], classes=2)
    >>> found.said.tolist(), found.place.tolist()
    ([[0, 1, 1], [1, 0, 2]], [0, 2, 1, 0])
    """
    side = classes + 1
    key = np.zeros(0, np.int64)
    number = 0  # keys lie below this
    joined: list[np.ndarray] = []  # columns of the keys numbered so far: what the models up to there say
    waiting = 0  # models in the keys since
    for own in checked_arrays.sequence(maps, "maps", RankingError):
        label = checked_arrays.whole_numbers(own, "maps", RankingError).ravel()
        label = np.where((label < 0) | (label >= classes), classes, label).astype(np.int64)
        if not number:
            key = np.zeros(len(label), np.int64)
            number = 1
        if len(key) != len(label):
            raise RankingError(f"all models must predict the same pixels; got {len(key)} and {len(label)}")
        if number * side > _LARGEST:
            joined, key = _numbered(joined, key, waiting, side)
            number = len(joined[0])
            waiting = 0
        key *= side
        key += label
        number *= side
        waiting += 1
    if not number:
        raise RankingError("tuples need at least one model")
    joined, key = _numbered(joined, key, waiting, side)
    return Tuples(np.array(joined).astype(np.uint8 if classes < 256 else np.uint16), key)


def _numbered(
    joined: list[np.ndarray], key: np.ndarray, waiting: int, side: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return what models say for each key that occurs, and the place of each pixel's key among these."""
    keys, place = np.unique(key, return_inverse=True)
    last = []
    for _ in range(waiting):
        last.append(keys % side)
        keys = keys // side
    return [column[keys] for column in joined] + last[::-1], place


def mask_counts(said: np.ndarray, truth: np.ndarray, classes: int) -> np.ndarray:
    """Return (J, C + 1, C + 1) int64 the confusion counts of pixels whose truth (N,) a mask gives, from
    predictions (J, N); beyond the last class lies no class, or void.

    >>> mask_counts(np.array([[0, 1, 1]]), np.array([0, 0, 255]), classes=2)[0].tolist()
    [[1, 0, 0], [1, 0, 1], [0, 0, 0]]
    """
    said = checked_arrays.whole_numbers(said, "said", RankingError, "J x N")
    truth = checked_arrays.whole_numbers(truth, "truth", RankingError, "N")
    if said.shape[1] != len(truth):
        raise RankingError(f"said has {said.shape[1]} pixels, truth {len(truth)}; expected the same pixels")
    side = classes + 1
    true = np.where((truth < 0) | (truth >= classes), classes, truth).astype(np.int64)
    predicted = np.where((said < 0) | (said >= classes), classes, said).astype(np.int64)
    return np.array(
        [np.bincount(own * side + true, minlength=side**2).reshape(side, side) for own in predicted]
    )


def answered_in_full(pixels: np.ndarray, image: np.ndarray, pixel: np.ndarray) -> np.ndarray:
    """Return (I,) whether answers cover every pixel of an image, which is then as good as a mask, and is to
    be counted as one.

    ``pixels`` (I,) are the images' numbers of pixels; ``image`` and ``pixel`` (M,) say where each answer
    lies.

    >>> answered_in_full(np.array([2, 2]), np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]))
    array([ True, False])
    """
    pixels = checked_arrays.whole_numbers(pixels, "pixels", RankingError, "I")
    image = checked_arrays.whole_numbers(image, "image", RankingError, "M").astype(np.int64)
    pixel = checked_arrays.whole_numbers(pixel, "pixel", RankingError, "M").astype(np.int64)
    checked_arrays.same_shape(RankingError, image=image, pixel=pixel)
    if image.size and not 0 <= image.min() <= image.max() < len(pixels):
        raise RankingError(
            f"image: expected numbers of {len(pixels)} images; got {image.min()} to {image.max()}"
        )
    found = np.unique(np.stack([image, pixel]), axis=1)[0]
    return np.bincount(found, minlength=len(pixels)) >= pixels
