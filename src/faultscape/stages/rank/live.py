"""Current standings of a study that is open for answers: computed, but not written."""

from __future__ import annotations

from pathlib import Path

from faultscape.stages.rank.options import RankOptions
from faultscape.stages.rank.standings import standings_of
from faultscape.standings import Standings

_RESAMPLES = 300


def standings_now(root: Path, selection: str, truth: str) -> Standings:
    """Return the standings of a selection by a truth, without a benchmark or other selections; RankingError
    if nothing can be ranked yet.
    """
    return standings_of(
        root, truth, None, RankOptions(selection=selection, truth=truth, resamples=_RESAMPLES)
    )[0]
