"""Each metric of scores as a function of their arrays: `average_precision(score, anomaly)`, `ece(confidence,
incorrect)`, `brier(probabilities, truth)`, made from its entry of the catalogue.

Conventions: images are (I, H, W), lists of (H, W), or one (H, W). ``anomaly`` and ``incorrect`` hold 0, 1 and
255 (void), or are bools. Values are those of the verb `measure`, without its intervals. All scores are in
memory; `stream` takes those that do not fit. scripts/metric_functions.py writes the same signatures and
docstrings into of_scores.pyi, for editors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from faultscape.errors import MetricError
from faultscape.maps import checked_arrays
from faultscape.maps.tensors import on_processor
from faultscape.metrics import calibration, selective
from faultscape.metrics.catalogue import ANOMALY, CONFIDENCE, METRICS, PROBABILITIES
from faultscape.metrics.definitions import Definitions, define
from faultscape.metrics.functions.texts import docstring, finished, named_functions, refuse_others
from faultscape.metrics.metric import Metric
from faultscape.metrics.overlaps import components, recall_by_size
from faultscape.metrics.scores import areas
from faultscape.metrics.scores.detection import detection
from faultscape.metrics.scores.inputs import VOID, check_mask, flat
from faultscape.metrics.scores.stream import stream

Images = list[tuple[np.ndarray, np.ndarray]]  # (score, truth) of each image, truth being 0, 1 or 255
_AREAS = ("average_precision", "auroc", "fpr95", "correct_ap")  # one number for each image too
ARGUMENTS = {  # by what a metric needs: the two arrays, and what they are
    "anomaly": ("score", "anomaly", "scores of pixels, large = anomalous"),
    "doubt": ("doubt", "incorrect", "doubt of pixels, large = doubtful"),
    "confidence": ("confidence", "incorrect", "probabilities of the predicted class, 0 to 1"),
    "probabilities": ("probabilities", "truth", "probabilities of all classes, (I, C, H, W)"),
}
MASKS = {
    "anomaly": "1 where a pixel is anomalous, 0 where it is not, 255 (void) where it does not count.",
    "incorrect": "1 where the prediction is wrong, 0 where it is right, 255 (void) where it does not count.",
    "truth": "The true channel of each pixel, 0 to C - 1, or 255 (void) where it does not count.",
}


def kind_of(metric: Metric) -> str:
    """Return what the function of a metric takes: anomaly, doubt, confidence or probabilities.

    >>> from faultscape.metrics.catalogue import named
    >>> [kind_of(named()[name]) for name in ("fpr95", "aurc", "ece", "nll")]
    ['anomaly', 'doubt', 'confidence', 'probabilities']
    """
    kinds = {ANOMALY: "anomaly", CONFIDENCE: "confidence", PROBABILITIES: "probabilities"}
    return kinds.get(metric.needs, "doubt")


def signature_of(metric: Metric) -> str:
    """Return the parameters of a metric's function, as they are written."""
    first, second, _ = ARGUMENTS[kind_of(metric)]
    return ", ".join([f"{first}: Planes", f"{second}: Planes", "*", *finished(metric)])


def text_of(metric: Metric) -> str:
    """Return the docstring of a metric's function."""
    first, second, what = ARGUMENTS[kind_of(metric)]
    shapes = "" if first == "probabilities" else "(I, H, W), lists of (H, W), or one (H, W): "
    rows = {first: f"{shapes}{what}.", second: MASKS[second]}
    errors = "MetricError for arrays that do not fit each other, NaN and other mask values."
    return docstring(metric, what.partition(",")[0], rows, errors)


