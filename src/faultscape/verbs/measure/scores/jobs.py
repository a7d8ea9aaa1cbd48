"""Measure the scores of a data set in parallel jobs, one per model, and note what readers must know about
them.

Conventions: a model's kind is anomaly, or the first of doubt, probabilities, confidence that it has. A job's
key depends on the definitions that affect its results, the classes, and the files' sizes and times, so that
only what changed is measured again.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from faultscape import plug
from faultscape.classes.mask_folders import spread
from faultscape.errors import FaultscapeError
from faultscape.formats.label_maps import read_map
from faultscape.metrics.catalogue import named
from faultscape.prediction.sources.folder import fingerprint
from faultscape.reading import fill
from faultscape.study.array_jobs import Share
from faultscape.study.parts import key_of
from faultscape.study.settings import class_settings
from faultscape.verbs.measure.jobs import ScoreJob, Source
from faultscape.verbs.measure.measurement import Measurement
from faultscape.verbs.measure.scores import model_scores
from faultscape.verbs.measure.scores.summary import Scored
from faultscape.verbs.measure.sets import DataSet
from faultscape.verbs.measure.shard import own_metrics

_VERSION = 10  # of a job's results: a new number measures all scores again
# definitions that affect a model's part
_OF_SCORES = ("fpr_rule", "curve", "thresholds", "rounding", "track", "bins", "window", "certain", "accurate")
_OF_ANOMALIES = ("connectivity", "fpr_limit", "alarm", "covered")  # and only with anomaly scores


def jobs_of(
    asked: Measurement, data: DataSet
) -> tuple[list[ScoreJob], dict[str, str], list[tuple[str, str]]]:
    """Return the jobs of a data set's scores, {NAME: kind}, and notes."""
    definitions = asked.definitions
    metrics = list(asked.metrics_of_scores)
    jobs = []
    kinds = {}
    notes = []
    written = class_settings(data.classes)
    for name, source in data.models.items():
        kind = next((k for k in ("anomaly", *model_scores.KINDS) if k in source.scores), None)
        if kind is None:
            continue
        kinds[name] = kind
        if text := model_scores.ties(source, kind):
            notes.append((name, text))
        key = key_of(
            {
                name: getattr(definitions, name)
                for name in (*_OF_SCORES, *(_OF_ANOMALIES if kind == "anomaly" else ()))
            },
            written.model_dump(),
            asked.reading.score_scale,
            asked.reading.resize_maps,
            list(data.ids),
            _state(data, name, kind),
            source.labels,
            data.truth.labels,
            kind,
            _VERSION,
            *[metric.name for metric in model_scores.unstreamed(kind, metrics)],
            *[plug.digest(word) for word in metrics],
        )
        what = (
            data.images_of(),
            data.truth,
            source,
            written,
            definitions,
            metrics,
            asked.reading,
        )
        jobs.append(ScoreJob(str(asked.out), data.name, name, kind, key[:16], *what))
    return jobs, kinds, notes


def _state(data: DataSet, name: str, kind: str) -> list[str]:
    """Return fingerprints that change if a model's scores, maps or truth change."""
    source = data.models[name]
    if source.study:
        return [*(data.keys[name, shard] for shard in data.shards), source.state]
    held = {"files": source.files, **source.scores}
    lists = [held.get(key) for key in dict.fromkeys(("files", kind, "confidence", "probabilities"))]
    wanted = (data.truth.paths, *(of for of in lists if of is not None))
    return [fingerprint("/", [str(path or "") for path in files]) for files in wanted]


def make(asked: Measurement, data: DataSet, mine: Share) -> int:
    """Measure in parallel the scores of a share of the models, those not measured yet; return how many."""
    jobs, _, _ = jobs_of(asked, data)
    todo = [
        job for number, job in enumerate(jobs) if mine.has(number) and not model_scores.place(job).exists()
    ]
    task = "faultscape.verbs.measure.scores.model_scores:score_model"
    title = f"scores {data.name}"
    items = sum((4 if job.kind == "anomaly" else 6) * len(job.images.ids) for job in todo)
    how = {"engine": asked.options.engine, "workers": asked.options.workers}
    return len(list(fill.do(task, todo, int, title=title, items=items, **how)))


