"""Standings of models from an estimate of their scores: a score with an interval for each, the ranks that it
may have, and how far the leader is ahead.

Conventions: ``scores`` (J,) large = good, ``covariance`` (J, J) of their estimates, with Student's t of
``freedom`` degrees. Ranks and gaps hold for one pair at a time, or for all pairs at once, as everywhere
(`simultaneous_ranks`).
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from faultscape.metrics.intervals.units import LEVEL
from faultscape.ranking.agreement import plain
from faultscape.ranking.drawn.estimates import Estimates
from faultscape.ranking.drawn.gaps import gaps
from faultscape.ranking.replicates import held
from faultscape.ranking.simultaneous_ranks import (
    better,
    difference_p_values,
    rank_sets,
    single_rank_sets,
)
from faultscape.standings import ModelRanking
from faultscape.ties import DECIMALS


def point_ranking(
    models: tuple[str, ...],
    scores: np.ndarray,
    covariance: np.ndarray,
    freedom: float,
    *,
    speaks_of: str,
) -> ModelRanking:
    """Return the models as estimated ``scores`` between 0 and 1 order them; a covariance of zero is that of
    scores that are known.

    >>> said = point_ranking(("a", "b"), np.array([0.5, 0.7]), 0.0025 * np.eye(2), 60, speaks_of="pool")
    >>> said.order, [round(end, 2) for end in said.score_interval["b"]], said.gaps[0].settled
    (['b', 'a'], [0.6, 0.8], True)
    """
    order = sorted(
        range(len(models)), key=lambda k: (np.isnan(scores[k]), -round(float(scores[k]), DECIMALS))
    )
    names = [models[k] for k in order]
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * np.sqrt(np.diagonal(covariance))
    bounds = held(np.clip(scores[:, None] + np.outer(half, [-1, 1]), 0, 1), scores)
    p_values = difference_p_values(scores, covariance, freedom)
    single = single_rank_sets(p_values)
    at_once = rank_sets(p_values)
    found = Estimates(1 - scores, covariance, int(freedom))
    return ModelRanking(
        scores=dict(zip(models, scores.tolist(), strict=True)),
        order=names,
        score_interval=dict(zip(models, bounds.tolist(), strict=True)),
        rank_interval={m: [plain(end) for end in row] for m, row in zip(models, single, strict=True)},
        simultaneous_rank_interval={
            m: [plain(end) for end in row] for m, row in zip(models, at_once, strict=True)
        },
        tied_for_best=[models[k] for k in order if single[k, 0] == 1],
        best_set=[models[k] for k in order if at_once[k, 0] == 1],
        gaps=gaps(models, names, scores, found, better(p_values)) if len(models) > 1 else [],
        speaks_of=speaks_of,
    )