def _of_anomaly(metric: Metric, d: Definitions, images: Images) -> float:
    rounding = d.rounding
    if rounding:
        images = [(areas.rounded(s, t, np.dtype(rounding), "score"), t) for s, t in images]
    if metric.streamed in _AREAS:
        return _area(metric, d, images)
    exact = stream(
        _chunks(images),
        fpr_rule=d.fpr_rule,
        connectivity=d.connectivity,
        fpr_limit=d.fpr_limit,
        alarm=d.alarm,
    )
    if metric.streamed == "aupro":
        return float(exact.aupro)
    if metric.reads == "object_sizes":
        rows = [
            recall_by_size.object_size_counts(
                s, t, exact.alarm_threshold, covered=d.covered, connectivity=d.connectivity
            )
            for s, t in images
        ]
        return _computed(metric, d, [{"object_sizes": np.asarray(row)} for row in rows])
    _, threshold = areas.areas(exact, d, lambda: images)
    rows = [components.component_counts(s, t, threshold, track=d.track or None) for s, t in images]
    return _computed(metric, d, rows)


def _of_doubt(metric: Metric, d: Definitions, images: Images) -> float:
    if metric.reads == "windows":
        rows = [
            selective.window_counts(s, t, window=d.window, certain=d.certain, accurate=d.accurate)
            for s, t in images
        ]
        return _computed(metric, d, [{"windows": row} for row in rows])
    if metric.streamed in _AREAS:
        return _area(metric, d, images)
    exact = stream(_chunks(images), fpr_rule=d.fpr_rule)
    if metric.streamed == "augrc":
        return float(selective.augrc_of(exact.auroc, exact.positives, exact.negatives))
    return float(selective.aurc_of(exact, stream(areas.turned(_chunks(images)), fpr_rule=d.fpr_rule)))


def _of_confidence(metric: Metric, d: Definitions, images: Images) -> float:
    judged = [(sure, wrong == 0, wrong != VOID) for sure, wrong in images]
    if metric.reads == "fine":
        fine = sum(calibration.fine_counts(*one) for one in judged)
        return float(metric.compute({"fine": np.asarray(fine)}, d))
    return _computed(metric, d, [calibration.calibration_counts(*one, bins=d.bins) for one in judged])


def _of_probabilities(metric: Metric, d: Definitions, images: Images) -> float:
    rows = []
    for k, (probabilities, truth) in enumerate(images):
        judged = truth != VOID
        where = f"image {k}"
        row = calibration.probability_counts(probabilities, truth, judged, bins=d.bins, where=where)
        rows.append({**row, "judged": np.array(np.count_nonzero(judged))})
    return _computed(metric, d, rows)


_VALUES: Mapping[str, Callable[[Metric, Definitions, Images], float]] = {
    "anomaly": _of_anomaly,
    "doubt": _of_doubt,
    "confidence": _of_confidence,
    "probabilities": _of_probabilities,
}


def _area(metric: Metric, d: Definitions, images: Images) -> float:
    """Return an area over all pixels, or the mean over images that have both kinds of pixels."""
    if d.pooling == "pooled":
        return _one_area(metric, d, images, stream)
    each = []
    for score, truth in images:
        both = len(np.unique(truth[truth != VOID])) == 2
        each.append(_one_area(metric, d, [(score, truth)], _held) if both else np.nan)
    known = np.array(each)[~np.isnan(each)]
    return float(known.mean()) if len(known) else float("nan")


def _one_area(metric: Metric, d: Definitions, images: Images, find: Callable[..., Any]) -> float:
    chunks = _chunks(images)
    if metric.streamed == "correct_ap":
        found = find(areas.turned(chunks), fpr_rule=d.fpr_rule)
        return float(areas.areas(found, d, lambda: ((s, t) for s, t, _ in areas.turned(chunks, 1)()))[0][0])
    numbers, _ = areas.areas(find(chunks, fpr_rule=d.fpr_rule), d, lambda: images)
    return float(numbers[_AREAS.index(metric.streamed)])


def _held(chunks: Callable[[], Iterator[Any]], **rules: Any) -> Any:
    """Return the detection of one image, which `measure` makes without a stream."""
    ((score, truth, _),) = chunks()
    return detection(score, truth, **rules)


def _chunks(images: Images) -> Callable[[], Iterator[Any]]:
    return lambda: ((score, truth, f"image {k}") for k, (score, truth) in enumerate(images))


