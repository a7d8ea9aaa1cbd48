"""The images that people may be asked to label, as numbers: a few dozen bytes per image, while a row of the
corpus takes a thousand.

Conventions: in corpus order, or in the order among equals; a place is an image's number in it. ``ranks`` are
the places of images in the order among equals; ``families`` are equal for images of one near-duplicate group;
``shards`` are the shards of the images.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import pyarrow as pa

from faultscape.study.tables.corpus import Corpus, bits, duplicates_column, tie_key, whole_numbers
from faultscape.ties import tie_values

_AT_ONCE = 8192
_PART_BITS = 4  # of a value, by which those are told apart that are sorted together


@dataclass(frozen=True)
class Pool:
    """The pool of a study."""

    corpus: Corpus
    by_seed: np.ndarray | None  # ranks among equals, in corpus order; None for those of ids
    families: np.ndarray
    shards: np.ndarray
    order: np.ndarray | None = None  # places in corpus order; None for that order

    def __len__(self) -> int:
        return len(self.families)

    @cached_property
    def ranks(self) -> np.ndarray:
        """(I,) the places of images in the order among equals."""
        ranks = _ranks_of_ids(self.corpus) if self.by_seed is None else self.by_seed
        return ranks if self.order is None else ranks[self.order]

    def taken(self, order: np.ndarray) -> Pool:
        """Return the pool with its images in another ``order`` (I,)."""
        of = order if self.order is None else self.order[order]
        return Pool(self.corpus, self.by_seed, self.families[order], self.shards[order], of)

    @cached_property
    def ids(self) -> pa.StringArray:
        """The ids of all images, which are read when they are asked for."""
        columns = [
            pa.array([], pa.string()),
            *(table["id"].combine_chunks() for table in _rows(self.corpus, "id")),
        ]
        ids = pa.concat_arrays([chunk for one in columns for chunk in getattr(one, "chunks", [one])])
        return ids if self.order is None else ids.take(pa.array(self.order))

    def names(self, places: Sequence[int] | np.ndarray) -> dict[int, str]:
        """Return the ids at some places, of which alone the ids are held."""
        some = np.unique(np.asarray(places, np.int64))
        here = some if self.order is None else self.order[some]
        found = _ids_at(self.corpus, here)
        return {place: found[at] for place, at in zip(some.tolist(), here.tolist(), strict=True)}


def read_groups(corpus: Corpus) -> dict[str, str]:
    """Return {id: group} of the images of a study that belong to a group (`collect --group`); empty if none
    does.
    """
    if "group" not in corpus.names or duplicates_column(corpus.names) == "group":
        # earlier versions stored near-duplicates there
        return {}
    groups = dict[str, str]()
    for id_, group in corpus.each_row("id", "group"):
        if group:
            groups[id_] = group
    return groups


def read_pool(corpus: Corpus, *, keep_duplicates: bool = False, seed: int | None = None) -> Pool:
    """Return the pool of a study in corpus order; with ``keep_duplicates`` every image is a family of its
    own.

    Ranks among equals are those of the images' bytes under ``seed`` (faultscape.ties); without a seed, those
    of the ids.
    """
    most = sum(corpus.sizes.values())
    shards = np.empty(most, np.int32)
    values = np.empty(0 if seed is None else most, np.uint64)
    followers = dict[int, str]()  # {place: the first image of its group}
    place = 0
    duplicates = duplicates_column(corpus.names)
    for table in _rows(corpus, "id", duplicates, "shard", *(["digest"] if seed is not None else [])):
        ids = table["id"].to_pylist()
        here = slice(place, place + len(ids))
        shards[here] = whole_numbers(table["shard"])
        if seed is not None:
            values[here] = tie_values(map(tie_key, ids, table["digest"].to_pylist()), seed)
        if not keep_duplicates:
            firsts = enumerate(zip(ids, table[duplicates].to_pylist(), strict=True), place)
            followers |= {k: first for k, (id_, first) in firsts if first != id_}
        place += len(ids)
    ranks = None if seed is None else _ranks(corpus, values[:place])
    del values
    return Pool(corpus, ranks, _families(corpus, place, followers), shards[:place])


def _rows(corpus: Corpus, *names: str) -> Iterator[pa.Table]:
    """Yield columns of the pool's images, some thousands at a time."""
    for table in corpus.each_table("role", *names) if corpus.names else ():
        inside = np.array([role == "pool" for role in table["role"].to_pylist()])
        yield table if inside.all() else table.filter(bits(inside))


