"""Measure one model's scores over a data set: anomaly scores against masks, or doubt against its maps'
errors.

Conventions: doubt comes from `doubt` files, else it is the sum of the losing probabilities, else 1 -
confidence. Calibration uses the probabilities, else the confidence. Truth 1 is anomalous (wrong), 255 void.
Each model is one job: one pass over its files to see which are usable, two for the exact numbers over all
pixels (two more for doubt, in its other direction), and one for each image's histogram, calibration and
components. Results are stored in ``scores-KEY.npz`` next to the model's statistics and reused. Arrays of
images are in corpus order, NaN or 0 for an image without scores.
Source: Buchanan et al. 2022, 2; Blum et al. 2021, 3.3 and appendix A.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.errors import FaultscapeError, MetricError, StudyError
from faultscape.formats.guard import UNREADABLE
from faultscape.formats.label_maps import read_map
from faultscape.formats.scores import finite, levels
from faultscape.maps.resize import nearest
from faultscape.metrics import calibration, selective
from faultscape.metrics.catalogue import named
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.doubt import max_probability
from faultscape.metrics.metric import Metric, value_of_scores
from faultscape.metrics.overlaps import components, recall_by_size
from faultscape.metrics.scores import areas, bootstrap, counts
from faultscape.metrics.scores.detection import detection
from faultscape.metrics.scores.stream import stream
from faultscape.nouns import UNKNOWN
from faultscape.reading.fill import task
from faultscape.study.folder import put
from faultscape.study.tables import measures
from faultscape.verbs.measure.jobs import ScoreJob, Source, classes_of
from faultscape.verbs.measure.shard import own_metrics, reader, scores_of

VOID = 255
POINTS = 400
SUM_SLACK = 0.02  # far more than rounding to float16 or a resize takes away
KINDS = ("doubt", "probabilities", "confidence")
# columns of each image's metrics, the last for doubt only
COLUMNS = ("average_precision", "auroc", "fpr95", "correct_ap")
Found = dict[str, np.ndarray]


@task(ScoreJob)
def score_model(job: ScoreJob, tick: Callable[[int], None]) -> int:
    """Measure the scores of a job's model and store the results; return how many images were usable."""
    definitions = job.definitions
    failures, usable = _usable(job)
    tick(len(job.images.ids))
    found: Found = {
        "usable": np.array(usable, np.int64),
        "failures": np.array(failures, np.str_).reshape(-1, 2),
    }
    if usable:
        chunks = _counted(job, usable, tick)
        regions = definitions.connectivity if job.kind == "anomaly" else None
        exact = stream(
            chunks,
            fpr_rule=definitions.fpr_rule,
            connectivity=regions,
            fpr_limit=definitions.fpr_limit,
            alarm=definitions.alarm,
        )
        found["aupro"] = np.array(exact.aupro)
        found |= _exact(exact, definitions, job, usable)
        found |= _by_image(job, usable, definitions, exact, float(found["threshold"]), tick)
        if job.kind != "anomaly":
            turned = stream(areas.turned(chunks), fpr_rule=definitions.fpr_rule)
            found["correct_ap"] = areas.areas(
                turned, definitions, lambda: ((s, t) for s, t, _ in areas.turned(chunks, 1)())
            )[0][0]
            found["aurc"] = np.array(selective.aurc_of(exact, turned))
            found["augrc"] = np.array(selective.augrc_of(exact.auroc, exact.positives, exact.negatives))
        found |= {f"whole_{metric.name}": np.array(value) for metric, value in _of_all_pixels(job, usable)}
    sink = io.BytesIO()
    np.savez(sink, allow_pickle=False, **found)
    put(place(job), sink.getvalue())
    return len(usable)


def unstreamed(kind: str, words: Sequence[str]) -> list[Metric]:
    """Return the metrics of a kind of scores that cannot be streamed, including custom ones (file.py:NAME);
    they are computed from the pixels.
    """
    known = named(list(own_metrics(words).values()))
    return [
        metric
        for metric in known.values()
        if metric.reads == "score" and not metric.streamed and kind in metric.needs
    ]


