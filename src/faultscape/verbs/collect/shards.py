"""The shard of each image, and its group of near-duplicates.

Conventions: a shard never changes; a group is named after its first image, and stays as it is when other
images come. Among images that come together, a fixed random order, and not their names, decides which is
first (faultscape.ties).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from faultscape.corpus.duplicates import leaders
from faultscape.study.tables.corpus import Image
from faultscape.ties import tie_order


def sharded(held: list[Image], fresh: list[Image], size: int, after: int = -1) -> list[Image]:
    """Return all images with shards: existing shards stay, and images that return keep theirs; new images get
    shards in the order of their ids, starting after the shard ``after``.
    """
    new = sorted((image for image in fresh if image.shard < 0), key=lambda image: image.id)
    start = max((image.shard for image in held), default=-1)
    start = max(start, after) + 1
    changed = {image.id: image for image in fresh if image.shard >= 0}
    cut = [replace(image, shard=start + place // size) for place, image in enumerate(new)]
    stay = [changed.pop(image.id, image) for image in held]
    return sorted([*stay, *changed.values(), *cut], key=lambda image: (image.shard, image.id))


def grouped(images: list[Image], held: Mapping[str, Image] | None = None) -> list[Image]:
    """Return the images, in order, with the near-duplicate group of each. Images in ``held`` {id: image} that
    look the same keep their group if its first image does too.
    """
    held = held or {}
    same = {image.id for image in images if image.id in held and held[image.id].dhash == image.dhash}
    kept = {id_: held[id_].near_duplicate_of for id_ in same if held[id_].near_duplicate_of in same}
    order = [
        images[k]
        for k in tie_order([image.key for image in images], 0, [image.id for image in images]).tolist()
    ]
    began = [image for image in order if kept.get(image.id) == image.id]
    new = [image for image in order if image.id not in kept]
    searched = [image for image in [*began, *new] if image.dhash is not None]
    hashes = np.array([image.dhash for image in searched], np.int64).view(np.uint64)
    of = kept | {image.id: image.id for image in new}
    found = leaders(hashes, sum(image.dhash is not None for image in began))
    for image, place in zip(searched, found.tolist(), strict=True):
        of[image.id] = searched[place].id
    return [replace(image, near_duplicate_of=of[image.id]) for image in images]
