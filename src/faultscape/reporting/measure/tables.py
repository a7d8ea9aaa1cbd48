"""The tables of a page: first the most telling values, then all errors of every model of every data set, 0 is
best. The best of a column and its ties are marked.

Conventions: an error is 1 - value if large values are good, else the value itself (Zhang et al. 2021, Table
I). A model ties with the best of its data set (see `leaders`) if the interval of their paired difference
contains 0. Metrics that cannot be compared between models by definition have no best. Unknown is None, shown
as a dash.
Source: Zhang et al. 2021, Table I.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from faultscape.metrics.catalogue import GROUPS, METRICS, named
from faultscape.reporting.measure.leaders import error, standings
from faultscape.reporting.view import Column, Mark, Table, TableRow

_ENTRIES = sorted(METRICS, key=lambda metric: (GROUPS.index(metric.group), metric.place))
TITLES = {
    metric.name: (metric.title, metric.says) for metric in _ENTRIES
}  # {metric: (its error's name, its meaning)}
MAPS = tuple(
    metric.name for metric in _ENTRIES if metric.main and not metric.of_scores
)  # S1 Table I, and later metrics
SCORES = tuple(metric.name for metric in _ENTRIES if metric.main and metric.of_scores)
PAIRS = ("ror", "rur")  # in the main table if ROM and RUM saturate, or without classes
OF_SCORES = frozenset(metric.group for metric in _ENTRIES if metric.of_scores)  # groups of score metrics
FROM_POINTS = {
    "miou": "mIoU",
    "fwiou": "FWIoU",
    "mpa": "MPA",
    "dice": "Dice",
    "pixel_accuracy": "pixel accuracy",
}  # {metric: its name}
SATURATED = 0.9
_KINDS_OF_ERROR = frozenset(["regions", "partitions"])  # groups that only the tables of errors show
_LINE = tuple(
    metric.name
    for metric in sorted(METRICS, key=lambda metric: metric.column)
    if metric.column and metric.group not in _KINDS_OF_ERROR
)


def sets_of(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return {data set: its part of the document}; the name is '' for a single, unnamed one."""
    return dict(document["datasets"]) if "datasets" in document else {"": document}


