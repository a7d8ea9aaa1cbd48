"""What `measure` prints: one table of models against the errors that say most, and where the rest lies.

Conventions: 0 is best in every column, as in S1's Table I; a star marks what the page shades, the best model
of a column, which no other is ahead of where both have a value, and those that the intervals do not tell
apart from it. Without intervals there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from faultscape.errors import counted
from faultscape.metrics.catalogue import METRICS
from faultscape.reporting.measure.document import Document
from faultscape.reporting.measure.leaders import contradictions, error, standings
from faultscape.reporting.measure.tables import own_titles

COLUMNS = tuple(
    (metric.name, metric.short)
    for metric in sorted(METRICS, key=lambda metric: metric.column)
    if metric.column
)
_PIXELS = frozenset(["ror", "rur"])


def told(path: str, document: Document) -> str:
    """Return the table of every data set that the line named, its notes, and what was written."""
    lines = []
    earlier = cast("Sequence[str]", document.get("provenance", {}).get("earlier", ()))
    sets = {
        name: one for name, one in (document.get("datasets") or {"": document}).items() if name not in earlier
    }
    for name, one in sets.items():
        if name:
            lines.append(f"{name}:")
        lines += _table(one)
        lines += [f"note: {note}" for note in one.get("notes", ())]
    stars = any(standings(one, m) for one in sets.values() for m, _ in COLUMNS)
    said = (
        "0 is best, * marks the best and what its intervals do not tell apart from it"
        if stars
        else "0 is best"
    )
    if earlier:
        lines.append(
            f"beside {counted(len(earlier), 'set')} of earlier lines:"
            f" {', '.join(earlier[:8])}{', ...' if len(earlier) > 8 else ''}"
        )
    lines.append(f"{path}: measure.json, per_image.parquet, report.html (errors: {said})")
    return "\n".join(lines)


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
    """Return a sentence for each model that has a smaller error than the best, which is ahead of it where
    both have a value.
    """
    return [
        f"{title}: {leader} has the smaller number, but {other} is ahead where both have a value"
        for leader, other, how in contradictions(one, metric)
        if how == "turned" and standings(one, metric).get(other) == "best"
    ]
