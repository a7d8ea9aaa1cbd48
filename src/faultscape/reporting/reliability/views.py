"""Build the rows of each section of the card's page from its cells, with their shared axes.

Conventions: a view is empty if the card has nothing for it. Intervals of numbers between 0 and 1 are clipped
there. A model's colour is its position on the card. ``row`` of a mark is its cell, or None.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

from faultscape.metrics.scorers import scorer_named
from faultscape.plug import is_own
from faultscape.reporting.measure.coverage import held
from faultscape.reporting.reliability.document import (
    ALL_OBJECTS,
    CORRUPTED,
    FOUND_AT,
    RANDOM,
    TITLES,
    Card,
    CardCell,
    CardCondition,
    CardObjects,
    first_holdout,
    holdouts_of,
    method_flags,
    minutes_of_score,
    of_severities,
    pixels_words,
)
from faultscape.reporting.reliability.partial_means import PartialMeans, Share, shares_text
from faultscape.reporting.reliability.questions import (
    CardIndex,
    Question,
    Standing,
    above_chance,
    others_above,
    trained_on,
)
from faultscape.reporting.reliability.tables import conditions_of, views_of
from faultscape.reporting.reliability.words import doubt_text
from faultscape.reporting.view import (
    Axis,
    ChartPoint,
    Column,
    Line,
    Mark,
    Table,
    TableRow,
    axes_of,
    axis,
    axis_of,
    dot,
    table_of,
)
from faultscape.stressors.catalogue import CORRUPTIONS

_UNBOUNDED = ("corruption_error", "relative_drop")
_CHANCE = {"fpr95": 0.95, "auroc": 0.5}
MANY_ROWS = 240  # of differences in the collapsed part
OF_ERRORS = ("error_auroc", "error_ap", "error_fpr95")
_MEASURED = {
    "error_ap": "misclassification_ap",
    "error_auroc": "calibration_auroc",
    "error_fpr95": "misclassification_fpr95",
}  # names in `measure`
SEVERITIES = Axis(0.0, 5.0, tuple(map(float, range(6))), ("clean", "1", "2", "3", "4", "5"))
OF_ANOMALIES = ("average_precision", "fpr95", "auroc", *FOUND_AT, "component_f1")


def mark(cell: CardCell | None, standing: str = "", share: Share | None = None) -> Mark:
    """Return a cell as a mark.

    >>> mark({"metric": "ece", "value": 0.01, "low": -0.02, "high": 0.03})
    Mark(value=0.01, low=0.0, high=0.03, standing='', undefined=0, share=None)
    """
    if cell is None or cell["value"] is None:
        return Mark(None)
    found = Mark(cell["value"], cell.get("low"), cell.get("high"), standing, share=share)
    return _clipped(found, cell["metric"])


def _clipped(found: Mark, metric: str) -> Mark:
    if metric in _UNBOUNDED:
        return found
    low, high = (None if end is None else min(max(end, 0.0), 1.0) for end in (found.low, found.high))
    return replace(found, low=low, high=high)


def front(card: Card, index: CardIndex) -> dict[str, Any] | None:
    """Return the main table: one row per model. A model is unbeaten in a column if no other is conclusively
    ahead of it and some model is beaten.
    """
    view = next((view for view in views_of(card) if view.name == "models"), None)
    if view is None:
        return None
    standings = [_standings(index, column) for column in view.columns]
    rows = []
    for row in view.rows:
        marks = [
            _clipped(replace(m, standing="" if m.value is None else of.get(row.model, "")), column.metric)
            for m, column, of in zip(row.marks, view.columns, standings, strict=True)
        ]
        place = index.models.index(row.model) if row.model in index.models else None
        rows.append(TableRow(row.model, tuple(marks), place))
    columns = [
        replace(column, axis=axis_of([row.marks[k] for row in rows])) for k, column in enumerate(view.columns)
    ]
    return {
        "table": Table(tuple(columns), tuple(rows)),
        "shaded": any(m.standing for row in rows for m in row.marks),
        "shares": shares_text(rows),
        "intervals": any(m.low is not None for row in rows for m in row.marks),
    }


def _standings(index: CardIndex, column: Column) -> dict[str, str]:
    """Return {model: best or unbeaten} in a column of the card; nothing where none is beaten."""
    standing = index.stand(Question(column.title, column.group, column.metric, "", "", column.holdout))
    if not standing.behind:
        return {}
    return {name: "best" if name == standing.best else "unbeaten" for name in standing.unbeaten}


def severities(card: Card, index: CardIndex) -> dict[str, Any] | None:
    """Return mIoU against severity, in distribution if the card has a holdout: one chart per corruption with
    one line per model, and for each model the grid of corruptions and severities.
    """
    clean = next(iter(conditions_of(card, "clean")), "")
    holdout = first_holdout(card)
    held = _by_corruption(card)
    if not held:
        return None
    charts = []
    for name, conditions in held.items():
        lines = []
        for place, model in enumerate(index.models):
            wanted = [(0, clean), *sorted((c["severity"], c["name"]) for c in conditions)]
            found = [(s, index.cell(model, c, "miou", holdout=holdout)) for s, c in wanted]
            line = _severity_line(model, place, [(s, mark(cell)) for s, cell in found if cell])
            if any(point.x for point in line.known):
                lines.append(line)
        if lines:
            charts.append({"title": corruption_title(name), "lines": lines})
    grids = [grid for model in index.models if (grid := _grid(index, model, clean, held, holdout))]
    if not charts:
        return None
    return {
        "charts": charts,
        "axis": axes_of([line for chart in charts for line in chart["lines"]], at_most=4)[1],
        "grids": grids,
    }


def _by_corruption(card: Card) -> dict[str, list[CardCondition]]:
    """Return {corruption: its conditions, of the clean set}, in the card's order."""
    bases = {set_ for c in card["conditions"] if c["kind"] == "clean" for set_ in c.get("sets", [])}
    out: dict[str, list[CardCondition]] = {}
    for condition in card["conditions"]:
        of = condition.get("of", "")
        name = condition.get("corruption")
        if condition["kind"] == "corrupted" and name and (not bases or not of or of in bases):
            out.setdefault(name, []).append(condition)
    return out


