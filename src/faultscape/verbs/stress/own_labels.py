"""Make the labels that made sets have of their own, one part per shard: the jobs, and entering their parts.

Conventions: a part is made again if its job changed: its images, their parents' labels, or what is done to
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from faultscape.reading.fill import CHANGES_NOTHING, Engine, Work, fill, to_json
from faultscape.reading.study import Study
from faultscape.study.parts import Part, key_of, read_manifest, write_manifest
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.logs import Timing
from faultscape.study.tables.stress_sets import labels_folder


@dataclass(frozen=True)
class SetJob:
    """The labels of one shard of a set; ``made_from`` holds the checksums of the parts with the parents'."""

    study: str = field(metadata=CHANGES_NOTHING)
    set: str
    number: int
    truth: str
    made_from: tuple[str, ...]
    images: tuple[Any, ...]

    @property
    def key(self) -> str:
        """The key of the job's result."""
        held = to_json(self)
        assert isinstance(held, dict)
        return key_of({name: value for name, value in held.items() if name != "study"})


Job = TypeVar("Job", bound=SetJob)


def jobs_of(
    study: Study,
    sets: Sequence[str],
    truth: str,
    kind: type[Job],
    row: Callable[[Image, Image], tuple[Any, ...]],
    **more: Any,
) -> list[Job]:
    """Return the job of each shard of some sets; ``row`` is what it holds of an image and its parent."""
    images = study.image_rows
    parts = study.manifest(label_maps.truth(study.root, truth))
    jobs = list[Job]()
    for name in sets:
        shards: dict[int, list[tuple[Image, Image]]] = {}
        for image in images.values():
            if image.set == name:
                shards.setdefault(image.shard, []).append((image, images[image.parent]))
        for number, pairs in sorted(shards.items()):
            names = sorted({part_name(parent.shard) for _, parent in pairs})
            made_from = tuple(parts[part].sha256 for part in names if part in parts)
            rows = tuple(row(image, parent) for image, parent in pairs)
            jobs.append(kind(str(study.root), name, number, truth, made_from, rows, **more))
    return jobs


def fill_labels(
    study: Study,
    task: str,
    jobs: Sequence[Job],
    kind: type[Any],
    folders: Mapping[str, str],
    *,
    title: str,
    engine: str,
    workers: int | None,
) -> None:
    """Make the missing and the stale parts of sets; ``folders`` are {field with the checksum of a written
    part: its folder within the labels of the set}, and the part of the last counts only once all others do.
    """
    root = study.root
    held = {name: study.manifest(labels_folder(root, name)) for name in {job.set for job in jobs}}
    todo = [
        job
        for job in jobs
        if (part := held[job.set].get(part_name(job.number))) is None or part.key != job.key
    ]

    def enter(made: list[tuple[Job, Any]]) -> list[Timing]:
        for name in {job.set for job, _ in made}:
            mine = [(job, one) for job, one in made if job.set == name]
            for digest, folder in folders.items():
                where = labels_folder(root, name) / folder
                new = {
                    part_name(job.number): Part(getattr(one, digest), one.rows, job.key) for job, one in mine
                }
                write_manifest(where, read_manifest(where) | new)
        return []

    def parts(job: Job, made: Any) -> list[tuple[Path, str, str]]:
        where = labels_folder(root, job.set)
        return [
            (where / folder, part_name(job.number), getattr(made, digest))
            for digest, folder in folders.items()
        ]

    work = Work(title, task, kind, enter, parts)
    fill(root, work, todo, Engine(engine, workers), items=sum(len(job.images) for job in todo))
    if todo:
        study.reread()
