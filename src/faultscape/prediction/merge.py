"""One answer from all windows and views of an image, merged as they arrive, so that memory stays at one
image's scores.

Conventions: parts are merged in the order of the image's parts, whichever arrives first, because sums of
floats depend on the order. Views that are also wanted ``apart`` are held until the end. Each view (flip,
scale) is resized bilinearly to the first view's scores, and the views are averaged. Averages are taken of the
scores before any softmax, of those of each member of a network separately, of the variance, and of the values
of fitted methods, resized to the scores. If a network has members of its own, they are the only members: its
views are not kept apart. Windows are (top, left, height, width); they step by the stride, and the last of a
row or column is moved back to end with the image. Scores of a window are resized bilinearly to the window's
size, summed, and divided by the number of windows that cover a pixel.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faultscape.maps import winners
from faultscape.prediction.sources.network import Answer

Window = tuple[int, int, int, int]
Part = tuple[int, Window | None]  # which view, and which window of it; None for a whole view


class Merged:
    """The merged answer for one image: ``parts`` in order, ``sizes`` the (height, width) of its views, of
    which every second one is mirrored if ``mirrored``.
    """

    def __init__(
        self,
        name: str,
        parts: Sequence[Part],
        sizes: Sequence[tuple[int, int]],
        *,
        mirrored: bool,
        layers: bool,
        apart: bool = False,
    ) -> None:
        self._name = name
        self.parts = parts
        self._sizes = sizes
        self._mirrored = mirrored
        self._layers = layers
        self._views: list[Any] | None = [] if apart else None
        self._waiting: dict[int, Answer] = {}
        self._next = 0
        self._overlaps: list[Overlap] = []  # of each layer of the view whose windows arrive
        self._totals: list[Any] = []  # of each layer
        self._like: Answer | None = None  # whose layers are summed
        self._problems: dict[int, str] = {}

    def add(self, place: int, answer: Answer | str) -> None:
        """Add the answer to one part, or its problem as text."""
        if isinstance(answer, str):
            self._problems[place] = answer
        elif not self._problems:
            self._waiting[place] = answer
        try:
            while not self._problems and not self._whole and self._next in self._waiting:
                self._fold(*self.parts[self._next], self._waiting.pop(self._next))
                self._next += 1
        except MemoryError:
            self._problems[len(self.parts)] = (
                f"{self._name}: the scores of one image do not fit into memory; shrink it with --input-size"
                " WIDTHxHEIGHT"
            )
        if self._problems:
            self._waiting = {}
            self._overlaps = []
            self._totals = []
            self._views = None

    def answer(self) -> Answer | str:
        """Return the answer of all parts, or the problem of the first part that failed."""
        if self._problems:
            return self._problems[min(self._problems)]
        if self._whole:
            return self._waiting[0]
        assert self._like is not None
        whole = _parted([operator.itruediv(total, len(self._sizes)) for total in self._totals], self._like)
        return replace(whole, members=tuple(self._views)) if self._views and not whole.members else whole

    @property
    def _whole(self) -> bool:
        """Whether the image is one input, whose answer stays unchanged."""
        return len(self.parts) == 1 and self.parts[0][1] is None

    def _fold(self, view: int, box: Window | None, answer: Answer) -> None:
        if self._layers:
            words = "cuts images into windows itself, so a layer has no single output to keep"
        else:
            words = "returns labels, but only logits can be averaged: leave out --window, --flip and --scales"
        if self._layers or (answer.scores is None and not answer.members):
            self._problems[len(self.parts)] = f"{self._name}: {words}"
            return
        self._like = self._like or answer
        size = _size(answer) if box is None or not answer.values else (box[3], box[2])
        layers = [winners.enlarged(layer, size) for layer in _layers(answer)]
        if box is None:
            self._add_view(view, layers)
            return
        self._overlaps = self._overlaps or [Overlap(*self._sizes[view]) for _ in layers]
        for overlap, layer in zip(self._overlaps, layers, strict=True):
            overlap.add(layer, box)
        if self._next + 1 == len(self.parts) or self.parts[self._next + 1][0] != view:
            whole = [overlap.mean() for overlap in self._overlaps]
            self._overlaps = []
            self._add_view(view, whole)

    def _add_view(self, view: int, layers: list[Any]) -> None:
        layers = [layer[..., ::-1] if self._mirrored and view % 2 else layer for layer in layers]
        if self._views is not None and self._like is not None and not self._like.members:
            self._views.append(layers[0])
        if not self._totals:
            self._totals = [layer.copy() for layer in layers]
            return
        size = self._totals[0].shape[2], self._totals[0].shape[1]
        for k, layer in enumerate(layers):
            self._totals[k] = _sum(self._totals[k], winners.enlarged(layer, size))


def _size(answer: Answer) -> tuple[int, int]:
    """Return (width, height) of the scores of an answer."""
    layer = answer.scores if answer.scores is not None else answer.members[0]
    return layer.shape[2], layer.shape[1]


def _layers(answer: Answer) -> list[Any]:
    """Return all layers of an answer: its scores, its members' scores, the variance, the values of
    methods.
    """
    layers = [layer for layer in (answer.scores, *answer.members) if layer is not None]
    layers += [answer.variance[None]] if answer.variance is not None else []
    return layers + [value for held in answer.values.values() for value in held]


def _parted(layers: Sequence[Any], like: Answer) -> Answer:
    """Return layers as an answer, in the order of those of the answer ``like``."""
    each = iter(layers)
    return Answer(
        None if like.scores is None else next(each),
        members=tuple(next(each) for _ in like.members),
        variance=None if like.variance is None else next(each)[0],
        values={word: tuple(next(each) for _ in held) for word, held in like.values.items()},
    )


def _sum(total: Any, part: Any) -> Any:
    """Add a part to a total, on a device if both are there."""
    total = np.asarray(total) if isinstance(part, np.ndarray) else total
    total += part
    return total


def places(height: int, width: int, window: tuple[int, int], stride: tuple[int, int]) -> list[Window]:
    """Return the windows over an image; ``window`` and ``stride`` are (width, height). An image smaller than
    a window has one smaller window.

    >>> places(4, 10, (4, 4), (3, 3))
    [(0, 0, 4, 4), (0, 3, 4, 4), (0, 6, 4, 4)]
    """
    tops = _steps(height, window[1], stride[1])
    return [
        (top, left, min(window[1], height), min(window[0], width))
        for top in tops
        for left in _steps(width, window[0], stride[0])
    ]


class Overlap:
    """The scores of an image (C, H, W) as the sum over its windows, and how many of these cover
    each pixel.
    """

    def __init__(self, height: int, width: int) -> None:
        self._seen = np.zeros((height, width), np.float32)
        self._total: Any = None

    def add(self, scores: np.ndarray, window: Window) -> None:
        """Add the scores of one window."""
        top, left, tall, wide = window
        part = winners.enlarged(scores, (wide, tall))
        if self._total is None:
            self._total = winners.zeros(part, (self._seen.shape[1], self._seen.shape[0]))
        if isinstance(part, np.ndarray):
            self._total = np.asarray(self._total)
        there = self._total[:, top : top + tall, left : left + wide]
        there += part
        self._seen[top : top + tall, left : left + wide] += 1

    def mean(self) -> np.ndarray:
        """Return the mean over the added windows; no more can be added afterwards."""
        self._total /= np.maximum(self._seen, 1)
        return self._total


def _steps(length: int, window: int, stride: int) -> list[int]:
    if window >= length:
        return [0]
    return [*range(0, length - window, stride), length - window]
