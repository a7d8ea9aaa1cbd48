"""Panoptic quality of instances that are given: PQ = sum of IoU over matched segments / (TP + FP/2 + FN/2).

Conventions: a pixel belongs to one segment or to none. A predicted segment is found where its IoU with a true
one of its class is above 1/2. Pixels of no true segment leave the union, and a predicted segment with more
than half of its pixels there, or in a crowd of its class, does not count. A crowd is never missed. Counts of
images add up; the quality is the mean over the classes that occur.
Source: Kirillov et al. 2019, eq. 1 and section 4.2, with the rules of its reference code for void and crowds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from faultscape.errors import LabelMapError
from faultscape.maps import checked_arrays
from faultscape.maps.regions import overlaps

COUNTS = ("found", "missed", "invented", "iou_sum")


@dataclass(frozen=True, eq=False)
class Panoptic:
    """Panoptic quality ``pq``, segmentation quality ``sq`` and recognition quality ``rq``, means over the
    classes that occur; ``per_class`` holds {class: {"pq", "sq", "rq", "found", "missed", "invented"}}.
    """

    pq: float
    sq: float
    rq: float
    per_class: dict[int, dict[str, float]] = field(repr=False)


def panoptic(
    truth: np.ndarray | Sequence[np.ndarray],
    prediction: np.ndarray | Sequence[np.ndarray],
    truth_classes: Mapping[int, int] | Sequence[Mapping[int, int]],
    predicted_classes: Mapping[int, int] | Sequence[Mapping[int, int]],
    *,
    crowds: Sequence[int] | Sequence[Sequence[int]] = (),
) -> Panoptic:
    """Return PQ, SQ and RQ of predicted segments against true ones (Kirillov et al. 2019, eq. 1).

    Parameters
    ----------
    truth, prediction
        (H, W) or (I, H, W) maps of segment ids; an id without a class is void in the truth,
        nothing in the prediction.
    truth_classes
        {segment id: class} of the truth, for all images or for each.
    predicted_classes
        {segment id: class} of the prediction, for all images or for each.
    crowds
        True segments that are crowds, of one image or of each.

    Errors: LabelMapError for maps that do not fit each other.

    >>> truth, said = np.array([[1, 1, 2, 2]]), np.array([[5, 5, 5, 6]])
    >>> found = panoptic(truth, said, {1: 0, 2: 0}, {5: 0, 6: 0})
    >>> round(found.pq, 4), round(found.sq, 4), found.rq  # IoU 2/3; 1/2 is not above 1/2
    (0.3333, 0.6667, 0.5)
    """
    true_maps = checked_arrays.images(truth, "truth")
    said_maps = checked_arrays.images(prediction, "prediction")
    number = len(true_maps)
    true_of, said_of = _each(truth_classes, number), _each(predicted_classes, number)
    one = not any(isinstance(each, Sequence | np.ndarray) for each in crowds)
    of_crowds = [crowds] * number if one else list(crowds)
    lengths = {number, len(said_maps), len(true_of), len(said_of), len(of_crowds)}
    if len(lengths) > 1 or not number:
        raise LabelMapError(
            f"there are {number} true maps, {len(said_maps)} predicted ones, classes of {len(true_of)} and of"
            f" {len(said_of)}, and crowds of {len(of_crowds)}; give one for each image"
        )
    classes = sorted({c for each in (*true_of, *said_of) for c in each.values()})
    place = {c: k for k, c in enumerate(classes)}
    total = {name: np.zeros(len(classes)) for name in COUNTS}
    for k in range(number):
        counts = count_segments(
            *_segments(true_maps[k], true_of[k], place, f"truth, image {k}"),
            *_segments(said_maps[k], said_of[k], place, f"prediction, image {k}"),
            len(classes),
            crowd=np.isin(sorted(true_of[k]), np.asarray(of_crowds[k], np.int64)),
        )
        for name in COUNTS:
            total[name] += counts[name]
    quality = qualities(total)
    per_class = {
        c: {name: float(values[k]) for name, values in {**quality, **total}.items() if name != "iou_sum"}
        for c, k in place.items()
    }
    means = {name: _mean(values) for name, values in quality.items()}
    return Panoptic(means["pq"], means["sq"], means["rq"], per_class)


def count_segments(
    truth: np.ndarray,
    truth_classes: np.ndarray,
    prediction: np.ndarray,
    predicted_classes: np.ndarray,
    classes: int,
    *,
    crowd: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Return {name: (C,)} of COUNTS of one image: segments found, missed and invented, and the sum of the IoU
    of those found.

    ``truth`` and ``prediction`` (H, W) hold places of segments, -1 for none (in the truth: void); their
    classes are (N,) and (M,) places of classes, -1 for one that never counts, such as the background;
    ``crowd`` (N,) says which true ones are crowds.
    """
    truth_classes = np.asarray(truth_classes, np.int64)
    predicted_classes = np.asarray(predicted_classes, np.int64)
    n = max(len(truth_classes), len(predicted_classes), 1)
    # void of the truth is n; pixels of no predicted segment are one of their own, of no class
    said = np.where(prediction < 0, n, prediction).astype(np.int32)
    table = overlaps(np.where(truth < 0, n, truth).astype(np.int32), said, n, given=True)
    of_truth = np.append(truth_classes, -1)[np.minimum(table.truth_label, len(truth_classes))]
    places = np.minimum(table.prediction_label, len(predicted_classes))
    of_said = np.append(predicted_classes, -1)[places]
    crowds = np.zeros(len(truth_classes), bool) if crowd is None else np.asarray(crowd, bool)
    is_crowd = np.append(crowds, False)[np.minimum(table.truth_label, len(truth_classes))]
    same = (of_truth[table.truth] == of_said[table.prediction]) & (of_truth[table.truth] >= 0)
    union = table.truth_area[table.truth] + table.prediction_area[table.prediction] - table.pixels
    iou = table.pixels / union
    match = same & ~is_crowd[table.truth] & (2 * table.pixels > union)
    found_true, found_said = table.truth[match], table.prediction[match]
    out = {"found": np.bincount(of_truth[found_true], minlength=classes).astype(float)}
    missed = (of_truth >= 0) & ~is_crowd
    missed[found_true] = False
    out["missed"] = np.bincount(of_truth[missed], minlength=classes).astype(float)
    aside = table.void_area.astype(np.int64).copy()
    in_crowd = same & is_crowd[table.truth]
    np.add.at(aside, table.prediction[in_crowd], table.pixels[in_crowd])
    invented = (of_said >= 0) & (2 * aside <= table.prediction_area + table.void_area)
    invented[found_said] = False
    out["invented"] = np.bincount(of_said[invented], minlength=classes).astype(float)
    out["iou_sum"] = np.bincount(of_truth[found_true], iou[match], classes)
    return out


def qualities(counts: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return {"pq", "sq", "rq": (..., C)} of counts (..., C); NaN for a class that does not occur, and of SQ
    where nothing is found.
    """
    halves = counts["found"] + counts["invented"] / 2 + counts["missed"] / 2
    return {
        "pq": _share(counts["iou_sum"], halves),
        "sq": _share(counts["iou_sum"], counts["found"]),
        "rq": _share(counts["found"], halves),
    }


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)


def _mean(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _each(classes: Mapping[int, int] | Sequence[Mapping[int, int]], number: int) -> list[Mapping[int, int]]:
    return [classes] * number if isinstance(classes, Mapping) else list(classes)


def _segments(
    numbers: np.ndarray, classes: Mapping[int, int], place: Mapping[int, int], where: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of segments (H, W) in the order of their ids, and the places of their classes."""
    numbers = checked_arrays.label_map(numbers, where)
    ids = np.array(sorted(classes), np.int64)
    at = np.searchsorted(ids, numbers)
    known = np.append(ids, -1)[at] == numbers if len(ids) else np.zeros(numbers.shape, bool)
    return np.where(known, at, -1), np.array([place[classes[id_]] for id_ in ids.tolist()], np.int64)