def pool_size(corpus: Corpus) -> int:
    """Return how many images the pool has."""
    return sum(len(table) for table in _rows(corpus, "shard"))


def images_at(corpus: Corpus, places: np.ndarray) -> dict[int, tuple[str, int]]:
    """Return {place: (id, shard)} of the pool's images at some places in corpus order."""
    found = dict[int, tuple[str, int]]()
    places = np.unique(places)
    start = 0
    for table in _rows(corpus, "id", "shard") if len(places) else ():
        low, high = np.searchsorted(places, [start, start + len(table)])
        mine = places[low:high]
        rows = table.take(pa.array(mine - start))
        here = zip(rows["id"].to_pylist(), rows["shard"].to_pylist(), strict=True)
        found |= zip(mine.tolist(), here, strict=True)
        start += len(table)
    return found


def _ids_at(corpus: Corpus, places: np.ndarray) -> dict[int, str]:
    return {place: id_ for place, (id_, _) in images_at(corpus, places).items()}


def _families(corpus: Corpus, count: int, followers: Mapping[int, str]) -> np.ndarray:
    """Return (I,) the place of the first member of each image's group; most groups are of one image."""
    families = _numbers(count)
    members = dict[str, list[int]]()
    for place, first in followers.items():
        members.setdefault(first, []).append(place)
    start = 0
    for table in _rows(corpus, "id") if members else ():
        for place, id_ in enumerate(table["id"].to_pylist(), start):
            if id_ in members:
                members[id_].append(place)
        start += len(table)
    for places in members.values():
        families[places] = min(places)
    return families


def _ranks(corpus: Corpus, values: np.ndarray) -> np.ndarray:
    """Return (I,) the places of images in the order of their values (I,), and of their ids where these are
    equal; a part of the values is sorted at a time.
    """
    ranks = _numbers(len(values))
    parts = (values >> np.uint64(64 - _PART_BITS)).astype(np.uint8)
    alike = list[np.ndarray]()
    start = 0
    for part in range(1 << _PART_BITS):
        places = np.flatnonzero(parts == part)
        order = np.argsort(values[places], kind="stable")
        places = places[order]
        ranks[places] = np.arange(start, start + len(places))
        start += len(places)
        again = np.flatnonzero(np.diff(values[places]) == 0)
        alike.append(places[np.union1d(again, again + 1)] if len(again) else again)
    some = np.concatenate(alike)
    if len(some):
        ids = _ids_at(corpus, some)
        now = np.sort(ranks[some])
        ranks[sorted(some.tolist(), key=lambda place: (int(values[place]), ids[place]))] = now
    return ranks


def _ranks_of_ids(corpus: Corpus) -> np.ndarray:
    ids = [id_ for table in _rows(corpus, "id") for id_ in table["id"].to_pylist()]
    return _inverse(np.argsort(np.array(ids, object), kind="stable").astype(np.int64))


def _inverse(order: np.ndarray) -> np.ndarray:
    ranks = _numbers(len(order))
    ranks[order] = np.arange(len(order))
    return ranks


def _numbers(count: int) -> np.ndarray:
    """Return (I,) the numbers from 0, in as few bytes as they need."""
    return np.arange(count, dtype=np.int32 if count <= np.iinfo(np.int32).max else np.int64)


def pool_digest(corpus: Corpus) -> str:
    """Return a digest of the ids and groups of the pool's images, in corpus order."""
    if not corpus.names:
        return ""
    digest = hashlib.sha256()
    names = ["id", duplicates_column(corpus.names)]
    held = pa.table({name: pa.nulls(0, pa.string()) for name in names})
    for table in chain(_rows(corpus, *names), [None]):
        held = held if table is None else pa.concat_tables([held, table.select(names)])
        while len(held) >= (1 if table is None else _AT_ONCE):
            for name in names:
                digest.update("\n".join(held[name][:_AT_ONCE].to_pylist()).encode() + b"\0")
            held = held.slice(_AT_ONCE)
    return digest.hexdigest()[:32]
