"""Embeddings: the features of a layer as a grid over the image, and a sample from training images with the
classes of their patches.

Conventions: a grid is (N, D, h, w). The output of a layer is already a grid, or tokens (N, L, D) row by row,
possibly after a few without a place (class, distillation and register tokens). The patch of a place is the
corresponding part of the image: row r of H belongs to row r * h // H of h. A training embedding has all
classes of its patch (Blum et al. 2021, section 4.1). An embedding whose patch contains a withheld pixel
(IGNORED) is never drawn, because it would teach a method the objects that it should detect; nor is one
without a pixel of any class.
Source: Blum et al. 2021, section 4.1 and B.5.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from faultscape.errors import MetricError, ModelError
from faultscape.uncertainty.methods.neighbours import Neighbours, unit
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE

_NO_PLACE = range(9)  # possible numbers of tokens before those of places


@dataclass(frozen=True, eq=False)
class Embeddings:
    """A sample of features (n, D) float32, the classes in the patch of each, (n, K) bool, and whether all of
    its pixels have known classes, (n,) bool, or None if all do.
    """

    values: Tensor
    classes: Tensor
    whole: Tensor | None = None

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def neighbours(self) -> Neighbours:
        """The features to search for neighbours, made once for all methods that need them."""
        return Neighbours(unit(self.values))

    @property
    def only_class(self) -> Tensor:
        """The only class (n,) of a whole patch, -1 where it has several classes or void pixels.

        >>> Embeddings(torch.zeros(2, 1), torch.tensor([[False, True], [True, True]])).only_class.tolist()
        [1, -1]
        """
        found = self.classes.int().argmax(1)
        alone = self.classes.sum(1) == 1
        return torch.where(alone if self.whole is None else alone & self.whole, found, -1)


def as_grid(values: Tensor, size: tuple[int, int], name: str = "the layer") -> Tensor:
    """Return a layer's output for images of ``size`` (height, width) as (N, D, h, w). ModelError if it is not
    a grid over the image, or not numeric.

    >>> as_grid(torch.zeros(1, 7, 5), (32, 48)).shape  # 2 x 3 patches of 16 pixels and a class token
    torch.Size([1, 5, 2, 3])
    """
    if values.ndim == 4:
        for grid in (values, values.permute(0, 3, 1, 2)):  # the second for networks with channels last
            if min(grid.shape[2:]) > 1 and _fits(grid.shape[2], grid.shape[3], size):
                return grid
    if values.ndim == 3:
        for before in _NO_PLACE:
            if (sides := _sides(values.shape[1] - before, size)) is not None:
                return values[:, before:].transpose(1, 2).unflatten(2, sides)
    raise ModelError(
        f"{name}: gave {tuple(values.shape)} for an image of {size[1]}x{size[0]}; expected features N x D x h"
        " x w, or tokens N x L x D of a grid of patches"
    )


def _fits(tall: int, wide: int, size: tuple[int, int]) -> bool:
    """Whether a grid has the shape of an image, up to rounding."""
    height, width = size
    return tall <= height and wide <= width and abs(tall / height - wide / width) <= 1 / height + 1 / width


def _sides(places: int, size: tuple[int, int]) -> tuple[int, int] | None:
    """Return (h, w) of a grid with this number of places whose patches are squares of whole pixels,
    or None.
    """
    height, width = size
    if places < 4:
        return None
    about = math.sqrt(height * width / places)
    for side in range(max(1, math.floor(about) - 1), math.ceil(about) + 2):
        for sides in ((height // side, width // side), (-(-height // side), -(-width // side))):
            if sides[0] * sides[1] == places:
                return sides
    return None


def patch_classes(
    labels: np.ndarray, sides: tuple[int, int], classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, from labels (H, W), the classes (h * w, K) in the patch of each place, which places (h * w,)
    may be drawn, and which have void pixels.

    >>> has, may, void = patch_classes(np.array([[0, 1, -100, 1], [0, -1, 1, 1]]), (1, 2), 2)
    >>> has.tolist(), may.tolist(), void.tolist()
    ([[True, True], [False, True]], [True, False], [True, False])
    """
    rows, columns = (np.arange(n) * side // n for n, side in zip(labels.shape, sides, strict=True))
    place = rows[:, None] * sides[1] + columns
    kept = labels >= 0
    counts = np.bincount(
        (place[kept] * classes + labels[kept]).ravel(), minlength=sides[0] * sides[1] * classes
    )
    has = counts.reshape(-1, classes) > 0
    withheld = np.bincount(place[labels == IGNORED].ravel(), minlength=len(has)) > 0
    void = np.bincount(place[labels == OUTSIDE].ravel(), minlength=len(has)) > 0
    return has, has.any(1) & ~withheld, void


def grid_of(values: np.ndarray, size: tuple[int, int], name: str = "the layer") -> Tensor:
    """Return a layer's output for one image of ``size`` (height, width) as (D, h, w), as `as_grid` does."""
    return as_grid(torch.from_numpy(np.asarray(values))[None], size, name)[0]


def draw(grid: Tensor | np.ndarray, labels: np.ndarray, classes: int, most: int, key: str) -> Embeddings:
    """Return up to ``most`` embeddings of one image's grid (D, h, w), drawn uniformly by the image's ``key``,
    with the classes of their patches from labels (H, W). ModelError if features are not finite.
    """
    grid = torch.as_tensor(grid)
    sides = (grid.shape[1], grid.shape[2])
    has, may, void = patch_classes(labels, sides, classes)
    seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")
    drawn = torch.from_numpy(np.sort(np.random.default_rng(seed).permutation(np.flatnonzero(may))[:most]))
    values = grid.reshape(len(grid), -1)[:, drawn].T.float().contiguous()
    if not torch.isfinite(values).all():
        raise ModelError("the layer gave NaN or infinity; choose another, or run the network in float32")
    return Embeddings(values, torch.from_numpy(has)[drawn], torch.from_numpy(~void)[drawn])


def together(parts: Sequence[Embeddings]) -> Embeddings:
    """Return all embeddings of several images. MetricError if there are none."""
    if not any(len(part) for part in parts):
        raise MetricError(
            "no training image has a patch with labelled pixels of known classes and none that are withheld"
        )
    return Embeddings(
        torch.cat([part.values for part in parts]),
        torch.cat([part.classes for part in parts]),
        torch.cat(
            [torch.ones(len(part), dtype=torch.bool) if part.whole is None else part.whole for part in parts]
        ),
    )