def _of_all_pixels(job: ScoreJob, usable: list[int]) -> Iterator[tuple[Metric, float]]:
    """Yield (metric, value) over the pooled pixels of all images, which are held in memory for this."""
    if wanted := [metric for metric in unstreamed(job.kind, job.metrics) if metric.join == "pooled"]:
        pixels = [
            (score[truth != VOID], truth[truth != VOID])
            for score, truth, _ in _counted(job, usable, lambda _: None)()
        ]
        score, truth = (np.concatenate(side) for side in zip(*pixels, strict=True))
        yield from ((metric, value_of_scores(metric, score, truth, job.definitions)) for metric in wanted)


def place(job: ScoreJob) -> Path:
    """Return the file of a job's result."""
    return measures.folder(Path(job.out), job.against, job.name) / f"scores-{job.key}.npz"


def read(job: ScoreJob) -> Found:
    """Return a job's result; StudyError if its file is damaged."""
    try:
        with place(job).open("rb") as file, np.load(file, allow_pickle=False) as held:
            return {name: held[name] for name in held.files}
    except UNREADABLE:
        raise StudyError(f"{place(job)} is damaged; delete it and run the same line again") from None


def _usable(job: ScoreJob) -> tuple[list[tuple[str, str]], list[int]]:
    """Return (image, why) for unusable images, and the indices of the others; every file is opened once."""
    failures = []
    usable = []
    load = score_loader(job)
    for k, id_ in enumerate(job.images.ids):
        try:
            if (pair := load(k)) is None:
                if job.kind == "anomaly":  # confidence or doubt may be missing
                    failures.append((id_, "no scores were found"))
                continue
            score, truth = pair[:2]
            if score.shape != truth.shape:
                raise MetricError(
                    f"its scores are {score.shape[1]} x {score.shape[0]} pixels, its truth "
                    f"{truth.shape[1]} x {truth.shape[0]}"
                )
            path = str(job.model.place(job.kind, k))
            finite(score[truth != VOID], path)
            if isinstance(pair[2], tuple):
                _check_sums(pair[2][0][:, truth != VOID], str(job.model.place("probabilities", k)))
            usable.append(k)
        except FaultscapeError as error:
            failures.append((id_, str(error)))
    return failures, usable


def _check_sums(probabilities: np.ndarray, path: str) -> None:
    """Raise MetricError unless the (C, N) probabilities of every pixel add up to 1, like a softmax."""
    sums = probabilities.sum(0, dtype=np.float64)
    if sums.size and not (sums.min() >= 1 - SUM_SLACK and sums.max() <= 1 + SUM_SLACK):
        raise MetricError(
            f"{path}: the probabilities of a pixel add up to {sums.min():.4g}..{sums.max():.4g}; expected 1,"
            " as a softmax gives"
        )


def _counted(
    job: ScoreJob, usable: list[int], tick: Callable[[int], None]
) -> Callable[[], Iterator[tuple[np.ndarray, np.ndarray, str]]]:
    """Return a function that starts a new pass over (score, truth, id)."""
    load = score_loader(job)

    def chunks() -> Iterator[tuple[np.ndarray, np.ndarray, str]]:
        for k in usable:
            pair = load(k)
            assert pair is not None
            yield pair[0], pair[1], job.images.ids[k]
            tick(1)

    return chunks