def scores(asked: Measurement, data: DataSet) -> Scored:
    """Gather the scores of all models, which must have been measured."""
    jobs, kinds, notes = jobs_of(asked, data)
    own = named(list(own_metrics(asked.metrics_of_scores).values()))
    result = Scored(data, asked.definitions, kinds=kinds, notes=notes, metrics=own)
    for job in jobs:
        for old in model_scores.place(job).parent.glob("scores-*.npz"):
            if old != model_scores.place(job):
                old.unlink(missing_ok=True)
        found = model_scores.read(job)
        result.found[job.name], result.jobs[job.name] = found, job
        result.notes += _notes(job, found)
        result.failures[job.name] = [(str(i), str(w)) for i, w in found["failures"].tolist()]
    return result


def _notes(job: ScoreJob, found: model_scores.Found) -> list[tuple[str, str]]:
    """Return notes on a model's scores: images without scores or without effect, and why a value is
    undefined.
    """
    name = job.name
    kind = job.kind
    images = len(job.images.ids) - len(job.model.trained)
    notes = []
    have = len(found["usable"])
    absent = sum(path is None for path in job.model.scores[kind]) - len(job.model.trained)
    if kind != "anomaly" and absent:
        notes.append((name, f"{absent} of {images} images have no {kind}; its numbers are for the rest"))
    if kind != "anomaly" and (bad := images - have - absent) > 0:
        notes.append(
            (name, f"{bad} of {images} images have no map or {kind} that can be used; failures.csv says why")
        )
    if kind == "anomaly" and have and (empty := int((np.diff(found["ends"]) == 0).sum())):
        notes.append((name, f"{empty} of {have} masks are void everywhere and are not counted"))
    if "row_other_class" in found and (other := int(found["row_other_class"].sum())):
        share = other / int(found["row_judged_pixels"].sum())
        order = "; check that their channels are in the order of the class list" if share > 0.05 else ""
        percent = f"{100 * share:.1f} %" if share >= 0.0005 else "less than .1 %"
        notes.append(
            (
                name,
                (
                    f"its map differs from the most probable class of its probabilities in {percent} of "
                    f"the pixels{order}"
                ),
            )
        )
    why = str(found["undefined"]) if have else ""
    if why and kind != "anomaly":
        notes.append((name, why.replace("anomalous", "incorrect").replace("known", "correct")))
    if kind == "anomaly" and have and (unusual := _unusual_masks(why, found, job.truth)):
        notes.append((name, unusual))
    return notes


def _unusual_masks(why: str, found: model_scores.Found, truth: Source) -> str:
    """Return what masks hold, how it is read, and how to read it in another way, if they have no anomaly, or
    more anomalous than known pixels though nobody said what values mean; '' for others.
    """
    anomalous, known = (int(found[key].sum(dtype=np.int64)) for key in ("anomalous", "known"))
    if not why and (anomalous <= known or truth.given):
        return ""
    held = set[int]()
    for file in spread([path for path in truth.paths if path]):
        with suppress(FaultscapeError):  # reported where all are read
            held.update(np.unique(read_map(file)).tolist())
    meanings = truth.labels or {"0": "known", "1": "anomaly", "255": "void"}
    meant = ", ".join(f"{value} ({meanings.get(str(value), 'void')})" for value in sorted(held))
    void = [value for value in sorted(held) if meanings.get(str(value), "void") == "void"]
    other = "0=anomaly,1=known" if anomalous else f"{void[-1]}=anomaly" if void else ""
    return (
        f"{why or f'{100 * anomalous / (anomalous + known):.3g} % of the pixels are anomalous'}; the masks"
        f" hold {meant}, where 0 (known), 1 (anomaly) and 255 (void) are expected"
        f"{f'; if that is wrong, give --labels {other}' if other else ''}"
    )