def corruption_title(name: str) -> str:
    """Return the title of a corruption.

    >>> corruption_title("jpeg_compression"), corruption_title("mine")
    ('JPEG compression', 'mine')
    """
    return next((c.title for c in CORRUPTIONS if c.name == name), name)


def _severity_line(model: str, place: int, marks: Sequence[tuple[int, Mark]]) -> Line:
    """Return a model's numbers by severity, the clean one at 0."""
    points = tuple(ChartPoint(s, m.value, up=m.ends) for s, m in marks if m.value is not None)
    said = []
    for p in points:
        ends = f" ({p.up[0]:.3f} to {p.up[1]:.3f})" if p.up else ""
        said.append(f"{f'severity {p.x:g}' if p.x else 'clean'} {p.y:.3f}{ends}")
    return Line(model, points, place, says=f"{model}: {', '.join(said)}")


def _grid(
    index: CardIndex,
    model: str,
    clean: str,
    held: Mapping[str, Sequence[CardCondition]],
    holdout: str,
) -> dict[str, Any] | None:
    """Return a model's mIoU by corruption and severity, each with the lost share of the clean mIoU, and the
    worst of them; in distribution if a holdout is named.
    """
    base = index.cell(model, clean, "miou", holdout=holdout)
    whole = None if base is None else base["value"]
    columns = sorted({c["severity"] for conditions in held.values() for c in conditions})
    rows = []
    worst = None
    for name, conditions in held.items():
        of = {c["severity"]: index.cell(model, c["name"], "miou", holdout=holdout) for c in conditions}
        values = [None if (cell := of.get(s)) is None else cell["value"] for s in columns]
        known = [v for v in values if v is not None]
        lost = [None if v is None or not whole else min(max(1 - v / whole, 0.0), 1.0) for v in values]
        average = mean(known) if known else None
        rows.append(
            {"title": corruption_title(name), "cells": list(zip(values, lost, strict=True)), "mean": average}
        )
        for severity, value in zip(columns, values, strict=True):
            if value is not None and (worst is None or value < worst[0]):
                worst = (value, corruption_title(name), severity)
    if worst is None:
        return None
    return {
        "model": model,
        "columns": columns,
        "rows": rows,
        "clean": whole,
        "worst": worst,
    }


