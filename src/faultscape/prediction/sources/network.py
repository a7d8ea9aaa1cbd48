"""What every kind of network is to the rest of this room: images are prepared for it, and it answers with
scores or labels.

Conventions: a prepared image is (3, H, W), ready to run; images of one shape run together. Scores are (C, h,
w) float32 of any size: logits, or of a ``marginal`` network the sums of class x mask over its queries, which
lie between 0 and the number of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

Size = tuple[int, int]  # (width, height)
OUTLIER = "outlier"  # among the values of an answer: the logits of an outlier head
DOUBT = ("members", "variance", OUTLIER)  # what a network may give beside its logits


@dataclass(frozen=True)
class Answer:
    """What a network says about one prepared image: ``scores`` (C, h, w) or ``labels`` (h, w), and what else
    it was asked for.

    ``members`` are scores of the same classes that are averaged as probabilities: of the views of an image or
    of draws, beside the scores, or of an ensemble and of a network that has members within it, which have no
    scores of their own. ``variance`` (h, w) is how far a network's logits may lie from where they are, of one
    that says so. ``values`` {method: arrays (K, h, w)} is what fitted methods made of it, of which they score
    pixels.
    """

    scores: np.ndarray | None = None
    labels: np.ndarray | None = None
    confidence: np.ndarray | None = None
    embeddings: dict[str, np.ndarray] = field(default_factory=dict)
    members: tuple[np.ndarray, ...] = ()
    variance: np.ndarray | None = None
    values: dict[str, tuple[np.ndarray, ...]] = field(default_factory=dict)


class Network(Protocol):
    """An open network. Its methods raise ModelError, or MemoryError where fewer images at once may fit."""

    name: str  # what errors call it
    batch: int  # prepared pictures that run at once
    device: str  # where it runs, in words
    class_names: list[str]  # of its channels, empty where it does not say
    # where that is known, at the latest when it was tried; None of one that gives labels
    channels: int | None
    marginal: bool
    notes: tuple[str, ...]  # what its user should know
    weights: str  # a digest of weights that no file of its source holds, else empty

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return an (H, W, 3) uint8 image prepared: at ``size``, or where that is None as the network wants
        it when maps are wanted at ``target``.
        """
        ...

    def run(self, block: np.ndarray, embeddings: Sequence[str]) -> list[Answer]:
        """Return an answer for each of (N, 3, H, W) prepared images, with the named layers' outputs."""
        ...


def padded_to(block: np.ndarray, count: int) -> np.ndarray:
    """Return a block with its last image repeated up to a count; as it is where it has as many.

    >>> padded_to(np.zeros((2, 3, 4, 4)), 3).shape
    (3, 3, 4, 4)
    """
    lacking = max(0, count - len(block))
    return np.concatenate([block, np.repeat(block[-1:], lacking, axis=0)]) if lacking else block
