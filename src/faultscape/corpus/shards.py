"""The shard of each image, and its group of near-duplicates.

Conventions: a shard never changes; a group is named after its first image, and stays as it is when other
images come. Among images that come together, up to half a million at a time, a fixed random order, and not
their names, decides which is first (faultscape.ties).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from faultscape.corpus.duplicates import Near, leaders
from faultscape.study.tables.corpus import Image, tie_key, whole_numbers
from faultscape.ties import tie_order, tie_values

LOOKS = ("id", "digest", "dhash")  # the columns that tell near-duplicates


def sharded(images: list[Image], size: int) -> list[Image]:
    """Return the images of a new study with their shards, in the order of their ids."""
    ordered = sorted(images, key=lambda image: image.id)
    return [replace(image, shard=place // size) for place, image in enumerate(ordered)]


def grouped(images: list[Image], held: Mapping[str, Image] | None = None) -> list[Image]:
    """Return the images, in order, with the near-duplicate group of each. Images in ``held`` {id: image} that
    look the same keep their group if its first image does too.
    """
    held = held or {}
    same = {image.id for image in images if image.id in held and held[image.id].dhash == image.dhash}
    kept = {id_: held[id_].near_duplicate_of for id_ in same if held[id_].near_duplicate_of in same}
    new = [image for image in images if image.id not in kept]
    began = [image for image in images if kept.get(image.id) == image.id]
    of = kept | dict(zip([image.id for image in new], groups_of(looks(new), [looks(began)]), strict=True))
    return [replace(image, near_duplicate_of=of[image.id]) for image in images]


def looks(images: Sequence[Image]) -> pa.Table:
    """Return the columns LOOKS of some images."""
    return pa.table(
        {
            "id": pa.array((image.id for image in images), pa.string()),
            "digest": pa.array((image.digest for image in images), pa.string()),
            "dhash": pa.array((image.dhash for image in images), pa.int64()),
        }
    )


def groups_of(new: pa.Table, earlier: Iterable[pa.Table]) -> list[str]:
    """Return the group of each new image: the id of the first of the ``earlier`` first images that is near,
    else of the first new one. Both are tables of LOOKS; an image that was not read is alone.
    """
    ids = new["id"].to_pylist()
    out = list(ids)
    read = np.flatnonzero(~np.array(new["dhash"].is_null().to_pylist(), bool))
    if not len(read):
        return out
    hashes = _hashes(new["dhash"].drop_null())
    unlike, which = np.unique(hashes, return_inverse=True)
    first = _first_near(unlike, earlier)
    joins = np.isin(which, list(first))
    for place, number in zip(read[joins].tolist(), which[joins].tolist(), strict=True):
        out[place] = first[number][1]
    rest = read[~joins]
    digests = new["digest"].take(rest).to_pylist()
    keys = [tie_key(ids[place], digest) for place, digest in zip(rest.tolist(), digests, strict=True)]
    order = tie_order(keys, 0, [ids[place] for place in rest.tolist()])
    ordered = rest[order]
    for place, leader in zip(ordered.tolist(), ordered[leaders(hashes[~joins][order])].tolist(), strict=True):
        out[place] = ids[leader]
    return out


def _first_near(hashes: np.ndarray, earlier: Iterable[pa.Table]) -> dict[int, tuple[int, str]]:
    """Return {place of a hash: (tie value, id) of the first of the earlier images near it}."""
    near = Near(hashes)
    first = dict[int, tuple[int, str]]()
    for table in earlier:
        read = table.filter(table["dhash"].is_valid())
        pairs = near.pairs(_hashes(read["dhash"]))
        places, of = np.unique(pairs[:, 0], return_inverse=True)
        rows = read.take(places)
        ids = rows["id"].to_pylist()
        values = tie_values(map(tie_key, ids, rows["digest"].to_pylist())).tolist()
        for number, row in zip(pairs[:, 1].tolist(), of.tolist(), strict=True):
            found = (values[row], ids[row])
            first[number] = min(first.get(number, found), found)
    return first


def _hashes(column: pa.ChunkedArray) -> np.ndarray:
    return whole_numbers(column).astype(np.int64).view(np.uint64)
