"""A table of scores, models by cells, that every ranking of it starts from.

Conventions: J models, K cells, U units. A cell is what every model has one score of: a case, or a case and a
class, a rater or both. Cells of one unit (a case, or the group that it is in: a patient, a drive) belong
together, and units are what is redrawn. ``better`` is high or low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import OptionError, RankingError, closest, counted
from faultscape.maps import checked_arrays
from faultscape.metrics.intervals.units import Units, units_of
from faultscape.ties import tie_order

Better = Literal["high", "low"]
MOST_MODELS = 200
MOST_NAMES = 3  # of what is left out, in a sentence


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores (J, K) of models, all known, of ``metric``; ``cases``, ``classes`` and ``raters`` (K,) name the
    cells, () where there are none, and ``units`` say which belong together.

    ``notes`` say what was left out of the table or filled in.
    """

    models: tuple[str, ...]
    scores: np.ndarray
    cases: tuple[str, ...]
    units: Units
    better: Better = "high"
    metric: str = ""
    classes: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def merits(self) -> np.ndarray:
        """(J, K) the scores, turned so that large is good."""
        return self.scores if self.better == "high" else -self.scores

    @property
    def what(self) -> str:
        """What the units are: groups where cases share one, else cases."""
        return "groups" if self.units.count < len(set(self.cases)) else "cases"

    @property
    def right_or_wrong(self) -> bool:
        """Whether all scores are 0 or 1, each of a unit of its own."""
        return not self.units.grouped and bool(np.isin(self.scores, (0, 1)).all())


def score_table(
    models: Sequence[str],
    scores: ArrayLike,
    *,
    cases: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    better: str = "high",
    missing: float | None = None,
    metric: str = "",
    classes: Sequence[str] = (),
    raters: Sequence[str] = (),
) -> ScoreTable:
    """Return a table of scores (J, K), NaN where missing: ``missing`` is the score to count instead; without,
    a cell that lacks a score of some model is left out for all models, and a note names it.

    Cells of one ``group`` (K,), or of one case, form a unit. RankingError for fewer than two models or cells,
    and for infinite scores.

    >>> table = score_table(["a", "b"], [[0.9, 0.8, 0.7], [0.5, np.nan, 0.6]], cases=["x", "y", "z"])
    >>> sorted(table.cases), table.notes
    (['x', 'z'], ('1 of 3 cases lacks a score of some model and is left out for all: y (b)',))
    """
    if better not in ("high", "low"):
        raise OptionError(
            f"better must be 'high' or 'low'; got {better!r}.{closest(better, ('high', 'low'))}"
        )
    scores = checked_arrays.numbers(scores, "scores", RankingError, "J x K").astype(float)
    names = [str(k + 1) for k in range(scores.shape[1])] if cases is None else [str(case) for case in cases]
    if scores.shape != (len(models), len(names)):
        raise RankingError(
            f"scores have shape {scores.shape}; expected {len(models)} models by {len(names)} cases"
        )
    if len(models) < 2:
        raise RankingError(f"a ranking needs two models; there is {', '.join(models) or 'none'}")
    if len(models) > MOST_MODELS:
        raise RankingError(f"there are {len(models)} models; at most {MOST_MODELS} are ranked at once")
    if np.isinf(scores).any():
        j, k = np.argwhere(np.isinf(scores))[0].tolist()
        raise RankingError(
            f"the score of {models[j]!r} on {names[k]!r} is infinite; expected a number, or an empty cell"
        )
    named = {"groups": groups or (), "classes": classes, "raters": raters}
    for role, values in named.items():
        if len(values) not in (0, len(names)):
            raise RankingError(f"there are {len(values)} {role} for {len(names)} cells; give each cell one")
    # a group may have the name of a case that is in none
    groups = groups or [""] * len(names)
    belongs = [f"group {g}" if g else f"case {name}" for g, name in zip(groups, names, strict=True)]
    of = {"cases": names, "classes": [*classes], "raters": [*raters]}
    order = tie_order(
        names, ids=[" ".join(cell) for cell in zip(*(v for v in of.values() if v), strict=True)]
    )
    scores = scores[:, order]
    of = {name: [values[k] for k in order.tolist()] if values else [] for name, values in of.items()}
    belongs = [belongs[k] for k in order.tolist()]
    lacking = np.isnan(scores)
    what = "cell" if classes or raters else "case"
    cells = [", ".join(cell) for cell in zip(*(v for v in of.values() if v), strict=True)]
    notes = _missing_notes(tuple(models), cells, what, lacking, missing)
    kept = np.arange(scores.shape[1])
    if missing is not None and lacking.any():
        if _flatters(scores, missing, better):
            raise OptionError(
                f"missing: {missing:g} is better than most scores{metric and f' by {metric}'}, of which"
                f" {better} is better; say what a failure is worth{metric and f' ({metric}=SCORE)'}"
            )
        scores = np.where(lacking, missing, scores)
    elif missing is None:
        kept = np.flatnonzero(~lacking.any(0))
    if len(kept) < 2:
        raise RankingError(
            f"only {len(kept)} of {counted(len(names), what)} have a score of every model, and a ranking"
            " needs two; say what a missing score counts as (--missing 0), or leave out a model"
        )
    chosen = {name: tuple(values[k] for k in kept.tolist()) if values else () for name, values in of.items()}
    return ScoreTable(
        tuple(models),
        np.ascontiguousarray(scores[:, kept]),
        units=units_of([belongs[k] for k in kept.tolist()]),
        better="high" if better == "high" else "low",
        metric=metric,
        notes=notes,
        **chosen,
    )


def _flatters(scores: np.ndarray, missing: float, better: str) -> bool:
    """Whether a missing score would count as better than most."""
    known = scores[~np.isnan(scores)]
    middle = float(np.median(known)) if len(known) else missing
    return missing > middle if better == "high" else missing < middle


def _missing_notes(
    models: tuple[str, ...], cells: Sequence[str], what: str, lacking: np.ndarray, missing: float | None
) -> tuple[str, ...]:
    """Return a sentence about the cells that lack a score, with the first of them and their models."""
    gone = np.flatnonzero(lacking.any(0))
    if not len(gone):
        return ()
    where = sorted(
        (cells[k], ", ".join(models[j] for j in np.flatnonzero(lacking[:, k])[:MOST_NAMES]))
        for k in gone.tolist()
    )
    shown = "; ".join(f"{case} ({who})" for case, who in where[:MOST_NAMES])
    more = f"; and {len(where) - MOST_NAMES} more" if len(where) > MOST_NAMES else ""
    if missing is not None:
        return (f"{counted(int(lacking.sum()), 'missing score')} counted as {missing:g}: {shown}{more}",)
    said = "lacks a score of some model and is" if len(gone) == 1 else "lack a score of some model and are"
    return (f"{len(gone)} of {counted(len(cells), what)} {said} left out for all: {shown}{more}",)
