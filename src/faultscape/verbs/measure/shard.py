"""Measure one shard: read truth and maps from files or a study, compute each image's statistics, and write
one part per model.

Conventions: jobs and sources as in `jobs`. An image that cannot be measured is recorded as a failure; the
shard continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from faultscape import plug
from faultscape.classes.class_lists import allowed, table
from faultscape.classes.placed_maps import PlacedMaps, read_ids
from faultscape.errors import FaultscapeError, LabelMapError, MetricError, OptionError, StudyError
from faultscape.formats.scores import read_probabilities, read_scores
from faultscape.maps.resize import nearest
from faultscape.metrics import image_statistics
from faultscape.metrics.catalogue import ALWAYS, ON_REQUEST, named
from faultscape.metrics.metric import Metric, own_statistics
from faultscape.nouns import UNKNOWN, Classes
from faultscape.reading.fill import task
from faultscape.reading.instances.judgement import METRICS as OF_INSTANCES
from faultscape.reading.maps import StoredMaps
from faultscape.study.tables import label_maps, measures, outputs
from faultscape.study.tables.stress_sets import labels_folder
from faultscape.study.watch import Watch
from faultscape.verbs.measure.jobs import Images, MeasuredPart, ScoreJob, ShardJob, Source, classes_of
from faultscape.verbs.predict.statistics import NO_MAP, TRAINED

Read = Callable[[int], np.ndarray | None]


@task(ShardJob)
def measure_shard(job: ShardJob, tick: Callable[[int], None], attempt: int = 0) -> dict[str, MeasuredPart]:
    """Measure every model of a shard's job, and return {NAME: its part}."""
    classes = classes_of(job.classes)
    images = job.images
    given = job.definitions.regions == "given"
    truth = reader(job.truth, images, classes, given=given)
    models = {name: reader(source, images, classes, given=given) for name, source in job.models.items()}
    rows: dict[str, list[Any]] = {name: [] for name in models}
    ids: dict[str, list[str]] = {name: [] for name in models}
    failures: dict[str, list[tuple[str, str]]] = {name: [] for name in models}
    totals = {name: np.zeros((len(classes) + 1,) * 2, np.int64) for name in models}
    metrics = own_metrics(job.metrics)
    also = statistics_on_request(job.metrics)
    watch = Watch(Path(job.out), f"measure-{job.against}-{job.number}", attempt)
    for k, id_ in enumerate(images.ids):
        wanted = None
        why = "the truth has no map of it"
        try:
            if watch.begin(id_):
                wanted = truth(k)
            else:
                why = "workers died each time it was measured (out of memory, or a crash in native code)"
        except FaultscapeError as error:
            why = str(error)
        for name, read in models.items():
            try:
                label_map = read(k) if wanted is not None else None
                if wanted is None or label_map is None:
                    absent = TRAINED if id_ in job.models[name].trained else NO_MAP
                    failures[name].append((id_, why if wanted is None else absent))
                    continue
                stats, cells = of_image(wanted, label_map, job, job.models[name], k, classes, metrics, also)
                totals[name] += cells
                rows[name].append(stats)
                ids[name].append(id_)
            except FaultscapeError as error:
                failures[name].append((id_, str(error)))
        tick(len(models))
    made = {}
    for name in models:
        where = measures.folder(Path(job.out), job.against, name)
        sha = measures.put_statistics(
            where, job.number, ids[name], rows[name], None if given else totals[name]
        )
        made[name] = MeasuredPart(sha, len(ids[name]), job.keys[name], tuple(failures[name]))
    watch.end()
    return made