def classes(card: Card) -> list[dict[str, Any]]:
    """Return for each model the IoU of its classes, clean and under corruption, each with the share of the
    clean IoU that is lost, those that lose most first; [] without corruption.
    """
    clean = next(iter(conditions_of(card, "clean")), "")
    columns = [clean, *(of_severities(name) for name in _by_corruption(card)), CORRUPTED]
    titles = ["clean", *map(corruption_title, _by_corruption(card)), "mean"]
    held: dict[str, dict[str, dict[str, float]]] = {}
    for one in card.get("classes", []):
        if (value := one["value"]) is not None:
            held.setdefault(one["model"], {}).setdefault(one["class_"], {})[one["condition"]] = value
    out = []
    for model, of_classes in held.items():
        rows = []
        for name, of in of_classes.items():
            whole = of.get(clean)
            values = [of.get(condition) for condition in columns]
            lost = [min(max(1 - v / whole, 0.0), 1.0) if v is not None and whole else None for v in values]
            rows.append({"title": name, "cells": list(zip(values, lost, strict=True)), "lost": lost[-1]})
        rows.sort(key=lambda row: -(row["lost"] or 0.0))
        if any(row["lost"] is not None for row in rows):
            out.append({"model": model, "columns": titles, "rows": rows, "worst": rows[0]})
    return out


def anomaly_sets(card: Card, index: CardIndex) -> list[dict[str, Any]]:
    """Return the anomaly sets: one row per model and scorer with AP, FPR95 and AUROC, chance first, and which
    are conclusively above chance.
    """
    out = []
    for condition in card["conditions"]:
        name = condition["name"]
        if condition["kind"] != "anomaly":
            continue
        chance = index.cell(RANDOM, name, "average_precision", RANDOM)
        share = condition.get("anomalous")
        if share is None and chance is not None:
            share = chance["value"]
        table, metrics = _score_table(card, index, name, OF_ANOMALIES, share=share)
        if not table.rows:
            continue
        out.append(
            {
                "name": name,
                "about": condition,
                "share": share,
                "table": table,
                "above": above_chance(index, name, share),
                "others_above": others_above(table.rows, metrics, share),
                "objects": _objects(card, index, name),
                "holdout": condition.get("holdout", ""),
                "trained": trained_on(card, condition.get("withheld", [])),
                "chance": [_CHANCE.get(m, share if m == "average_precision" else None) for m in metrics],
            }
        )
    return out


def _score_table(
    card: Card,
    index: CardIndex,
    condition: str,
    metrics: Sequence[str],
    holdout: str = "",
    share: float | None = None,
) -> tuple[Table, list[str]]:
    """Return the table of all models and scorers under a condition, and its metrics: those of which some row
    has a value. ``share`` is the average precision of chance.
    """
    rows = []
    means = PartialMeans(card)
    before = ""
    for place, one in enumerate(card["models"]):
        name = one["name"]
        for scorer in one.get("scorers", []):
            cells = [index.cell(name, condition, m, scorer, holdout) for m in metrics]
            if not any(cells):
                continue
            marks = [
                mark(cell, share=means.share(name, condition, m, scorer, holdout))
                for cell, m in zip(cells, metrics, strict=True)
            ]
            note = ", ".join([scorer_title(scorer), *method_flags(card, name, scorer)])
            kinds = ["main"] if scorer == index.scorer(name) else []
            kinds += [] if name == before else ["first"]
            before = name
            rows.append(TableRow(name, tuple(marks), place, note, " ".join(kinds), (scorer,)))
    there = [k for k in range(len(metrics)) if any(row.marks[k].value is not None for row in rows)]
    rows = [replace(row, marks=tuple(row.marks[k] for k in there)) for row in rows]
    columns = []
    for k, metric in enumerate(metrics[k] for k in there):
        chance = share if metric == "average_precision" else None
        on = axis_of([*(row.marks[k] for row in rows), Mark(chance)], zero=True)
        about = TITLES[metric]
        columns.append(Column(about.short or about.title, on, about.better, at=chance if k == 0 else None))
    return Table(tuple(columns), tuple(rows), ("model, scorer",)), [metrics[k] for k in there]


