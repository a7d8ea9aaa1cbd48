"""The jobs that measure the scores of a data set, one a model, done side by side, and what a reader must know of them.

Conventions: a model's kind is anomaly, or the first of doubt, probabilities, confidence that it has. A job's key changes with the definitions that its findings
follow from, the classes, and the files' sizes and times, so that only what changed is measured again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.metrics.definitions import Definitions
from faultscape.prediction.sources.folder import fingerprint
from faultscape.stages.measure import scores as model_scores
from faultscape.stages.measure.score_summary import Scored
from faultscape.stages.measure.sets import DataSet
from faultscape.study.array_jobs import Share
from faultscape.study.parts import key_of
from faultscape.study.settings import class_settings

_VERSION = 9  # of what a job finds: another number measures all scores anew
_OF_SCORES = (
    "fpr_rule",
    "curve",
    "thresholds",
    "rounding",
    "track",
    "bins",
    "window",
    "certain",
    "accurate",
)  # what changes a model's part


def jobs_of(
    out: Path, data: DataSet, definitions: Definitions, options: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, str], list[tuple[str, str]]]:
    """Return the jobs of a data set's scores, {NAME: kind}, and what to say of them."""
    jobs, kinds, notes = [], {}, []
    written = class_settings(data.classes).model_dump()
    for name, source in data.models.items():
        kind = next((k for k in ("anomaly", *model_scores.KINDS) if k in source), None)
        if kind is None:
            continue
        kinds[name] = kind
        if said := model_scores.ties(source, kind):
            notes.append((name, said))
        state = _state(data, name, kind)
        key = key_of(
            {name: getattr(definitions, name) for name in _OF_SCORES},
            written,
            options.get("score_scale"),
            options.get("resize_maps"),
            list(data.ids),
            state,
            source.get("labels"),
            data.truth.get("labels"),
            kind,
            _VERSION,
        )
        job = {
            "out": str(out),
            "against": data.name,
            "name": name,
            "kind": kind,
            "key": key[:16],
            "ids": list(data.ids),
            "truth": data.truth,
        }
        jobs.append(
            job
            | {"model": source, "classes": written, "definitions": asdict(definitions)}
            | {name: options.get(name) for name in ("score_scale", "resize_maps")}
            | ({"sizes": [list(size) for size in data.sizes], "shards": _shards(data)} if "study" in source else {})
        )
    return jobs, kinds, notes


def _state(data: DataSet, name: str, kind: str) -> list[str]:
    """Return what says that a model's scores, maps and truth are the same."""
    source = data.models[name]
    if "study" in source:
        return [*(data.keys[name, shard] for shard in data.shards), source["state"]]
    lists = [source[key] for key in dict.fromkeys(("files", kind, "confidence", "probabilities")) if key in source]
    return [fingerprint("/", [path or "" for path in files]) for files in (data.truth["files"], *lists)]


def _shards(data: DataSet) -> list[int]:
    """Return the shard of each image of a study."""
    return [shard for shard, (low, high) in data.shards.items() for _ in range(low, high)]


def make(
    out: Path,
    data: DataSet,
    definitions: Definitions,
    options: Mapping[str, Any],
    *,
    mine: Share,
    engine: str,
    workers: int | None,
) -> int:
    """Measure the scores of every model of a share that has some and was not measured before, side by side; returns how many."""
    from faultscape import engine as engines
    from faultscape.progress import progress

    jobs, _, _ = jobs_of(out, data, definitions, options)
    todo = [job for number, job in enumerate(jobs) if mine.has(number) and not model_scores.place(job).exists()]
    with progress(f"scores {data.name}", sum((4 if job["kind"] == "anomaly" else 6) * len(job["ids"]) for job in todo)) as tick:
        calls = [{"job": job} for job in todo]
        for _ in engines.run("faultscape.stages.measure.scores:score_model", calls, engine=engine, workers=workers, tick=tick):
            pass
    return len(todo)


def scores(out: Path, data: DataSet, definitions: Definitions, options: Mapping[str, Any]) -> Scored:
    """Gather the scores of all models, which were measured before."""
    jobs, kinds, notes = jobs_of(out, data, definitions, options)
    result = Scored(data, definitions, kinds=kinds, notes=notes)
    for job in jobs:
        for old in model_scores.place(job).parent.glob("scores-*.npz"):
            if old != model_scores.place(job):
                old.unlink(missing_ok=True)
        found = model_scores.read(job)
        result.found[job["name"]] = found
        result.notes += _notes(job, found)
        result.failures[job["name"]] = [(str(i), str(w)) for i, w in found["failures"].tolist()]
    return result


def _notes(job: Mapping[str, Any], found: model_scores.Found) -> list[tuple[str, str]]:
    """Return what a reader must know of a model's scores: images that have none or count for nothing, and why something has no value."""
    name, kind, images = job["name"], job["kind"], len(job["ids"])
    notes, have = [], len(found["usable"])
    absent = sum(path is None for path in job["model"][kind])
    if kind != "anomaly" and absent:
        notes.append((name, f"{absent} of {images} images have no {kind}; what is made of it is of the others"))
    if kind != "anomaly" and (bad := images - have - absent) > 0:
        notes.append((name, f"{bad} of {images} images have no map or {kind} that can be used; failures.csv says why"))
    if kind == "anomaly" and have and (empty := int((np.diff(found["ends"]) == 0).sum())):
        notes.append((name, f"{empty} of {have} masks are void everywhere, and count for nothing"))
    if "row_other_class" in found and (other := int(found["row_other_class"].sum())):
        share = other / int(found["row_judged_pixels"].sum())
        order = "; is the order of their channels that of the class list?" if share > 0.05 else ""
        said = f"{100 * share:.1f} %" if share >= 0.0005 else "less than .1 %"
        notes.append(
            (name, f"its map names another class than the most probable of its probabilities in {said} of the pixels{order}")
        )
    if have and (why := str(found["undefined"])):
        notes.append((name, why if kind == "anomaly" else why.replace("anomalous", "incorrect").replace("known", "correct")))
    return notes
