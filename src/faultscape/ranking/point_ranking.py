"""Standings of models from estimated scores whose differences have intervals of their own: the ranks that
each may have, and how far the leader is ahead.

Conventions: ``scores`` (J,) large = good, ``bounds`` (J, 2) their intervals, ``p_values`` (J, J) one-sided,
small if the row is better than the column, ``apart`` (J, J, 2) intervals of the row's score minus the
column's, which hold for all pairs at once (`drawn.gaps.level_of_all`).
"""

from __future__ import annotations

import numpy as np

from faultscape.ranking.agreement import plain
from faultscape.ranking.drawn.gaps import gaps_within
from faultscape.ranking.replicates import held
from faultscape.ranking.simultaneous_ranks import better, rank_sets, single_rank_sets
from faultscape.standings import ModelRanking
from faultscape.ties import DECIMALS


def point_ranking(
    models: tuple[str, ...],
    scores: np.ndarray,
    bounds: np.ndarray,
    p_values: np.ndarray,
    apart: np.ndarray,
    *,
    speaks_of: str,
) -> ModelRanking:
    """Return the models in the order of their scores, a model without one last.

    >>> scores, p = np.array([0.5, 0.7]), np.array([[np.nan, 0.99], [0.01, np.nan]])
    >>> apart = np.array([[[0, 0], [-0.3, -0.1]], [[0.1, 0.3], [0, 0]]])
    >>> said = point_ranking(
    ...     ("a", "b"), scores, scores[:, None] + np.array([-0.1, 0.1]), p, apart, speaks_of="pool"
    ... )
    >>> said.order, said.best_set, said.gaps[0].settled
    (['b', 'a'], ['b'], True)
    """
    order = sorted(
        range(len(models)),
        key=lambda k: (np.isnan(scores[k]), -round(float(np.nan_to_num(scores[k])), DECIMALS)),
    )
    names = [models[k] for k in order]
    tested = bool((~np.isnan(p_values)).any())
    single = single_rank_sets(p_values)
    at_once = rank_sets(p_values)
    beats = better(p_values)
    return ModelRanking(
        scores=dict(zip(models, scores.tolist(), strict=True)),
        order=names,
        score_interval=dict(zip(models, held(bounds, scores).tolist(), strict=True)),
        rank_interval=_ends(models, single),
        simultaneous_rank_interval=_ends(models, at_once),
        tied_for_best=[models[k] for k in order if single[k, 0] == 1],
        best_set=[models[k] for k in order if at_once[k, 0] == 1],
        gaps=gaps_within(models, names, scores, apart, beats) if tested else [],
        speaks_of=speaks_of,
    )


def _ends(models: tuple[str, ...], ranks: np.ndarray) -> dict[str, list[float]]:
    return {model: [plain(end) for end in row] for model, row in zip(models, ranks, strict=True)}