def scorer_title(word: str) -> str:
    """Return the title of a scorer.

    >>> scorer_title("msp"), scorer_title("mine.py:SCORER")
    ('Max probability', 'SCORER')
    """
    return word.rpartition(":")[2] if is_own(word) else scorer_named(word).title


def _objects(card: Card, index: CardIndex, condition: str) -> dict[str, Any] | None:
    """Return the results for objects by size and position, for each model's own scorer and for the others."""
    held: dict[tuple[str, str], dict[str, CardObjects]] = {}
    for row in card.get("objects", []):
        if row["condition"] == condition and row["objects"] != ALL_OBJECTS:
            held.setdefault((row["model"], row["scorer"]), {})[row["objects"]] = row
    kinds = list(dict.fromkeys(kind for rows in held.values() for kind in rows))
    if not kinds:
        return None
    counts = {kind: next(rows[kind]["count"] for rows in held.values() if kind in rows) for kind in kinds}
    rows = [
        {
            "model": model,
            "place": index.models.index(model) if model in index.models else 0,
            "title": scorer_title(scorer),
            "main": scorer == index.scorer(model),
            "cells": [of.get(kind) for kind in kinds],
        }
        for (model, scorer), of in held.items()
    ]
    return {
        "kinds": [(kind, counts[kind]) for kind in kinds],
        "main": [row for row in rows if row["main"]],
        "others": [row for row in rows if not row["main"]],
    }


def error_sets(card: Card, index: CardIndex) -> list[dict[str, Any]]:
    """Return the conditions for detecting wrong pixels, in distribution for each holdout before those of all
    classes: one row per model and scorer with the calibration AUROC, AP and FPR95.
    """
    names = [
        *conditions_of(card, "clean"),
        CORRUPTED,
        *conditions_of(card, "natural", "foggy", "misclassified"),
    ]
    out = []
    for name, holdout in [(name, holdout) for name in names for holdout in [*holdouts_of(card), ""]]:
        table, _ = _score_table(card, index, name, OF_ERRORS, holdout)
        if table.rows:
            said = name + pixels_words(card, holdout)
            out.append({"name": said, "table": table, "shares": shares_text(table.rows)})
    return out


def calibration(card: Card, index: CardIndex) -> dict[str, Any] | None:
    """Return the ECE of each model on clean images, and one line per model of its mean over corruptions by
    severity, for severities that have all of the model's corruptions; in distribution if the card has a
    holdout.
    """
    clean = next(iter(conditions_of(card, "clean")), "")
    holdout = first_holdout(card)
    rows = [
        TableRow(m, (mark(cell),), k)
        for k, m in enumerate(index.models)
        if (cell := index.cell(m, clean, "ece", holdout=holdout))
    ]
    held = _by_corruption(card)
    lines = []
    for place, model in enumerate(index.models):
        found: dict[int, list[float]] = {}
        for conditions in held.values():
            for c in conditions:
                cell = index.cell(model, c["name"], "ece", holdout=holdout)
                if cell and cell["value"] is not None:
                    found.setdefault(c["severity"], []).append(cell["value"])
        most = max((len(values) for values in found.values()), default=0)
        base = index.cell(model, clean, "ece", holdout=holdout)
        marks = [(0, Mark(base["value"]))] if base else []
        marks += [(s, Mark(mean(found[s]))) for s in sorted(found) if len(found[s]) == most]
        if found:
            lines.append(_severity_line(model, place, marks))
    if not rows and not lines:
        return None
    return {
        "table": table_of(rows, [""]) if rows else None,
        "lines": lines,
        "line_axis": axes_of(lines, at_most=4)[1] if lines else None,
    }


