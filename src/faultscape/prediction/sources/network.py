"""The interface of every kind of network: it prepares images, and answers with scores or labels.

Conventions: a prepared image is (3, H, W), ready to run; images of one shape run together. Scores are (C, h,
w) float32 of any size: logits, or, for a ``marginal`` network, the sums of class x mask over its queries,
which lie between 0 and the number of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

Size = tuple[int, int]  # (width, height)
OUTLIER = "outlier"  # the key of an outlier head's logits in an answer's values
DOUBT = ("members", "variance", OUTLIER)  # what a network may output besides its logits


@dataclass(frozen=True)
class Answer:
    """A network's answer for one prepared image: ``scores`` (C, h, w) or ``labels`` (h, w), and what else was
    requested.

    ``members`` are scores of the same classes that are averaged as probabilities: those of the views of an
    image or of draws, besides the scores, or those of an ensemble or a network with internal members, which
    has no scores of its own. ``variance`` (h, w) is the variance of the logits, if the network provides it.
    ``values`` {method: arrays (K, h, w)} are computed by fitted methods, which score pixels from them.
    """

    scores: np.ndarray | None = None
    labels: np.ndarray | None = None
    confidence: np.ndarray | None = None
    embeddings: dict[str, np.ndarray] = field(default_factory=dict)
    members: tuple[np.ndarray, ...] = ()
    variance: np.ndarray | None = None
    values: dict[str, tuple[np.ndarray, ...]] = field(default_factory=dict)


class Network(Protocol):
    """An open network. Its methods raise ModelError, or MemoryError if fewer images at once may fit."""

    name: str  # its name in errors
    batch: int  # prepared images that run at once
    device: str  # a readable name of where it runs
    class_names: list[str]  # of its channels; empty if unknown
    # known at the latest after the trial; None if it gives labels
    channels: int | None
    marginal: bool
    notes: tuple[str, ...]  # what its user should know
    weights: str  # a digest of weights that are not in a file of its source, else ''

    def prepare(self, photo: np.ndarray, target: Size, size: Size | None) -> np.ndarray:
        """Return an (H, W, 3) uint8 image prepared at ``size``, or, if that is None, as the network needs it
        for maps at ``target``.
        """
        ...

    def run(self, block: np.ndarray, embeddings: Sequence[str]) -> list[Answer]:
        """Return an answer for each of (N, 3, H, W) prepared images, with the named layers' outputs."""
        ...


def padded_to(block: np.ndarray, count: int) -> np.ndarray:
    """Return a block with its last image repeated up to a count; unchanged if it has that many.

    >>> padded_to(np.zeros((2, 3, 4, 4)), 3).shape
    (3, 3, 4, 4)
    """
    lacking = max(0, count - len(block))
    return np.concatenate([block, np.repeat(block[-1:], lacking, axis=0)]) if lacking else block
