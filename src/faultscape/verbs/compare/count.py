"""Count the missing pair parts of a study: every pair of models, and every model against each truth, in one
pass over a shard.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from faultscape.errors import ModelError, StudyError
from faultscape.reading.fill import CHANGES_NOTHING, Engine, Work, fill, task
from faultscape.reading.maps import differing
from faultscape.reading.pairs import count_shard, missing, wanted
from faultscape.reading.study import Study
from faultscape.study.array_jobs import Share
from faultscape.study.parts import Part, read_manifest, write_manifest
from faultscape.study.settings import read_settings
from faultscape.study.tables import pairs as pair_table
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.label_maps import outdated, predictions, truth
from faultscape.study.tables.logs import Timing
from faultscape.study.tables.pairs import PairPart
from faultscape.study.tables.removed_images import each_whole_digest, whole_shard
from faultscape.study.watch import Watch

_SHOWN = 5  # number of images to name that two models read with different bytes


@dataclass(frozen=True)
class CountJob:
    """The missing parts of one shard with their keys, and the checksums of the ``maps`` of models and
    ``truths`` to count.
    """

    study: str = field(metadata=CHANGES_NOTHING)
    number: int
    parts: tuple[PairPart, ...]
    maps: dict[str, str]
    truths: dict[str, str]


@dataclass(frozen=True)
class CountedPart:
    """One written part: ``part`` of pairs/``name``."""

    name: str
    part: str
    sha256: str
    rows: int
    key: str


@dataclass(frozen=True)
class Counted:
    """The parts that one shard's count made, and (image, model, other model) for images that two models read
    with different bytes.
    """

    parts: tuple[CountedPart, ...]
    differing: tuple[tuple[str, str, str], ...]
    seconds: float


def count(
    study: Study,
    known: list[str],
    *,
    engine: str,
    workers: int | None = None,
    mine: Share = Share(),  # noqa: B008 - a frozen default
) -> tuple[int, int]:
    """Make the missing pair parts of a study that is locked for writing; return (shards, parts) made. Errors:
    ModelError and StudyError if maps are missing or outdated.
    """
    root = study.root
    sizes = {
        number: size
        for number, size in study.shard_sizes.items()
        if mine.has(number) and number not in study.corpus.aside
    }
    _check(study, sorted(sizes))
    lacking = missing(study, wanted(study, sorted(sizes), known))
    jobs = _jobs(study, lacking)
    different: list[tuple[str, str, str]] = []

    def enter(made: list[tuple[CountJob, Counted]]) -> list[Timing]:
        new: dict[str, dict[str, Part]] = {}
        for _, counted in made:
            for part in counted.parts:
                new.setdefault(part.name, {})[part.part] = Part(part.sha256, part.rows, part.key)
            different.extend(counted.differing)
        for name, parts in new.items():
            folder = pair_table.folder(root, name)
            write_manifest(folder, read_manifest(folder) | parts)
        return [
            Timing("compare", "", job.number, sizes[job.number], counted.seconds) for job, counted in made
        ]

    work = Work(
        "compare",
        "faultscape.verbs.compare.count:shard",
        Counted,
        enter,
        lambda _, made: _files(root, made),
    )
    images = sum(sizes[job.number] for job in jobs)
    fill(root, work, jobs, Engine(engine, workers, begin_here=True), items=images, mine=mine)
    if jobs:
        study.reread()
    for image, one, other in sorted(different)[:_SHOWN]:
        print(
            f"{image}: {one} and {other} read different versions of this image; collect again, then predict"
            " those models again"
        )
    if len(different) > _SHOWN:
        print(f"... and {len(different) - _SHOWN} more")
    return len(jobs), len(lacking)


@task(CountJob)
def shard(job: CountJob, tick: Callable[[int], None], attempt: int = 0) -> Counted:
    """Count the missing parts of one shard in one pass over its images; StudyError names an image on which
    workers crash.
    """
    start = time.perf_counter()
    root = Path(job.study)
    settings = read_settings(root)
    images = whole_shard(root, job.number)
    watch = Watch(root, f"compare-{part_name(job.number)}", attempt)

    def begin(image: str) -> None:
        if not watch.begin(image):
            maps = ", ".join(sorted({part.name for part in job.parts}))
            raise StudyError(
                f"{image}: the worker crashed every time on its maps of {maps} (out of memory, or a native"
                " crash); predict this image again, or choose a smaller --size"
            )

    made = count_shard(root, settings, images, job.parts, job.maps, job.truths, tick, begin)
    watch.end()
    parts = tuple(CountedPart(name, part, e.sha256, e.rows, e.key) for (name, part), e in made.items())
    return Counted(parts, tuple(differing(root, settings, images)), time.perf_counter() - start)


def _check(study: Study, shards: Sequence[int]) -> None:
    """Refuse models without maps, or with outdated maps, and report how many shards lack maps."""
    root = study.root
    settings = study.settings
    if empty := [name for name in settings.models if not study.manifest(predictions(root, name))]:
        out = " ".join(f"--remove {name}" for name in empty)
        raise ModelError(
            f"{', '.join(empty)}: no maps yet; run `faultscape predict {root} NAME=SOURCE` first, or remove"
            f" them: `faultscape predict {root} {out}`"
        )
    wanted = set(shards)
    digests = (of_shard for of_shard in each_whole_digest(study.corpus) if of_shard[0] in wanted)
    for name in outdated(root, settings, digests, study.manifest):
        raise StudyError(
            f"the maps of {name} were made at another working size, from images that changed since, or in"
            f" part by another network; run `faultscape predict {shlex.quote(str(root))}"
            f" {shlex.quote(f'{name}={settings.models[name].source}')}` first"
        )
    for name in settings.models:
        done = study.manifest(predictions(root, name))
        if waiting := sum(part_name(number) not in done for number in shards):
            print(
                f"note: {name} has no maps for {waiting} of {len(shards)} shards yet; their pairs are counted"
                " once `predict` has made them"
            )


def _jobs(study: Study, lacking: Sequence[PairPart]) -> list[CountJob]:
    """Return a job for every shard with missing parts."""
    of_shard: dict[int, list[PairPart]] = {}
    for part in lacking:
        of_shard.setdefault(part.shard, []).append(part)
    models = {name for part in lacking for name in (part.name, *(part.others if part.truth is None else ()))}
    truths = {part.truth for part in lacking if part.truth is not None}
    root = study.root
    maps = {name: study.manifest(predictions(root, name)) for name in models}
    true = {name: study.manifest(truth(root, name)) for name in truths}
    jobs = []
    for number, parts in sorted(of_shard.items()):
        names = {name for part in parts for name in (part.name, *(part.others if part.truth is None else ()))}
        mine = {name: maps[name][part_name(number)].sha256 for name in sorted(names)}
        against = {
            name: true[name][part_name(number)].sha256
            for name in sorted({p.truth for p in parts if p.truth is not None})
        }
        jobs.append(CountJob(str(root), number, tuple(parts), mine, against))
    return jobs


def _files(root: Path, made: Counted) -> list[tuple[Path, str, str]]:
    return [(pair_table.folder(root, part.name), part.part, part.sha256) for part in made.parts]
