"""The best images of every cell, updated while the corpus streams by.

Conventions: a cell is (defender, attacker, group). Each keeps its ``depth`` images of lowest concordance,
ties ordered by rank; of a near-duplicate group only the best counts. Keeping is associative: blocks of images
give the same cells as all images at once, however they are cut. Concordances are compared as integers,
rounded to 12 decimals.
"""

from __future__ import annotations

import io

import numpy as np

from faultscape.maps.kernel_choice import Kernels
from faultscape.selection.kernels import plain_best

EMPTY = np.iinfo(np.int64).max
_DECIMALS = 1e12
_KERNELS = Kernels("faultscape.selection.kernels.best", seconds=2)
_A_CELL = 2e-4  # seconds of the plain kernel
_AN_IMAGE = 1e-3  # the share of them that each image of a block adds


class Best:
    """The cells of a selection over J models and G groups."""

    def __init__(self, models: int, groups: int, depth: int) -> None:
        # of each image: concordance x 1e12, place in the order among equals, near-duplicate group, place in
        # the corpus
        self.entries = np.full((4, models, models, groups, depth), -1, np.int64)
        self.entries[:2] = EMPTY
        self.pools = np.zeros((models, models, groups), np.int64)

    @property
    def keys(self) -> np.ndarray:
        """The concordances x 1e12 (J, J, G, depth)."""
        return self.entries[0]

    @property
    def images(self) -> np.ndarray:
        """The places in the corpus (J, J, G, depth), -1 for none."""
        return self.entries[3]

    def offer(
        self,
        concordance: np.ndarray,
        member: np.ndarray,
        images: np.ndarray,
        ranks: np.ndarray,
        families: np.ndarray,
    ) -> None:
        """Add a block: (J, J, I) concordances, (J, I, G) whether an image is in the defender's group, and
        (I,) numbers of each image.
        """
        keys = np.where(
            np.isnan(concordance), EMPTY, np.rint(np.nan_to_num(concordance) * _DECIMALS).astype(np.int64)
        )
        numbers = np.stack([ranks, families, images]).astype(np.int64)
        offer = _offer(
            _A_CELL * keys.shape[0] * keys.shape[1] * member.shape[2] * (1 + _AN_IMAGE * len(ranks))
        )
        offer(self.entries, self.pools, keys, np.ascontiguousarray(member), numbers)

    def merge(self, other: Best) -> None:
        """Add the cells of another part of the corpus."""
        depth = self.entries.shape[4]
        both = np.concatenate([self.entries, other.entries], axis=4)
        both = np.take_along_axis(both, np.lexsort((both[1], both[0]), axis=3)[None], 4)
        _, _, families, images = both
        again = images < 0
        for k in range(1, 2 * depth):  # only the first of a family stays
            again[..., k] |= (families[..., :k] == families[..., k : k + 1]).any(3)
        order = np.argsort(again, axis=3, kind="stable")[..., :depth]
        gone = np.take_along_axis(again, order, 3)
        both = np.take_along_axis(both, order[None], 4)
        both[:2, gone] = EMPTY
        both[2:, gone] = -1
        self.entries = both
        self.pools = self.pools + other.pools

    def renumber(self, start: int, ranks: np.ndarray, families: np.ndarray) -> None:
        """Turn places, ranks and families within a part that begins at ``start`` into those of the whole
        corpus, which are given for all its images.
        """
        held = self.images >= 0
        places = self.images[held] + start
        self.entries[1:, held] = [ranks[places], families[places], places]

    def to_bytes(self) -> bytes:
        """Return the cells as the bytes of a .npz file."""
        sink = io.BytesIO()
        np.savez(sink, entries=self.entries, pools=self.pools)
        return sink.getvalue()

    @classmethod
    def of_bytes(cls, data: bytes) -> Best:
        """Return the cells that `to_bytes` wrote."""
        with np.load(io.BytesIO(data)) as held:
            best = cls(0, 0, 0)
            best.entries = held["entries"]
            best.pools = held["pools"]
        return best


def _offer(seconds: float):  # noqa: ANN202 - numba's dispatcher or the plain twin
    return (_KERNELS.ready(seconds) or plain_best).offer
