"""What an entry of the catalogue of metrics is, and how one of one's own is made.

Conventions: statistics are {name: array} as image_statistics and scores make them. A metric of one's own is of two maps of places 0..C, C = void; what it counts of an
image is kept with the image's other statistics, so that intervals and differences come of themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from faultscape import plug
from faultscape.errors import MetricError
from faultscape.metrics.definitions import Definitions

Stats = Mapping[str, np.ndarray]
Compute = Callable[[Stats, Definitions], np.ndarray]
Join = Literal["pooled", "cells", "images"]


@dataclass(frozen=True)
class Metric:
    """A metric: its ``title`` is that of its error (1 - value where large is ``better``), ``says`` what that means, ``short`` a column's head on a terminal.

    ``needs`` are the kinds of input of which one must be there, ``reads`` the statistic, ``options`` the definitions that change it, which ``definition`` names in
    braces. It lies between 0 and ``most``; one that is ``bounded`` by some scales has no bound under others. ``place`` is its column among its group's.
    ``of_pair(both, reference, prediction, over=)`` is the same number of two models' maps, where it is a concordance to select by.
    """

    name: str
    title: str
    says: str
    group: str
    better: Literal["high", "low"]
    join: Literal["pooled", "cells", "images"]
    definition: str
    reads: str
    compute: Compute
    per_class: Compute | None = None
    needs: frozenset[str] = frozenset(["connected", "given"])
    options: tuple[str, ...] = ()
    source: str = ""
    short: str = ""
    place: int = 0
    most: float = 1.0
    bounded: tuple[str, ...] = ()
    count: Callable[..., Any] | None = None
    of_pair: Callable[..., np.ndarray] | None = None

    @property
    def called(self) -> str:
        """What the metric itself is called in a sentence, not its error."""
        return self.says.removeprefix("1 − ")

    def largest(self, definitions: Definitions) -> float:
        """Return the largest value that it can take."""
        return math.inf if self.bounded and definitions.scale not in self.bounded else self.most

    def text(self, definitions: Definitions) -> str:
        """Return its definition with every choice that was made.

        >>> from faultscape.metrics.catalogue import named
        >>> named()["miou"].text(Definitions(over="truth"))
        'mean over classes of intersection over union (S0 eq. 7); over=truth'
        """
        rounded = f"; scores rounded to {definitions.rounding}" if definitions.rounding and "rounding" in self.options else ""
        return (self.definition if self.count else self.definition.format(**_choices(definitions))) + rounded


def metric_of_maps(
    name: str,
    count: Callable[..., Any],
    *,
    title: str,
    definition: str,
    better: Literal["high", "low"],
    join: Join = "images",
    most: float = 1.0,
    source: str = "",
) -> Metric:
    """Return a metric of one's own, for `measure --metric file.py:NAME`; MetricError for a name, direction or join that means nothing.

    ``count(truth, prediction, classes)`` gives for two (H, W) maps of places 0..C (C = void, which must change nothing) and the
    `Classes`: of ``images`` a number; of ``cells`` (C,) numbers; of ``pooled`` (2,) or (2, C), of which the first row is divided
    by the second after all images were added. NaN, or 0 / 0, is undefined. ``title`` is that of its error: of 1 - value where
    large is better.

    >>> wrong = metric_of_maps("wrong", lambda t, p, c: [(t != p)[t < len(c)].sum(), (t < len(c)).sum()], title="Wrong", definition="share of wrong pixels", better="low", join="pooled")
    >>> float(wrong.compute({"own_wrong": np.array([1, 4])}, Definitions()))
    0.25
    """
    if not name.isidentifier():
        raise MetricError(f"metric {name!r}: give it a name of letters, digits and underscores, for example far_errors")
    if better not in ("high", "low") or join not in ("pooled", "cells", "images"):
        raise MetricError(f"metric {name}: better is high or low, join is pooled, cells or images; got {better!r} and {join!r}")
    reads = f"own_{name}"

    def value(stats: Stats, _: Definitions) -> np.ndarray:
        held = np.asarray(stats[reads], float)
        return held if join != "pooled" else _mean(_ratio(held)) if held.ndim > 2 else _ratio(held)

    def by_class(stats: Stats, _: Definitions) -> np.ndarray:
        return _ratio(np.asarray(stats[reads], float))

    return Metric(
        name, title, definition, "own", better, join, definition, reads, value, by_class if join == "pooled" else None, frozenset(["connected"]), source=source, most=most, count=count
    )  # fmt: skip


def own_statistics(
    metrics: Mapping[str, Metric], truth: np.ndarray, prediction: np.ndarray, classes: Any
) -> dict[str, np.ndarray]:
    """Return the statistics of one's own metrics of one image; MetricError for what is no number, or not as many as the join says."""
    out = {}
    for metric in metrics.values():
        assert metric.count is not None
        with plug.plain_errors(f"metric {metric.name}", MetricError):  # the other images go on
            values = np.asarray(metric.count(truth, prediction, classes), float)
        n = len(classes)
        wanted = {"images": ((),), "cells": ((n,),), "pooled": ((2,), (2, n))}[metric.join]
        if values.shape not in wanted:
            shapes = " or ".join(str(shape) for shape in wanted)
            raise MetricError(f"metric {metric.name}: gave an array of shape {values.shape}; join={metric.join} takes {shapes}")
        out[metric.reads] = values
    return out


def _ratio(held: np.ndarray) -> np.ndarray:
    """Return what is above divided by what is below, of (..., 2) or (..., 2, C)."""
    pairs = held if held.shape[-1] == 2 and held.ndim < 3 else np.moveaxis(held, -2, -1)
    above, below = pairs[..., 0], pairs[..., 1]
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _mean(values: np.ndarray) -> np.ndarray:
    known = ~np.isnan(values)
    return np.divide(
        np.where(known, values, 0).sum(-1), known.sum(-1), out=np.full(values.shape[:-1], np.nan), where=known.any(-1)
    )


def _choices(definitions: Definitions) -> dict[str, Any]:
    """Return the words that definitions are told in."""
    given, quantiles = definitions.regions == "given", definitions.thresholds == "quantiles"
    connected = "regions as given" if given else f"connectivity={definitions.connectivity}, void={definitions.void}"
    panoptic = f"connectivity={definitions.connectivity}, regions made before void is taken away"
    return asdict(definitions) | {
        "connected": connected,
        "panoptic": "regions as given" if given else panoptic,
        "regional": f"{connected}, absent={definitions.absent}, scale={definitions.scale}",
        "partition": "regions as given" if given else "classes",
        "segments": "regions as given" if given else "connected regions",
        "match": {"iou": "IoU", "dice": "Dice"}[definitions.match],
        "track": definitions.track or "none",
        "rule": "first threshold with" if definitions.fpr_rule == "first" else "lowest of all thresholds closest to",
        "at": f"score {'>' if quantiles else '>='} that of the best pixel F1, {definitions.thresholds} thresholds",
    }
