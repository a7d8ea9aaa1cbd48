"""Rankings as small tables with dots and lines, for pages that are made again while answers come.

Conventions: numbers are text with the digits that their intervals carry; an unknown value is a dash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from faultscape.reporting import charts
from faultscape.reporting.competition.standing_tables import ranking_rows, recommended
from faultscape.reporting.view import number
from faultscape.standings import Standings, decimals

_NONE = "\N{EN DASH}"


@dataclass(frozen=True)
class RankRow:
    """One model of a ranking: score, interval and ranks as text, its dot and line, and whether it could be
    best.
    """

    model: str
    score: str
    interval: str
    ranks: str
    plot: Markup
    best: bool


@dataclass(frozen=True)
class RankTable:
    """One ranking as a table: what its scores are, what its intervals describe, and the scale of the dots."""

    title: str
    says: str
    interval: str
    rows: list[RankRow]
    scale: Markup


def rank_tables(found: Standings) -> list[RankTable]:
    """Return the usable rankings as tables, the recommended one first."""
    best = recommended(found)
    usable = [name for name, one in found.rankings.items() if not one.unusable]
    usable.sort(key=lambda name: name != best)
    return [
        _table(ranking_rows(name, found.rankings[name], found.models, found.definitions)) for name in usable
    ]


def _table(ranking: Mapping[str, Any]) -> RankTable:
    held = ranking["rows"]
    digits = decimals([(row["low"], row["high"]) for row in held if row["low"] is not None])

    rows = []
    for row in held:
        spread = (
            "" if row["low"] is None else f"{number(row['low'], digits)} to {number(row['high'], digits)}"
        )
        ranks = row["at_once"] if ranking["at_once"] else row["ranks"]
        title = f"{row['model']}: {number(row['score'], digits)}{f', {spread}' if spread else ''}"
        plot = charts.interval(ranking["axis"], row["mark"], strong=row["best"], title=title)
        rows.append(
            RankRow(row["model"], number(row["score"], digits), spread, ranks or _NONE, plot, row["best"])
        )
    of = "descriptive" if ranking["descriptive"] else ranking["speaks_of"]
    return RankTable(ranking["title"], ranking["what"], of, rows, charts.scale(ranking["axis"]))
