"""Make the labels of a corrupted set that move with its pixels, stored as the set's own label maps.

Conventions: one part per shard, in the labels' original ids. A pixel from beyond the border shows the
mirrored image, and has its label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from faultscape.corpus.stress.recipes import CorruptStep, recipe_of
from faultscape.maps import runs
from faultscape.reading.fill import task
from faultscape.stressors.corruption import move_labels
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.label_maps import StoredMap
from faultscape.study.tables.stress_sets import labels_folder
from faultscape.verbs.stress.own_labels import SetJob, fill_labels, jobs_of


@dataclass(frozen=True)
class MoveJob(SetJob):
    """The labels of one shard: the parent's label (shard, id) of each image, and how it moves."""

    images: tuple[tuple[str, int, str, CorruptStep], ...]  # id, shard and id of the parent, step


@dataclass(frozen=True)
class MovedPart:
    """The written part of one shard."""

    sha256: str
    rows: int


def fill_moved(root: Path, sets: Sequence[str], truth: str, *, engine: str, workers: int | None) -> None:
    """Make the missing or stale labels of sets."""
    fill_labels(
        root,
        "faultscape.verbs.stress.moved_labels:move_shard",
        jobs_of(root, sets, truth, MoveJob, _row),
        MovedPart,
        {"sha256": ""},
        title="move labels",
        engine=engine,
        workers=workers,
    )


def _row(image: Image, parent: Image) -> tuple[str, int, str, CorruptStep]:
    recipe = recipe_of(image.source)
    assert recipe is not None
    assert isinstance(recipe.step, CorruptStep)
    return image.id, parent.shard, parent.id, recipe.step


@task(MoveJob)
def move_shard(job: MoveJob, tick: Callable[[int], None]) -> MovedPart:
    """Move the labels of one shard, and write them."""
    root = Path(job.study)
    shards = {shard for _, shard, _, _ in job.images}
    held = {shard: label_maps.read_maps(label_maps.truth(root, job.truth), shard) for shard in sorted(shards)}
    maps = []
    for id_, shard, parent, step in job.images:
        if (code := held[shard].get(parent)) is not None:
            labels = runs.decode(code)
            moved = move_labels(labels, step.name, step.severity, seed=step.seed, key=step.key)
            maps.append(StoredMap(id_, runs.encode(moved)))
        tick(1)
    return MovedPart(label_maps.put_maps(labels_folder(root, job.set), job.number, maps), len(maps))
