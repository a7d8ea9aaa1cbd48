"""The pairs of a ranked table as an Arrow table, which every library of data frames reads (`to_pandas()`,
`polars.from_arrow`); its models are ``RankedTable.to_arrow``.

Conventions: a row for every ordered pair of each metric; unknown numbers are null.
"""

from __future__ import annotations

import math

import pyarrow as pa

from faultscape.ranking.tables.result import RankedTable


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
