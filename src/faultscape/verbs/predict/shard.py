"""One shard of `predict`: what a worker does, and how its results are entered in the study.

Conventions: a worker writes parts and reports their checksums; the process that started it enters them in the
manifests (`enter`), many shards of a model in one write.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from faultscape.maps import array_codes, runs
from faultscape.metrics.scorers import plain_name
from faultscape.prediction import catalogue, networks
from faultscape.prediction.batches import COUNTED, INSTANCES, Row, unrecord
from faultscape.prediction.inference import Output
from faultscape.prediction.source import Part
from faultscape.prediction.stamps import outdated
from faultscape.reading.fill import task
from faultscape.reading.study import Study
from faultscape.study import parts
from faultscape.study.folder import put
from faultscape.study.parts import read_manifest, write_manifest
from faultscape.study.receipts import Receipts
from faultscape.study.settings import Settings, read_settings
from faultscape.study.spool import Spool, holds_more_than_its_key
from faultscape.study.tables import label_maps, outputs
from faultscape.study.tables.corpus import Image, part_name, read_corpus
from faultscape.study.tables.logs import Failure, Timing, replace_failures
from faultscape.study.tables.pixel_counts import counts_folder
from faultscape.study.tables.removed_images import removed_by_shard, whole_shard
from faultscape.verbs.predict import work
from faultscape.verbs.predict.job import Job, Made, Times
from faultscape.verbs.predict.pixel_counts import CountParts, PixelCounter, state_of_maps
from faultscape.verbs.predict.statistics import AtOnce, Statistics

TITLE = "predict"  # of its progress bar and receipts


@task(Job)
def shard(job: Job, tick: Callable[[int], None], attempt: int = 0) -> Made:
    """Make one part of predictions/NAME; work of a killed run is taken from its spool."""
    start = time.perf_counter()
    root = Path(job.study)
    images = whole_shard(root, job.number)
    assert len(images) == job.images
    settings = read_settings(root)
    opening = job.opening
    where = label_maps.predictions(root, job.name)
    keep = networks.keep_of(opening.options, settings.task)
    spool = Spool(
        spool_path(where, job.number),
        " ".join([job.stamp, *keep.words, *([job.counts_key] if job.counting else [])]),
    )
    counter = (
        PixelCounter(Study(root), job.name, job.number, job.counting, opening.labels, job.count_kinds)
        if job.counting
        else None
    )

    def look(image: Image, output: Output) -> bytes:
        assert counter is not None and output.labels is not None  # noqa: PT018
        return counter.of_answer(
            image.id, output.labels, {kind: held[0] for kind, held in output.kept.items() if len(held) == 1}
        )

    try:
        model = catalogue.opened(opening, settings)
        work.fill(spool, model, images, Part(job.files, job.lanes, look if counter else None), tick, attempt)
    except BaseException:
        spool.close()
        raise
    maps = []
    failures = []
    times = []
    told = catalogue.kind_named(opening.kind).own_sizes and not settings.classifies
    sizes = {image.id: (image.width, image.height) for image in images} if told else {}
    resized = 0
    example = ()
    chunks = {
        folder: outputs.Chunks(where / folder, job.number)
        for folder in keep.folders
        if folder not in job.drop
    }
    measured = _measured(root, settings, job, opening.labels) if job.against else None
    for record in spool:
        batch = unrecord(record)
        times.append(Times(len(batch.rows), *batch.seconds, batch.warm, batch.fitted, batch.methods))
        for row in batch.rows:
            if measured is not None:
                measured.take(row.id, row.runs, row.kept.get("confidence", (None,))[0])
            if row.runs is None:
                failures += [(row.id, row.problem)] if row.problem else []
                continue
            if counter is not None:
                _count(counter, row)
            if "labels" not in job.drop:
                instances = row.kept.get(INSTANCES, (None,))[0]
                maps.append(label_maps.StoredMap(row.id, row.runs, row.photo, instances))
            if sizes and (size := runs.shape(row.runs)[::-1]) != sizes[row.id]:
                resized = resized + 1
                example = example or (*size, *sizes[row.id])
            for folder in row.kept.keys() - {*job.drop, COUNTED, INSTANCES}:
                chunks.setdefault(folder, outputs.Chunks(where / folder, job.number)).add(
                    row.id, row.kept[folder]
                )
    sha = label_maps.put_maps(where, job.number, maps)
    beside = {folder: writer.finish() for folder, writer in chunks.items()}
    statistics = measured.finish() if measured is not None else None
    counted = counter.finish() if counter is not None else None
    spool.close()  # deleted once its part is entered
    return Made(
        sha,
        len(maps),
        tuple(failures),
        beside,
        tuple(times),
        model.device,
        resized,
        example,
        statistics,
        counted,
        time.perf_counter() - start,
    )


def _measured(root: Path, settings: Settings, job: Job, labels: dict[str, str]) -> AtOnce:
    """Return what measures a shard while it is predicted; only corpus images are measured."""
    return AtOnce(root, settings, job.against, job.name, read_corpus(root, job.number), labels)


def _count(counter: PixelCounter, row: Row) -> None:
    """Keep an image's counts: those made with the prediction, or, for a model that yields only maps, those of
    its map.
    """
    assert row.runs is not None
    label_map = runs.decode(row.runs)
    code = row.kept.get(COUNTED, (None,))[0]
    if code is None:
        beside = {
            kind: array_codes.decode(held[0]) for kind, held in row.kept.items() if kind == "confidence"
        }
        code = counter.of_answer(row.id, label_map, beside)
    counter.take(row.id, code)
    counter.compare(row.id, label_map)


def staying(root: Path, name: str, stamps: dict[int, str]) -> dict[str, parts.Part]:
    """Return the parts of a model's manifest that have the right stamp, or belong to no known shard."""
    where = label_maps.predictions(root, name)
    held = label_maps.stamps_of(where)
    wanted = {part_name(number): stamp for number, stamp in stamps.items()}
    return {
        part: entry
        for part, entry in read_manifest(where).items()
        if part not in wanted or not outdated(held.get(part, ""), wanted[part], refused=bool(entry.failures))
    }


