"""An entry of the catalogue of metrics, and how to make your own.

Conventions: statistics are {name: array} as image_statistics and scores make them. Your own metric takes two
maps of places 0..C, C = void, or scores of pixels. What it counts in an image is kept with the image's other
statistics, so that it gets intervals and differences like any metric.

``name`` is what ``--metric`` and measure.json call it. ``count`` is the function that counts. ``compute`` is
the function of scores and labels. ``definition`` is one sentence that says what is computed. ``better`` is
``high`` or ``low``. ``join`` is ``pooled``, ``cells`` or ``images``. ``least`` is the smallest value and
``most`` the largest, -math.inf and math.inf if there is none. ``source`` is the paper, if there is one.
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
SCORES = frozenset(["anomaly", "doubt", "confidence", "probabilities"])
_ROUNDING = 1e-9
Join = Literal["pooled", "cells", "images"]
Shape = Literal["smooth", "bent", "stepped"]  # see `intervals.evidence.Drawn`
Streamed = Literal["", "average_precision", "auroc", "fpr95", "correct_ap", "aurc", "augrc", "aupro"]


@dataclass(frozen=True, eq=False)
class Groups:
    """Pixel counts of a data set, redrawn B times, at its K distinct coarse scores, ascending.

    ``known`` and ``anomalous`` (B, K) count the pixels of either label. ``sure`` (K,) is the confidence at
    each score, if scores are doubt from probabilities. ``shares`` (B, K) sums, over the anomalous pixels, the
    share that each is of its region, if regions are made.
    """

    known: np.ndarray
    anomalous: np.ndarray
    sure: np.ndarray | None = None
    shares: np.ndarray | None = None


OfGroups = Callable[[Groups, Definitions], np.ndarray]


@dataclass(frozen=True)
class Metric:
    """A metric. ``title`` names its error (1 - value where large is ``better``), ``says`` explains that
    error, and ``short`` is its column head on a terminal.

    ``needs`` lists kinds of input, one of which must be present; ``reads`` is the statistic; ``options`` are
    the definitions that change it, which ``definition`` names in braces. A value lies between ``least`` and
    ``most``; a metric that is ``bounded`` by some scales has no upper end under others. ``place`` is its
    column within its group; those without one come last. ``formula`` is LaTeX for its page. A metric
    ``on_request`` is computed only if `--metric` names it, or another metric that reads the same statistic.
    ``join`` says how images are combined: added up (``pooled``), or by a mean over images and classes
    (``cells``) or over images (``images``). ``per_class`` takes (statistics, definitions) and returns the
    metric of each class (..., C); None where it has none. ``of_pair`` takes (both, reference, prediction,
    over=), counts of two models' maps, and returns the same metric; None where it is not a concordance to
    select by.

    For metrics of scores: ``streamed`` names the streamed number that it is, computed without holding all
    pixels (otherwise `compute` gets all pixels, or those of one image where it is joined over images).
    ``of_groups`` computes the same number (B,) from coarse scores, for intervals. ``shape`` says how it
    responds to changes of pixels. For display: ``main`` metrics are in the first tables of the page;
    ``column`` is its position among the columns on a terminal, and ``headline`` among the metrics that head a
    page (0 = none); ``neighbours`` is its name where consecutive images are compared by it.
    """

    name: str
    title: str
    says: str
    group: str  # where tables list it: pixels, regions, partitions, ..., or own for your metric of maps
    better: Literal["high", "low"]
    join: Literal["pooled", "cells", "images"]
    definition: str
    reads: str
    compute: Compute  # (statistics, definitions) -> its value for each image, cell or sum
    per_class: Compute | None = None
    needs: frozenset[str] = frozenset(["connected", "given"])
    options: tuple[str, ...] = ()
    source: str = ""
    short: str = ""
    place: float = math.inf
    formula: str = ""
    least: float = 0.0
    most: float = 1.0
    bounded: tuple[str, ...] = ()
    count: Callable[..., Any] | None = None  # the function passed to `metric_of_maps`; None for others
    of_pair: Callable[..., np.ndarray] | None = None
    streamed: Streamed = ""
    of_groups: OfGroups | None = None
    shape: Shape = "smooth"
    main: bool = False
    column: int = 0
    headline: int = 0
    neighbours: str = ""
    on_request: bool = False

    @property
    def of_scores(self) -> bool:
        """Whether it is computed from scores of pixels, not from label maps."""
        return bool(self.needs & SCORES)

    @property
    def called(self) -> str:
        """The name of the metric itself, not of its error, in a sentence."""
        return self.says.removeprefix("1 − ")

    def bounds(self, definitions: Definitions) -> tuple[float, float]:
        """Return its smallest and its largest possible value."""
        most = math.inf if self.bounded and definitions.scale not in self.bounded else self.most
        return self.least, most

    def text(self, definitions: Definitions) -> str:
        """Return its definition with the choices made.

        >>> from faultscape.metrics.catalogue import named
        >>> named()["miou"].text(Definitions(over="truth"))
        'mean over classes of intersection over union (Yan et al. 2021, eq. 7); over=truth'
        """
        rounded = (
            f"; scores rounded to {definitions.rounding}"
            if definitions.rounding and "rounding" in self.options
            else ""
        )
        return (self.definition if self.count else self.definition.format(**_choices(definitions))) + rounded


def metric_of_maps(
    name: str,
    count: Callable[..., Any],
    *,
    title: str,
    definition: str,
    better: Literal["high", "low"],
    join: Join = "images",
    least: float = 0.0,
    most: float = 1.0,
    source: str = "",
) -> Metric:
    """Return your own metric of maps, for `measure --metric file.py:NAME`; MetricError for an invalid name,
    direction, join or range.

    ``count(truth, prediction, classes)`` takes two (H, W) maps of places 0..C (C = void, which must change
    nothing) and the `Classes`. It returns a number for ``images``, (C,) numbers for ``cells``, and for
    ``pooled`` (2,) or (2, C): these are summed over images, then the first row is divided by the second. NaN,
    or 0 / 0, is undefined. Every value must lie between ``least`` and ``most``, which may be infinite; others
    are refused. ``title`` names its error: 1 - value where large is better.

    >>> wrong = metric_of_maps(
    ...     "wrong",
    ...     lambda t, p, c: [(t != p)[t < len(c)].sum(), (t < len(c)).sum()],
    ...     title="Wrong",
    ...     definition="share of wrong pixels",
    ...     better="low",
    ...     join="pooled",
    ... )
    >>> float(wrong.compute({"own_wrong": np.array([1, 4])}, Definitions()))
    0.25
    """
    _check(name, better, join, ("pooled", "cells", "images"))
    _check_range(name, least, most)
    reads = f"own_{name}"

    def value(stats: Stats, _: Definitions) -> np.ndarray:
        held = np.asarray(stats[reads], float)
        return held if join != "pooled" else _mean(_ratio(held)) if held.ndim > 2 else _ratio(held)

    def by_class(stats: Stats, _: Definitions) -> np.ndarray:
        return _ratio(np.asarray(stats[reads], float))

    return Metric(
        name,
        title,
        definition,
        "own",
        better,
        join,
        definition,
        reads,
        value,
        by_class if join == "pooled" else None,
        frozenset(["connected"]),
        source=source,
        least=least,
        most=most,
        count=count,
    )


def metric_of_scores(
    name: str,
    compute: Callable[[np.ndarray, np.ndarray], Any],
    *,
    of: Literal["anomaly", "doubt"],
    title: str,
    definition: str,
    better: Literal["high", "low"],
    join: Literal["pooled", "images"] = "images",
    least: float = 0.0,
    most: float = 1.0,
    source: str = "",
) -> Metric:
    """Return your own metric of scores, for `measure --metric file.py:NAME`; MetricError for an invalid name,
    kind, direction, join or range.

    ``compute(score, label)`` returns a number from two (N,) arrays of the pixels that count: label 1 is
    anomalous (wrong, where ``of`` is doubt), 0 is not; NaN is undefined. With ``images`` they are the pixels
    of one image, and the metric is the mean over images, with an interval. With ``pooled`` they are the
    pixels of all images, which must fit into memory, and there is no interval. Intervals end at ``least`` and
    ``most``. ``title`` names its error, as in `metric_of_maps`.

    >>> gap = metric_of_scores(
    ...     "gap",
    ...     lambda s, a: s[a == 1].mean() - s[a == 0].mean(),
    ...     of="anomaly",
    ...     title="Gap",
    ...     definition="difference of the mean scores",
    ...     better="high",
    ... )
    >>> float(gap.compute({"score": np.array([0.75, 0.5]), "label": np.array([1, 0])}, Definitions()))
    0.25
    """
    _check(name, better, join, ("pooled", "images"))
    _check_range(name, least, most)
    if of not in ("anomaly", "doubt"):
        raise MetricError(f"metric {name}: of is anomaly or doubt; got {of!r}")

    def value(stats: Stats, _: Definitions) -> np.ndarray:
        return np.asarray(compute(stats["score"], stats["label"]), float)

    needs = frozenset(["anomaly"]) if of == "anomaly" else SCORES - {"anomaly"}
    group = {"anomaly": "anomaly scores", "doubt": "confidence"}[of]
    plain = definition.replace("{", "{{").replace("}", "}}")
    return Metric(
        name,
        title,
        definition,
        group,
        better,
        join,
        plain,
        "score",
        value,
        needs=needs,
        source=source,
        least=least,
        most=most,
    )


def value_of_scores(metric: Metric, score: np.ndarray, label: np.ndarray, definitions: Definitions) -> float:
    """Return the value of a metric for the scores and labels of pixels, void (255) left out; NaN where all
    are void, MetricError where it fails or does not return a number.
    """
    judged = label != 255
    if not judged.any():
        return math.nan
    try:
        return float(metric.compute({"score": score[judged], "label": label[judged]}, definitions))
    except Exception as error:  # may come from user code: say what failed
        raise MetricError(f"metric {metric.name}: {type(error).__name__}: {error}") from error


def own_statistics(
    metrics: Mapping[str, Metric], truth: np.ndarray, prediction: np.ndarray, classes: Any
) -> dict[str, np.ndarray]:
    """Return one image's statistics for user-defined metrics; MetricError for values that are not numbers, or
    not as many as the join needs.
    """
    out = {}
    for metric in metrics.values():
        assert metric.count is not None
        with plug.plain_errors(f"metric {metric.name}", MetricError):  # the other images continue
            values = np.array(metric.count(plug.read_only(truth), plug.read_only(prediction), classes), float)
        n = len(classes)
        wanted = {"images": ((),), "cells": ((n,),), "pooled": ((2,), (2, n))}[metric.join]
        if values.shape not in wanted:
            shapes = " or ".join(str(shape) for shape in wanted)
            raise MetricError(
                f"metric {metric.name}: gave an array of shape {values.shape}; join={metric.join} takes"
                f" {shapes}"
            )
        if odd := _out_of_range(values, metric):
            raise MetricError(
                f"metric {metric.name}: gave {odd}; its values are NaN or finite numbers from"
                f" {metric.least:g} to {metric.most:g}; metric_of_maps(..., least=, most=) declares others"
            )
        out[metric.reads] = values
    return out


def _check(name: str, better: str, join: str, joins: tuple[str, ...]) -> None:
    """Raise MetricError for an invalid name, direction or join."""
    if not name.isidentifier():
        raise MetricError(
            f"metric {name!r}: give it a name of letters, digits and underscores, for example far_errors"
        )
    if better not in ("high", "low") or join not in joins:
        known = f"{', '.join(joins[:-1])} or {joins[-1]}"
        raise MetricError(
            f"metric {name}: better is high or low, join is {known}; got {better!r} and {join!r}"
        )


def _check_range(name: str, least: float, most: float) -> None:
    """Raise MetricError unless ``least`` is a number or -math.inf, and ``most`` a larger one or math.inf."""
    if not isinstance(least, int | float) or not least < math.inf:
        raise MetricError(
            f"metric {name}: least is the smallest possible value, a number or -math.inf; got {least!r}"
        )
    if not isinstance(most, int | float) or not most > least:
        raise MetricError(
            f"metric {name}: most is the largest possible value, a number above {least:g} or math.inf; got"
            f" {most!r}"
        )


def _out_of_range(values: np.ndarray, metric: Metric) -> str:
    """Return a value of one image that lies outside the range of its metric, as text; '' if there is none.

    >>> of_sums = metric_of_maps(
    ...     "wrong", lambda t, p, c: [1, 2], title="Wrong", definition="wrong", better="low", join="pooled"
    ... )
    >>> _out_of_range(np.array([1.0, 2.0]), of_sums), _out_of_range(np.array([3.0, 2.0]), of_sums)
    ('', '3 / 2')
    """
    pooled = metric.join == "pooled"
    above, below = (np.ravel(part) for part in (values if pooled else (values, np.ones_like(values))))
    fine = np.isfinite(above) & np.isfinite(below) & (below >= 0)
    counted = np.where(fine, below, 0.0)
    for end, sign in ((metric.least, -1), (metric.most, 1)):
        if math.isfinite(end):
            fine &= sign * (above - end * counted) <= _ROUNDING * abs(end) * counted
    if not pooled:
        fine |= np.isnan(above)
    if fine.all():
        return ""
    k = int(np.argmin(fine))
    return f"{above[k]:g} / {below[k]:g}" if pooled else f"{above[k]:g}"


def _ratio(held: np.ndarray) -> np.ndarray:
    """Return the first row divided by the second, for (..., 2) or (..., 2, C)."""
    pairs = held if held.shape[-1] == 2 and held.ndim < 3 else np.moveaxis(held, -2, -1)
    above = pairs[..., 0]
    below = pairs[..., 1]
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)


def _mean(values: np.ndarray) -> np.ndarray:
    known = ~np.isnan(values)
    return np.divide(
        np.where(known, values, 0).sum(-1),
        known.sum(-1),
        out=np.full(values.shape[:-1], np.nan),
        where=known.any(-1),
    )


def _choices(definitions: Definitions) -> dict[str, Any]:
    """Return the texts that name the choices in a definition."""
    given = definitions.regions == "given"
    quantiles = definitions.thresholds == "quantiles"
    connected = (
        "regions as given" if given else f"connectivity={definitions.connectivity}, void={definitions.void}"
    )
    panoptic = f"connectivity={definitions.connectivity}, regions made before void is taken away"
    return asdict(definitions) | {
        "connected": connected,
        "panoptic": "regions as given" if given else panoptic,
        "regional": f"{connected}, absent={definitions.absent}, scale={definitions.scale}",
        "partition": "regions as given" if given else "classes",
        "segments": "regions as given" if given else "connected regions",
        "match": {"iou": "IoU", "dice": "Dice"}[definitions.match],
        "track": definitions.track or "none",
        "rule": (
            "first threshold with"
            if definitions.fpr_rule == "first"
            else "lowest of all thresholds closest to"
        ),
        "at": (
            f"score {'>' if quantiles else '>='} that of the best pixel F1, {definitions.thresholds}"
            " thresholds"
        ),
    }
