"""The images that people may be asked to label, as numbers: a few dozen bytes per image, while a row of the
corpus takes a thousand.

Conventions: in corpus order, or in the order among equals; a place is an image's number in it. ``ranks`` are
the places of images in the order among equals; ``families`` are equal for images of one near-duplicate group;
``shards`` are the shards of the images.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from faultscape.study.tables.corpus import Corpus, duplicates_column, tie_key
from faultscape.ties import tie_ranks

_AT_ONCE = 8192


@dataclass(frozen=True)
class Pool:
    """The pool of a study; ``digest`` changes with any id or group."""

    ids: pa.StringArray
    ranks: np.ndarray
    families: np.ndarray
    shards: np.ndarray
    digest: str

    def taken(self, order: np.ndarray) -> Pool:
        """Return the pool with its images in another ``order`` (I,)."""
        return Pool(
            self.ids.take(pa.array(order)),
            self.ranks[order],
            self.families[order],
            self.shards[order],
            self.digest,
        )

    def names(self, places: Sequence[int] | np.ndarray) -> dict[int, str]:
        """Return the ids at some places."""
        some = sorted({int(place) for place in places})
        return dict(zip(some, self.ids.take(pa.array(some, pa.int64())).to_pylist(), strict=True))


def read_groups(corpus: Corpus) -> dict[str, str]:
    """Return {id: group} of the images of a study that belong to a group (`collect --group`); empty if none
    does.
    """
    import pyarrow.compute as pc

    if "group" not in corpus.names or duplicates_column(corpus.names) == "group":
        # earlier versions stored near-duplicates there
        return {}
    table = corpus.columns("id", "group")
    table = table.filter(pc.call_function("not_equal", [table["group"], ""]))
    return dict(zip(table["id"].to_pylist(), table["group"].to_pylist(), strict=True))


def read_pool(corpus: Corpus, *, keep_duplicates: bool = False, seed: int | None = None) -> Pool:
    """Return the pool of a study in corpus order; with ``keep_duplicates`` every image is a family of its
    own.

    Ranks among equals are those of the images' bytes under ``seed`` (faultscape.ties); without a seed, those
    of the ids.
    """
    import pyarrow.compute as pc

    if not corpus.names:
        return Pool(
            pa.array([], pa.string()), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), ""
        )
    duplicates = duplicates_column(corpus.names)
    columns = ["id", duplicates, "shard", *(["digest"] if seed is not None else [])]
    table = corpus.columns("role", *columns)
    table = table.filter(pc.call_function("equal", [table["role"], "pool"]))
    ids, groups = (table[name].combine_chunks() for name in ("id", duplicates))
    ids, groups = (
        column.chunk(0) if isinstance(column, pa.ChunkedArray) else column for column in (ids, groups)
    )
    by_id = np.empty(len(ids), np.int64)
    by_id[pc.call_function("array_sort_indices", [ids]).to_numpy()] = np.arange(len(ids))
    ranks = by_id if seed is None else tie_ranks(_keys(table), seed, by_id)
    families = np.arange(len(ids))
    if not keep_duplicates:
        families = (
            pc.call_function("index_in", [groups], pc.SetLookupOptions(value_set=groups))
            .to_numpy()
            .astype(np.int64)
        )
    digest = hashlib.sha256()
    for start in range(0, len(ids), _AT_ONCE):
        for column in (ids, groups):
            digest.update("\n".join(column.slice(start, _AT_ONCE).to_pylist()).encode() + b"\0")
    return Pool(ids, ranks, families, table["shard"].to_numpy(), digest.hexdigest()[:32])


def _keys(table: pa.Table) -> Iterator[str]:
    """Yield the key of each image in the order among equals."""
    for rows in table.select(["id", "digest"]).to_batches(_AT_ONCE):
        yield from map(tie_key, rows["id"].to_pylist(), rows["digest"].to_pylist())