def forget(root: Path, name: str, stamps: dict[int, str], made: Sequence[tuple[Job, Made]]) -> None:
    """Remove the parts with an outdated stamp from a model's manifest, before the study names the new source.

    Parts that were ``made`` again with the same bytes stay: they are the same files.
    """
    where = label_maps.predictions(root, name)
    held = read_manifest(where)
    same = {part_name(job.number): part.sha256 for job, part in made}
    stay = staying(root, name, stamps) | {
        part: entry for part, entry in held.items() if same.get(part) == entry.sha256
    }
    if len(stay) < len(held):
        write_manifest(where, stay)


def drop_unentered(root: Path, name: str) -> None:
    """Delete the receipts of finished parts that wait to replace a model's maps."""
    Receipts(root, TITLE, group=name).clear()


def files_of(
    root: Path, job: Job, made: Made, statistics: Statistics | None
) -> Iterator[tuple[Path, str, str]]:
    """Yield (folder, part, SHA-256) of everything in a finished shard."""
    where = label_maps.predictions(root, job.name)
    part = part_name(job.number)
    yield where, part, made.sha256
    for folder, chunks in made.kept.items():
        yield from ((where / folder, chunk.part, chunk.sha256) for chunk in chunks)
    if statistics is not None and made.statistics is not None:
        yield statistics.folder(job.name), part, made.statistics.sha256
    for kind, (sha, _) in made.counted.parts.items() if made.counted else ():
        yield counts_folder(root, job.name, kind), part, sha


