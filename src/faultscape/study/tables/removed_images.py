"""removed.parquet: the images that left the corpus, each with its shard, so that maps and counts of the other
images of a shard stay valid, and the image can come back.

Conventions: rows as in corpus.parquet. An image in both tables is in the corpus: removal writes this table
first, and nothing is ever taken out of it. A *whole* shard is all images that it was cut with: parts of maps
and counts are of whole shards, and readers ask only for images of the corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from faultscape.study.tables.corpus import (
    Corpus,
    Image,
    put_images,
    read_corpus,
    read_images,
    shard_sizes,
)

_FILE = "removed.parquet"


def read_removed(corpus: Corpus) -> list[Image]:
    """Return the images that left the corpus and did not come back, in the order of shards and ids."""
    path = corpus.root / _FILE
    if not path.exists():
        return []
    removed = read_images(path)
    here = corpus.held(image.id for image in removed)
    return [image for image in removed if image.id not in here]


def note_removed(root: Path, images: Iterable[Image]) -> None:
    """Record images that are about to leave the corpus; for an image that left before, the latest row
    stays.
    """
    held = {image.id: image for image in read_images(root / _FILE)}
    put_images(root / _FILE, [*(held | {image.id: image for image in images}).values()])


def removed_by_shard(corpus: Corpus) -> dict[int, list[Image]]:
    """Return {shard: its images that left the corpus}, for shards that have any."""
    out: dict[int, list[Image]] = {}
    for image in read_removed(corpus):
        out.setdefault(image.shard, []).append(image)
    return out


def whole_corpus(corpus: Corpus) -> dict[str, Image]:
    """Return {image id: image} of all images of whole shards, including those that left the corpus."""
    return {image.id: image for image in [*read_removed(corpus), *corpus.images()]}


def whole_shard(root: Path, number: int) -> list[Image]:
    """Return all images that a shard was cut with, including those that left the corpus, in order of ids."""
    return _by_id([*read_corpus(root, number), *removed_by_shard(Corpus(root)).get(number, [])])


def each_whole_shard(corpus: Corpus) -> Iterator[tuple[int, list[Image]]]:
    """Yield (number, all images that it was cut with) of every shard, including shards without any image
    left, in order of shards.
    """
    gone = removed_by_shard(corpus)
    for number, images in corpus.each_shard():
        for before in [one for one in sorted(gone) if one < number]:
            yield before, gone.pop(before)
        yield number, _by_id([*images, *gone.pop(number, [])])
    yield from sorted(gone.items())


def each_whole_digest(corpus: Corpus) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yield (number, (id, digest) of all images that it was cut with) of every shard that has an image left,
    without reading the other columns of the corpus.
    """
    gone = removed_by_shard(corpus)
    for number, rows in corpus.each_digest():
        yield (
            number,
            (
                sorted([*rows, *((image.id, image.digest) for image in gone.get(number, []))])
                if number in gone
                else rows
            ),
        )


def whole_sizes(corpus: Corpus) -> dict[int, int]:
    """Return how many images each shard was cut with."""
    sizes = {**shard_sizes(corpus)}
    for number, images in removed_by_shard(corpus).items():
        sizes[number] = sizes.get(number, 0) + len(images)
    return dict(sorted(sizes.items()))


def _by_id(images: list[Image]) -> list[Image]:
    return sorted(images, key=lambda image: image.id)
