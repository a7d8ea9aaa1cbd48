"""How well the instances of models fit a truth, image by image: counts for PQ, matched masks for AP.

Conventions: images are in corpus order, those that have a label of the truth. A model has an AP only where
all its instances have scores. Truth and models without stored instances count by their connected regions.
Source: Kirillov et al. 2019 (PQ); Lin et al. 2014 (AP).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import MetricError
from faultscape.metrics.instances import mask_precision
from faultscape.metrics.instances.mask_precision import Judged, Matches
from faultscape.metrics.instances.panoptic_counts import COUNTS, count_segments, qualities
from faultscape.metrics.instances.segments import Segments
from faultscape.metrics.overlaps.regions import mean
from faultscape.progress import Tick
from faultscape.reading import fill
from faultscape.reading.fill import task
from faultscape.reading.instances.shard_segments import ShardSegments
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name, read_corpus

PQ, AP = METRICS = ("instance_pq", "mask_ap")
_OF_MATCHES = ("image", "class_", "scores", "right", "wrong", "truths")


@dataclass(frozen=True, eq=False)
class JudgedModel:
    """How well a model's instances fit a truth: of each image whether it has an answer (I,), the ``counts``
    of PQ {name: (I, C)}, the ``matches`` of its masks (None where some have no score), and whether its
    segments are instances that were ``told`` apart.
    """

    present: np.ndarray
    counts: dict[str, np.ndarray]
    matches: Matches | None
    told: bool

    def per_class(self, metric: str, weights: np.ndarray) -> np.ndarray:
        """Return the value of each class (R, C) by one of METRICS, where each image counts as often as the
        weights (R, I) say; NaN for a class that does not occur.
        """
        if metric == PQ:
            return qualities({name: weights @ self.counts[name] for name in COUNTS})["pq"]
        matches = self.matches
        assert matches is not None
        rows = [mask_precision.class_means(mask_precision.precisions(matches, row)) for row in weights]
        return np.array(rows).reshape(len(weights), -1)

    def values(self, metric: str, weights: np.ndarray) -> np.ndarray:
        """Return (R,) the mean of the classes that occur."""
        return mean(self.per_class(metric, weights), 1)

    def has(self, metric: str) -> bool:
        """Whether it can be judged by a metric: AP needs scores."""
        return metric == PQ or self.matches is not None


@dataclass(frozen=True, eq=False)
class Judgement:
    """How well the instances of models fit a truth, on its labelled ``images``; ``told``: whether the true
    segments are instances that were told apart.
    """

    images: tuple[str, ...]
    models: dict[str, JudgedModel]
    told: bool


@dataclass(frozen=True)
class JudgeJob:
    """The models to judge by a truth in one shard."""

    study: str
    number: int
    models: tuple[str, ...]
    truth: str


def judge(
    study: Study, models: Sequence[str], truth: str, *, engine: str = "local", workers: int | None = None
) -> Judgement:
    """Return how well the instances of models fit a truth; MetricError if no image has a label."""
    held = study.manifest(label_maps.truth(study.root, truth))
    sizes = {number: size for number, size in study.shard_sizes.items() if part_name(number) in held}
    jobs = [JudgeJob(str(study.root), number, tuple(models), truth) for number in sorted(sizes)]
    parts: list[Mapping[str, np.ndarray]] = [{}] * len(jobs)
    shards = "faultscape.reading.instances.judgement:judge_shard"
    items = sum(sizes.values())
    for place, data in fill.gather(
        study.root, shards, jobs, title="instances", items=items, engine=engine, workers=workers
    ):
        with np.load(io.BytesIO(data)) as found:
            parts[place] = {key: found[key] for key in found.files}
    images = tuple(image for part in parts for image in part["images"].tolist())
    if not images:
        raise MetricError(f"no image has a label of truth {truth!r}; import labels first")
    found = {}
    for k, name in enumerate(models):
        counts = {of: np.concatenate([part[f"{k}.{of}"] for part in parts]) for of in COUNTS}
        present = np.concatenate([part[f"{k}.present"] for part in parts])
        matches = mask_precision.joined(
            [Matches(*(part[f"{k}.{of}"] for of in _OF_MATCHES)) for part in parts]
        )
        scored = all(part[f"{k}.scored"] for part in parts)
        told = any(part[f"{k}.told"] for part in parts)
        found[name] = JudgedModel(present, counts, matches if scored and told else None, told)
    return Judgement(images, found, told=any(part["told"] for part in parts))


@task(JudgeJob)
def judge_shard(job: JudgeJob, tick: Tick) -> str:
    """Judge the models on the labelled images of one shard, and return the name of a temporary file in the
    study with the result.
    """
    study = Study(job.study)
    rows = read_corpus(study.root, job.number)
    held = ShardSegments(study, job.models, job.truth, rows)
    classes = len(study.classes)
    out: dict[str, np.ndarray] = {}
    images = list[str]()
    told = False
    ofs: list[list[tuple[dict[str, np.ndarray] | None, dict[int, Judged], bool, bool]]]
    ofs = [[] for _ in job.models]
    for row in rows:
        tick(1)
        truth = held.truth(row.id)
        if truth is None:
            continue
        images.append(row.id)
        told |= truth.told
        for of, model in zip(ofs, job.models, strict=True):
            said = held.of(model, row.id)
            of.append(_judged(truth, said, classes))
    for k, of in enumerate(ofs):
        zero = np.zeros(classes)
        for name in COUNTS:
            each = [zero if counts is None else counts[name] for counts, *_ in of]
            out[f"{k}.{name}"] = np.array(each).reshape(-1, classes)
        out[f"{k}.present"] = np.array([counts is not None for counts, *_ in of], bool)
        out[f"{k}.scored"] = np.array(all(scored for *_, scored, _ in of))
        out[f"{k}.told"] = np.array(any(told for *_, told in of))
        matches = mask_precision.matches_of([judged for _, judged, *_ in of], range(classes))
        out |= {f"{k}.{name}": getattr(matches, name) for name in _OF_MATCHES}
    sink = io.BytesIO()
    np.savez(sink, images=np.array(images, dtype=np.str_), told=np.array(told), **out)  # type: ignore[arg-type]
    return fill.leave(study.root, f"instances-{part_name(job.number)}", sink.getvalue())


def _judged(
    truth: Segments, said: Segments | None, classes: int
) -> tuple[dict[str, np.ndarray] | None, dict[int, Judged], bool, bool]:
    """Return the counts of an image, its matched masks, whether all have scores, and whether they were told
    apart.
    """
    if said is None:
        return None, {}, True, False
    counts = count_segments(
        truth.numbers, truth.classes, said.numbers, said.classes, classes, crowd=truth.crowd
    )
    scored = said.masks.scored
    judged = mask_precision.judge(truth.masks, said.masks, range(classes)) if scored and said.told else {}
    return counts, judged, scored, said.told
