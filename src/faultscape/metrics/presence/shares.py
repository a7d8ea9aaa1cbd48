"""Whether maps contain the classes that images show, wherever in the image: precision, recall and F1 of
presence, image by image.

Conventions: a class is in a map from one pixel on; void pixels of a truth are left out of both maps. Counts
``both``, ``truth`` and ``predicted`` (I, C) are 1 where a class is in both, in the image, in the map, and 0
elsewhere; what nobody knows of an image is 0 in all three. A value without such an image is NaN.
Source: Zou 2007 (Psychological Methods 12), intervals of sums from those of correlated parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from faultscape.errors import LabelMapError
from faultscape.maps import checked_arrays
from faultscape.metrics.intervals.evidence import Ratios, share_interval
from faultscape.metrics.intervals.slopes import of_sums
from faultscape.metrics.intervals.units import LEAST, Units
from faultscape.metrics.metric import Metric
from faultscape.metrics.overlaps import regions
from faultscape.metrics.summary import Summary

# {metric: how often images that show the class, and maps that contain it, count in what it is a share of}
_OVER = {
    "presence_precision": (0, 1),
    "presence_recall": (1, 0),
    "presence_f1": (1, 1),
}


def _metric(name: str, called: str, definition: str) -> Metric:
    return Metric(
        name,
        title=f"{called} error",
        says=f"1 − {called} of presence",
        group="own",
        better="high",
        join="pooled",
        definition=f"mean over classes of {definition}",
        reads="presence",
        compute=lambda sums, _: _made(sums)[name][0],
    )


PRESENCE = (
    _metric(
        "presence_precision",
        "precision",
        "the share of images that show the class, of those whose map contains it",
    ),
    _metric(
        "presence_recall",
        "recall",
        "the share of images whose map contains the class, of those that show it",
    ),
    _metric("presence_f1", "F1", "the harmonic mean of precision and recall of presence"),
)


def classes_in(label_map: np.ndarray, classes: int, truth: np.ndarray | None = None) -> np.ndarray:
    """Return (C,) which classes are in a map (H, W) of places; pixels of void places, and those that are void
    in a ``truth`` (H, W), do not count. LabelMapError for other shapes.

    >>> label_map, truth = np.array([[0, 2], [1, 3]]), np.array([[0, 3], [0, 0]])
    >>> classes_in(label_map, 3).tolist(), classes_in(label_map, 3, truth).tolist()
    ([True, True, True], [True, True, False])
    """
    label_map = checked_arrays.whole_numbers(label_map, "label_map", LabelMapError, "H x W")
    if truth is not None:
        checked_arrays.same_shape(LabelMapError, label_map=label_map, truth=truth)
        label_map = label_map[truth < classes]
    return np.bincount(label_map.ravel(), minlength=classes)[:classes] > 0


@dataclass(frozen=True, eq=False)
class Presence:
    """A metric of presence: its summary, its 95 % interval (2,), and those of its classes (C, 2); NaN for
    fewer than six units, those in which an image counts for the class.
    """

    summary: Summary
    interval: np.ndarray
    of_classes: np.ndarray


def presence(rows: Mapping[str, np.ndarray], units: Units) -> dict[str, Presence]:
    """Return {metric: what the counts of images (I, C) say} of precision, recall and F1 of presence.

    Intervals of classes are those of shares (`share_interval`). That of their mean has the distances d of
    their ends from the values: sqrt(d' R d) / C, with the correlations R of the classes over units; classes
    that few images show, of which a variance is seldom seen, would make a linearised one far too short.

    >>> from faultscape.metrics.intervals.units import units_of
    >>> both, truth = np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]])
    >>> found = presence({"both": both, "truth": truth, "predicted": both}, units_of(2))
    >>> {name: round(one.summary.value, 3) for name, one in found.items()}
    {'presence_precision': 1.0, 'presence_recall': 0.5, 'presence_f1': 0.667}
    """
    out = dict[str, Presence]()
    for name, (mean, classes) in of_sums(rows, _made, np.ones(len(units.of), bool)).items():
        assert classes is not None, "presence has values of classes"
        evidence = Ratios(mean, classes)
        undefined = int(np.isnan(classes.value).sum())
        of_truth, of_predicted = _OVER[name]
        there = (units.totals(of_truth * rows["truth"] + of_predicted * rows["predicted"]) > 0).sum(0)
        slopes = units.totals(classes.slopes)
        ends = np.full((len(there), 2), np.nan)
        for c in np.flatnonzero(there):
            variance = float((slopes[:, c] ** 2).sum() * there[c] / max(there[c] - 1, 1))
            ends[c] = share_interval(float(classes.value[c]), variance, int(there[c]))
        whole = _interval_of_mean(classes.value[there > 0], ends[there > 0], slopes[:, there > 0])
        out[name] = Presence(
            Summary(evidence.value, classes.value, undefined, "pooled over images", evidence),
            np.where(units.count >= LEAST, whole, np.nan),
            np.where(there[:, None] >= LEAST, ends, np.nan),
        )
    return out


def _interval_of_mean(values: np.ndarray, ends: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return (2,) the interval of the mean of values (C,) with intervals (C, 2), correlated as their slopes
    (U, C).

    >>> ends = np.array([[0.4, 0.6], [0.1, 0.3]])
    >>> _interval_of_mean(np.array([0.5, 0.2]), ends, np.eye(2)).round(3)
    array([0.279, 0.421])
    """
    if not len(values):
        return np.full(2, np.nan)
    size = np.sqrt((slopes**2).sum(0))
    together = np.outer(size, size)
    alike = np.divide(slopes.T @ slopes, together, out=np.eye(len(values)), where=together > 0)
    off = ends - values[:, None]
    far = np.sqrt(np.maximum(np.einsum("ce,cd,de->e", off, alike, off), 0)) / len(values)
    return values.mean() + far * np.array([-1, 1])


def _made(sums: Mapping[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return {metric: (its mean over classes (B,), its values of classes (B, C))} from sums over images."""
    out = dict[str, tuple[np.ndarray, np.ndarray]]()
    for name, (of_truth, of_predicted) in _OVER.items():
        parts = of_truth * sums["truth"] + of_predicted * sums["predicted"]
        whole = (of_truth + of_predicted) * sums["both"]
        values = np.divide(whole, parts, out=np.full(parts.shape, np.nan), where=parts > 0)
        out[name] = regions.mean(values, 1), values
    return out
