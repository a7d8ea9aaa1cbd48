"""The row of standings that points give: a score with an interval for each model, the ranks that it may
have, and how far the leader is ahead.

Conventions: as in ``intervals``; ranks and gaps hold for one pair at a time, or for all pairs at once, as
everywhere (`simultaneous_ranks`).
"""

from __future__ import annotations

import numpy as np

from faultscape.ranking.agreement import plain
from faultscape.ranking.drawn.gaps import gaps_within, level_of_all
from faultscape.ranking.points.estimates import PointScores
from faultscape.ranking.points.intervals import (
    Spread,
    better_p_values,
    point_difference_intervals,
    point_intervals,
)
from faultscape.ranking.replicates import held
from faultscape.ranking.simultaneous_ranks import better, rank_sets, single_rank_sets
from faultscape.standings import ModelRanking
from faultscape.ties import DECIMALS


def point_ranking(
    models: tuple[str, ...], found: PointScores, spread: Spread, *, speaks_of: str
) -> ModelRanking:
    """Return the models in the order of their scores, one without a score last; without a spread no model is
    told from another.

    >>> none = np.zeros((2, 0))
    >>> scores, expected = [np.array([0.5, 0.7])] * 3, np.zeros((2, 2))
    >>> found = PointScores("miou", *scores, none, np.zeros((2, 3, 3)), (1.0, 1.0), expected)
    >>> spread = Spread(np.full(2, 0.04), np.full(2, 60.0), np.full((2, 2), 0.05), np.full((2, 2), 60.0))
    >>> said = point_ranking(("a", "b"), found, spread, speaks_of="pool")
    >>> said.order, said.best_set, [round(end, 2) for end in said.score_interval["b"]], said.gaps[0].settled
    (['b', 'a'], ['b'], [0.62, 0.78], True)
    """
    scores = found.score
    order = sorted(
        range(len(models)),
        key=lambda k: (np.isnan(scores[k]), -round(float(np.nan_to_num(scores[k])), DECIMALS)),
    )
    names = [models[k] for k in order]
    p_values = better_p_values(found, spread)
    single = single_rank_sets(p_values)
    at_once = rank_sets(p_values)
    bounds = held(point_intervals(found, spread), scores)
    tested = bool((~np.isnan(p_values)).any())
    apart = point_difference_intervals(found, spread, level_of_all(len(models)))
    return ModelRanking(
        scores=dict(zip(models, scores.tolist(), strict=True)),
        order=names,
        score_interval=dict(zip(models, bounds.tolist(), strict=True)),
        rank_interval=_ends(models, single),
        simultaneous_rank_interval=_ends(models, at_once),
        tied_for_best=[models[k] for k in order if single[k, 0] == 1],
        best_set=[models[k] for k in order if at_once[k, 0] == 1],
        gaps=gaps_within(models, names, scores, apart, better(p_values)) if tested else [],
        speaks_of=speaks_of,
    )


def _ends(models: tuple[str, ...], ranks: np.ndarray) -> dict[str, list[float]]:
    return {model: [plain(end) for end in row] for model, row in zip(models, ranks, strict=True)}
