"""Build what the `measure` page shows besides its tables, from one data set's part of measure.json: dots,
fronts, bars, confusions, differences, curves.

Conventions: all metrics are errors, 0 is best; unknown is None. A model's colour is its index among the data
set's models. Confusions are shares of a true class's pixels, without pixels void in the truth. Parts that the
document lacks give empty lists.
Source: Zhang et al. 2021, Figs. 2, 5, 7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from faultscape.reporting import figures
from faultscape.reporting.figures import Axis
from faultscape.reporting.measure import unbeaten
from faultscape.reporting.measure.figures import Curve, Dot, from_zero
from faultscape.reporting.measure.leaders import contradictions, error_gaps
from faultscape.reporting.measure.tables import MAPS, SCORES, TITLES, cell

PER_CLASS = ("miou", "rom", "rum")
MANY_CLASSES = 24  # with more, the rest is collapsed and no confusion matrix is drawn
MANY_ROWS = 300  # of paired differences
CONFUSIONS = 8

Document = Mapping[str, Any]


def dots(one: Document) -> list[Dot]:
    """Return one dot per model: ROM horizontally, RUM vertically."""
    out = []
    for place, (model, of) in enumerate(one.get("models", {}).items()):
        if "rom" not in of or "rum" not in of:
            continue
        x = cell(of["rom"])
        y = cell(of["rum"])
        if x.value is not None and y.value is not None:
            across, up = (None if c.low is None or c.high is None else (c.low, c.high) for c in (x, y))
            out.append(Dot(model, x.value, y.value, across, up, place))
    return out


def front(one: Document) -> dict[str, Any]:
    """Return the rows of IoU error, ROM and RUM together, unbeaten models first, with one axis per column;
    without ``intervals`` no model is called beaten.
    """
    rows = []
    compared = unbeaten.compared(one)
    for model, others in unbeaten.beaten(one).items():
        by = [other for other in others if (other, model) in compared]
        cells = [cell(one["models"][model][m]) for m in unbeaten.THREE]
        rows.append(
            {
                "model": model,
                "cells": cells,
                "by": by,
                "unsure": bool(by) and not any(unbeaten.surely(one, b, model) for b in by),
            }
        )
    rows.sort(key=lambda row: (bool(row["by"]), row["cells"][0].value))
    columns = [[row["cells"][k] for row in rows] for k in range(3)]
    axes = [
        figures.axis([v for c in column for v in (c.value, c.low, c.high)], at_most=3) for column in columns
    ]
    return {
        "rows": rows,
        "axes": axes,
        "unbeaten": [row["model"] for row in rows if not row["by"]],
        "intervals": bool(compared),
    }


def by_class(one: Document) -> list[dict[str, Any]]:
    """Return panels of bars by class: ``rows`` [(class, [error of each model])] of IoU error, ROM and RUM,
    with classes beyond 24 in ``more``.
    """
    models = one.get("models", {})
    out: list[dict[str, Any]] = []
    if not one.get("classes"):
        return out
    for metric in PER_CLASS:
        found = {name: of[metric].get("per_class") or {} for name, of in models.items() if metric in of}
        classes = list(dict.fromkeys(c for per in found.values() for c in per))
        better = {name: of[metric]["better"] for name, of in models.items() if metric in of}
        rows = []
        for class_ in classes:
            values = [_error(found.get(name, {}).get(class_), better.get(name, "low")) for name in models]
            if any(v is not None for v in values):
                rows.append((class_, values))
        if rows:
            on = figures.axis([0.0, *(v for _, values in rows for v in values)], at_most=3)
            title, says = ("IoU error", "1 − IoU") if metric == "miou" else TITLES[metric]
            out.append(
                {
                    "title": title,
                    "says": says,
                    "axis": on,
                    "rows": rows[:MANY_CLASSES],
                    "more": rows[MANY_CLASSES:],
                }
            )
    return out


def confusions(one: Document) -> list[dict[str, Any]]:
    """Return each model's confusion matrix as shares of the true class, and its largest confusions [(truth,
    prediction, share, pixels)].
    """
    classes = list(one.get("classes", ()))
    out = []
    for model, cells in one.get("confusion", {}).items():
        names = [*classes, "void"]
        rows = [(names[t], sum(row), row) for t, row in enumerate(cells[: len(classes)])]
        has_void = any(row[-1] for _, _, row in rows)
        width = len(names) if has_void else len(classes)
        shares = [
            (name, [n / total if total else None for n in row[:width]], total) for name, total, row in rows
        ]
        largest = [
            (row[p], name, names[p], row[p] / total)
            for t, (name, total, row) in enumerate(rows)
            for p in range(width)
            if p != t and row[p]
        ]
        largest.sort(key=lambda found: -found[0])
        matrix = shares if len(classes) <= MANY_CLASSES else []
        out.append(
            {
                "model": model,
                "names": names[:width],
                "matrix": matrix,
                "largest": [(t, p, s, n) for n, t, p, s in largest[:CONFUSIONS]],
            }
        )
    return out


def differences(one: Document) -> dict[str, Any]:
    """Return the paired differences of errors, first minus second, over what both have and over everything
    that each has; if there are many, only those of the main metrics, with the number left out. Also return
    sentences on where the two disagree.
    """
    better = {m: entry["better"] for of in one.get("models", {}).values() for m, entry in of.items()}
    apart = {
        m
        for of in one.get("models", {}).values()
        for m, entry in of.items()
        if "not comparable" in entry.get("definition", "")
    }
    rows = []
    for row in one.get("paired", ()):
        sign = -1 if better.get(row["metric"]) == "high" else 1
        ends = ("low", "high") if sign > 0 else ("high", "low")
        difference, low, high, whole = (
            None if row.get(k) is None else sign * row[k] for k in ("difference", *ends, "difference_all")
        )
        sure = (
            not one.get("chosen")
            and row["metric"] not in apart
            and low is not None
            and high is not None
            and (low > 0 or high < 0)
        )
        rows.append(
            {
                "metric": row["metric"],
                "title": TITLES.get(row["metric"], (row["metric"],))[0],
                "first": row["first"],
                "second": row["second"],
                "difference": difference,
                "low": low,
                "high": high,
                "whole": whole,
                "images": row.get("images"),
                "sure": sure,
            }
        )
    shown = rows if len(rows) <= MANY_ROWS else [row for row in rows if row["metric"] in (*MAPS, *SCORES)]
    said = [
        text
        for m in dict.fromkeys(row["metric"] for row in shown)
        if m not in apart and not one.get("chosen")
        for text in disagreements(one, m)
    ]
    return {"rows": shown, "left_out": len(rows) - len(shown), "said": said}


def disagreements(one: Document, metric: str) -> list[str]:
    """Return a sentence for every pair of models whose numbers disagree with the comparison over what both
    have.

    >>> of = {"ap": {"value": 0.5, "better": "high"}}
    >>> row = {
    ...     "metric": "ap",
    ...     "first": "a",
    ...     "second": "b",
    ...     "difference": 0.02,
    ...     "low": 0.01,
    ...     "high": 0.03,
    ...     "difference_all": -0.01,
    ...     "low_all": -0.02,
    ...     "high_all": -0.005,
    ... }
    >>> disagreements({"models": {"a": of, "b": of}, "paired": [row]}, "ap")
    ['AP error: b leads a by 0.0100 over all that each has, and a leads b by 0.0200 where both have a value.']
    """
    title = TITLES.get(metric, (metric,))[0]
    out = []
    here = error_gaps(one, metric)
    whole = error_gaps(one, metric, "_all")
    for leader, other, how in contradictions(one, metric):
        size = abs(here[leader, other][0])
        said = {
            "turned": f"and {other} leads {leader} by {size:.4f} where both have a value",
            "unsure": f"and by {size:.4f} where both have a value, which the intervals do not show",
            "sure": f"which the intervals show only where both have a value ({size:.4f})",
        }[how]
        out.append(
            f"{title}: {leader} leads {other} by {abs(whole[leader, other][0]):.4f} over all that each has,"
            f" {said}."
        )
    return out


def curves(one: Document) -> dict[str, Any]:
    """Return the curves by kind, one Curve for each model that has it; ``frames`` is the number of images
    with confidence.
    """
    places = {model: k for k, model in enumerate(one.get("models", {}))}
    found = [(model, of, places.get(model, 0)) for model, of in one.get("curves", {}).items()]
    confident = [(model, of["confidence"], k) for model, of, k in found if of.get("confidence")]
    panels = []
    for key, title in (("rom", "ROM"), ("rum", "RUM"), ("iou", "IoU error")):
        lines = [
            Curve(m, c["threshold"], [_error(v, "high" if key == "iou" else "low") for v in c[key]], k)
            for m, c, k in confident
            if key in c
        ]
        if lines:
            panels.append({"title": title, "lines": lines, "axis": _axis(lines, "y")})
    both = [Curve(m, c["rom"], c["rum"], k) for m, c, k in confident if "rom" in c and "rum" in c]
    anomaly = any("average_precision" in of for of in one.get("models", {}).values())
    return {
        "confidence": panels,
        "confident": [(m, k) for m, _, k in confident],
        "scored": [(m, k) for m, of, k in found if of.get("precision_recall") or of.get("roc")],
        "both": {"lines": both, "x": _axis(both, "x"), "y": _axis(both, "y")} if both else None,
        "areas": [(m, c.get("area"), c.get("frames"), c.get("without"), k) for m, c, k in confident],
        "reliability": [_diagram(m, of["reliability"], k) for m, of, k in found if of.get("reliability")],
        "precision_recall": [
            Curve(m, c["recall"], c["precision"], k)
            for m, of, k in found
            if (c := of.get("precision_recall"))
        ],
        "roc": [Curve(m, c["fpr"], c["tpr"], k) for m, of, k in found if (c := of.get("roc"))],
        "of": "anomalous pixels, by score" if anomaly else "incorrect pixels, by doubt",
    }


def _diagram(model: str, of: Mapping[str, Any], place: int) -> dict[str, Any]:
    most = max(of.get("count", ()), default=0)
    shares = [n / most if most else 0.0 for n in of.get("count", ())]
    return {"model": model, "line": Curve(model, of["confidence"], of["accuracy"], place), "shares": shares}


def _axis(lines: Sequence[Curve], side: str) -> Axis:
    return from_zero([v for line in lines for v in getattr(line, side) if v is not None])


def _error(value: float | None, better: str) -> float | None:
    return None if value is None else 1 - value if better == "high" else value
