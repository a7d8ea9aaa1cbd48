"""The best images of every cell, updated while the corpus streams by.

Conventions: a cell is (defender, attacker, group). Each keeps its ``depth`` images of lowest concordance,
ties ordered by rank; of a near-duplicate group only the best counts. Keeping is associative: blocks of images
give the same cells as all images at once, however they are cut. Concordances are compared as integers,
rounded to 12 decimals.
"""

from __future__ import annotations

import io

import numpy as np

from faultscape.selection.kernels import plain_best

EMPTY = np.iinfo(np.int64).max
_DECIMALS = 1e12
_ENTRIES = ("keys", "ranks", "families", "images")


class Best:
    """The cells of a selection over J models and G groups."""

    def __init__(self, models: int, groups: int, depth: int) -> None:
        shape = (models, models, groups, depth)
        self.keys = np.full(shape, EMPTY)  # concordance x 1e12
        self.ranks = np.full(shape, EMPTY)  # place of the image in the order among equals
        self.families = np.full(shape, -1, np.int64)  # near-duplicate group
        self.images = np.full(shape, -1, np.int64)  # place of the image in the corpus
        self.pools = np.zeros(shape[:3], np.int64)

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
        state = (self.keys, self.ranks, self.families, self.images, self.pools)
        _offer()(
            *state,
            keys,
            np.ascontiguousarray(member),
            images.astype(np.int64),
            ranks.astype(np.int64),
            families.astype(np.int64),
        )

    def merge(self, other: Best) -> None:
        """Add the cells of another part of the corpus."""
        depth = self.keys.shape[3]
        both = [np.concatenate([getattr(self, n), getattr(other, n)], axis=3) for n in _ENTRIES]
        order = np.lexsort((both[1], both[0]), axis=3)
        keys, ranks, families, images = (np.take_along_axis(values, order, 3) for values in both)
        again = images < 0
        for k in range(1, 2 * depth):  # only the first of a family stays
            again[..., k] |= (families[..., :k] == families[..., k : k + 1]).any(3)
        order = np.argsort(again, axis=3, kind="stable")[..., :depth]
        gone = np.take_along_axis(again, order, 3)
        for name, values, nothing in zip(
            _ENTRIES, (keys, ranks, families, images), (EMPTY, EMPTY, -1, -1), strict=True
        ):
            setattr(self, name, np.where(gone, nothing, np.take_along_axis(values, order, 3)))
        self.pools = self.pools + other.pools

    def renumber(self, start: int, ranks: np.ndarray, families: np.ndarray) -> None:
        """Turn places, ranks and families within a part that begins at ``start`` into those of the whole
        corpus, which are given for all its images.
        """
        held = self.images >= 0
        self.images = np.where(held, self.images + start, -1)
        self.ranks, self.families = (
            np.where(held, whole[self.images], nothing) for whole, nothing in ((ranks, EMPTY), (families, -1))
        )

    def to_bytes(self) -> bytes:
        """Return the cells as the bytes of a .npz file."""
        sink = io.BytesIO()
        np.savez(sink, **{name: getattr(self, name) for name in (*_ENTRIES, "pools")})
        return sink.getvalue()

    @classmethod
    def of_bytes(cls, data: bytes) -> Best:
        """Return the cells that `to_bytes` wrote."""
        with np.load(io.BytesIO(data)) as held:
            best = cls(*(held["keys"].shape[k] for k in (0, 2, 3)))
            for name in (*_ENTRIES, "pools"):
                setattr(best, name, held[name])
        return best


def _offer():  # noqa: ANN202 - numba's dispatcher or the plain twin
    try:
        from faultscape.selection.kernels import best as compiled_best
    except ImportError:
        return plain_best.offer
    return compiled_best.offer
