"""The steps of measure: the statistics that are missing, the numbers of one data set, and what is written of all.

Conventions: called by `measure` alone, which holds the lock of the folder that is written to. What is there and fresh is not made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faultscape.errors import MetricError


def statistics(
    held: Path, out: Path, data: Any, definitions: Any, options: Mapping[str, Any], *, mine: Any, engine: str, workers: int | None
) -> tuple[int, int]:
    """Make the statistics of a data set that are missing or stale, those of a share of its shards and models; returns how many, and failures so far."""
    from faultscape import engine as engines
    from faultscape.progress import progress
    from faultscape.stages.measure import score_jobs
    from faultscape.stages.measure import sets as measure_plan
    from faultscape.study.lock import changing
    from faultscape.study.parts import Part, read_manifest, there, write_manifest
    from faultscape.study.tables import measures
    from faultscape.study.tables.corpus import part_name

    where = {name: measures.folder(out, data.name, name) for name in data.models}
    done = {name: there(folder) for name, folder in where.items()}
    todo = measure_plan.jobs(
        out, data, definitions, options, done=lambda n, s: p.key if (p := done[n].get(part_name(s))) else None
    )
    todo = [job for job in todo if mine.has(job["number"])]
    total = sum(len(job["ids"]) * len(job["models"]) for job in todo)
    with progress(f"measure {data.name}", total) as tick:
        calls = [{"job": job} for job in todo]
        for number, made in engines.run(
            "faultscape.stages.measure.shard:measure_shard", calls, engine=engine, workers=workers, tick=tick
        ):
            part = part_name(todo[number]["number"])
            with changing(held):
                for name, entry in made["parts"].items():
                    new = Part(entry["sha256"], entry["rows"], entry["key"], tuple((i, w) for i, w in entry["failures"]))
                    write_manifest(where[name], read_manifest(where[name]) | {part: new})
    scored = score_jobs.make(out, data, definitions, options, mine=mine, engine=engine, workers=workers)
    return len(todo) + scored, sum(len(part.failures) for folder in where.values() for part in read_manifest(folder).values())


def one(
    out: Path,
    data: Any,
    definitions: Any,
    options: Mapping[str, Any],
    *,
    skip: bool,
    resamples: int,
    seed: int,
) -> Any:
    """Gather one data set from its statistics and scores, which are there; MetricError where images cannot be measured and none may be skipped."""
    from faultscape.stages import evidence
    from faultscape.stages.measure import gather, score_jobs
    from faultscape.stages.measure import sets as measure_plan
    from faultscape.study.parts import read_manifest, write_manifest
    from faultscape.study.tables import measures
    from faultscape.study.tables.corpus import part_name
    from faultscape.study.tables.logs import Failure, replace_failures

    where = {name: measures.folder(out, data.name, name) for name in data.models}
    for name, source in data.models.items():  # shards that are no more, and maps of a name that now has scores alone
        parts = read_manifest(where[name])
        if gone := set(parts) - {part_name(s) for s in data.shards if measure_plan.has_maps(source)}:
            write_manifest(where[name], {k: v for k, v in parts.items() if k not in gone})
    failures = {name: [f for part in read_manifest(where[name]).values() for f in part.failures] for name in data.models}
    scored = score_jobs.scores(out, data, definitions, options)
    for name, found in scored.failures.items():  # an image is one failure, whichever of its files is looked at
        failures[name] += [failure for failure in found if failure[0] not in {image for image, _ in failures[name]}]
    wrong = []
    for name, found in failures.items():
        rows = [Failure("measure", f"{data.name}/{name}", image, why) for image, why in found]
        replace_failures(out, "measure", f"{data.name}/{name}", rows)
        wrong += [row for row in rows if row.reason not in gather.MISSING]
    if wrong and not skip:
        more = f" ({len(wrong)} such in all, see {out / 'failures.csv'})" if len(wrong) > 1 else ""
        raise MetricError(f"{wrong[0].image}: {wrong[0].reason}{more}; mend it, or leave such images out with --skip")
    study = data.truth.get("study")
    chosen = evidence.measured_by_choice(Path(study), data.ids) if study else 0
    return gather.gather(out, data, definitions, scored, failures, resamples=resamples, seed=seed, chosen=chosen)


def written(
    out: Path,
    sets: Any,
    documents: Mapping[str, Any],
    definitions: Any,
    several: bool,
    options: Mapping[str, Any],
    resamples: int,
    seed: int,
    worst: int,
) -> dict[str, Any]:
    """Write measure.json, per_image.parquet and report.html, and return the document."""
    import json
    from importlib.metadata import version

    from faultscape.stages.measure import document as measure_document
    from faultscape.stages.measure import gather, pictures
    from faultscape.stages.measure import sets as measure_plan
    from faultscape.study.folder import put

    provenance = {
        "faultscape": version("faultscape"),
        "definitions": measure_document.recorded(definitions),
        "resamples": resamples,
        "seed": seed,
    }
    provenance |= {k: v for k, v in options.items() if v is not None}
    provenance["inputs"] = {data.name: measure_plan.inputs(data) for data in sets}
    plain = {name: found.document for name, found in documents.items()}
    document: dict[str, Any] = {"datasets": plain} if several else dict(next(iter(plain.values())))
    document["provenance"] = provenance
    put(
        out / "measure.json",
        (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8", "surrogateescape"),
    )
    gather.write_per_image(out / "per_image.parquet", sets, documents, definitions)
    page = pictures.page(out, sets, documents, document, definitions, worst)
    put(out / "report.html", page.encode("utf-8", "xmlcharrefreplace"))
    return document
