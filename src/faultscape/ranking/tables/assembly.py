"""Rank the models of tables of scores: `rank_table`, from a frame or from arrays.

Conventions: as in ``score_table`` and ``result``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from faultscape.errors import OptionError, RankingError, closest
from faultscape.metrics.intervals.units import LEVEL
from faultscape.ranking.agreement import kendall
from faultscape.ranking.intervals import share_intervals
from faultscape.ranking.tables.beliefs import false_claims
from faultscape.ranking.tables.differences import Differences, compare, mean_intervals, ranks_left
from faultscape.ranking.tables.frames import tables_of
from faultscape.ranking.tables.orders import lowest_ranks, numbers_of_methods
from faultscape.ranking.tables.resamples import resample
from faultscape.ranking.tables.result import LevelRanks, OrderStability, RankedModel, RankedTable
from faultscape.ranking.tables.score_table import ScoreTable
from faultscape.standings import FEW, Gap
from faultscape.ties import DECIMALS, tie_order

RESAMPLES = 2000


def rank_table(
    frame: Any,
    *,
    better: str | Mapping[str, str] | None = None,
    missing: float | str | Mapping[str, float] | None = None,
    anchor: str | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> RankedTable:
    """Rank models over the cases of a table of scores, with simultaneous rank intervals.

    ``frame`` is long, with columns case, model and score, and perhaps group, class, rater and metric, or
    wide, with a column of scores for each model: a DataFrame of any library that gives Arrow, or {column:
    values}. ``better`` is high or low, of all metrics or of each ({metric: better}); without it high, and a
    metric that sounds like an error or a distance is refused. ``missing`` is what a missing score, of all
    metrics or of each, counts as; without it, a case that lacks one is left out for all models, and named.
    ``anchor`` is a model to compare all others with. RankingError for columns, scores or models that do not
    fit.

    >>> rng = np.random.default_rng(0)
    >>> scores = {name: rng.normal(at, 0.05, 60) for name, at in (("unet", 0.8), ("fcn", 0.7), ("copy", 0.7))}
    >>> ranked = rank_table(scores)
    >>> ranked.tied_for_best, ranked.tiers
    (['unet'], [['unet'], ['fcn', 'copy']])
    """
    if resamples < 0:
        raise OptionError(f"resamples cannot be negative; got {resamples}")
    tables = tables_of(frame, better=better, missing=missing)
    if anchor is not None and anchor not in (models := tables[0].models):
        raise RankingError(
            f"no model is named {anchor!r}; there are {', '.join(models)}.{closest(anchor, models)}"
        )
    ranked = [rank_scores(table, anchor=anchor or "", resamples=resamples, seed=seed) for table in tables]
    if len(ranked) == 1:
        return ranked[0]
    return replace(ranked[0], others={one.metric: one for one in ranked[1:]}, metric_tau=_between(ranked))


def rank_scores(
    table: ScoreTable, *, anchor: str = "", resamples: int = RESAMPLES, seed: int = 0
) -> RankedTable:
    """Return the ranking of one table of scores."""
    merits = table.merits
    means = np.round(merits.mean(1), DECIMALS)
    # among equal means neither names nor the order of the table decide who comes first
    equal = tie_order((row.tobytes().hex() for row in merits), seed, table.models)
    order = equal[np.argsort(-means[equal], kind="stable")].tolist()
    names = [table.models[k] for k in order]
    said = _in_order(compare(merits, table.units, resamples, seed, what=table.what), order)
    merits = merits[order]
    table = replace(table, models=tuple(names), scores=table.scores[order])
    spans = intervals_of_means(table, resamples, seed)
    again = resample(merits, table.units, resamples, seed)
    numbers = numbers_of_methods(merits, said.better)
    method_ranks = {name: lowest_ranks(values) for name, values in numbers.items()}
    left = ranks_left(said.better)
    podiums = np.stack([np.bincount(np.minimum(r, 4), minlength=5)[1:] for r in lowest_ranks(merits.T).T])
    tiers = tiers_of(said.better)
    false, belief = false_claims(table)
    own = table.scores.mean(1)
    rows = tuple(
        RankedModel(
            model=name,
            mean=float(own[k]),
            interval=spans[k].tolist(),
            rank=int(method_ranks["mean"][k]),
            rank_interval=left[k].tolist(),
            tied_for_best=bool(left[k, 0] == 1),
            tier=int(tiers[k]),
            best_in=float(again.best[k]),
            ranks_in=again.ranks[k].tolist(),
            method_ranks={way: int(ranks[k]) for way, ranks in method_ranks.items()},
            podium=podiums[k].tolist(),
            to_anchor=_to_anchor(said.better, names, k, anchor),
        )
        for k, name in enumerate(names)
    )
    return RankedTable(
        models=rows,
        metric=table.metric,
        better=table.better,
        cases=len(set(table.cases)),
        units=table.units.count,
        grouped=table.what == "groups",
        few=said.few,
        gaps=[
            Gap(
                names[0],
                names[k],
                float(said.mean[0, k]),
                said.interval[0, k].tolist(),
                bool(said.better[0, k]),
            )
            for k in range(1, len(names))
        ],
        shown_better={
            name: [names[i] for i in np.flatnonzero(said.better[k])] for k, name in enumerate(names)
        },
        difference=_matrix(names, said.mean),
        difference_interval={
            name: {other: said.interval[k, i].tolist() for i, other in enumerate(names) if i != k}
            for k, name in enumerate(names)
        },
        false_claim=_matrix(names, false),
        false_claim_model=belief,
        method_tau={way: float(kendall(values, numbers["mean"])) for way, values in numbers.items()},
        stability=OrderStability(
            again.tau, again.tau_low, again.turning, again.curve_units.tolist(), again.curve.tolist()
        ),
        raters=_levels(table, table.raters),
        classes=_levels(table, table.classes),
        anchor=anchor,
        notes=table.notes,
        resamples=resamples,
        seed=seed,
    )


def tiers_of(better: np.ndarray) -> np.ndarray:
    """Return the tier (J,) of models that stand best first, from what is shown (J, J): the first model not
    yet in one is the anchor of the next tier, with all that are not shown to be worse than it.

    >>> tiers_of(np.array([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]], bool))
    array([1, 1, 2, 2])
    """
    tiers = np.zeros(len(better), int)
    while (tiers == 0).any():
        anchor = int(np.flatnonzero(tiers == 0)[0])
        tiers[(tiers == 0) & ~better[anchor]] = tiers.max() + 1
    return tiers


def _in_order(said: Differences, order: Sequence[int]) -> Differences:
    both = np.ix_(order, order)
    return replace(said, mean=said.mean[both], interval=said.interval[both], better=said.better[both])


def intervals_of_means(table: ScoreTable, resamples: int, seed: int = 0) -> np.ndarray:
    """Return (J, 2) intervals of the mean scores, each by itself, within 0 and 1 if all scores are: Wilson's
    for scores of 0 and 1, which may all be equal, else by the draws of differences.
    """
    n = table.units.count
    if table.right_or_wrong and n >= FEW and resamples:
        share = table.scores.mean(1)
        factor = float(stdtrit(n - 1, (1 + LEVEL) / 2))
        return share_intervals(share, share * (1 - share) / (n - 1), 1 / n, factor)
    spans = mean_intervals(table.merits, table.units, resamples, seed)
    spans = spans if table.better == "high" else -spans[:, ::-1]
    return np.clip(spans, 0, 1) if table.scores.min() >= 0 and table.scores.max() <= 1 else spans


def _to_anchor(better: np.ndarray, names: Sequence[str], k: int, anchor: str) -> str:
    if not anchor:
        return ""
    at = names.index(anchor)
    if at == k:
        return "anchor"
    return "better" if better[k, at] else "worse" if better[at, k] else "not told apart"


def _matrix(names: Sequence[str], values: np.ndarray) -> dict[str, dict[str, float]]:
    return {
        name: {other: float(values[k, i]) for i, other in enumerate(names) if i != k}
        for k, name in enumerate(names)
    }


def _levels(table: ScoreTable, levels: Sequence[str]) -> dict[str, LevelRanks]:
    """Return the ranking by the cells of each rater or class alone, if there are several."""
    if len(set(levels)) < 2:
        return {}
    merits = table.merits
    whole = merits.mean(1)
    found = {}
    for level in sorted(set(levels)):
        cells = np.array([of == level for of in levels])
        own = merits[:, cells].mean(1)
        ranks = dict(zip(table.models, lowest_ranks(own).tolist(), strict=True))
        found[level] = LevelRanks(int(cells.sum()), ranks, float(kendall(own, whole)))
    return found


def _between(ranked: Sequence[RankedTable]) -> dict[str, dict[str, float]]:
    """Return Kendall's tau between the orders of every two metrics, over the models that both have."""
    found: dict[str, dict[str, float]] = {}
    for one in ranked:
        mine = {row.model: -row.rank for row in one.models}
        found[one.metric] = {}
        for other in ranked:
            if other is not one:
                theirs = {row.model: -row.rank for row in other.models}
                both = [model for model in mine if model in theirs]
                pairs = ([mine[m] for m in both], [theirs[m] for m in both])
                found[one.metric][other.metric] = float(kendall(*pairs)) if len(both) > 1 else float("nan")
    return found
