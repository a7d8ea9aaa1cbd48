"""How ties between equally good images are broken: at random but reproducibly, independent of their names and
original order.

Conventions: a key is the SHA-256 of an image's bytes if known, otherwise its id. The order among equals is
that of BLAKE2b(seed, key); images with the same key (the same bytes twice) are ordered by id. Numbers less
than 1e-12 apart are equal: smaller differences are rounding errors.

``keys`` (I,) identify images independently of their names. ``seed`` decides the order. ``ids`` (I,) are the
ids of the images. ``definition`` is that of the selection. ``differences`` are of any shape. ``scores`` (I,)
are larger for images that are taken first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from faultscape.nouns import Definition

RULE = "digest"  # the name of this rule in a selection's definition; without it, ids decide
DECIMALS = 12
EQUAL = 10.0**-DECIMALS


def tie_order(
    keys: Iterable[str], seed: int | None = 0, ids: Sequence[Any] | np.ndarray | None = None
) -> np.ndarray:
    """Return (I,) the places of the keys in the order among equals; equal keys are ordered by ``ids``, else
    as given; without a seed ``ids`` alone decide.

    >>> tie_order(["x", "y", "z"]), tie_order(["z", "x", "y"]), tie_order(["x", "y", "z"], seed=1)
    (array([0, 2, 1]), array([1, 0, 2]), array([2, 0, 1]))
    """
    by_id = None if ids is None else np.argsort(np.array(ids, dtype=object), kind="stable")
    if seed is None and by_id is not None:
        return by_id
    values = tie_values(keys, seed)
    return (
        np.argsort(values, kind="stable")
        if by_id is None
        else by_id[np.argsort(values[by_id], kind="stable")]
    )


def tie_values(keys: Iterable[str], seed: int | None = 0) -> np.ndarray:
    """Return (I,) uint64, less for keys that come earlier in the order among equals.

    >>> np.argsort(tie_values(["x", "y", "z"]))
    array([0, 2, 1])
    """
    start = hashlib.blake2b(f"{seed} ".encode(), digest_size=8)
    return np.frombuffer(b"".join(_hashed(start, key) for key in keys), ">u8").astype(np.uint64)


def tie_ranks(
    keys: Iterable[str], seed: int | None = 0, ids: Sequence[Any] | np.ndarray | None = None
) -> np.ndarray:
    """Return (I,) the rank of each key in the order among equals.

    >>> tie_ranks(["x", "y", "z"])
    array([0, 2, 1])
    """
    order = tie_order(keys, seed, ids)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def tie_seed(definition: Definition) -> int | None:
    """Return the seed of a selection's order among equals, or None if it orders them by id, as in earlier
    versions.

    >>> tie_seed({"ties": "digest", "seed": 3}), tie_seed({"selector": "mad"})
    (3, None)
    """
    return int(definition.get("seed", 0)) if definition.get("ties") == RULE else None


def equal_to_zero(differences: np.ndarray) -> np.ndarray:
    """Return differences with those below 1e-12 in size set to 0; NaN stays NaN.

    >>> equal_to_zero(np.array([1e-16, -3e-13, 0.25]))
    array([0.  , 0.  , 0.25])
    """
    differences = np.asarray(differences, dtype=float)
    return np.where(np.abs(differences) < EQUAL, 0.0, differences)


def count_tied(scores: np.ndarray, chosen: np.ndarray) -> int:
    """Return how many of the ``chosen`` places of scores (I,), large = taken first, were decided by ties:
    those as good as the best place that was left out.

    Places with -inf or NaN could not be taken.

    >>> (
    ...     count_tied(np.array([3.0, 2, 2, 2, 1]), np.array([0, 1, 3])),
    ...     count_tied(np.array([3.0, 2, 2, 1]), np.array([0, 1, 2])),
    ... )
    (2, 0)
    """
    scores = np.round(np.asarray(scores, dtype=float), DECIMALS)
    left = np.isfinite(scores)
    left[chosen] = False
    return int((scores[chosen] == scores[left].max()).sum()) if left.any() else 0


def _hashed(start: Any, key: str) -> bytes:
    hashed = start.copy()
    hashed.update(str(key).encode("utf-8", "surrogateescape"))
    return hashed.digest()
