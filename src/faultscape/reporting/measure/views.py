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

from faultscape.reporting.measure import leaders
from faultscape.reporting.measure.leaders import contradictions, error_gaps
from faultscape.reporting.measure.tables import MAPS, SCORES, TITLES, cell, own_titles
from faultscape.reporting.view import ChartPoint, Line, Mark, TableRow, axes_of, axis, dot, table_of

PER_CLASS = ("miou", "rom", "rum")
MANY_CLASSES = 24  # with more, the rest is collapsed and no confusion matrix is drawn
MANY_ROWS = 300  # of paired differences
CONFUSIONS = 8

Document = Mapping[str, Any]


def dots(one: Document) -> list[Line]:
    """Return one dot per model: ROM horizontally, RUM vertically."""
    found = [
        dot(model, cell(of["rom"]), cell(of["rum"]), ("ROM", "RUM"), place)
        for place, (model, of) in enumerate(one.get("models", {}).items())
        if "rom" in of and "rum" in of
    ]
    return [one for one in found if one is not None]


def front(one: Document) -> dict[str, Any]:
    """Return the table of IoU error, ROM and RUM together, unbeaten models first, whose words are the models
    that beat one; without ``intervals`` no model is called beaten.
    """
    rows = []
    compared = leaders.compared(one)
    for model, others in leaders.beaten(one).items():
        by = tuple(other for other in others if (other, model) in compared)
        marks = tuple(cell(one["models"][model][m]) for m in leaders.THREE)
        unsure = by and not any(leaders.surely(one, other, model) for other in by)
        rows.append(TableRow(model, marks, note="not conclusively" if unsure else "", words=by))
    rows.sort(key=lambda row: (bool(row.words), row.marks[0].value))
    return {
        "table": table_of(rows, ("IoU error", "ROM", "RUM"), zero=False),
        "unbeaten": [row.model for row in rows if not row.words],
        "intervals": bool(compared),
    }


