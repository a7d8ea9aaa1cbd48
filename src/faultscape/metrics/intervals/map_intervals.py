"""Every metric of label maps in memory, with the interval that `measure` gives it: `measure_maps(truth,
prediction, classes)`.

Conventions: maps are (H, W) of the class list's ids, one an image, all of them at once (I, H, W) or in a list
where sizes differ. Pixels void in the truth are in no metric. Intervals are 95 %, of data to come: images, or
groups of images, are redrawn.
Source: those of the metrics; Student's interval by the infinitesimal jackknife (Jaeckel 1972).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from faultscape.arguments import ClassList
from faultscape.classes.class_lists import resolve
from faultscape.errors import LabelMapError
from faultscape.maps import checked_arrays
from faultscape.metrics import image_statistics
from faultscape.metrics.catalogue import named
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.intervals.units import units_of
from faultscape.metrics.overlaps.regions import Maps, place
from faultscape.metrics.summary import summarise


class Interval(NamedTuple):
    """A number of a data set and its 95 % interval, NaN for fewer than six images or groups."""

    value: float  # the metric over all images
    low: float  # the lower end of its interval
    high: float  # the upper end


def measure_maps(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    groups: Sequence[str] | None = None,
) -> dict[str, Interval]:
    """Return {metric: (value, low, high)} of predicted maps against true ones: the numbers that
    `measure` makes of folders, by its default definitions.

    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W).
    classes
        Classes, a built-in name or a number.
    groups
        The group of each image (I), '' for none: frames of one drive are redrawn together.

    >>> truth = np.random.default_rng(0).integers(0, 2, (20, 8, 8))
    >>> noise = np.random.default_rng(1).random(truth.shape)
    >>> found = measure_maps(truth, np.where(noise < 0.2, 0, truth), classes=2)
    >>> [round(number, 2) for number in found["miou"]]
    [0.82, 0.8, 0.85]
    """
    known = resolve(classes)
    choices = Definitions()
    entries = named()
    truth = checked_arrays.images(truth, "truth")
    prediction = checked_arrays.images(prediction, "prediction")
    if not len(truth) or len(truth) != len(prediction):
        raise LabelMapError(
            f"there are {len(truth)} true maps and {len(prediction)} predicted ones; give one for one"
        )
    if groups is not None and len(groups) != len(truth):
        raise LabelMapError(f"there are {len(truth)} images and {len(groups)} groups; give one for one")
    rows = []
    for k, maps in enumerate(zip(truth, prediction, strict=True)):
        one, other = (
            place(m, known, f"{what}, image {k}")
            for m, what in zip(maps, ("truth", "prediction"), strict=True)
        )
        if one.shape != other.shape:
            raise LabelMapError(
                f"prediction, image {k}: is {other.shape[1]} x {other.shape[0]} pixels and its truth"
                f" {one.shape[1]} x {one.shape[0]}; give maps of the truth's size"
            )
        rows.append(image_statistics.of_maps(one, other, known, choices)[0])
    stats = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    units = units_of(groups if groups is not None else len(rows))
    found = summarise(stats, choices, known.groups, np.ones(len(rows), bool))
    out = {}
    for name, one in found.items():
        low, high = np.clip(one.evidence.interval(units), *entries[name].bounds(choices)).tolist()
        out[name] = Interval(one.value, low, high)
    return out
