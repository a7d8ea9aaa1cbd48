"""In which shard an image lies, and of which group of near-duplicates it is.

Conventions: a shard is never cut again; a group is named after its first image in corpus order.
"""

from __future__ import annotations

from dataclasses import replace

from faultscape.corpus.duplicates import Groups
from faultscape.study.corpus import Image


def sharded(held: list[Image], fresh: list[Image], size: int) -> list[Image]:
    """Return all images with shards: those already cut stay, new ones are cut in the order of their ids."""
    new = sorted((image for image in fresh if image.shard < 0), key=lambda image: image.id)
    start = max((image.shard for image in held), default=-1) + 1
    changed = {image.id: image for image in fresh if image.shard >= 0}
    cut = [replace(image, shard=start + place // size) for place, image in enumerate(new)]
    return sorted([changed.get(image.id, image) for image in held] + cut, key=lambda image: (image.shard, image.id))


def grouped(images: list[Image]) -> list[Image]:
    """Return the images with the near-duplicate group of each, in corpus order."""
    groups, first, out = Groups(), [], []
    for image in images:
        hit = None if image.dhash is None else groups.nearest(image.dhash)
        if hit is None and image.dhash is not None:
            groups.add(image.dhash)
            first.append(image.id)
        out.append(replace(image, near_duplicate_of=image.id if hit is None else first[hit]))
    return out
