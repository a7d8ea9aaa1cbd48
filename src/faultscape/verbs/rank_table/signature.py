"""rank-table: rank the models of any table of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultscape.arguments import Place
from faultscape.errors import OptionError
from faultscape.ranking.tables.result import RankedTable
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import RankTableOptions


def _check(options: RankTableOptions) -> None:
    if not options.scores:
        raise OptionError("scores is missing; give a table, or NAME=FILE for each model")
    if options.resamples < 0:
        raise OptionError(f"--resamples must be 0 or more; got {options.resamples}")


@verb("faultscape.verbs.rank_table.work:rank_scores_of_files", changes_nothing=("output",), check=_check)
def rank_table(
    *scores: Place,
    better: str | None = None,
    missing: str | float | None = None,
    anchor: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
    output: Place | None = None,
) -> RankedTable:
    """Rank the models of a table of scores: who is best, which are not told apart, and how stable that is.

    The table is long (case, model, score; perhaps group, class, rater, metric) or wide (a column for each
    model). It needs no study.

    Parameters
    ----------
    scores
        A .csv, .tsv or .parquet file; or NAME=FILE for each model, a table of its scores alone or nnU-Net's
        summary.json.
    better
        high or low, or METRIC=high,METRIC=low; default: high, but a metric that sounds like an error or a
        distance needs to be told.
    missing
        What a missing score counts as, for example 0, or METRIC=SCORE,METRIC=SCORE; default: a case that
        lacks a score of some model is left out for all, and named.
    anchor
        A model to compare all others with.
    resamples
        How often cases, or groups, are redrawn; fewer than 100 claim nothing.
    seed
        Seed of these draws.
    output
        The page to write, an HTML file.

    >>> [row.model for row in fs.rank_table("scores.csv").models]
    ['unet', 'fcn']
    """
    ...
