"""Enter made sets into the corpus: new images get their own shards, changed ones keep theirs, and those whose
parents left also leave.

Conventions: a shard holds images of one made set. The entry of a set in sets.json is written before its rows,
without inputs, and again with inputs once the rows exist: a command killed in between counts as unfinished,
and completes when it is rerun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from faultscape.errors import CorpusError
from faultscape.reading.sets import follow
from faultscape.study.settings import read_settings
from faultscape.study.tables.corpus import Corpus, Image, read_corpus, write_corpus
from faultscape.study.tables.removed_images import note_removed, read_removed, whole_sizes
from faultscape.study.tables.stress_sets import StressSet, add_sets, read_stress


@dataclass(frozen=True)
class Entered:
    """The numbers of images of made sets that are new, changed, or left."""

    new: int
    changed: int
    left: int


def enter_sets(root: Path, wanted: Mapping[str, Sequence[Image]], about: Mapping[str, StressSet]) -> Entered:
    """Make the corpus contain exactly the ``wanted`` {set: images} of these sets, and record in sets.json how
    they are made.

    They do not count as done yet: call `finish_sets` once their own labels, if any, exist too. CorpusError if
    a set of the same name was collected.
    """
    held, removed = (
        read_corpus(root),
        {image.id: image for image in read_removed(Corpus(root)) if image.parent},
    )
    known = read_stress(root).sets
    if taken := next(
        (image.set for image in held if image.set in wanted and image.set not in known and not image.parent),
        None,
    ):
        raise CorpusError(
            f"a collected set is already named {taken!r}; collect it under another name with --set"
        )
    _refuse_twins(held, wanted)
    add_sets(root, {name: one.model_copy(update={"inputs": {}}) for name, one in about.items()})
    size, last = read_settings(root).shard, max(whole_sizes(root), default=-1)
    by_id = {image.id: image for image in held}
    stay, left = [], []
    names = {name: {image.id for image in rows} for name, rows in wanted.items()}
    for image in held:
        (left if image.set in names and image.id not in names[image.set] else stay).append(image)
    rows = {image.id: image for image in stay}
    for images in wanted.values():
        fresh = []
        for image in sorted(images, key=lambda image: image.id):
            earlier = by_id.get(image.id) or removed.get(image.id)
            if earlier is None:
                fresh.append(image)
                continue
            rows[image.id] = replace(image, shard=earlier.shard)
        for place, image in enumerate(fresh):
            rows[image.id] = replace(image, shard=last + 1 + place // size)
        last += -(-len(fresh) // size)
    entered = follow([*rows.values()])
    new = sum(image.id not in by_id for image in entered)
    changed = sum(image != by_id.get(image.id, image) for image in entered)
    if left:
        note_removed(root, left)
    if new or changed or left:
        write_corpus(root, entered)
    return Entered(new, changed, len(left))


def _refuse_twins(held: Sequence[Image], wanted: Mapping[str, Sequence[Image]]) -> None:
    """Raise CorpusError for an id that an image of another set has, or that two images of a set would have:
    one of them would be lost.
    """
    twice = Counter(image.id for rows in wanted.values() for image in rows)
    others = [image.id for image in held if image.set not in wanted and image.id in twice]
    if found := others or [id_ for id_, times in twice.items() if times > 1]:
        raise CorpusError(
            f"two images of the study would be named {found[0]!r}; collect them under another name with --set"
        )


def finish_sets(root: Path, about: Mapping[str, StressSet]) -> None:
    """Mark sets as done: everything that their command makes exists."""
    add_sets(root, about)
