"""What a table of scores says: the result of `rank_table`, and as text.

Conventions: models stand best mean first. Matrices are {model: {other: ...}}, of the row against the column,
NaN for a model and itself. Rank 1 is best. Intervals are 95 %, [low, high], NaN where nothing is claimed. A
difference is in favour of the row, whether high or low is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from faultscape.errors import counted
from faultscape.results import plots
from faultscape.results.result import Result
from faultscape.results.table import Column, Rows
from faultscape.standings import Gap

if TYPE_CHECKING:
    from faultscape.results.plots import Axes

DIFFERENCES = "differences"

_MOST_DECIMALS = 6


@dataclass(frozen=True)
class RankedModel:
    """A model of a table of scores."""

    model: str
    mean: float  # over cells, in the units of the scores
    interval: list[float]  # of the mean, for this model alone
    rank: int  # of the mean; equal means share the lowest
    rank_interval: list[int]  # the ranks that are not excluded, for all models at once
    tied_for_best: bool  # no model is shown to be better
    tier: int  # 1 is the best; models that are not shown to be worse than the first of their tier
    best_in: float  # share of resamples in which its mean is the best: not a probability
    ranks_in: list[float]  # share of resamples in which it has rank 1, 2, ...
    method_ranks: dict[str, int]  # {ranking method: rank}
    podium: list[int]  # number of cells on which it is first, second, third, and further down
    to_anchor: str = ""  # better, worse, not told apart, or anchor; '' without an anchor


@dataclass(frozen=True)
class OrderStability:
    """How far the order of means depends on the cases."""

    tau: float  # mean Kendall's tau of resampled orders with that of all cases
    tau_low: float  # what 97.5 % of them exceed
    turning: int  # cases (groups) without which another model leads
    curve_units: list[int]  # numbers of cases (groups) ...
    curve: list[float]  # ... and the mean tau of orders from so many of them


@dataclass(frozen=True)
class LevelRanks:
    """The ranking by the cells of one rater or class alone."""

    cells: int
    ranks: dict[str, int]  # {model: rank of its mean}; equal means share the lowest
    tau: float  # Kendall's tau with the order of all cells


@dataclass(frozen=True, eq=False)
class RankedTable(Result):
    """Models ranked over the cases of a table of scores. The table has a row for each model and metric.

    >>> from faultscape.ranking.tables.assembly import rank_table
    >>> ranked = rank_table({"a": [0.9, 0.8, 0.7], "b": [0.5, 0.6, 0.4]})
    >>> ranked.to_arrow().select(["model", "rank", "tied_for_best"]).to_pylist()[0]
    {'model': 'a', 'rank': 1, 'tied_for_best': True}
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("metric", "text", "what is ranked; null if it has no name"),
        Column("model", "text", "name of the model"),
        Column("mean", "number", "mean over cells, in the unit of the scores"),
        Column("mean_low", "number", "lower end of its 95 % interval, for this model alone"),
        Column("mean_high", "number", "upper end of its 95 % interval, for this model alone"),
        Column("rank", "count", "rank of the mean; equal means share the lowest"),
        Column("rank_low", "count", "best rank that is not excluded, for all models at once"),
        Column("rank_high", "count", "worst rank that is not excluded, for all models at once"),
        Column("tied_for_best", "flag", "whether no model is shown to be better"),
        Column("tier", "count", "1 is the best; models not shown to be worse than the first of their tier"),
        Column("best_in", "number", "resamples in which its mean is the best", "share, 0 to 1"),
        *(
            Column(f"rank_by_{way}", "count", f"rank by {says}", aside=True)
            for way, says in {
                "mean": "the mean over cases",
                "median": "the median over cases",
                "mean_rank": "the mean of ranks on each case",
                "signed_rank": "how many models a signed-rank test calls worse",
                "claims": "how many models are shown to be worse",
            }.items()
        ),
    )

    models: tuple[RankedModel, ...]  # best mean first
    metric: str  # what is ranked; '' if it has no name
    better: str  # high or low
    cases: int  # how many cases
    units: int  # cases, or groups where some share one: what is redrawn
    grouped: bool  # whether some cases share a group
    few: str  # why nothing is claimed; '' where claims are made
    gaps: list[Gap]  # the leader and each other model, with intervals for all pairs at once
    shown_better: dict[str, list[str]]  # {model: models that are shown to be worse, all pairs at once}
    difference: dict[str, dict[str, float]]  # of means, in favour of the row
    difference_interval: dict[str, dict[str, list[float]]]  # for all pairs at once
    false_claim: dict[str, dict[str, float]]  # posterior P("row is better" is false), a pair alone
    false_claim_model: str  # the model and the prior of these
    method_tau: dict[str, float]  # {ranking method: Kendall's tau of its order with that of means}
    stability: OrderStability  # how far the order of means depends on the cases
    raters: dict[str, LevelRanks] = field(default_factory=dict)  # {rater: the ranking by it alone}
    classes: dict[str, LevelRanks] = field(default_factory=dict)  # {class: the ranking by it alone}
    anchor: str = ""  # the model that all others are compared with; '' for none
    notes: tuple[str, ...] = ()  # what was left out or filled in
    resamples: int = 0  # how often units were redrawn
    seed: int = 0  # of these draws
    others: dict[str, RankedTable] = field(default_factory=dict)  # {further metric: the same by it}
    metric_tau: dict[str, dict[str, float]] = field(default_factory=dict)  # between orders by two metrics

    @property
    def tied_for_best(self) -> list[str]:
        """The models that no other is shown to be better than."""
        return [row.model for row in self.models if row.tied_for_best]

    @property
    def tiers(self) -> list[list[str]]:
        """The models of each tier, best first."""
        return [
            [row.model for row in self.models if row.tier == tier]
            for tier in sorted({row.tier for row in self.models})
        ]

    @property
    def what(self) -> str:
        """What is redrawn, in the plural."""
        return "groups" if self.grouped else "cases"

    @property
    def decimals(self) -> int:
        """How many decimals the means have, by the width of their intervals, or by their distances."""
        widths = [row.interval[1] - row.interval[0] for row in self.models]
        known = [w for w in widths if w > 0] or [abs(self.models[0].mean - self.models[-1].mean)]
        width = sorted(known)[len(known) // 2]
        return 3 if width <= 0 else min(max(1 - math.floor(math.log10(width / 2)), 0), _MOST_DECIMALS)

    def number(self, value: float, *, signed: bool = False) -> str:
        """Return a score, or a difference, as text with as many decimals as its interval supports."""
        if not math.isfinite(value):
            return "-"
        text = f"{value:{'+' if signed else ''}.{self.decimals}f}"
        return text.replace("0.", ".", 1) if abs(value) < 1 and text.lstrip("+-").startswith("0.") else text

    def verdict(self) -> str:
        """Return in a sentence which models may be the best."""
        first = self.models[0]
        best = self.tied_for_best
        of = f"{len(self.models)} models on {counted(self.units, self.what[:-1])}"
        if self.few:
            return f"{first.model} has the best mean of {of}; nothing is claimed: {self.few}"
        if len(best) == 1:
            return (
                f"{best[0]} is the best of {of}: every other is shown to be worse (95 %, all pairs at once)"
            )
        named = f"{', '.join(best[:-1])} or {best[-1]}" if len(best) <= 5 else f"one of {len(best)} models"
        return f"{named} is the best of {of}: they are not told apart (95 %, all pairs at once)"

    def second(self) -> str:
        """Return in a sentence how far the leader is ahead of the second."""
        gap = self.gaps[0]
        low, high = gap.interval
        span = (
            f" [{self.number(low, signed=True)}, {self.number(high, signed=True)}]"
            if math.isfinite(low)
            else ""
        )
        false = self.false_claim[gap.model][gap.other]
        unseen = " and if these cases show every kind of failure" if self.few else ""
        return (
            f"{gap.model} is ahead of {gap.other} by {self.number(gap.difference)}{span}; probability that it"
            f" is not better, for this pair alone{unseen}: {probability_words(false)}"
        )

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _says(self) -> str:
        return "\n".join([self.verdict(), self.second(), self._stability(), *self.notes])

    def _rows(self) -> Rows:
        return [
            (
                table.metric or None,
                row.model,
                row.mean,
                *row.interval,
                row.rank,
                *row.rank_interval,
                row.tied_for_best,
                row.tier,
                row.best_in,
                *(row.method_ranks.get(column.name.removeprefix("rank_by_")) for column in self.columns[11:]),
            )
            for table in (self, *self.others.values())
            for row in table.models
        ]

    def plot(self, ax: Axes | None = None, what: str = "") -> Axes:
        """Draw the mean of each model with its interval, best first, or a matrix of their differences, on
        ``ax`` or new Axes.

        ``what`` is the name of a metric, or ``differences``; without it, the first metric. ResultError for
        another.
        """
        tables = {table.metric or "score": table for table in (self, *self.others.values())}
        what = plots.chosen(what, (*tables, DIFFERENCES), next(iter(tables)))
        names = [row.model for row in self.models]
        if what == DIFFERENCES:
            values = [[self.difference[row].get(column, math.nan) for column in names] for row in names]
            title = f"{self.metric or 'score'}: how much better the row is than the column"
            return plots.matrix(ax, names, names, values, label="difference of means", title=title)
        table = tables[what]
        marks = [
            plots.Mark(
                row.model, row.model, row.mean, row.interval[0], row.interval[1], filled=row.tied_for_best
            )
            for row in table.models
        ]
        note = f"{table.better} is better; bars: 95 % intervals, one model at a time"
        if len(table.tied_for_best) < len(table.models):
            note += "; filled: could be the best"
        title = f"{what}: {counted(len(names), 'model')} on {counted(table.cases, 'case')}"
        return plots.intervals(ax, marks, label=f"mean {what}", title=title, note=note)

    def full_text(self) -> str:
        """Return the text with all pairs that are told apart, and with all metrics in full."""
        pairs = [
            f"{row.model} is shown to be better than {', '.join(worse)}"
            for row in self.models
            if (worse := self.shown_better[row.model])
        ]
        lines = [*self.lines(), *pairs]
        return "\n".join([*lines, *(text for other in self.others.values() for text in ("", repr(other)))])

    def lines(self) -> Iterator[str]:
        """Return the text of the result, line by line."""
        name = f"{self.metric}: " if self.metric else ""
        yield f"{name}{self.verdict()}"
        yield self.second()
        yield from _rows(self)
        yield self._stability()
        for what, levels in (("rater", self.raters), ("class", self.classes)):
            if levels:
                yield _levels_line(what, levels, self.models)
        for note in self.notes:
            yield f"note: {note}"
        for metric, other in self.others.items():
            tau = _tau(self.metric_tau[self.metric][metric])
            yield f"{metric}: {other.verdict()}; Kendall's tau with {self.metric} {tau}"

    def _stability(self) -> str:
        at = self.stability
        turn = f"no single {self.what[:-1]} decides who leads"
        if at.turning:
            each = "each of " if at.turning > 1 else ""
            turn = (
                f"{each}{at.turning} of {self.units} {self.what} decides who leads: without it, another does"
            )
        ways = ", ".join(
            f"{name.replace('_', ' ')} {_tau(tau)}" for name, tau in self.method_tau.items() if name != "mean"
        )
        return (
            f"order of means over resamples: Kendall's tau {_tau(at.tau)} (97.5 % above {_tau(at.tau_low)});"
            f" {turn}; tau with other ways of ranking: {ways}"
        )


def _rows(table: RankedTable) -> Iterator[str]:
    anchored = bool(table.anchor)
    heads = [
        "",
        "model",
        "mean",
        "95 %",
        "rank",
        "tier",
        "best in",
        *(["to " + table.anchor] if anchored else []),
    ]
    rows = []
    for row in table.models:
        low, high = row.interval
        ranks = "-".join(dict.fromkeys(map(str, row.rank_interval)))
        rows.append(
            [
                str(row.rank),
                row.model,
                table.number(row.mean),
                f"[{table.number(low)}, {table.number(high)}]" if math.isfinite(low) else "-",
                ranks,
                str(row.tier),
                _share(row.best_in),
                *([row.to_anchor] if anchored else []),
            ]
        )
    wide = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for cells in (heads, *rows):
        line = "  ".join(
            cell.ljust(w) if k in (1, 7) else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(cells, wide, strict=True))
        )
        yield line.rstrip()


def _levels_line(what: str, levels: dict[str, LevelRanks], models: Sequence[RankedModel]) -> str:
    first = models[0].model
    held = [level.ranks[first] for level in levels.values()]
    taus = [level.tau for level in levels.values() if math.isfinite(level.tau)]
    least = f"; Kendall's tau with the order of all {_tau(min(taus))} to {_tau(max(taus))}" if taus else ""
    span = f"{min(held)}" if min(held) == max(held) else f"{min(held)} to {max(held)}"
    plural = {"rater": "raters", "class": "classes"}[what]
    return f"by each of {len(levels)} {plural} alone: {first} has rank {span}{least}"


def _tau(value: float) -> str:
    return "-" if not math.isfinite(value) else f"{value:.2f}".replace("0.", ".", 1)


def _share(value: float) -> str:
    return "-" if not math.isfinite(value) else f"{100 * value:.0f} %"


def probability_words(value: float) -> str:
    """Return a probability as text.

    >>> probability_words(0.0004), probability_words(0.25), probability_words(0.9999)
    ('< .001', '.250', '> .999')
    """
    if not math.isfinite(value):
        return "-"
    if value < 0.001:
        return "< .001"
    return "> .999" if value > 0.999 else f"{value:.3f}".removeprefix("0")