def score_loader(job: ScoreJob) -> Callable[[int], tuple[np.ndarray, np.ndarray, Any] | None]:
    """Return a function that loads (score, truth, probabilities or confidence) of the k-th image; truth is 0,
    1 or 255.
    """
    source = job.model
    if job.kind == "anomaly":
        rounding = job.definitions.rounding
        masks = job.truth.paths
        meanings = classes_of(job.classes)
        places = table(meanings, job.truth.labels)

        def anomalies(k: int) -> tuple[np.ndarray, np.ndarray, Any] | None:
            if source.place("anomaly", k) is None or (of := masks[k]) is None:
                return None
            values = read_map(of)
            mask = np.where(places[values] == len(meanings), VOID, places[values])
            score = scores_of(source, "anomaly", k, mask.shape, job)
            if score is not None and rounding:
                score = areas.rounded(score, mask, np.dtype(rounding), str(source.place("anomaly", k)))
            bad = values[mask == UNKNOWN]
            if len(bad):
                raise MetricError(
                    f"{of}: holds the value {bad[0]}; a mask has 0 (known), 1 (anomaly) and 255 (void); give"
                    f" --labels {bad[0]}=anomaly, or --ignore {bad[0]} if it is void"
                )
            return (score, mask.astype(np.uint8), None) if score is not None else None

        return anomalies
    classes = classes_of(job.classes)
    truth_of = reader(job.truth, job.images, classes)
    map_of = reader(source, job.images, classes)
    n = len(classes)

    def mistakes(k: int) -> tuple[np.ndarray, np.ndarray, Any] | None:
        if source.place(job.kind, k) is None:
            return None
        truth = truth_of(k)
        label_map = map_of(k)
        if truth is None or label_map is None:
            return None
        if truth.shape != label_map.shape and job.reading.resize_maps:
            label_map = nearest(label_map, (truth.shape[1], truth.shape[0]))
        if truth.shape != label_map.shape:
            raise MetricError(
                f"its map is {label_map.shape[1]} x {label_map.shape[0]} pixels, its truth "
                f"{truth.shape[1]} x {truth.shape[0]}"
            )
        given = scores_of(source, job.kind, k, truth.shape, job)
        assert given is not None
        wrong = np.where(truth == n, VOID, truth != label_map).astype(np.uint8)
        if job.kind == "doubt":
            if "probabilities" not in source.scores:
                return given, wrong, scores_of(source, "confidence", k, truth.shape, job)
            made = scores_of(source, "probabilities", k, truth.shape, job)
            return given, wrong, None if made is None else (made, truth, label_map)
        doubt = max_probability(given) if given.ndim == 3 else _unsure(given)
        return doubt, wrong, (given, truth, label_map) if given.ndim == 3 else given

    return mistakes


def _unsure(confidence: np.ndarray) -> np.ndarray:
    """Return 1 - confidence in a type that makes no new ties: distinct confidences keep distinct doubts."""
    return (
        1 - confidence.astype(np.float64)
        if confidence.dtype != np.float16
        else 1 - confidence.astype(np.float32)
    )


def _exact(exact: counts.Detection, definitions: Definitions, job: ScoreJob, usable: list[int]) -> Found:
    """Return the numbers over all pixels, and points of the curves."""
    precision = counts.precision_recall(exact, POINTS)
    roc = counts.roc(exact, POINTS)
    load = score_loader(job)
    numbers, threshold = areas.areas(
        exact, definitions, lambda: (pair[:2] for k in usable if (pair := load(k)) is not None)
    )
    return {
        "areas": numbers,
        "threshold": np.array(threshold),
        "undefined": np.array(exact.undefined),
        "recall": precision.x,
        "precision": precision.y,
        "fpr": roc.x,
        "tpr": roc.y,
    }


def _by_image(
    job: ScoreJob,
    usable: list[int],
    definitions: Definitions,
    exact: counts.Detection,
    threshold: float,
    tick: Callable[[int], None],
) -> Found:
    """Return the results of each image: rank metrics, sparse histogram, calibration, windows, components at
    ``threshold``.
    """
    load = score_loader(job)
    how = bootstrap.coarse_of(exact)
    alone = []
    sparse = []
    shares = []
    rows = []
    wanted = unstreamed(job.kind, job.metrics)
    of_pixels: dict[str, list[float]] = {metric.name: [] for metric in wanted}
    fine = np.zeros((3, 65536))
    for k in usable:
        pair = load(k)
        assert pair is not None
        score, truth, more = pair
        where = job.images.ids[k]
        own = detection(score, truth, fpr_rule=definitions.fpr_rule, where=where)
        alone.append(areas.areas(own, definitions, lambda score=score, truth=truth: [(score, truth)])[0])
        for metric in wanted:
            of_pixels[metric.name].append(value_of_scores(metric, score, truth, definitions))
        sparse.append(bootstrap.sparse_histogram(score, truth, how, where=where))
        row: Found = {}
        if job.kind == "anomaly":
            row |= cast(
                "Found", components.component_counts(score, truth, threshold, track=definitions.track or None)
            )
            row["object_sizes"] = recall_by_size.object_size_counts(
                score,
                truth,
                exact.alarm_threshold,
                covered=definitions.covered,
                connectivity=definitions.connectivity,
            )
            shares.append(bootstrap.shares_at(sparse[-1], score, truth, how, definitions.connectivity))
        else:
            correct = areas.correct(truth)
            own = detection(-score, correct, fpr_rule=definitions.fpr_rule, where=where)
            turned, _ = areas.areas(
                own, definitions, lambda score=score, correct=correct: [(1 - score, correct)]
            )
            alone[-1] = np.append(alone[-1], turned[0])
            row["windows"] = selective.window_counts(
                score,
                truth,
                window=definitions.window,
                certain=definitions.certain,
                accurate=definitions.accurate,
            )
            row |= _calibration(more, truth, definitions, fine, where)
        rows.append(row)
        tick(1)
    out = {"alone": np.array(alone), "fine": fine, "logit": np.array(how.logit)}
    out["coarse"] = np.array([how.centre, how.width])
    out |= {f"alone_{name}": np.array(values) for name, values in of_pixels.items()}
    small = {"places": np.uint16, "known": np.uint32, "anomalous": np.uint32}
    out |= {
        name: np.concatenate([getattr(image, name) for image in sparse]).astype(kind)
        for name, kind in small.items()
    }
    if shares:  # of the places that hold anomalous pixels
        out["shares"] = np.concatenate(shares)[out["anomalous"] > 0]
    out["ends"] = np.cumsum([0, *(len(image.places) for image in sparse)])
    return out | {
        f"row_{name}": np.stack([row.get(name, like * 0) for row in rows])
        for name, like in _all_of(rows).items()
    }


