"""The best images of every cell, kept while the corpus streams by.

Conventions: a cell is (defender, attacker, group). Each keeps its ``depth`` images of lowest concordance, ties by image id; of a near-duplicate
group only the best counts. Keeping is associative: blocks of images in any cut give the same cells as all images at once.
Concordances are compared rounded to 12 decimals, as whole numbers.
"""

from __future__ import annotations

import numpy as np

from faultscape.selection import plain_best

EMPTY = np.iinfo(np.int64).max
_DECIMALS = 1e12


class Best:
    """The cells of a selection over J models and G groups."""

    def __init__(self, models: int, groups: int, depth: int) -> None:
        shape = (models, models, groups, depth)
        self.keys = np.full(shape, EMPTY)  # concordance x 1e12
        self.ranks = np.full(shape, EMPTY)  # place of the image among all ids, sorted
        self.families = np.full(shape, -1, np.int64)  # near-duplicate group
        self.images = np.full(shape, -1, np.int64)  # place of the image in the corpus
        self.pools = np.zeros(shape[:3], np.int64)

    def offer(
        self, concordance: np.ndarray, member: np.ndarray, images: np.ndarray, ranks: np.ndarray, families: np.ndarray
    ) -> None:
        """Take in a block: (J, J, I) concordances, (J, I, G) whether an image is in the defender's group, and (I,) numbers of each image."""
        keys = np.where(np.isnan(concordance), EMPTY, np.rint(np.nan_to_num(concordance) * _DECIMALS).astype(np.int64))
        state = (self.keys, self.ranks, self.families, self.images, self.pools)
        _offer()(
            *state, keys, np.ascontiguousarray(member), images.astype(np.int64), ranks.astype(np.int64), families.astype(np.int64)
        )

    def merge(self, other: Best) -> None:
        """Take in the cells of another stretch of the corpus."""
        models, _, groups, depth = self.keys.shape
        for d in range(models):
            for a in range(models):
                for g in range(groups):
                    self.pools[d, a, g] += other.pools[d, a, g]
                    for k in range(depth):
                        if other.images[d, a, g, k] >= 0:
                            theirs = (t[d, a, g, k] for t in (other.keys, other.ranks, other.families, other.images))
                            plain_best.insert(
                                self.keys[d, a, g], self.ranks[d, a, g], self.families[d, a, g], self.images[d, a, g], *theirs
                            )


def _offer():  # noqa: ANN202 - numba's dispatcher or the plain twin
    try:
        from faultscape.selection import compiled_best
    except ImportError:
        return plain_best.offer
    return compiled_best.offer