def of_image(
    truth: np.ndarray,
    label_map: np.ndarray,
    job: ShardJob,
    source: Source,
    k: int,
    classes: Classes,
    metrics: dict[str, Metric],
    also: frozenset[str],
) -> tuple[image_statistics.Statistics, np.ndarray]:
    """Return the statistics of one image, with those of custom ``metrics`` and those made on request
    (``also``), and its confusion matrix; a FaultscapeError says what is wrong with the image.
    """
    definitions = job.definitions
    if truth.shape != label_map.shape and job.reading.resize_maps:
        label_map = nearest(label_map, (truth.shape[1], truth.shape[0]))
    if truth.shape != label_map.shape:
        raise LabelMapError(
            f"its map is {label_map.shape[1]} x {label_map.shape[0]} pixels, its truth {truth.shape[1]} x"
            f" {truth.shape[0]}; give maps of the truth's size, or --resize-maps"
        )
    if definitions.regions == "given":
        divisor = job.reading.divisor if job.with_classes else 0
        meanings = (job.truth.labels or None, source.labels or None)
        stats = image_statistics.of_regions(truth, label_map, classes, definitions, divisor, meanings, also)
        return stats, np.zeros((len(classes) + 1,) * 2, np.int64)
    confidence = scores_of(source, "confidence", k, truth.shape, job)
    stats, cells = image_statistics.of_maps(
        truth,
        label_map,
        classes,
        definitions,
        confidence=confidence,
        boundaries=job.reading.boundaries,
        also=also,
    )
    stats |= own_statistics(metrics, truth, label_map, classes)
    stats["with_confidence"] = np.array(int(confidence is not None))
    return stats, cells


def scores_of(
    source: Source, kind: str, k: int, shape: tuple[int, ...], job: ShardJob | ScoreJob
) -> np.ndarray | None:
    """Return a model's confidence, doubt (H, W) or probabilities (C, H, W) for an image, or None without a
    file.
    """
    path = source.place(kind, k)
    if path is None:
        return None
    if not isinstance(path, str):
        values = _kept(source.study, source.name, kind, source.state).read(path)
        path = f"{source.name}: the {kind} kept for {path[1]}"
    elif kind == "probabilities":
        values = read_probabilities(path, len(job.classes.names))
    else:
        values = read_scores(path, scale=job.reading.score_scale, check=kind == "confidence")
    if values.shape[-2:] != shape:
        raise MetricError(
            f"its scores ({kind}) are {values.shape[-1]} x {values.shape[-2]} pixels, the truth {shape[1]} x"
            f" {shape[0]}; give scores of that size"
        )
    if kind == "confidence" and (values.min() < 0 or values.max() > 1):
        raise MetricError(
            f"{path}: holds {values.min():g}..{values.max():g}; expected confidences between 0 and 1"
        )
    return values


def reader(source: Source, images: Images, classes: Classes, *, given: bool = False) -> Read:
    """Return a function that loads a source's map of the k-th image: class indices, or region ids; None if it
    has none.
    """
    if source.study:
        labels = source.labels or None
        places = images.labels if source.kind == "truth" else ()
        # region ids stay unchanged
        values = np.arange(UNKNOWN + 1, dtype=np.uint16) if given else table(classes, labels)
        folder = folder_of(source)
        known = allowed(classes, labels)
        void = frozenset(source.trained)

        @lru_cache(maxsize=1)  # images come in corpus order
        def shard(number: int) -> StoredMaps | None:
            checksum = source.maps.get(number)
            return StoredMaps(folder, number, values, known, checksum) if checksum else None

        def stored(k: int) -> np.ndarray | None:
            number, id_ = places[k] if places else (images.shards[k], images.ids[k])
            held = None if images.ids[k] in void else shard(number)
            found = None if held is None else held.read(id_, (images.sizes[k][0], images.sizes[k][1]))
            return None if found is None else found.copy()

        return stored
    files = source.paths
    if given:
        return lambda k: None if (path := files[k]) is None else read_ids(path)
    maps = PlacedMaps(classes, source.labels, given=source.given)
    return lambda k: None if (path := files[k]) is None else maps.read(path, images.size(k))


