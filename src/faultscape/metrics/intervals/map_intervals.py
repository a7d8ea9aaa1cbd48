"""Every metric of label maps in memory, with the interval that `measure` gives it: `measure_maps(truth,
prediction, classes)`.

Conventions: maps are (H, W) of the class list's ids, one an image, all of them at once (I, H, W) or in a list
where sizes differ. Pixels void in the truth are in no metric. Intervals are 95 %, of data to come: images, or
groups of images, are redrawn.
Source: those of the metrics; Student's interval by the infinitesimal jackknife (Jaeckel 1972).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from faultscape.arguments import ClassList
from faultscape.choices import VoidRule
from faultscape.metrics.batches.measure import Interval, Measure
from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.definitions import MapChoices
from faultscape.metrics.overlaps.regions import Maps

ALWAYS = tuple(metric.name for metric in METRICS if not metric.of_scores and not metric.on_request)


def measure_maps(
    truth: Maps,
    prediction: Maps,
    classes: ClassList,
    *,
    groups: Sequence[str] | None = None,
    metrics: Sequence[str] = ALWAYS,
    background: int | None = None,
    void: VoidRule | int | tuple[int, ...] = "cut",
    **definitions: Unpack[MapChoices],
) -> dict[str, Interval]:
    """Return {metric: (value, low, high)} of predicted maps against true ones: the numbers that
    `measure` makes of folders.

    LabelMapError for maps that do not fit each other or the classes.

    Parameters
    ----------
    truth, prediction
        (I, H, W) maps of class ids, lists of (H, W), or one map (H, W): arrays or torch tensors.
    classes
        Classes, a built-in name, names or a number.
    groups
        The group of each image (I), '' for none: frames of one drive are redrawn together.
    metrics
        Names of metrics of label maps; default: those that `measure` computes without `--metric`.
    background
        The id that forms no regions, for classes given as a number.
    void
        cut or bridge, as in `define`; a number names the void id, for classes given as a number or as names.
    definitions
        Those of `define` that concern label maps, by name: over, connectivity, tolerance, ..., preset.

    >>> import numpy as np
    >>> truth = np.random.default_rng(0).integers(0, 2, (20, 8, 8))
    >>> noise = np.random.default_rng(1).random(truth.shape)
    >>> found = measure_maps(truth, np.where(noise < 0.2, 0, truth), classes=2)
    >>> [round(number, 2) for number in found["miou"]]
    [0.82, 0.8, 0.85]
    """
    measure = Measure(classes, metrics, background=background, void=void, **definitions)
    measure.update(truth, prediction, groups)
    return measure.compute()
