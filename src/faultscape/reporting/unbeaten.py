"""Which models are not beaten on IoU error, ROM and RUM at once.

Conventions: a model beats another that is no better in any of the three and worse in at least one (Pareto); points are compared, and whether the intervals of
the paired differences leave no doubt is said beside. Models that lack one of the three take no part.
Source: S1 Fig. 7 (models traded off in accuracy, tearing and merging).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultscape.reporting.measure_words import error

THREE = ("miou", "rom", "rum")


def pareto(document: Mapping[str, Any]) -> list[str]:
    """Return the models that no other beats, in the document's order.

    >>> of = lambda miou, rom, rum: {m: {"value": v, "better": b} for m, v, b in (("miou", miou, "high"), ("rom", rom, "low"), ("rum", rum, "low"))}
    >>> pareto({"models": {"a": of(0.8, 0.1, 0.2), "b": of(0.7, 0.1, 0.3), "c": of(0.6, 0.05, 0.4)}})
    ['a', 'c']
    """
    points = errors(document)
    return [name for name in points if not beaten_by(points, name)]


def errors(document: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """Return {NAME: (IoU error, ROM, RUM)} of the models that have all three."""
    out = {}
    for name, metrics in document.get("models", {}).items():
        found = [error(metrics[m]) if m in metrics else None for m in THREE]
        if all(x is not None for x in found):
            out[name] = tuple(x for x in found if x is not None)
    return out


def beaten_by(points: Mapping[str, tuple[float, ...]], model: str) -> list[str]:
    """Return the models that are no worse in any of the three and better in one, the lowest IoU error first.

    >>> beaten_by({"a": (0.1, 0.1, 0.1), "b": (0.1, 0.1, 0.1), "c": (0.2, 0.1, 0.1)}, "c")
    ['a', 'b']
    """
    mine = points[model]
    found = [n for n, theirs in points.items() if theirs != mine and all(x <= y for x, y in zip(theirs, mine, strict=True))]
    return sorted(found, key=lambda name: points[name])


def surely(document: Mapping[str, Any], winner: str, loser: str) -> bool:
    """Return whether the paired intervals leave out 0 in all of IoU error, ROM and RUM between the two models.

    >>> rows = [{"metric": m, "first": "a", "second": "b", "low": 0.1, "high": 0.2} for m in THREE]
    >>> surely({"paired": rows}, "b", "a"), surely({"paired": rows[:2]}, "b", "a")
    (True, False)
    """
    ours = [
        row
        for row in document.get("paired", ())
        if {row["first"], row["second"]} == {winner, loser} and row.get("low") is not None
    ]
    out = {row["metric"] for row in ours if row["metric"] in THREE and (row["low"] > 0 or row["high"] < 0)}
    return out == set(THREE)
