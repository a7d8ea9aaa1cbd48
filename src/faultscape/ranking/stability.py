"""How much a ranking depends on single models, on the number of images per pair, and on who met whom:
stability of the first faithful ranking, for both tasks.

Conventions: leaving a model out drops the slots that it chose: those it attacked (Yan et al. 2021:
aggressiveness), or those of its pairs (Wang et al. 2020: Perron). ``score`` is a function from the slots that
count, (S,) bool, to their scores (J,), large = good, NaN = no score, for any task and ranking. Ranks are
compared by Spearman's correlation of ranks with ties.
Source: Wang et al. 2020, Fig. 5; leaving out one model's images: Phang et al. 2021, who found that rankings
on images chosen against one model are unstable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faultscape.errors import RankingError
from faultscape.ranking.agreement import spearman
from faultscape.ranking.intervals import ranks
from faultscape.standings import Stability, WithoutModel

Score = Callable[[np.ndarray], np.ndarray]
MOST = 60  # maximum number of values of k in a stability curve: each needs its own ranking


@dataclass(frozen=True)
class LeftOut:
    """The ranking of the others without the slots of one model: ``moved`` is the one whose rank changes most,
    if any does.
    """

    model: str
    slots: int
    spearman: float
    largest_change: float
    moved: str


def leave_one_out(score: Score, models: Sequence[str], takes_part: np.ndarray) -> list[LeftOut]:
    """Return, for each model, how the others rank without the slots in which it takes part, compared with
    their ranks with them.

    ``takes_part`` (J, S) says which slots belong to which model: those in which it attacked (Yan et al.
    2021), or both models of an unordered pair (Wang et al. 2020). Changes are those of ranks among the
    others; NaN, and no name, if they cannot be ranked without it. RankingError for a shape that does not fit
    the models.

    >>> of_slot = np.array([[3.0, 2, 1], [1, 2, 3]])  # two slots, each with an opinion
    >>> score = lambda keep: of_slot[keep].mean(0) if keep.any() else np.full(3, np.nan)
    >>> leave_one_out(score, ["a", "b", "c"], np.array([[1, 0], [0, 0], [0, 0]], bool))[0].slots
    1
    """
    takes_part = np.asarray(takes_part, dtype=bool)
    if takes_part.ndim != 2 or len(takes_part) != len(models):
        raise RankingError(
            f"who takes part must be {len(models)} models by slots; got shape {takes_part.shape}"
        )
    whole = np.asarray(score(np.ones(takes_part.shape[1], bool)), dtype=float)
    found = []
    for k, model in enumerate(models):
        without = np.asarray(score(~takes_part[k]), dtype=float)
        both = ~np.isnan(whole) & ~np.isnan(without) & (np.arange(len(models)) != k)
        before = np.where(both, whole, np.nan)
        after = np.where(both, without, np.nan)
        change = np.abs(ranks(after) - ranks(before))
        most = int(np.nanargmax(change)) if both.any() else None
        found.append(
            LeftOut(
                model,
                int(takes_part[k].sum()),
                float(spearman(before, after)),
                float("nan") if most is None else float(change[most]),
                models[most] if most is not None and change[most] > 0 else "",
            )
        )
    return found


def places_shown(places: int, most: int = MOST) -> np.ndarray:
    """Return the values of k at which a curve over 1, ..., ``places`` is evaluated: all, or ``most`` of them
    evenly spread, including both ends.

    >>> places_shown(4), places_shown(1000, most=4)
    (array([1, 2, 3, 4]), array([   1,  334,  667, 1000]))
    """
    return np.unique(np.linspace(1, places, min(places, most)).round().astype(int))


def against_places(
    score: Score, place: np.ndarray, values: Sequence[int] | np.ndarray | None = None
) -> np.ndarray:
    """Return (K,) Spearman's correlation of the ranking from places 1..k with that from all places, for k of
    ``values`` (Wang et al. 2020, Fig. 5).

    ``place`` (S,) is the place of a slot in its pair or cell, from 1; ``values`` are ``places_shown`` of the
    last place by default. NaN if the first k places rank fewer than two models. RankingError for places below
    1.

    >>> of_slot = np.array([[1.0, 2, 3], [9.0, 4, 2]])
    >>> against_places(lambda keep: of_slot[keep].sum(0), np.array([1, 2]))
    array([-1.,  1.])
    """
    place = np.asarray(place, dtype=int)
    if place.size and place.min() < 1:
        raise RankingError(f"places are counted from 1; got {place.min()}")
    whole = np.asarray(score(np.ones(len(place), bool)), dtype=float)
    values = places_shown(place.max(initial=0)) if values is None else values
    return np.array([spearman(score(place <= k), whole) for k in values])


def connectivity(models: Sequence[str], met: np.ndarray) -> str:
    """Return in words whether comparisons link all models: ``met`` (J, J) are counts of comparisons, in
    either direction.

    >>> connectivity(["a", "b", "c"], np.array([[0, 4, 0], [0, 0, 2], [0, 0, 0]]))
    'all 3 models are linked; 2 of 3 pairs were compared'
    >>> connectivity(["a", "b", "c"], np.array([[0, 4, 0], [4, 0, 0], [0, 0, 0]]))
    'comparisons fall into 2 groups: a, b | c; models of different groups cannot be compared; 1 of 3 pairs
    were compared'
    """
    edges = np.nan_to_num(np.asarray(met, dtype=float)) > 0
    edges = (edges | edges.T) & ~np.eye(len(models), dtype=bool)
    pairs = f"{int(edges.sum()) // 2} of {len(models) * (len(models) - 1) // 2} pairs were compared"
    reach = edges | np.eye(len(models), dtype=bool)
    for _ in range(len(models).bit_length()):
        reach = reach @ reach
    groups = list(dict.fromkeys(tuple(np.flatnonzero(row).tolist()) for row in reach))
    if len(groups) <= 1:
        return f"all {len(models)} models are linked; {pairs}"
    groups.sort(key=len, reverse=True)
    named = " | ".join(", ".join(models[k] for k in group) for group in groups)
    return (
        f"comparisons fall into {len(groups)} groups: {named}; models of different groups cannot be compared;"
        f" {pairs}"
    )


def stability(
    name: str,
    score: Score,
    models: Sequence[str],
    takes_part: np.ndarray,
    places: Sequence[int],
    met: np.ndarray,
) -> Stability:
    """Return how much the ranking of that ``name`` depends on single models and on the number of ``places``
    (S,) per cell; the arguments are those of `leave_one_out`, `against_places` and `connectivity`.
    """
    place = np.asarray(places, dtype=int)
    shown = places_shown(place.max(initial=0))
    return Stability(
        ranking=name,
        leave_one_out={
            one.model: WithoutModel(one.slots, one.spearman, one.largest_change, one.moved)
            for one in leave_one_out(score, models, takes_part)
        },
        top_k=against_places(score, place, shown).tolist(),
        top_k_places=shown.tolist(),
        connectivity=connectivity(models, met),
    )