def without_labels(card: Card, index: CardIndex) -> dict[str, Any] | None:
    """Return consistency next to mIoU, in the order of consistency, with the agreement of the two
    rankings.
    """
    ranking: Any = card.get("ranking") or {}
    order = [name for name in ranking.get("order", []) if name in index.models]
    if not order:
        return None
    clean = next(iter(conditions_of(card, "clean")), "")
    means = PartialMeans(card)
    holdout = first_holdout(card)
    pixels = pixels_words(card, holdout)
    asked = ((CORRUPTED, "consistency", ""), (CORRUPTED, "miou", holdout), (clean, "miou", holdout))
    rows = []
    for name in order:
        marks = tuple(
            mark(
                index.cell(name, condition, metric, holdout=of),
                share=means.share(name, condition, metric, holdout=of),
            )
            for condition, metric, of in asked
        )
        rows.append(TableRow(name, marks, index.models.index(name)))
    names = ("consistency", f"mIoU corrupted{pixels}")
    whole = [row for row in rows if not (row.marks[0].share or row.marks[1].share)]
    dots = [dot(row.model, row.marks[0], row.marks[1], names, row.place) for row in whole]
    return {
        "table": table_of(rows, (*names, f"mIoU clean{pixels}"), better="high"),
        "shares": shares_text(rows),
        "dots": [one for one in dots if one is not None],
        "agreement": dict(ranking.get("agreement") or {}),
        "doubt": doubt_text(ranking),
        "models": len(order),
    }


def differences(card: Card, index: CardIndex, standings: Sequence[Standing]) -> dict[str, Any] | None:
    """Return for each question the leader against every other model, and in a collapsed part the other pairs;
    also how many more the card holds.
    """
    panels = []
    rest = []
    shown = 0
    for standing in standings:
        pairs = [pair for pair in itertools.permutations(standing.cells, 2) if pair in standing.gaps]
        if not pairs:
            continue
        leader = standing.leader
        rows = [
            TableRow(
                other,
                (standing.gaps[one, other],),
                index.models.index(other),
                kind="sure" if standing.ahead(leader, other) else "",
            )
            for one, other in pairs
            if one == leader
        ]
        others = [
            {
                "title": standing.question.title,
                "first": one,
                "second": other,
                "mark": standing.gaps[one, other],
                "sure": standing.ahead(one, other) or standing.ahead(other, one),
            }
            for one, other in itertools.combinations(standing.cells, 2)
            if leader not in (one, other) and (one, other) in standing.gaps
        ]
        shown += len(rows) + len(others)
        rest += others
        if rows:
            on = axis_of([*(row.marks[0] for row in rows), Mark(0.0)], at_most=4)
            turned = TITLES[standing.question.metric].better == "low"
            table = Table((Column("", on, at=0.0, signed=True),), tuple(rows))
            panels.append(
                {"title": standing.question.title, "leader": leader, "table": table, "turned": turned}
            )
    total = len(card.get("paired", []))
    if not panels:
        return None
    return {
        "panels": panels,
        "rest": rest[:MANY_ROWS],
        "left_out": max(total - shown + len(rest[MANY_ROWS:]), 0),
    }