def folder_of(source: Source) -> Path:
    """Return the folder of a source's maps in its study."""
    root = Path(source.study)
    if source.kind == "truth":
        return labels_folder(root, source.set) if source.set else label_maps.truth(root, source.name)
    return label_maps.predictions(root, source.name)


def asked_metrics(words: Sequence[str]) -> list[tuple[str, Metric]]:
    """Return (word, metric) of each `--metric` argument: a custom metric, ``file.py:NAME``, or one of the
    catalogue that is computed on request; OptionError for anything else.
    """
    if always := next((word for word in words if word in ALWAYS), None):
        raise OptionError(f"--metric {always}: it is always computed; leave it out")
    if of_study := next((word for word in words if word in OF_INSTANCES), ""):
        raise OptionError(
            f"--metric {of_study} is of all images of a study; leave out what measures a part, or this metric"
        )
    known = {**ON_REQUEST, **dict.fromkeys(OF_INSTANCES)}  # they are computed by themselves, but named
    found: list[tuple[str, Metric]] = [(word, plug.find("metric", word, known, of=Metric)) for word in words]
    own = [metric for word, metric in found if word not in ON_REQUEST]
    if other := next(
        (metric.name for metric in own if metric.count is None and metric.reads != "score"), None
    ):
        raise OptionError(
            f"--metric: {other!r} is not a metric of your own; make one for label maps of classes with "
            "`fs.metrics.metric_of_maps` (not for regions given as ids, or calibration), or for scores "
            "with `fs.metrics.metric_of_scores`"
        )
    named(own)
    return found


def own_metrics(words: Sequence[str]) -> dict[str, Metric]:
    """Return {name: metric} of the custom metrics among the arguments of `--metric`, in order; errors as in
    `asked_metrics`.
    """
    return {metric.name: metric for word, metric in asked_metrics(words) if word not in ON_REQUEST}


def of_maps(words: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of `--metric` that name metrics of label maps."""
    return tuple(word for word, metric in asked_metrics(words) if not metric.of_scores)


def statistics_on_request(words: Sequence[str]) -> frozenset[str]:
    """Return the statistics that are computed only for metrics named by `--metric`.

    >>> sorted(statistics_on_request(["cldice", "recall_small"]))
    ['region_sizes', 'skeletons']
    """
    return frozenset(ON_REQUEST[word].reads for word in words if word in ON_REQUEST)


@lru_cache(maxsize=4)
def _kept(study: str, name: str, kind: str, state: str) -> KeptScores:
    """Return a cached reader of a model's stored scores in one state; it continues from image to image."""
    del state
    return KeptScores(Path(study), name, kind)


class KeptScores:
    """Reads one kind of a model's stored outputs as scores, one image at a time, fastest in corpus order.
    Confidence is float32 in 0..1, in steps of 1/255.
    """

    def __init__(self, root: Path, name: str, kind: str) -> None:
        self._name = name
        self._kind = kind
        self._folder = label_maps.predictions(root, name) / kind
        self._parts = outputs.parts_by_shard(root, name, kind)
        self._shard = -1
        self._rows: Iterator[tuple[str, tuple[np.ndarray, ...]]] = iter(())
        self._passed: set[str] = set()

    def read(self, token: tuple[int, str]) -> np.ndarray:
        """Return the scores of an image, (shard, id); StudyError if they have disappeared since they were
        listed.
        """
        shard, wanted = token
        for _ in range(2):  # from the last image on; else once more from the beginning of the shard
            if shard != self._shard or wanted in self._passed:
                self._shard = shard
                self._rows = outputs.read_parts(self._folder, self._parts.get(shard, []))
                self._passed = set()
            for id_, (values, *_) in self._rows:
                self._passed.add(id_)
                if id_ == wanted:
                    return values.astype(np.float32) / 255 if values.dtype == np.uint8 else values
            self._shard = -1
        raise StudyError(
            f"the {self._kind} that {self._name} had for {wanted} is missing; run the same line again"
        )
