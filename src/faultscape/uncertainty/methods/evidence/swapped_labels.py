"""Images beside labels in which some instances have another class: what a discrepancy network learns from, so
that no unknown object is needed.

Conventions: labels (h, w) are places of a class list, -1 for none. An instance is a connected region of one
class; those between ``_LEAST`` and ``_MOST`` of the image may be swapped, each with the chance ``_CHANCE``,
one at least where there is one. Its new class is any other that the labels of the study have. An example is
known by a number, which determines image and swap: each image stands for ``_SWAPS`` of them.
Source: Lis et al. 2019, section 3.2, who swap instances of Cityscapes; here regions of all classes, since
most label maps have no instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from faultscape.maps.regions import number as numbered
from faultscape.uncertainty.methods.block_fit import KNOWN, NEGATIVE, OPEN, Grids

_LEAST, _MOST = 0.0005, 0.2
_CHANCE = 0.25
_SWAPS = 64
_NONE = 65535


Part = tuple[Tensor, np.ndarray]  # an image (3, h, w) and its labels (h, w)


class Shown(Protocol):
    """Images as a network sees them, with their labels."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def __call__(self, number: int) -> Sequence[Part]:
        """Return an image and its labels, of each window, none if it is unreadable."""
        ...


class Swapped:
    """Examples for `train_block`: images instead of features, swapped labels (1, h, w) instead of logits, and
    which cells were swapped.
    """

    def __init__(self, shown: Shown, classes: Sequence[int], seed: int) -> None:
        self._shown = shown
        self._classes = np.asarray(classes)
        self._seed = seed

    def __len__(self) -> int:
        return len(self._shown) * _SWAPS

    def __call__(self, number: int) -> Sequence[Grids]:
        """Return an example, of each window of its image."""
        made = []
        for place, (image, labels) in enumerate(self._shown(number % len(self._shown))):
            rng = np.random.default_rng([self._seed, number, place])
            other, changed = swap(labels, self._classes, rng)
            cells = np.where(changed, NEGATIVE, np.where(labels < 0, OPEN, KNOWN)).astype(np.uint8)
            labelled = torch.from_numpy(other.astype(np.float32))[None]
            made.append(Grids((image,), labelled, torch.from_numpy(cells)))
        return made


def swap(labels: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return labels (h, w) in which some instances have another of the ``classes``, and where (h, w).

    >>> labels = np.zeros((20, 20), np.int16)
    >>> labels[2:6, 3:8] = 1
    >>> other, changed = swap(labels, np.array([0, 1, 2]), np.random.default_rng(0))
    >>> int(changed.sum()), bool((other[changed] != 1).all())
    (20, True)
    """
    regions, own, areas = numbered(np.where(labels < 0, _NONE, labels).astype(np.uint16), none=_NONE)
    fitting = np.flatnonzero((areas >= _LEAST * labels.size) & (areas <= _MOST * labels.size))
    changed = np.zeros(labels.shape, bool)
    if not len(fitting) or len(classes) < 2:
        return labels, changed
    chosen = fitting[rng.random(len(fitting)) < _CHANCE]
    if not len(chosen):
        chosen = fitting[[rng.integers(len(fitting))]]
    other = labels.copy()
    for region in chosen.tolist():
        here = regions == region
        other[here] = rng.choice(classes[classes != own[region]])
        changed |= here
    return other, changed