def times(card: Card, index: CardIndex) -> dict[str, Any] | None:
    """Return the time per frame of each model on each device, with each of its fitted methods alone below
    it, and the minutes to train or fit.
    """
    found = [row for row in card.get("times", []) if row["model"] in index.models]
    found.sort(key=lambda row: (row["device"], index.models.index(row["model"])))
    if not found:
        return None
    rows = []
    for row in found:
        name, place = row["model"], index.models.index(row["model"])
        about = (row["device"], f"{row['frames']:,}", row["batch"])
        spreads = [row[key] for key in ("model_ms", "scored_ms", "whole_ms")]
        rows.append(TableRow(name, _marks(card, name, "", spreads), place, words=("all", *about)))
        for scorer, spread in row.get("methods_ms", {}).items():
            marks = _marks(card, name, scorer, (None, spread, None))
            rows.append(TableRow(name, marks, place, words=(scorer, "", "", "")))
    titles = ("minutes to train or fit", "forward, ms", "with score, ms", "whole, ms")
    first = 0 if any(row.marks[0].value is not None for row in rows) else 1
    rows = [replace(row, marks=row.marks[first:]) for row in rows]
    heads = ("model", "score", "device", "images", "batch")
    table = table_of(rows, titles[first:], better="low", heads=heads)
    columns = tuple(replace(column, digits=1) for column in table.columns)
    return {
        "table": replace(table, columns=columns),
        "minutes": not first,
        "alone": all(row["batch"] == 1 for row in found),
    }


def _marks(
    card: Card, model: str, scorer: str, spreads: Sequence[Sequence[float] | None]
) -> tuple[Mark, ...]:
    """Return the minutes to train or fit, and medians with their quartiles."""
    drawn = [Mark(None) if spread is None else Mark(spread[1], spread[0], spread[2]) for spread in spreads]
    return Mark(minutes_of_score(card, model, scorer)), *drawn


def training(card: Card) -> dict[str, Any] | None:
    """Return the models that were trained here, with their loss and validation curves by step; None without
    any.
    """
    rows = [
        {"place": place, "name": model["name"], **model["training"]}
        for place, model in enumerate(card["models"])
        if "training" in model
    ]
    if not rows:
        return None
    charts = []
    for title, better, kept, column in (
        ("Training loss", "low", "losses", 1),
        ("Validation mIoU", "high", "watched", 1),
        ("Validation NLL", "low", "watched", 2),
    ):
        lines = []
        for row in rows:
            points = [ChartPoint(r[0], r[column]) for r in row[kept] if math.isfinite(r[column])]
            if points:
                first, last = points[0], max(points, key=lambda point: point.x)
                says = f"{row['name']}: {first.y:.3f} at step {first.x:g}, {last.y:.3f} at step {last.x:g}"
                lines.append(Line(row["name"], tuple(points), row["place"], says=says, dots=len(points) == 1))
        if lines:
            most = max(point.x for line in lines for point in line.known)
            round_ones = axis([0.0, most])
            across = replace(round_ones, high=most, ticks=tuple(t for t in round_ones.ticks if t <= most))
            up = axes_of(lines, at_most=4)[1]
            charts.append({"title": title, "better": better, "lines": lines, "x": across, "y": up})
    return {"rows": rows, "charts": charts}


def definitions(card: Card) -> dict[str, Any]:
    """Return the metrics and scorers of the card as the catalogues define them, with the coverage of
    intervals where it is below their level.
    """
    units = card.get("units") or {}
    grouped = units.get("drawn") == "groups"
    fewest = dict[str, int]()
    for cell in card["cells"]:
        count = int(units.get("count", 0)) if grouped else cell.get("images", 0)  # type: ignore[arg-type]
        if cell.get("low") is not None:
            fewest[cell["metric"]] = min(count, fewest.get(cell["metric"], count))
    known = {cell["metric"] for cell in card["cells"]}
    words = list(dict.fromkeys(word for one in card["models"] for word in one.get("scorers", [])))
    own = [word for word in words if is_own(word)]
    found = {scorer.title: scorer for word in words if word not in own for scorer in [scorer_named(word)]}
    often = {name: held(_MEASURED.get(name, name), count, grouped=grouped) for name, count in fewest.items()}
    return {
        "metrics": [
            replace(metric, says=metric.says + often.get(name, ""))
            for name, metric in TITLES.items()
            if name in known
        ],
        "scorers": list(found.values()),
        "own": own,
    }