def _computed(metric: Metric, d: Definitions, rows: Sequence[Mapping[str, Any]]) -> float:
    """Return a metric from the sums over images of its statistics."""
    sums = {name: np.stack([row[name] for row in rows]).sum(0).astype(float) for name in rows[0]}
    return float(metric.compute({name: values[None] for name, values in sums.items()}, d)[0])


def _images(first: Any, second: Any, names: tuple[str, str]) -> Images:
    """Return the pairs of arrays of each image; MetricError for arrays that do not fit each other."""
    deep = 3 if names[0] == "probabilities" else 2
    one, other = (
        _split(on_processor(values, name, MetricError), name, axes)
        for values, name, axes in ((first, names[0], deep), (second, names[1], 2))
    )
    if len(one) != len(other) or not len(one):
        raise MetricError(
            f"there are {len(one)} images of {names[0]} and {len(other)} of {names[1]}; give one for one,"
            " and at least one"
        )
    return [_checked(a, b, names, k) for k, (a, b) in enumerate(zip(one, other, strict=True))]


def _split(values: Any, name: str, axes: int) -> list[Any]:
    """Return the images of an array of one or of several, or of a list."""
    if isinstance(values, np.ndarray):
        if values.ndim not in (axes, axes + 1):
            return _refused(values, name)
        return [values] if values.ndim == axes else [*values]
    listed = checked_arrays.sequence(values, name, MetricError)
    held = [on_processor(one, name, MetricError) for one in listed]
    depth = np.ndim(held[0]) if held else axes
    return [held] if depth == axes - 1 else held


def _refused(values: np.ndarray, name: str) -> list[Any]:
    shape = "I x C x H x W" if name == "probabilities" else "I x H x W"
    raise MetricError(f"{name}: expected numbers, {shape}; got {values.dtype} of shape {values.shape}")


def _checked(first: Any, second: Any, names: tuple[str, str], k: int) -> tuple[np.ndarray, np.ndarray]:
    where = f"{names[0]}, image {k}"
    calibration.check_unmasked(where, **{names[0]: first, names[1]: second})
    deep = names[0] == "probabilities"
    values = checked_arrays.numbers(first, where, MetricError, "C x H x W" if deep else "H x W")
    if np.asarray(second).dtype.kind == "f" and np.asarray(first).dtype.kind != "f":
        raise MetricError(
            f"{where}: expected scores first, then whole numbers; got {np.asarray(first).dtype}, then"
            f" {np.asarray(second).dtype}: the order is ({names[0]}, {names[1]})"
        )
    truth = checked_arrays.whole_numbers(second, f"{names[1]}, image {k}", MetricError, "H x W")
    if not values.size:
        raise MetricError(f"{where}: has no pixel; its shape is {values.shape}")
    if deep:
        if values.shape[1:] != truth.shape:
            raise MetricError(
                f"{where}: has the shape {values.shape} and its truth {truth.shape}; expected one size"
            )
        return values, truth
    score, mask = flat(values, truth, where, names[0])
    check_mask(mask, VOID, where)
    return score.reshape(values.shape), mask.astype(np.uint8).reshape(values.shape)


def _made(metric: Metric) -> Callable[..., float]:
    kind = kind_of(metric)
    names = ARGUMENTS[kind][:2]
    allowed = {"preset", *metric.options}

    def of_scores(first: Any, second: Any, options: Mapping[str, Any]) -> float:
        refuse_others(metric, options, allowed)
        return _VALUES[kind](metric, define(**options), _images(first, second, names))

    # the two arrays have names of their own, and may be given by them
    made = {
        "anomaly": lambda score, anomaly, **options: of_scores(score, anomaly, options),
        "doubt": lambda doubt, incorrect, **options: of_scores(doubt, incorrect, options),
        "confidence": lambda confidence, incorrect, **options: of_scores(confidence, incorrect, options),
        "probabilities": lambda probabilities, truth, **options: of_scores(probabilities, truth, options),
    }
    return made[kind]


FUNCTIONS = {metric.name: (_made(metric), metric) for metric in METRICS if metric.of_scores}
globals().update(named_functions(FUNCTIONS, signature_of, text_of, __name__))
