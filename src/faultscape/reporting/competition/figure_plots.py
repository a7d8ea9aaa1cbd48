"""How matplotlib draws the figures of a report from their rows ({column: value}), None where undefined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from faultscape.errors import ResultError
from faultscape.results import plots
from faultscape.results.plots import Mark

if TYPE_CHECKING:
    from faultscape.results.plots import Axes

Records = Sequence[dict[str, Any]]
_CASES = {  # what a part of a bar is, by its column
    "both_good": "I: both good",
    "defender_better": "II: defender better",
    "attacker_better": "II: attacker better",
    "both_poor": "III: both poor",
}
_PAIRS = {
    "both_right": "I: both right",
    "a_right": "II: the first is right",
    "b_right": "II: the second is right",
    "both_wrong": "III: both wrong",
}
_FIVE = ("low", "q1", "median", "q3", "high")


def drawn(ax: Axes | None, figure: str, title: str, rows: Records) -> Axes:
    """Draw a figure, by its name; ResultError if it has no rows."""
    if not rows:
        raise ResultError("there is nothing to plot: no number is known")
    if figure in ("matrices", "agreement"):
        return _matrix(ax, figure, title, rows)
    if figure in _MARKS:
        return _intervals(ax, figure, title, rows)
    if figure == "quartiles":
        boxes = [(f"{row['model']}, {row['on']}", [row[name] for name in _FIVE]) for row in rows]
        return plots.boxes(ax, [box for box in boxes if None not in box[1]], label="value", title=title)
    if figure == "growth":
        most = max(row["places"] for row in rows)
        known = [row for row in rows if row["spearman"] is not None]
        line = ([row["places"] / most for row in known], [row["spearman"] for row in known])
        return plots.curves(
            ax, {"correlation": line}, labels=("share of the places", "Spearman"), title=title, dots=True
        )
    if figure == "oracle":
        most = max(row["labels"] for row in rows)
        lines: dict[str, tuple[list[float], list[float]]] = {}
        for row in rows:
            both = f"{row['model_a']}, {row['model_b']}" if row["model_a"] else "all pairs"
            across, up = lines.setdefault(both, ([], []))
            across.append(row["labels"] / most)
            up.append(row["either_right"])
        return plots.curves(ax, lines, labels=("share of the labels", "either is right"), title=title)
    return _bars(ax, figure, title, rows)


_MARKS = {  # {figure: (what a mark is named by, its value, the ends of its interval, what the axis says)}
    "standings": (("model",), "score", ("score_low", "score_high"), "score"),
    "tags": (("tag", "model"), "difference", ("difference_low", "difference_high"), "more loss"),
    "without": (("model",), "spearman", (None, None), "Spearman"),
    "instances": (("metric", "model", "on"), "lower", ("low", "high"), "lower on chosen images"),
    "speed": (("model", "device"), "whole_median", ("whole_q1", "whole_q3"), "milliseconds"),
}


def _intervals(ax: Axes | None, figure: str, title: str, rows: Records) -> Axes:
    names, value, (low, high), label = _MARKS[figure]
    if figure == "standings":  # those of the recommended ranking
        first = (rows[0]["ranking"], rows[0]["population"], rows[0]["classes"])
        rows = [row for row in rows if (row["ranking"], row["population"], row["classes"]) == first]
    marks = [
        Mark(
            ", ".join(str(row[name] or "all models") for name in names),
            row["model"] or "",
            row[value],
            row[low] if low else None,
            row[high] if high else None,
        )
        for row in rows
    ]
    note = {"speed": "bars: quartiles", "without": ""}.get(figure, "bars: 95 % intervals")
    return plots.intervals(ax, marks, label=label, title=title, note=note)


def _matrix(ax: Axes | None, figure: str, title: str, rows: Records) -> Axes:
    """Draw the first matrix, or how far each two models agree."""
    if figure == "agreement":
        both = [(row["model"], row["other"], row["agreement"]) for row in rows]
        cells = {(a, b): value for a, b, value in both} | {(b, a): value for a, b, value in both}
        label = "mean agreement"
    else:
        label = rows[0]["matrix"]
        cells = {(row["row"], row["column"]): row["value"] for row in rows if row["matrix"] == label}
        title = f"{label} of the row against the column"
    models = list(dict.fromkeys(model for pair in cells for model in pair))
    values = [[_number(cells.get((a, b))) for b in models] for a in models]
    return plots.matrix(ax, models, models, values, label=label, title=title)


def _bars(ax: Axes | None, figure: str, title: str, rows: Records) -> Axes:
    if figure == "shares":
        edges = list(dict.fromkeys((row["from"], row["to"]) for row in rows))
        models = list(dict.fromkeys(row["model"] for row in rows))
        shares = {(row["model"], row["from"], row["to"]): row["share"] for row in rows}
        held = [("all" if m is None else m, [shares[m, *edge] or 0.0 for edge in edges]) for m in models]
        return plots.bars(ax, held, [_band(*edge) for edge in edges], label="share of values", title=title)
    if figure == "transfer":
        held = [(str(row["failing"]), [row["duels"]]) for row in rows]
        return plots.bars(ax, held, ["duels"], label="duels, by how many others fail", title=title)
    parts = _CASES if figure == "cases" else _PAIRS
    names = ("defender",) if figure == "cases" else ("model_a", "model_b")
    held = [(", ".join(str(row[name]) for name in names), [row[part] for part in parts]) for row in rows]
    label = "duels" if figure == "cases" else "images"
    return plots.bars(ax, held, list(parts.values()), label=label, title=title)


def _band(low: float | None, high: float | None) -> str:
    if low is None:
        return f"below {high:g}"
    return f"{low:g} and above" if high is None else f"{low:g} to {high:g}"


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
