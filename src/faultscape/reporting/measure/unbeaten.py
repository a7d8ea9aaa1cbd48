"""Find the models that are unbeaten on IoU error, ROM and RUM together.

Conventions: a model beats another if it is at least as good in all three and better in at least one (Pareto),
over what both have. Numbers are compared; the page adds whether the intervals of the paired differences
confirm it. Models without one of the three are left out.
Source: Zhang et al. 2021, Fig. 7 (models traded off in accuracy, tearing and merging).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultscape.reporting.measure.leaders import ahead, error_gaps, errors, has_interval

THREE = ("miou", "rom", "rum")


def pareto(document: Mapping[str, Any]) -> list[str]:
    """Return the models that no other beats, in the document's order.

    >>> of = lambda miou, rom, rum: {
    ...     m: {"value": v, "better": b}
    ...     for m, v, b in (("miou", miou, "high"), ("rom", rom, "low"), ("rum", rum, "low"))
    ... }
    >>> pareto({"models": {"a": of(0.8, 0.1, 0.2), "b": of(0.7, 0.1, 0.3), "c": of(0.6, 0.05, 0.4)}})
    ['a', 'c']
    """
    return [name for name, by in beaten(document).items() if not by]


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
    return {pair for pair in first if all(has_interval(gaps, *pair) for gaps in (first, *others))}


def surely(document: Mapping[str, Any], winner: str, loser: str) -> bool:
    """Return whether the paired intervals of the two models exclude 0 in all of IoU error, ROM and RUM.

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
