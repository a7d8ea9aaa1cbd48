"""Find the best model of a metric, the models that cannot be distinguished from it, on what two models have
in common, and those that are unbeaten on IoU error, ROM and RUM together.

Conventions: an error is 1 - value if large values are good, else the value itself; 0 is best. Two models are
compared over the cells that both have, by the rows of ``paired``, or, without a row, by their two errors. The
best model of a metric is the one that no other is ahead of; if every model has one ahead of it, the
comparisons form a circle and none is best. None is best either if the leader's difference to another model
has no interval, or if images were chosen because models differ (``chosen``): then intervals are descriptive.
A model beats another if it is at least as good in all three and better in at least one (Pareto), over what
both have; the page adds whether the intervals confirm it. Models without one of the three are left out.
Source: Zhang et al. 2021, Fig. 7 (models traded off in accuracy, tearing and merging).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultscape.reporting.view import Mark

Document = Mapping[str, Any]
Gaps = dict[tuple[str, str], Mark]  # {(FIRST, SECOND): difference, first minus second}
NOTHING = Mark(None)  # of two models that were not compared


def error(entry: Mapping[str, Any]) -> float | None:
    """Return a metric's error: its value if low is better, else 1 - value.

    >>> error({"value": 0.75, "better": "high"})
    0.25
    """
    value = entry["value"]
    return None if value is None else 1 - value if entry["better"] == "high" else value


def errors(document: Document, metric: str) -> dict[str, float]:
    """Return {NAME: error} for the models that have a metric."""
    entries = {name: of[metric] for name, of in document.get("models", {}).items() if metric in of}
    return {name: found for name, entry in entries.items() if (found := error(entry)) is not None}


def error_gaps(document: Document, metric: str, of: str = "") -> Gaps:
    """Return {(FIRST, SECOND): difference} of errors, first minus second, in both orders; with ``of="_all"``
    over everything that each model has.
    """
    better = {entry[metric]["better"] for entry in document.get("models", {}).values() if metric in entry}
    out: Gaps = {}
    for row in document.get("paired", ()):
        if row["metric"] == metric and row.get(f"difference{of}") is not None:
            gap = Mark(row[f"difference{of}"], row.get(f"low{of}"), row.get(f"high{of}"))
            gap = gap.turned if better == {"high"} else gap
            out[row["first"], row["second"]] = gap
            out[row["second"], row["first"]] = gap.turned
    return out


def standings(document: Document, metric: str) -> dict[str, str]:
    """Return {NAME: best or tie} for one metric in one data set; empty if fewer than two models have it, it
    cannot be compared, has no intervals, images were chosen, or comparisons form a circle.

    >>> of = lambda x: {"rom": {"value": x, "better": "low"}}
    >>> rows = [("a", "b", -0.02, -0.1, 0.05), ("a", "c", -0.3, -0.4, -0.2), ("b", "c", -0.28, -0.3, -0.2)]
    >>> paired = [
    ...     {"metric": "rom", "first": f, "second": s, "difference": d, "low": lo, "high": hi}
    ...     for f, s, d, lo, hi in rows
    ... ]
    >>> standings({"models": {"a": of(0.1), "b": of(0.12), "c": of(0.4)}, "paired": paired}, "rom")
    {'a': 'best', 'b': 'tie'}
    """
    found = errors(document, metric)
    entries = [of[metric] for of in document.get("models", {}).values() if metric in of]
    if (
        document.get("chosen")
        or len(found) < 2
        or any("not comparable" in entry.get("definition", "") for entry in entries)
    ):
        return {}
    gaps = error_gaps(document, metric)
    best = [
        name for name in found if not any(ahead(gaps, found, other, name) for other in found if other != name)
    ]
    if len(best) == len(found) or not all(
        gaps.get((leader, name), NOTHING).ends for leader in best for name in found if name != leader
    ):
        return {}
    out = dict.fromkeys(best, "best")
    ties = [name for name in found if name not in out and any(not gaps[name, leader].sure for leader in best)]
    return out | dict.fromkeys(ties, "tie")


def ahead(gaps: Gaps, found: Mapping[str, float], one: str, other: str) -> bool:
    """Return whether the first model has the smaller error: over what both have, if known, else by the two
    errors.
    """
    gap = gaps.get((one, other), NOTHING).value
    return found[one] < found[other] if gap is None else gap < 0


def contradictions(document: Document, metric: str) -> list[tuple[str, str, str]]:
    """Return (leader by the two numbers, other model, how) for pairs where the comparison over what both have
    differs: ``turned``, ``unsure`` or ``sure``.
    """
    here = error_gaps(document, metric)
    whole = error_gaps(document, metric, "_all")
    out = []
    for (one, other), there in whole.items():
        gap = there.value or 0.0
        if gap > 0 or (gap == 0 and (other, one) in whole and one > other) or (one, other) not in here:
            continue
        common = here[one, other]
        if (common.value or 0.0) * gap < 0:
            out.append((one, other, "turned"))
        elif there.sure != common.sure and there.ends and common.ends:
            out.append((one, other, "sure" if common.sure else "unsure"))
    return out


THREE = ("miou", "rom", "rum")


def beaten(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return {NAME: the models that beat it, the lowest IoU error first} for the models that have all three.

    >>> of = lambda x: {m: {"value": x, "better": "low"} for m in THREE}
    >>> beaten({"models": {"a": of(0.1), "b": of(0.1), "c": of(0.2)}})
    {'a': [], 'b': [], 'c': ['a', 'b']}
    """
    found = {metric: errors(document, metric) for metric in THREE}
    gaps = {metric: error_gaps(document, metric) for metric in THREE}
    names = [name for name in found["miou"] if all(name in found[metric] for metric in THREE)]

    def beats(one: str, other: str) -> bool:
        better, worse = (
            [ahead(gaps[metric], found[metric], *pair) for metric in THREE]
            for pair in ((one, other), (other, one))
        )
        return any(better) and not any(worse)

    return {
        name: sorted(
            (n for n in names if n != name and beats(n, name)),
            key=lambda n: [found[metric][n] for metric in THREE],
        )
        for name in names
    }


def compared(document: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the pairs of models, in both orders, whose differences in IoU error, ROM and RUM have intervals;
    in other pairs, neither is called beaten. There are none for images that were chosen because models
    differ.

    >>> of = {m: {"value": 0.1, "better": "low"} for m in THREE}
    >>> rows = [
    ...     {"metric": m, "first": "a", "second": "b", "difference": 0.1, "low": 0.0, "high": 0.2}
    ...     for m in THREE
    ... ]
    >>> (
    ...     sorted(compared({"models": {"a": of}, "paired": rows})),
    ...     compared({"models": {"a": of}, "paired": rows[:2]}),
    ... )
    ([('a', 'b'), ('b', 'a')], set())
    """
    if document.get("chosen"):
        return set()
    first, *others = (error_gaps(document, metric) for metric in THREE)
    return {pair for pair in first if all(gaps.get(pair, NOTHING).ends for gaps in (first, *others))}


def surely(document: Mapping[str, Any], winner: str, loser: str) -> bool:
    """Return whether the paired intervals of the two models exclude 0 in all of IoU error, ROM and RUM.

    >>> rows = [
    ...     {"metric": m, "first": "a", "second": "b", "difference": 0.15, "low": 0.1, "high": 0.2}
    ...     for m in THREE
    ... ]
    >>> surely({"paired": rows}, "b", "a"), surely({"paired": rows[:2]}, "b", "a")
    (True, False)
    """
    return all(error_gaps(document, metric).get((winner, loser), NOTHING).sure for metric in THREE)
