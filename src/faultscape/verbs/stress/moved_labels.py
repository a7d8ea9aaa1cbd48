"""Make the labels of a corrupted set that move with its pixels, stored as the set's own label maps.

Conventions: one part per shard, in the labels' original ids. A pixel from beyond the border shows the
mirrored image, and has its label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from faultscape.corpus.stress.recipes import CorruptStep, recipe_of
from faultscape.maps import runs
from faultscape.reading.fill import CHANGES_NOTHING, fill, task, to_json
from faultscape.stressors.corruption import move_labels
from faultscape.study.parts import Part, key_of, read_manifest, write_manifest
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name, read_corpus
from faultscape.study.tables.label_maps import StoredMap
from faultscape.study.tables.logs import Timing
from faultscape.study.tables.stress_sets import labels_folder


@dataclass(frozen=True)
class MoveJob:
    """The labels of one shard of a set: the parent's label (shard, id) of each image, and how it moves;
    ``made_from`` holds the checksums of the parents' parts.
    """

    study: str = field(metadata=CHANGES_NOTHING)
    set: str
    number: int
    truth: str
    images: tuple[tuple[str, int, str, CorruptStep], ...]  # id, shard and id of the parent, step
    made_from: tuple[str, ...]


@dataclass(frozen=True)
class MovedPart:
    """The written part of one shard."""

    sha256: str
    rows: int


def fill_moved(root: Path, sets: Sequence[str], truth: str, *, engine: str, workers: int | None) -> None:
    """Make the missing or stale labels of sets."""
    images = read_corpus(root)
    by_id = {image.id: image for image in images}
    parts = read_manifest(label_maps.truth(root, truth))
    jobs = []
    for name in sets:
        shards: dict[int, list[tuple[str, int, str, CorruptStep]]] = {}
        for image in images:
            recipe = recipe_of(image.source) if image.set == name else None
            if recipe is not None and isinstance(recipe.step, CorruptStep):
                shards.setdefault(image.shard, []).append(
                    (image.id, by_id[image.parent].shard, image.parent, recipe.step)
                )
        for number, rows in sorted(shards.items()):
            of = sorted({part_name(shard) for _, shard, _, _ in rows})
            jobs.append(
                MoveJob(
                    str(root),
                    name,
                    number,
                    truth,
                    tuple(rows),
                    tuple(parts[p].sha256 for p in of if p in parts),
                )
            )
    held = {name: read_manifest(labels_folder(root, name)) for name in sets}
    todo = [
        job
        for job in jobs
        if (part := held[job.set].get(part_name(job.number))) is None or part.key != _key(job)
    ]

    def enter(made: list[tuple[MoveJob, MovedPart]]) -> list[Timing]:
        for name in {job.set for job, _ in made}:
            new = {
                part_name(job.number): Part(one.sha256, one.rows, _key(job))
                for job, one in made
                if job.set == name
            }
            write_manifest(labels_folder(root, name), read_manifest(labels_folder(root, name)) | new)
        return []

    fill(
        root, "faultscape.verbs.stress.moved_labels:move_shard", todo, MovedPart, enter,
        parts=lambda job, made: [(labels_folder(root, job.set), part_name(job.number), made.sha256)],
        title="move labels", items=sum(len(job.images) for job in todo), engine=engine, workers=workers,
    )  # fmt: skip


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


def _key(job: MoveJob) -> str:
    held = to_json(job)
    assert isinstance(held, dict)
    return key_of({name: value for name, value in held.items() if name != "study"})
