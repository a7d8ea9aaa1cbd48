"""What a plot of a measurement shows: a metric with intervals, by class, or the differences of models; what a
model takes for what; torn against merged regions; or curves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from faultscape.metrics.catalogue import named
from faultscape.reporting.measure.document import MetricEntry, SetDocument
from faultscape.results import plots

if TYPE_CHECKING:
    from faultscape.results.plots import Axes

BOTH = "rom-rum"
CURVES = {  # {curve: its axes}
    "precision_recall": ("recall", "precision"),
    "roc": ("fpr", "tpr"),
    "reliability": ("confidence", "accuracy"),
}
_WORDS = {
    "recall": "recall",
    "precision": "precision",
    "fpr": "false positive rate",
    "tpr": "true positive rate",
    "confidence": "confidence of the predictions in a bin",
    "accuracy": "share of them that is right",
}


def draw(ax: Axes | None, one: SetDocument, what: str) -> Axes:
    """Draw what is named; ResultError if it was not measured."""
    models = one.get("models", {})
    metrics = tuple(dict.fromkeys(metric for of in models.values() for metric in of))
    curves = [name for name in CURVES if any(of.get(name) for of in one.get("curves", {}).values())]
    both = [BOTH] if any({"rom", "rum"} <= of.keys() for of in models.values()) else []
    known = (*both, *metrics, *curves)
    by_class = {f"{metric}-classes": metric for metric in metrics if _classes(models, metric)}
    apart = {f"{row['metric']}-differences": row["metric"] for row in one.get("paired", [])}
    confused = {f"confusion-{model}": model for model in one.get("confusion", {})}
    known = (*known, *by_class, *apart, *confused)
    what = plots.chosen(what, known, known[0] if known else "")
    of = "this pool" if "points" in one else "data to come"
    bars = f"bars: 95 % intervals of {of}, one model at a time"
    if what in by_class:
        return _draw_classes(ax, models, by_class[what])
    if what in apart:
        return _draw_differences(ax, one, apart[what], of)
    if what in confused:
        return _draw_confusion(ax, one, confused[what])
    if what == BOTH:
        return _draw_both(ax, models, bars)
    if what in curves:
        return _draw_curves(ax, one, what)
    marks = _marks(models, what)
    better = next(of[what]["better"] for of in models.values() if what in of)
    marks.sort(key=lambda mark: _place(mark, better))
    entry = next(of[what] for of in models.values() if what in of)
    note = f"{'higher' if better == 'high' else 'lower'} is better; {_bars(marks, bars)}"
    title = _title(what, entry)
    return plots.intervals(ax, marks, label=title, title=f"{title} by model", note=note, models=list(models))


def _draw_both(ax: Axes | None, models: Mapping[str, Mapping[str, MetricEntry]], bars: str) -> Axes:
    across = _marks(models, "rom")
    up = _marks(models, "rum")
    said = _bars(across, bars)
    labels = (f"ROM: regions torn apart (0 is best)\n{said}", "RUM: regions run together (0 is best)")
    return plots.points(ax, across, up, labels=labels, title="What kind of error: torn apart or run together")


def _classes(models: Mapping[str, Mapping[str, MetricEntry]], metric: str) -> list[str]:
    """Return the classes that any model has a value of a metric for."""
    entries = [of[metric] for of in models.values() if metric in of]
    return list(dict.fromkeys(class_ for entry in entries for class_ in entry.get("per_class", {})))


def _draw_classes(ax: Axes | None, models: Mapping[str, Mapping[str, MetricEntry]], metric: str) -> Axes:
    classes = _classes(models, metric)
    rows = {name: of[metric] for name, of in models.items() if metric in of}
    values = [
        [_number(entry.get("per_class", {}).get(class_)) for class_ in classes] for entry in rows.values()
    ]
    title = _title(metric, next(iter(rows.values())))
    return plots.matrix(ax, [*rows], classes, values, label=title, title=f"{title} by class")


def _draw_differences(ax: Axes | None, one: SetDocument, metric: str, of: str) -> Axes:
    """Draw how far each model is ahead of each other one, over what both have."""
    rows = [row for row in one.get("paired", []) if row["metric"] == metric]
    marks = list[plots.Mark]()
    for row in rows:
        low, high = row.get("low"), row.get("high")
        told_apart = low is not None and high is not None and not low <= 0 <= high
        name = f"{row['first']} less {row['second']}"
        marks.append(plots.Mark(name, "", row.get("difference"), low, high, filled=told_apart))
    title = _title(metric, next(of[metric] for of in one["models"].values() if metric in of))
    bars = _bars(marks, f"bars: 95 % intervals of {of}, one pair at a time; filled: without 0")
    return plots.intervals(
        ax, marks, label=f"difference in {title}", title=f"{title}: differences", note=bars
    )


def _draw_confusion(ax: Axes | None, one: SetDocument, model: str) -> Axes:
    """Draw which share of each true class's pixels a model takes for which class."""
    counts = one.get("confusion", {})[model]
    classes = one.get("classes", [])
    columns = [*classes, "void"][: len(counts[0])]
    rows = [
        (name, [count / total for count in row])
        for name, row in zip(classes, counts, strict=False)
        if (total := sum(row))
    ]
    title = f"What {model} takes each class for"
    values = [row for _, row in rows]
    label = "share of the class's pixels"
    return plots.matrix(ax, [name for name, _ in rows], columns, values, label=label, title=title)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _draw_curves(ax: Axes | None, one: SetDocument, what: str) -> Axes:
    x, y = CURVES[what]
    lines: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    for model, of in one.get("curves", {}).items():
        if held := cast("Mapping[str, Any]", of.get(what) or {}):
            lines[model] = _known(held[x], held[y])
            if what == "precision_recall" and lines[model][0]:  # the first precision holds from recall 0
                lines[model] = ([0.0, *lines[model][0]], [lines[model][1][0], *lines[model][1]])
    diagonal = {"roc": "chance", "reliability": "as often right as confident"}.get(what, "")
    random = one.get("anomalous", {}) if what == "precision_recall" else {}
    levels = {"chance": next(iter(random.values()))} if random else {}
    title = {"precision_recall": "Precision and recall", "roc": "ROC", "reliability": "Reliability diagram"}[
        what
    ]
    steps = what == "precision_recall"
    return plots.curves(
        ax,
        lines,
        labels=(_WORDS[x], _WORDS[y]),
        title=title,
        diagonal=diagonal,
        levels=levels,
        dots=what == "reliability",
        steps=steps,
        models=list(one.get("models", {})),
    )


def _known(x: Sequence[float | None], y: Sequence[float | None]) -> tuple[list[float], list[float]]:
    known = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    return [a for a, _ in known], [b for _, b in known]


def _marks(models: Mapping[str, Mapping[str, MetricEntry]], metric: str) -> list[plots.Mark]:
    return [
        plots.Mark(name, name, entry["value"], entry.get("low"), entry.get("high"))
        for name, of in models.items()
        if (entry := of.get(metric))
    ]


def _place(mark: plots.Mark, better: str) -> tuple[bool, float]:
    """Return by what marks are sorted: the best first, the unknown last."""
    if mark.value is None:
        return True, 0.0
    return False, -mark.value if better == "high" else mark.value


def _bars(marks: Sequence[plots.Mark], words: str) -> str:
    return words if any(mark.low is not None for mark in marks) else "no intervals were computed"


def _title(metric: str, entry: MetricEntry) -> str:
    title = entry.get("title") or (named()[metric].title if metric in named() else metric)
    return title.removesuffix(" error") if entry["better"] == "high" else title
