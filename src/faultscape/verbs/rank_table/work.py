"""Run `rank-table`: read the table, rank its models, and write the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.errors import OptionError, RankingError
from faultscape.ranking.tables.assembly import rank_table
from faultscape.ranking.tables.result import RankedTable
from faultscape.reporting.score_table.page import page
from faultscape.study.folder import put
from faultscape.verbs.rank_table.tables import read_columns

if TYPE_CHECKING:
    from faultscape.verbs.options import RankTableOptions


def rank_scores_of_files(options: RankTableOptions) -> RankedTable:
    """Return the ranking of the models of a table; RankingError, which names the file, for what does not
    fit.
    """
    if options.output and Path(options.output).is_dir():
        raise OptionError(f"--output {options.output}: is a folder; name the file to write")
    columns = read_columns(options.scores)
    try:
        ranked = rank_table(
            columns,
            better=options.better,
            missing=options.missing,
            anchor=options.anchor,
            resamples=options.resamples,
            seed=options.seed,
        )
    except RankingError as error:
        raise RankingError(f"{options.scores[0]}: {error}") from None
    if options.output:
        source = Path(options.scores[0]).name if len(options.scores) == 1 else f"{len(options.scores)} files"
        put(Path(options.output), page(ranked, source).encode())
        print(f"{options.output}: open it in a browser")
    return ranked