def by_class(one: Document) -> list[dict[str, Any]]:
    """Return panels of bars by class: ``rows`` [(class, [error of each model])] of IoU error, ROM and RUM,
    and of metrics that are not of the catalogue, with classes beyond 24 in ``more``.
    """
    models = one.get("models", {})
    out: list[dict[str, Any]] = []
    if not one.get("classes"):
        return out
    own = own_titles({"": one})
    for metric in (*PER_CLASS, *own):
        found = {name: of[metric].get("per_class") or {} for name, of in models.items() if metric in of}
        classes = list(dict.fromkeys(c for per in found.values() for c in per))
        better = {name: of[metric]["better"] for name, of in models.items() if metric in of}
        rows = []
        for class_ in classes:
            values = [_error(found.get(name, {}).get(class_), better.get(name, "low")) for name in models]
            if any(v is not None for v in values):
                rows.append((class_, values))
        if rows:
            on = axis([0.0, *(v for _, values in rows for v in values)], at_most=3)
            title, says = ("IoU error", "1 − IoU") if metric == "miou" else (TITLES | own)[metric]
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
        found = Mark(row.get("difference"), row.get("low"), row.get("high"))
        whole = Mark(row.get("difference_all"))
        if better.get(row["metric"]) == "high":
            found = found.turned
            whole = whole.turned
        rows.append(
            {
                "metric": row["metric"],
                "title": _title(one, row["metric"]),
                "first": row["first"],
                "second": row["second"],
                "mark": found,
                "whole": whole.value,
                "images": row.get("images"),
                "sure": found.sure and not one.get("chosen") and row["metric"] not in apart,
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
    title = _title(one, metric)
    out = []
    here = error_gaps(one, metric)
    whole = error_gaps(one, metric, "_all")
    for leader, other, how in contradictions(one, metric):
        size = abs(here[leader, other].value or 0.0)
        over_all = abs(whole[leader, other].value or 0.0)
        said = {
            "turned": f"and {other} leads {leader} by {size:.4f} where both have a value",
            "unsure": f"and by {size:.4f} where both have a value, which the intervals do not show",
            "sure": f"which the intervals show only where both have a value ({size:.4f})",
        }[how]
        out.append(f"{title}: {leader} leads {other} by {over_all:.4f} over all that each has, {said}.")
    return out


def _title(one: Document, metric: str) -> str:
    return (TITLES | own_titles({"": one})).get(metric, (metric,))[0]


def curves(one: Document) -> dict[str, Any]:
    """Return the curves by kind, one line for each model that has it; ``frames`` is the number of images
    with confidence.
    """
    places = {model: k for k, model in enumerate(one.get("models", {}))}
    found = [(model, of, places.get(model, 0)) for model, of in one.get("curves", {}).items()]
    confident = [(model, of["confidence"], k) for model, of, k in found if of.get("confidence")]
    panels = []
    for key, title in (("rom", "ROM"), ("rum", "RUM"), ("iou", "IoU error")):
        better = "high" if key == "iou" else "low"
        lines = [
            _line(m, k, c["threshold"], [_error(v, better) for v in c[key]])
            for m, c, k in confident
            if key in c
        ]
        if lines:
            panels.append({"title": title, "lines": lines, "axis": axes_of(lines)[1]})
    both = [_line(m, k, c["rom"], c["rum"]) for m, c, k in confident if "rom" in c and "rum" in c]
    on_x, on_y = axes_of(both)
    anomaly = any("average_precision" in of for of in one.get("models", {}).values())
    return {
        "confidence": panels,
        "confident": [(m, k) for m, _, k in confident],
        "scored": [(m, k) for m, of, k in found if of.get("precision_recall") or of.get("roc")],
        "both": {"lines": both, "x": on_x, "y": on_y} if both else None,
        "areas": [(m, c.get("area"), c.get("frames"), c.get("without"), k) for m, c, k in confident],
        "reliability": [_diagram(m, of["reliability"], k) for m, of, k in found if of.get("reliability")],
        "precision_recall": [
            _line(m, k, *_stepped(c["recall"], c["precision"]))
            for m, of, k in found
            if (c := of.get("precision_recall"))
        ],
        "roc": [_line(m, k, c["fpr"], c["tpr"]) for m, of, k in found if (c := of.get("roc"))],
        "of": "anomalous pixels, by score" if anomaly else "incorrect pixels, by doubt",
    }


def _diagram(model: str, of: Mapping[str, Any], place: int) -> dict[str, Any]:
    most = max(of.get("count", ()), default=0)
    counts = zip(of["confidence"], of.get("count", ()), strict=False)
    shares = [(x, n / most if most else 0.0) for x, n in counts if x is not None]
    return {"model": model, "line": _line(model, place, of["confidence"], of["accuracy"]), "shares": shares}


def _line(model: str, place: int, x: Sequence[float | None], y: Sequence[float | None]) -> Line:
    """Return a model's curve through its known points."""
    known = [ChartPoint(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    return Line(model, tuple(known), place, dots=False)


def _stepped(
    recall: Sequence[float | None], precision: Sequence[float | None]
) -> tuple[list[float], list[float]]:
    """Return a curve in which a precision holds from the recall before it, the first from 0: equal scores
    have no threshold between two recalls.

    >>> _stepped([0.5, 1.0], [1.0, 0.25])
    ([0.0, 0.5, 0.5, 1.0], [1.0, 1.0, 0.25, 0.25])
    """
    known = [(x, y) for x, y in zip(recall, precision, strict=True) if x is not None and y is not None]
    starts = [0.0, *(x for x, _ in known)]
    across = [x for start, (end, _) in zip(starts, known, strict=False) for x in (start, end)]
    return across, [y for _, y in known for _ in range(2)]


def _error(value: float | None, better: str) -> float | None:
    return None if value is None else 1 - value if better == "high" else value