def enter(
    root: Path,
    name: str,
    made: Sequence[tuple[Job, Made]],
    beside: set[str],
    statistics: Statistics | None,
    counts: CountParts | None = None,
) -> list[Timing]:
    """Enter finished parts of a model, with their statistics and counts, and return rows of timings.

    ``beside`` names the model's outputs other than labels; new ones are added to it.
    """
    if statistics is not None:
        statistics.enter(
            name,
            [(job.number, part.sha256, part.statistics) for job, part in made if part.statistics is not None],
        )
    where = label_maps.predictions(root, name)
    numbers = {part_name(job.number) for job, _ in made}
    before = label_maps.stamps_of(where)
    stamps = {part: stamp for part, stamp in before.items() if part not in numbers}
    if len(stamps) < len(before):  # a stamp must never describe a part of something else
        put(where / ".stamps.json", json.dumps(stamps, sort_keys=True).encode())
    beside.update(*(part.kept for _, part in made))
    for folder in sorted(beside):
        manifest = held = read_manifest(where / folder)
        for job, part in made:
            chunks = part.kept.get(folder)
            if chunks is None:
                # not requested this time: it stays while its labels do, and is dropped if they change
                chunks = outputs.of_shard(held, job.number, part.sha256)
            manifest = outputs.with_shard(manifest, job.number, part.sha256, chunks)
        write_manifest(where / folder, manifest)
    entries = {
        part_name(job.number): parts.Part(part.sha256, part.rows, job.key, part.failures)
        for job, part in made
    }
    write_manifest(where, read_manifest(where) | entries)
    stamps |= {part_name(job.number): job.stamp for job, _ in made}
    put(where / ".stamps.json", json.dumps(stamps, sort_keys=True).encode())
    if counts is not None:
        counts.enter(
            name,
            [
                (
                    job.number,
                    state_of_maps(entries[part_name(job.number)], job.stamp),
                    job.counting,
                    part.counted,
                )
                for job, part in made
                if job.counting is not None and part.counted is not None
            ],
        )
    for job, _ in made:
        spool_path(where, job.number).unlink(missing_ok=True)
    return [row for job, part in made for row in _timings(job, part)]


def _timings(job: Job, made: Made) -> Iterator[Timing]:
    """Yield the timings of a shard: its own row and, if batches are timed, one row per batch."""
    name = job.name
    number = job.number
    device = made.device
    yield Timing("predict", name, number, job.images, made.seconds, device=device)
    for t in made.times if device else ():
        yield Timing(
            "inference",
            name,
            number,
            t.images,
            t.load + t.model + t.fitted + t.score + t.write,
            t.load,
            t.model,
            t.write,
            device,
            t.warm,
            t.score,
            t.fitted,
            {plain_name(word): seconds for word, seconds in t.methods.items()},
        )


def settle(study: Study, name: str) -> tuple[int, int]:
    """Write a model's failures to failures.csv, and return (maps, images without a map)."""
    where = label_maps.predictions(study.root, name)
    manifest = study.manifest(where)
    numbers = sorted(study.shard_sizes)
    entries = [manifest[part_name(n)] for n in numbers if part_name(n) in manifest]
    removed = removed_by_shard(study.corpus)
    gone = {image.id for images in removed.values() for image in images}
    failures = [
        Failure("predict", name, image, why)
        for part in entries
        for image, why in part.failures
        if image not in gone
    ]
    replace_failures(study.root, "predict", name, failures)
    idle = 0
    for n in numbers if gone else ():
        if n in removed and (part := manifest.get(part_name(n))):
            idle += len(gone & set(label_maps.read_ids(where, n, part)))
    return sum(part.rows for part in entries) - idle, len(failures)


def unmeasured(
    study: Study, settings: Settings, truth: str, name: str, done: dict[str, parts.Part]
) -> list[int]:
    """Return the shards whose statistics against a truth are missing, or were made from other maps or without
    confidence; ``done`` are the existing parts of maps.
    """
    statistics = Statistics(study, settings, truth)
    return [int(part) for part, entry in done.items() if not statistics.has(name, int(part), entry.sha256)]


def begun(root: Path, name: str) -> bool:
    """Whether a model has a part, or a spool to resume from."""
    where = label_maps.predictions(root, name)
    return bool(read_manifest(where)) or any(map(holds_more_than_its_key, where.glob(".spool-*")))


def spool_path(where: Path, number: int) -> Path:
    """Return where a shard's results wait until they are entered."""
    return where / f".spool-{part_name(number)}"
