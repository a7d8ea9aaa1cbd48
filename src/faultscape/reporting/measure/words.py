"""What `measure` prints: one line per model with its accuracy and interval, and, with ``-v``, one table of
models against the most informative errors.

Conventions: a line shows the usual metrics, where large is good; in the table of errors 0 is best in every
column, as in Table I of Zhang et al. 2021. A star marks what the page shades: the best model of a column,
which no other is ahead of where both have a value, and those that the intervals do not separate from it.
Without intervals there are no stars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from faultscape.errors import counted
from faultscape.metrics.catalogue import METRICS
from faultscape.reporting.measure.document import Document, MetricEntry, PointsPart, PresentPart, SetDocument
from faultscape.reporting.measure.leaders import contradictions, error, standings
from faultscape.reporting.measure.tables import headline_metrics, name_of, own_titles
from faultscape.results.table import text_lines

COLUMNS = tuple(
    (metric.name, metric.short)
    for metric in sorted(METRICS, key=lambda metric: metric.column)
    if metric.column
)
_PIXELS = frozenset(["ror", "rur"])
_EACH = {"points": "the IoU of every class", "present": "every class"}  # without statistics of images


def summary(path: str, document: Document) -> str:
    """Return one line per model of every data set that this call measured, its notes, and where to find the
    rest.
    """
    lines = list[str]()
    low = list[str]()
    starred = False
    for name, one in _sets(document).items():
        lines += [f"{name}:"] if name else []
        shown = _shown(one)
        low += [title for m, title in shown if title not in low and _is_low(one, m)]
        stars = {m: standings(one, m) for m, _ in shown}
        starred |= any(stars.values())
        width = max((len(model) for model in one["models"]), default=0)
        for model, of in one["models"].items():
            cells = [
                f"{title} {_interval(of[m])}{'*' if model in stars[m] else ''}"
                for m, title in shown
                if m in of
            ]
            lines.append(f"{model:<{width}}  {'  '.join(cells)}".rstrip())
        lines += [f"note: {note}" for note in one.get("notes", ())]
    lines += ["* best, or not significantly worse than the best"] if starred else []
    lines += _beside(document)
    lines += [f"lower is better: {', '.join(low)}"] if low else []
    rest = next((rest for part, rest in _EACH.items() if part in document), "every error")
    lines.append(f"{written_files(path, document)}; -v prints {rest}")
    return "\n".join(lines)


def written_files(path: str, document: Document) -> str:
    """Return what `measure` wrote: the page, and the files next to it.

    >>> written_files("measured", {"models": {}})
    'measured/report.html; beside it measure.json and per_image.parquet'
    """
    more = "" if _EACH.keys() & document.keys() else " and per_image.parquet"
    return f"{Path(path) / 'report.html'}; beside it measure.json{more}"


def _beside(document: Document) -> list[str]:
    """Return a line that names the sets measured by earlier calls, if any."""
    earlier = cast("Sequence[str]", document.get("provenance", {}).get("earlier", ()))
    if not earlier:
        return []
    names = f"{', '.join(earlier[:8])}{', ...' if len(earlier) > 8 else ''}"
    return [f"kept from earlier calls: {counted(len(earlier), 'set')} ({names})"]


def _sets(document: Document) -> dict[str, SetDocument]:
    """Return the data sets that this call measured; {'': data set} for a single one."""
    earlier = cast("Sequence[str]", document.get("provenance", {}).get("earlier", ()))
    sets = document.get("datasets") or {"": document}
    return {name: one for name, one in sets.items() if name not in earlier}


def _shown(one: SetDocument) -> list[tuple[str, str]]:
    """Return the metrics of a model's line with their names: accuracy, anomaly scores, calibration and
    requested ones; for maps without classes, those of regions.
    """
    there = {m for of in one["models"].values() for m in of}
    return headline_metrics({"": one}) or [(m, name_of(title)) for m, title in COLUMNS if m in there]


def _is_low(one: SetDocument, metric: str) -> bool:
    return any(of[metric]["better"] == "low" for of in one["models"].values() if metric in of)


def _interval(entry: MetricEntry) -> str:
    """Return a value with its interval, in the usual form of tables.

    >>> _interval({"value": 0.448, "better": "high", "low": 0.4191, "high": 0.47})
    '.448 [.42, .47]'
    """
    value = entry["value"]
    low = entry.get("low")
    high = entry.get("high")
    if value is None:
        return "-"
    of = "" if low is None or high is None else f" [{_short(low, 2)}, {_short(high, 2)}]"
    return _short(value, 3) + of


def _short(value: float, digits: int) -> str:
    """Return a number without its leading zero.

    >>> _short(0.4484, 3), _short(-0.02, 2), _short(1.5, 2)
    ('.448', '-.02', '1.50')
    """
    return (
        f"{value:.{digits}f}".replace("0.", ".", 1)
        if abs(value) < 1 - 0.5 * 10**-digits
        else f"{value:.{digits}f}"
    )


def told(path: str, document: Document) -> str:
    """Return the table of every data set that this call measured, its notes, and what was written."""
    if "points" in document:
        return "\n".join([*_class_table(document, document["points"]), summary(path, document)])
    if "present" in document:
        return "\n".join([*_presence_table(document, document["present"]), summary(path, document)])
    lines = list[str]()
    sets = _sets(document)
    for name, one in sets.items():
        if name:
            lines.append(f"{name}:")
        lines += _table(one)
        lines += [f"note: {note}" for note in one.get("notes", ())]
    stars = any(standings(one, m) for one in sets.values() for m, _ in COLUMNS)
    said = "0 is best, * marks the best and all that are not significantly worse" if stars else "0 is best"
    lines += _beside(document)
    lines.append(f"{written_files(path, document)} (errors: {said})")
    return "\n".join(lines)


def _class_table(one: SetDocument, points: PointsPart) -> list[str]:
    """Return the IoU of every class, a column for each model; without an interval where few points decide."""
    models = [of["miou"] for of in one["models"].values()]
    width = max(len(name) for name in ("class", *points["by_class"]))
    names = [f"{name:<18}" for name in one["models"]]
    lines = [f"{'class':<{width}}  points  {'  '.join(names)}".rstrip()]
    for class_, number in points["by_class"].items():
        cells = [_interval(_of_class(of, class_)) for of in models]
        row = "  ".join(f"{cell:<18}" for cell in cells)
        lines.append(f"{class_:<{width}}  {number:>6g}  {row}".rstrip())
    return lines


def _presence_table(one: SetDocument, part: PresentPart) -> list[str]:
    """Return precision, recall and F1 of the presence of every class, a row for each model."""
    shown = headline_metrics({"": one})
    rows = [
        (
            class_,
            str(part["by_class"][class_][0]),
            str(sum(part["by_class"][class_])),
            model,
            *(_interval(_of_class(of[metric], class_)) for metric, _ in shown),
        )
        for class_ in one.get("classes", ())
        for model, of in one["models"].items()
    ]
    return text_lines(("class", "in", "of images", "model", *(title for _, title in shown)), rows)


def _of_class(entry: MetricEntry, class_: str) -> MetricEntry:
    """Return the entry of one class of a metric."""
    low, high = entry.get("per_class_low", {}), entry.get("per_class_high", {})
    value = entry.get("per_class", {}).get(class_)
    return {"value": value, "better": entry["better"], "low": low.get(class_), "high": high.get(class_)}


def _table(one: Mapping[str, Any]) -> list[str]:
    models = one["models"]
    has_pixels = any("miou" in of for of in models.values())
    own = [(m, title[:12]) for m, (title, _) in own_titles({"": one}).items()]
    columns = [
        (m, title)
        for m, title in (*COLUMNS, *own)
        if any(m in of for of in models.values()) and not (has_pixels and m in _PIXELS)
    ]
    width = max([5, *(len(name) for name in models)])
    lines = [f"{'':<{width}} " + " ".join(f"{title:>12}" for _, title in columns)]
    errors = {name: {m: error(of[m]) if m in of else None for m, _ in columns} for name, of in models.items()}
    starred = {m: standings(one, m) for m, _ in columns}
    for name, row in errors.items():
        cells = []
        for m, _ in columns:
            value = row[m]
            star = "*" if name in starred[m] else " "
            cells.append(f"{'-':>11} " if value is None else f"{value:>11.4f}{star}")
        lines.append(f"{name:<{width}} " + " ".join(cells))
    return lines + [f"note: {said}" for m, title in columns for said in turned(one, m, title)]


def turned(one: Mapping[str, Any], metric: str, title: str) -> list[str]:
    """Return a sentence for each model with a smaller error than the best model, although that is ahead where
    both have a value.
    """
    return [
        f"{title}: {leader} has the smaller error, but {other} is ahead where both have a value"
        for leader, other, how in contradictions(one, metric)
        if how == "turned" and standings(one, metric).get(other) == "best"
    ]
