"""The page of a ranked table of scores: one self-contained HTML file without images or script.

Conventions: models stand best mean first, as in the result; colours of models are those of their places. A
drawing of ranks has a row a model and rank 1 on the left; the area of a dot is its share of resamples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from faultscape.ranking.tables.orders import METHODS
from faultscape.ranking.tables.result import LevelRanks, RankedTable, probability_words
from faultscape.reporting.charts import plane, stacked
from faultscape.reporting.template import template
from faultscape.reporting.view import (
    Axis,
    ChartPoint,
    Column,
    Line,
    Mark,
    Table,
    TableRow,
    axis_of,
    from_zero,
)

_PODIUM = ("b4", "b3", "b2", "b0")
_LABELLED = 12  # models whose lines are labelled


@dataclass(frozen=True)
class Cell:
    """A difference of two models as text, the CSS class of its colour, and whose title says its interval."""

    text: str
    kind: str = ""
    title: str = ""


@dataclass(frozen=True)
class Section:
    """What the page shows of one metric."""

    ranked: RankedTable
    table: Table
    rank_drawings: tuple[Markup, ...]
    rank_scale: Markup
    podium_drawings: tuple[Markup, ...]
    pairs: tuple[tuple[Cell, ...], ...]
    curve: Markup
    ways: Markup
    false: tuple[tuple[str, ...], ...]
    levels: tuple[tuple[str, tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]], ...]


def page(ranked: RankedTable, source: str) -> str:
    """Return the page of a ranked table, whose scores come from ``source``, as HTML."""
    sections = [section(one) for one in (ranked, *ranked.others.values())]
    return template("score_table/page.html.jinja").render(
        source=source,
        headline=headline(ranked),
        sections=sections,
        ranked=ranked,
        methods=METHODS,
        podium_inks=_PODIUM,
        several=len(sections) > 1,
    )


def headline(ranked: RankedTable) -> str:
    """Return a heading that claims no more than what is shown."""
    best = ranked.tied_for_best
    by = f" by {ranked.metric}" if ranked.metric else ""
    if ranked.few:
        return f"{ranked.models[0].model} has the best mean{by}, and nothing is claimed"
    if len(best) == 1:
        return f"{best[0]} is the best{by}"
    return f"{len(best)} models may be the best{by}"


def section(ranked: RankedTable) -> Section:
    """Return what the page shows of one metric."""
    names = [row.model for row in ranked.models]
    marks = [_mark(row.mean, row.interval) for row in ranked.models]
    rows = tuple(
        TableRow(
            row.model,
            (mark,),
            k,
            kind="first" if row.tied_for_best else "",
            words=(
                "–".join(dict.fromkeys(map(str, row.rank_interval))),
                str(row.tier),
                f"{100 * row.best_in:.0f} %" if math.isfinite(row.best_in) else "–",
                *([row.to_anchor] if ranked.anchor else []),
            ),
        )
        for k, (row, mark) in enumerate(zip(ranked.models, marks, strict=True))
    )
    heads = ("model", "rank", "tier", "best in", *([f"to {ranked.anchor}"] if ranked.anchor else []))
    column = Column("mean", axis_of(marks), ranked.better, digits=ranked.decimals)
    return Section(
        ranked,
        Table((column,), rows, heads),
        tuple(rank_drawing(ranked, k) for k in range(len(names))),
        rank_scale(len(names)),
        tuple(
            stacked(row.podium, _PODIUM, title=_podium_words(row.model, row.podium)) for row in ranked.models
        ),
        tuple(tuple(_pair(ranked, one, other) for other in names) for one in names),
        _curve(ranked),
        _ways(ranked),
        tuple(
            tuple(
                "·" if one == other else probability_words(ranked.false_claim[one][other]) for other in names
            )
            for one in names
        ),
        tuple(
            (what, tuple(levels), tuple((name, _ranks_of(levels, name)) for name in names))
            for what, levels in (("rater", ranked.raters), ("class", ranked.classes))
            if levels
        ),
    )


def rank_drawing(ranked: RankedTable, k: int) -> Markup:
    """Return the ranks of a model: a bar over those that are not excluded, and a dot for each that it has in
    resamples.
    """
    row = ranked.models[k]
    count = len(ranked.models)
    low, high = (_rank_at(rank, count) for rank in row.rank_interval)
    parts = [f'<line class="mark" x1="{low:.2f}%" x2="{high:.2f}%" y1="11" y2="11"/>']
    most = min(9.0, 130 / count)
    for place, share in enumerate(row.ranks_in):
        if share > 0:
            size = max(most * math.sqrt(share), 0.8)
            x = _rank_at(place + 1, count)
            parts.append(f'<circle class="fill m{k % 10}" cx="{x:.2f}%" cy="11" r="{size:.1f}"/>')
    ranks = "–".join(dict.fromkeys(map(str, row.rank_interval)))
    often = ", ".join(f"rank {p + 1} in {100 * s:.0f} %" for p, s in enumerate(row.ranks_in) if s >= 0.005)
    says = f"{row.model}: ranks {ranks} are not excluded; {often or 'no resamples'}"
    head = Markup('<svg class="plot" width="100%" height="22" role="img"><title>{}</title>').format(says)
    return head + Markup("".join(parts)) + Markup("</svg>")  # noqa: S704 - numbers alone


def rank_scale(count: int) -> Markup:
    """Return the numbers of the ranks under `rank_drawing`, of many every fifth."""
    named = range(1, count + 1) if count <= 12 else (1, *range(5, count + 1, 5))
    texts = [
        f'<text x="{_rank_at(rank, count):.2f}%" y="12" text-anchor="middle">{rank}</text>' for rank in named
    ]
    head = Markup('<svg class="plot" width="100%" height="16">')
    return head + Markup("".join(texts)) + Markup("</svg>")  # noqa: S704 - numbers alone


def _rank_at(rank: int, count: int) -> float:
    return 4 + 92 * (rank - 1) / max(count - 1, 1)


def _mark(value: float, interval: list[float]) -> Mark:
    low, high = interval
    return Mark(value, low, high) if math.isfinite(low) else Mark(value)


def _pair(ranked: RankedTable, one: str, other: str) -> Cell:
    if one == other:
        return Cell("·", "self")
    shown = other in ranked.shown_better[one]
    lost = one in ranked.shown_better[other]
    low, high = ranked.difference_interval[one][other]
    text = ranked.number(ranked.difference[one][other], signed=True).replace("-", "−")
    span = f" [{ranked.number(low, signed=True)}, {ranked.number(high, signed=True)}]"
    said = " is shown to be better than " if shown else " is shown to be worse than " if lost else " against "
    title = f"{one}{said}{other}: {text}{span if math.isfinite(low) else ''}"
    return Cell(text, "up" if shown else "down" if lost else "", title)


def _curve(ranked: RankedTable) -> Markup:
    at = ranked.stability
    known = [(x, y) for x, y in zip(at.curve_units, at.curve, strict=True) if math.isfinite(y)]
    if len(known) < 2:
        return Markup("")
    points = tuple(ChartPoint(x, y, says=f"{x} {ranked.what}: {y:.2f}") for x, y in known)
    up = from_zero([y for _, y in known])
    across = from_zero([float(x) for x, _ in known])
    return plane([Line("tau", points, 0)], across, up, axes=(ranked.what, "tau"), height=220)


def _ways(ranked: RankedTable) -> Markup:
    count = len(ranked.models)
    ways = [*METHODS]
    across = Axis(1, len(ways), tuple(range(1, len(ways) + 1)), tuple(way.replace("_", " ") for way in ways))
    step = max(1, math.ceil(count / 10))
    shown = [*range(1, count + 1, step)]
    up = Axis(-count, -1, tuple(-rank for rank in shown), tuple(map(str, shown)))
    lines = [
        Line(
            row.model,
            tuple(
                ChartPoint(x + 1, -row.method_ranks[way], says=f"{row.model}: rank {row.method_ranks[way]}")
                for x, way in enumerate(ways)
            ),
            k,
        )
        for k, row in enumerate(ranked.models)
    ]
    return plane(lines, across, up, axes=("", "rank"), height=max(180, min(60 + 22 * count, 460)))


def _podium_words(model: str, podium: list[int]) -> str:
    first, second, third, rest = podium
    return f"{model}: first on {first}, second on {second}, third on {third}, further down on {rest}"


def _ranks_of(levels: dict[str, LevelRanks], model: str) -> tuple[str, ...]:
    ranks = [level.ranks[model] for level in levels.values()]
    span = str(min(ranks)) if min(ranks) == max(ranks) else f"{min(ranks)}–{max(ranks)}"
    return (*map(str, ranks), span)