def tables(sets: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Return the tables of errors, maps, scores, and rest for all other metrics; the word of a row is its
    data set.
    """
    present = [m for one in sets.values() for of in one.get("models", {}).values() for m in of]
    known = [m for m in TITLES if m in present]
    known += sorted(set(present) - set(known))  # custom metrics
    extra = PAIRS if "miou" not in present or any(saturated(one) for one in sets.values()) else ()
    own = {m: group in OF_SCORES for m, group in own_groups(sets).items()}  # whether they are of scores
    main = [m for m in known if m in MAPS or m in extra or own.get(m) is False]
    scores = [m for m in known if m in SCORES or own.get(m)]
    rest = [m for m in known if m not in main and m not in scores]
    named = (("maps", main), ("scores", scores), ("rest", rest))
    return [_table(kind, metrics, sets) for kind, metrics in named if metrics]


def headline_metrics(sets: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return (metric, its name) of accuracy, anomaly scores, calibration and what was asked for; none of maps
    without classes. Of points, it is all that they estimate.
    """
    if any("points" in one for one in sets.values()):
        return list(FROM_POINTS.items())
    there = {m for one in sets.values() for of in one.get("models", {}).values() for m in of}
    own = [(m, name_of(title)) for m, (title, _) in own_titles(sets).items()]
    return [(m, value_name(m)) for m in _LINE if m in there] + own


def value_name(metric: str) -> str:
    """Return what a metric is called, of which tables of errors show the error.

    >>> value_name("miou"), value_name("average_precision"), value_name("partition_distance")
    ('mIoU', 'AP', 'partition distance')
    """
    found = named()[metric]
    return "mIoU" if metric == "miou" else name_of(found.short or found.says)


def name_of(title: str) -> str:
    """Return the name of a metric from that of its error.

    >>> name_of("AP error"), name_of("ROM")
    ('AP', 'ROM')
    """
    return title.removesuffix(" error")


def values_table(sets: Mapping[str, Mapping[str, Any]]) -> Table | None:
    """Return the table of the values that the terminal shows, as they are; None where there is none."""
    shown = headline_metrics(sets)
    better = {
        m: of[m]["better"] for one in sets.values() for of in one.get("models", {}).values() for m in of
    }
    rows = _rows(sets, [m for m, _ in shown], _value)
    columns = [Column(name, better=better[m], metric=m) for m, name in shown]
    return Table(tuple(columns), tuple(rows), name="values") if rows else None


def _rows(
    sets: Mapping[str, Mapping[str, Any]],
    metrics: Sequence[str],
    mark: Callable[[Mapping[str, Any] | None, str], Mark],
) -> list[TableRow]:
    """Return a row for each data set and model that has one of the metrics, as ``mark`` makes their marks."""
    rows = []
    for name, one in sets.items():
        stand = {m: standings(one, m) for m in metrics}
        for model, of in in_order(one, metrics).items():
            if any(m in of for m in metrics):
                marks = tuple(mark(of.get(m), stand[m].get(model, "")) for m in metrics)
                rows.append(TableRow(model, marks, words=(name,)))
    return rows


def in_order(one: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return {model: its metrics}, the one with the least error by the first of the ``metrics`` that models
    have first; those without it last, in the order of the document.

    >>> of = lambda x: {"miou": {"value": x, "better": "high"}}
    >>> list(in_order({"models": {"a": of(0.4), "b": of(0.5), "c": {}}}, ["ece", "miou"]))
    ['b', 'a', 'c']
    """
    models = one.get("models", {})
    metric = next((m for m in metrics if any(m in of for of in models.values())), "")
    found = {model: error(of[metric]) for model, of in models.items() if metric in of}
    known = {model: value for model, value in found.items() if value is not None}
    return {model: models[model] for model in sorted(models, key=lambda model: known.get(model, math.inf))}


def _value(entry: Mapping[str, Any] | None, standing: str) -> Mark:
    if entry is None:
        return Mark(None)
    undefined = int(entry.get("undefined") or 0)
    return Mark(entry["value"], entry.get("low"), entry.get("high"), standing, undefined)


def own_titles(sets: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return {metric: (its error's name, its meaning)} for custom metrics, from the document."""
    return {m: (e.get("title", m), e.get("says", m)) for m, e in _own(sets).items()}


def own_groups(sets: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return {metric: its group} for custom metrics."""
    return {m: e.get("group", "own") for m, e in _own(sets).items()}


def _own(sets: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return {metric: an entry of it} for the metrics that are not of the catalogue."""
    models = [of for one in sets.values() for of in one.get("models", {}).values()]
    return {m: entry for of in models for m, entry in of.items() if m not in TITLES}


def saturated(document: Mapping[str, Any]) -> list[str]:
    """Return the models whose ROM and RUM are both above .9, where they say little.

    >>> saturated(
    ...     {
    ...         "models": {
    ...             "fine": {"rom": {"value": 1.0}, "rum": {"value": 0.99}},
    ...             "coarse": {"rom": {"value": 0.88}, "rum": {"value": 0.99}},
    ...         }
    ...     }
    ... )
    ['fine']
    """
    found = {
        name: [of[m]["value"] for m in ("rom", "rum") if m in of]
        for name, of in document.get("models", {}).items()
    }
    return [
        name
        for name, pair in found.items()
        if len(pair) == 2 and all(v is not None and v > SATURATED for v in pair)
    ]


def cell(entry: Mapping[str, Any] | None, standing: str = "") -> Mark:
    """Return a metric as an error.

    >>> cell({"value": 0.75, "low": 0.5, "high": 1.0, "undefined": 0, "better": "high"})
    Mark(value=0.25, low=0.0, high=0.5, standing='', undefined=0, share=None)
    """
    if entry is None:
        return Mark(None)
    low = entry.get("low")
    high = entry.get("high")
    if entry["better"] == "high":
        low, high = (None if high is None else 1 - high), (None if low is None else 1 - low)
    return Mark(error(entry), low, high, standing, int(entry.get("undefined") or 0))


def _table(kind: str, metrics: Sequence[str], sets: Mapping[str, Mapping[str, Any]]) -> Table:
    own = own_titles(sets)
    group_of = {m: group for m, group in own_groups(sets).items() if group != "own"}
    group_of |= {metric.name: metric.group for metric in METRICS}
    rows = _rows(sets, metrics, cell)
    columns = []
    for k, metric in enumerate(metrics):
        title, says = TITLES.get(metric) or own[metric]
        shown = digits([row.marks[k].value for row in rows])
        group = group_of.get(metric, "others")
        columns.append(Column(title, says=says, digits=shown, metric=metric, group=group))
    return Table(tuple(columns), tuple(rows), name=kind)


def digits(values: Sequence[float | None]) -> int:
    """Return the decimals a column needs so that its smallest number shows two digits: 3 to 5.

    >>> digits([0.25, 0.5]), digits([0.00033, 0.2])
    (3, 5)
    """
    known = [abs(v) for v in values if v is not None and abs(v) > 1e-12]
    return min(max(1 - math.floor(math.log10(min(known))), 3), 5) if known else 3