def _all_of(rows: list[Found]) -> Found:
    """Return one entry for every statistic that any image has; images without confidence have none for
    calibration.
    """
    return {name: values for row in rows for name, values in row.items()}


def _calibration(
    more: Any, truth: np.ndarray, definitions: Definitions, fine: np.ndarray, where: str
) -> Found:
    """Return the calibration counts of one image; adds to ``fine`` in place."""
    if more is None:
        return {}
    valid = truth != VOID
    right = truth == 0
    out: Found = {}
    if isinstance(more, tuple):
        probabilities, label, label_map = more
        out["judged_pixels"] = np.array(np.count_nonzero(valid))
        out["other_class"] = np.array(np.count_nonzero(valid & _otherwise(probabilities, label_map)))
        sure = np.minimum(probabilities.max(0), 1)  # rounding may put a softmax slightly above 1
        out |= calibration.probability_counts(probabilities, label, valid, bins=definitions.bins, where=where)
    else:
        sure = more
    fine += calibration.fine_counts(sure, right, valid, where=where)
    return out | calibration.calibration_counts(sure, right, valid, bins=definitions.bins, where=where)


def _otherwise(probabilities: np.ndarray, label_map: np.ndarray) -> np.ndarray:
    """Return (H, W) where a map of class indices names a class other than the most probable one; ties and
    void do not count.
    """
    named = label_map < len(probabilities)
    mine = np.take_along_axis(probabilities, np.where(named, label_map, 0)[None].astype(np.intp), 0)[0]
    return named & (mine < probabilities.max(0))


def sparse_images(found: Found, images: int) -> list[bootstrap.SparseHistogram]:
    """Return the sparse histogram of each image of a data set, empty for images without scores."""
    nothing = np.zeros(0, np.int64)
    out = [bootstrap.SparseHistogram(nothing, nothing, nothing, nothing) for _ in range(images)]
    shares = np.zeros(len(found["places"]))
    if "shares" in found:
        shares[found["anomalous"] > 0] = found["shares"]
    for number, k in enumerate(found["usable"].tolist()):
        part = slice(int(found["ends"][number]), int(found["ends"][number + 1]))
        out[k] = bootstrap.SparseHistogram(
            found["places"][part], found["known"][part], found["anomalous"][part], shares[part]
        )
    return out


def ties(source: Source, kind: str) -> str:
    """Return a note about 8-bit scores, or ''."""
    path = next((p for p in source.scores.get(kind, ()) if p), None)
    if path is not None and not isinstance(path, str):
        return f"the {kind} that predict stored has 256 steps, so AP and FPR95 depend on many ties"
    return (
        ""
        if path is None or not levels(path)
        else f"--{kind} holds 8-bit images: with 256 values, AP and FPR95 depend on many ties"
    )
