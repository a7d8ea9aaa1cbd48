"""One shard of `predict`: what a worker does, and how what it made comes to count.

Conventions: a worker writes parts and says their checksums; the process that started it enters them in the manifests (`enter`), one after the other.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultscape.stages.statistics import Statistics
    from faultscape.study.tables.logs import Timings


def shard(
    study: str, name: str, number: int, images: int, stamp: str, key: str, model: dict[str, Any], files: dict[str, str], lanes: int, against: str,
    drop: list[str], tick: Any, attempt: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Make one part of predictions/NAME; what a killed run had done is taken from its spool."""
    from faultscape.maps import runs
    from faultscape.prediction import catalogue
    from faultscape.prediction.batches import unrecord
    from faultscape.stages.predict.work import Work
    from faultscape.stages.statistics import AtOnce
    from faultscape.study.settings import read_settings
    from faultscape.study.spool import Spool
    from faultscape.study.tables import label_maps, outputs
    from faultscape.study.tables.corpus import read_corpus

    start = time.perf_counter()
    root = Path(study)
    rows = read_corpus(root, number)
    assert len(rows) == images
    settings = read_settings(root)
    where, keep = label_maps.predictions(root, name), catalogue.keep_of(model["options"], settings.task)
    spool = Spool(spool_path(where, number), f"{stamp} {' '.join(keep.words)}")
    try:
        work = Work(settings, model, files, lanes)
        work.fill(spool, rows, tick, attempt)
    except BaseException:
        spool.close()
        raise
    maps, failures, times = [], [], []
    resized, sizes = 0, {row.id: (row.width, row.height) for row in rows} if model["kind"] in ("folder", "program") else {}
    example: list[int] = []
    chunks = {folder: outputs.Chunks(where / folder, number) for folder in keep.folders if folder not in drop}
    measured = AtOnce(root, settings, against, name, rows, model["labels"]) if against else None
    for record in spool:
        batch = unrecord(record)
        times.append([len(batch.rows), *batch.seconds, batch.warm])
        for row in batch.rows:
            if measured is not None:
                measured.take(row.id, row.runs, row.kept.get("confidence", (None,))[0])
            if row.runs is None:
                failures.append((row.id, row.problem))
                continue
            maps.append(label_maps.StoredMap(row.id, row.runs, row.photo))
            if sizes and settings.task == "segmentation" and (size := runs.shape(row.runs)[::-1]) != sizes[row.id]:
                resized, example = resized + 1, example or [*size, *sizes[row.id]]
            for folder in row.kept.keys() - drop:
                chunks.setdefault(folder, outputs.Chunks(where / folder, number)).add(row.id, row.kept[folder])
    sha = label_maps.put_maps(where, number, maps)
    beside = {folder: writer.finish() for folder, writer in chunks.items()}
    statistics = measured.finish() if measured is not None else None
    spool.close()  # it goes when what was made of it counts
    return {
        "sha256": sha, "rows": len(maps), "key": key, "failures": failures, "kept": beside, "times": times, "device": work.device,
        "resized": resized, "example": example, "statistics": statistics, "seconds": time.perf_counter() - start,
    }  # fmt: skip


def forget(root: Path, name: str, stamps: dict[int, str]) -> None:
    """Take the parts out of a model's manifest that have another stamp than they should: from now on the study says that the model is another."""
    from faultscape.stages.predict.origin import outdated
    from faultscape.study.parts import read_manifest, write_manifest
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.corpus import part_name

    where = label_maps.predictions(root, name)
    parts, held = read_manifest(where), label_maps.stamps_of(where)
    wanted = {part_name(number): stamp for number, stamp in stamps.items()}
    stay = {
        part: entry
        for part, entry in parts.items()
        if part not in wanted or not outdated(held.get(part, ""), wanted[part], refused=bool(entry.failures))
    }
    if len(stay) < len(parts):
        write_manifest(where, stay)


def enter(
    root: Path, call: dict[str, Any], made: dict[str, Any], timings: Timings, beside: set[str], statistics: Statistics | None
) -> None:
    """Make a finished part count, and the statistics made beside it; ``beside`` names what is kept of the model beside its labels, and learns what came new."""
    from faultscape.study.folder import put
    from faultscape.study.parts import Part, read_manifest, write_manifest
    from faultscape.study.tables import label_maps, outputs
    from faultscape.study.tables.corpus import part_name

    if statistics is not None:
        statistics.enter(call["name"], call["number"], made["sha256"], made["statistics"])
    where, part = label_maps.predictions(root, call["name"]), part_name(call["number"])
    failures = tuple((image, why) for image, why in made["failures"])
    stamps = label_maps.stamps_of(where)
    if stamps.pop(part, None) is not None:  # at no moment does a stamp stand beside a part of something else
        put(where / ".stamps.json", json.dumps(stamps, sort_keys=True).encode())
    beside.update(made["kept"])
    for folder in sorted(beside):
        held = read_manifest(where / folder)
        chunks = made["kept"].get(folder)
        if chunks is None:  # not asked for this time: it stays beside the labels that it belongs to, and goes with others
            chunks = outputs.of_shard(held, call["number"], made["sha256"])
        write_manifest(where / folder, outputs.with_shard(held, call["number"], made["sha256"], chunks))
    write_manifest(where, read_manifest(where) | {part: Part(made["sha256"], made["rows"], made["key"], failures)})
    put(where / ".stamps.json", json.dumps(stamps | {part: call["stamp"]}, sort_keys=True).encode())
    about = {"name": call["name"], "shard": call["number"], "device": made["device"]}
    rows = [{"stage": "predict", "items": call["images"], "seconds": made["seconds"], **about}]
    for items, load, model, write, warm in made["times"] if made["device"] else []:
        parts = {"load": load, "model": model, "write": write}
        rows.append({"stage": "inference", "items": items, "seconds": load + model + write, **parts, "warm": warm, **about})
    timings.add(rows)
    spool_path(where, call["number"]).unlink(missing_ok=True)


def settle(root: Path, name: str, numbers: list[int]) -> tuple[int, int]:
    """Write a model's failures where people look, and return (maps, images without one)."""
    from faultscape.study.parts import read_manifest
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.corpus import part_name
    from faultscape.study.tables.logs import Failure, replace_failures

    manifest = read_manifest(label_maps.predictions(root, name))
    parts = [manifest[part_name(n)] for n in numbers if part_name(n) in manifest]
    failures = [Failure("predict", name, image, why) for part in parts for image, why in part.failures]
    replace_failures(root, "predict", name, failures)
    return sum(part.rows for part in parts), len(failures)


def unmeasured(root: Path, settings: Any, truth: str, name: str, done: dict[str, Any]) -> list[int]:
    """Return the shards whose statistics against a truth are missing, or were made from other maps or without confidence; ``done`` are the parts of maps that are there."""
    from faultscape.stages.statistics import Statistics

    statistics = Statistics(root, settings, truth)
    return [int(part) for part, entry in done.items() if not statistics.has(name, int(part), entry.sha256)]


def spool_path(where: Path, number: int) -> Path:
    """Return where a shard's results wait until they count."""
    from faultscape.study.tables.corpus import part_name

    return where / f".spool-{part_name(number)}"
