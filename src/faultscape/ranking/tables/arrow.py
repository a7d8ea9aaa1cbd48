"""A ranked table as Arrow tables, which every library of data frames reads (`to_pandas()`,
`polars.from_arrow`).

Conventions: a row a model, or a row for every ordered pair, of each metric; unknown numbers are null.
"""

from __future__ import annotations

import math

import pyarrow as pa

from faultscape.ranking.tables.result import RankedTable


def ranked_models(ranked: RankedTable) -> pa.Table:
    """Return a row for each model and metric: mean and interval, rank and its interval, tier, share of
    resamples in which it is best, and its rank by every method.

    >>> from faultscape.ranking.tables.assembly import rank_table
    >>> frame = ranked_models(rank_table({"a": [0.9, 0.8, 0.7], "b": [0.5, 0.6, 0.4]}))
    >>> frame.select(["model", "rank", "tied_for_best"]).to_pylist()[0]
    {'model': 'a', 'rank': 1, 'tied_for_best': True}
    """
    rows = [
        {
            "metric": table.metric,
            "model": row.model,
            "mean": row.mean,
            "mean_low": _known(row.interval[0]),
            "mean_high": _known(row.interval[1]),
            "rank": row.rank,
            "rank_low": row.rank_interval[0],
            "rank_high": row.rank_interval[1],
            "tied_for_best": row.tied_for_best,
            "tier": row.tier,
            "best_in": _known(row.best_in),
            **{f"rank_by_{way}": rank for way, rank in row.method_ranks.items()},
        }
        for table in (ranked, *ranked.others.values())
        for row in table.models
    ]
    return pa.Table.from_pylist(rows)


def ranked_pairs(ranked: RankedTable) -> pa.Table:
    """Return a row for each ordered pair of models and metric: the difference in favour of the first, its
    interval for all pairs at once, whether the first is shown to be better, and the posterior probability
    that a claim of it is false.

    >>> from faultscape.ranking.tables.assembly import rank_table
    >>> frame = ranked_pairs(rank_table({"a": [0.9, 0.8, 0.7], "b": [0.5, 0.6, 0.4]}))
    >>> frame.select(["model", "other", "shown_better"]).to_pylist()[0]
    {'model': 'a', 'other': 'b', 'shown_better': False}
    """
    rows = []
    for table in (ranked, *ranked.others.values()):
        for model, differences in table.difference.items():
            for other, difference in differences.items():
                low, high = table.difference_interval[model][other]
                rows.append(
                    {
                        "metric": table.metric,
                        "model": model,
                        "other": other,
                        "difference": difference,
                        "low": _known(low),
                        "high": _known(high),
                        "shown_better": other in table.shown_better[model],
                        "false_claim": _known(table.false_claim[model][other]),
                    }
                )
    return pa.Table.from_pylist(rows)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
