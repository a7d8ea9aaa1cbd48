"""Compute component F1 for the scorer of each model's own row, on anomaly sets with stored doubt: predicted
objects need the pixels, which counts do not hold.

Conventions: a pixel is predicted if its rounded score reaches the threshold of the best pixel F1 over all
images of the set, chosen with their labels, as in SegmentMeIfYouCan. A ``track`` sets its size limits in
pixels; without one there are none. Intervals take the threshold as fixed. The counts of a shard are stored in
reliability/components/MODEL.json under a key of their inputs; entries that a run does not use are deleted.
Source: Chan et al. 2021 (SegmentMeIfYouCan); Blum et al. 2021, 3.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.choices import Track
from faultscape.metrics.intervals.evidence import Ratios
from faultscape.metrics.intervals.slopes import Linear
from faultscape.metrics.overlaps.components import component_counts
from faultscape.metrics.scorers import rounded, scorer_named
from faultscape.metrics.scores.histogram import places_of
from faultscape.metrics.scores.rank_slopes import best_place
from faultscape.reading.fill import CHANGES_NOTHING, do, task
from faultscape.reading.image_truths import Judge, made_from
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.tables import outputs
from faultscape.verbs.predict.pixel_counts import Counting, counting_of
from faultscape.verbs.reliability.card import Evidence, EvidenceKey, Judgement
from faultscape.verbs.reliability.conditions import Condition, LabelledStudy
from faultscape.verbs.reliability.kept_by_key import KeptByKey
from faultscape.verbs.reliability.numbers import ModelNumbers

if TYPE_CHECKING:
    from faultscape.verbs.options import ReliabilityOptions

METHOD = 1
METRIC = "component_f1"
_WHAT = ("component_tp", "component_fn", "component_fp")
Rows = dict[str, list[list[int]]]  # {image: found, missed and false components (3, 11)}


@dataclass(frozen=True)
class ComponentJob:
    """The images of one shard for which the components of a model's doubt are counted; pixels at place ``at``
    or above are predicted.
    """

    study: str = field(metadata=CHANGES_NOTHING)
    model: str
    folder: str
    counting: Counting
    number: int
    images: tuple[str, ...]
    holdout: str
    at: int
    track: Track | None
    key: str


def judge_components(
    labelled: LabelledStudy,
    found: Judgement,
    models: Sequence[ModelNumbers],
    conditions: Sequence[Condition],
    options: ReliabilityOptions,
) -> dict[EvidenceKey, Evidence]:
    """Return the component F1 of every model and condition for which all doubt is stored."""
    out: dict[EvidenceKey, Evidence] = {}
    for model in models:
        folder, word = model.own_scorer
        asked: list[tuple[Condition, list[ComponentJob]]] = []
        for condition in conditions:
            key = (model.name, word, condition.name)
            if key in found.scores and not found.scores[key].ranked.undefined:
                at = best_place(model.anomaly_histograms(folder, condition, found.images[key]))
                jobs = _jobs(
                    labelled, model.name, folder, word, condition, found.images[key], at, options.track
                )
                asked += [(condition, jobs)] if jobs else []
        if not asked:
            continue
        kept = KeptByKey[Rows](labelled.study.root, "components", model.name)
        todo = [job for _, jobs in asked for job in jobs if kept.find(job.key) is None]
        counted = do(
            "faultscape.verbs.reliability.components:count_components",
            todo,
            Rows,
            title="component",
            items=sum(len(job.images) for job in todo),
            engine=options.engine,
            workers=options.workers,
            begin_here=True,
        )
        for number, rows in counted:
            kept.add(todo[number].key, rows)
        for condition, jobs in asked:
            rows = {id_: row for job in jobs for id_, row in (kept.find(job.key) or {}).items()}
            ids = [id_ for id_ in found.images[model.name, word, condition.name] if id_ in rows]
            f1 = f1_of(np.array([rows[id_] for id_ in ids], float).reshape(-1, 3, 11))
            if not np.isnan(f1.value):
                out[model.name, word, condition.name, METRIC] = Ratios(model.by_unit(f1, ids), None)
        kept.write()
    return out


def f1_of(counts: np.ndarray) -> Linear:
    """Return the mean over K thresholds of 2 tp / (2 tp + fn + fp), with its slopes; tp, fn and fp (I, 3, K)
    are summed over images. NaN if all three are 0 at a threshold.

    >>> float(f1_of(np.array([[[1.0], [1.0], [0.0]], [[1.0], [0.0], [1.0]]])).value)
    0.6666666666666666
    """
    above = 2 * counts[:, 0]
    below = 2 * counts[:, 0] + counts[:, 1] + counts[:, 2]
    total = below.sum(0)
    if not len(counts) or not total.all():
        return Linear(np.array(np.nan), np.full(len(counts), np.nan))
    shares = above.sum(0) / total
    return Linear(shares.mean(), ((above - shares * below) / total).mean(1))


def _jobs(
    labelled: LabelledStudy,
    name: str,
    folder: str,
    word: str,
    condition: Condition,
    images: Sequence[str],
    at: int,
    track: Track | None,
) -> list[ComponentJob]:
    """Return the jobs of a model and condition; [] if the doubt of any image is not stored."""
    study = labelled.study
    root = study.root
    settings = study.settings
    by_shard: dict[int, list[str]] = {}
    for id_ in images:
        by_shard.setdefault(study.image_rows[id_].shard, []).append(id_)
    parts = outputs.parts_by_shard(root, name, folder, study.manifest)
    counting = counting_of(settings, name, labelled.truth, [word])
    jobs = list[ComponentJob]()
    about = [
        labelled.holdouts,
        settings.classes.counted,
        settings.size,
        track,
    ]
    rounding = [folder, *counting.scorers[folder][1:]]
    for number, ids in sorted(by_shard.items()):
        held = parts.get(number, [])
        if not set(ids) <= set(outputs.ids(root, name, folder, held)):
            return []
        labels = list(made_from(study, (labelled.judged[id_] for id_ in ids)))
        key = key_of(
            METHOD,
            [entry.sha256 for _, entry in held],
            labels,
            tuple(ids),
            condition.holdout,
            about,
            rounding,
            at,
        )
        jobs.append(
            ComponentJob(
                str(root), name, folder, counting, number, tuple(ids), condition.holdout, at, track, key
            )
        )
    return jobs


@task(ComponentJob)
def count_components(job: ComponentJob, tick: Callable[[int], None]) -> Rows:
    """Count the components of the images of one shard."""
    root = Path(job.study)
    judge = Judge.of_truth(Study(root), job.counting.truth)
    word, offset, channels = job.counting.scorers[job.folder]
    scorer = scorer_named(word)
    wanted = set(job.images)
    out = Rows()
    for id_, (doubt, *_) in outputs.read_kept(root, job.model, job.folder, job.number):
        if id_ not in wanted:
            continue
        views = judge.views(id_, (doubt.shape[1], doubt.shape[0]))
        anomaly = next((view.anomaly for view in views if view.holdout == job.holdout), None)
        if anomaly is not None:
            places = places_of(rounded(scorer, doubt, channels, offset))
            counts = component_counts(places, anomaly, job.at - 0.5, track=job.track, where=id_)
            out[id_] = [np.asarray(counts[name]).tolist() for name in _WHAT]
        tick(1)
    return out
