"""The same models, ranked on other images: the first ranking of every selection side by side, and where a
competition's choice of images can mislead.

Conventions: a *competition* is a selection of duels or pairs; its stability is known, and its faithful
ranking is shown next to the first one, or, if the first is faithful, the first ranking of re-used labels is.
Draws for all models show their first ranking. Correlations are Spearman's, over the models that both rank. A
page warns of three things (the thresholds are ours; the literature gives none): a leave-one-out change of
``MOVES`` ranks or more, a top-k curve below ``SETTLED`` in its last quarter, and a pair of models that a
competition and random draws order differently, both conclusively by their simultaneous rank intervals.
Source: Wang et al. 2020, Fig. 5; Phang et al. 2021 (adversarially chosen sets rank unstably).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from faultscape.ranking.agreement import spearman
from faultscape.ranking.catalogue import FAITHFUL, REUSE, UNBIASED
from faultscape.ranking.replicates import FUTURE, POOL, SAME_GROUPS
from faultscape.reporting.competition.standing_tables import (
    SPEAKS_OF,
    firsts,
    known,
    verdict,
    words_of,
)
from faultscape.reporting.view import listed
from faultscape.selection.definitions import draws_evenly, may_duel
from faultscape.standings import Stability, Standings, rank_words

MOVES = 2
SETTLED = 0.9
MANY = 3


@dataclass(frozen=True)
class Question:
    """One ranking of one selection: its labels, scores and ranks (simultaneous ranges if known), best
    first.
    """

    selection: str
    selector: str
    drawn_by: str
    ranking: str
    labels: int
    stale: bool
    order: tuple[str, ...]
    scores: dict[str, float | None]
    at_once: dict[str, Any]
    speaks_of: str = ""
    title: str = ""
    kind: str = ""

    def ranks(self, model: str) -> str:
        """The simultaneous range of a model's ranks as text."""
        return rank_words(self.at_once, model)


def questions(
    standings: Mapping[str, Standings], selectors: Mapping[str, str], stale: Sequence[str] = ()
) -> list[Question]:
    """Return the first ranking of every selection, {name: standings}, in the order given.

    >>> from faultscape.standings import ModelRanking
    >>> of = ModelRanking(order=["a", "b"], scores={"a": 1.0, "b": 0.0})
    >>> found = questions(
    ...     {"main": Standings(("a", "b"), {"used": 9}, {}, {"perron": of, "reuse_mean": of}, {})},
    ...     {"main": "mad"},
    ... )
    >>> [(one.title, one.labels) for one in found]
    [('Perron rank', 9), ('Mean over all labels', 9)]
    """
    out = []
    for name, table in standings.items():
        for ranking in _shown(table):
            said = table.rankings[ranking]
            words = words_of(ranking, table.definitions)
            scores = {m: known(x) for m, x in said.scores.items()}
            at_once = said.simultaneous_rank_interval
            order = tuple(m for m in said.order if scores.get(m) is not None)
            out.append(
                Question(
                    name,
                    selectors.get(name, ""),
                    _drawn_by(selectors.get(name, ""), table),
                    ranking,
                    int(
                        table.labels.get(
                            "used" if words["kind"] == REUSE else "of_selection", table.labels.get("used", 0)
                        )
                    ),
                    name in stale,
                    order,
                    scores,
                    at_once,
                    SPEAKS_OF.get(said.speaks_of, ""),
                    words["title"],
                    words["kind"],
                )
            )
    return out


def _drawn_by(selector: str, table: Standings) -> str:
    """Return a text on how a selection's images were chosen; the same selector may make duels or draws.

    >>> (
    ...     _drawn_by("mad", Standings((), {}, {}, {}, {"selector": "mad", "temperature": 1.0})),
    ...     _drawn_by("mad", Standings((), {}, {}, {}, {})),
    ... )
    ('mad, temperature 1', 'mad, duels')
    """
    if "temperature" in table.definitions:
        return f"{selector}, temperature {table.definitions['temperature']:g}"
    if may_duel({"selector": selector}):
        return f"{selector}, duels"
    return f"{selector}, for --goal {goal}" if (goal := table.definitions.get("goal")) else selector


def better_answered(standings: Mapping[str, Standings], selection: str) -> tuple[str, str] | None:
    """Return the other selection that answers which model is better, and its answer, for the page of a
    competition; None for the page of images drawn for all models, or if no such draws are ranked.

    >>> from faultscape.standings import ModelRanking
    >>> drawn = ModelRanking(order=["a", "b"], tied_for_best=["a"], best_set=["a"])
    >>> held = {"order": Standings(("a", "b"), {"used": 30}, {}, {"lure": drawn}, {})}
    >>> better_answered({"main": Standings(("a", "b"), {"used": 12}, {}, {}, {}), **held}, "main")
    ('order', 'a leads')
    """
    drawn = [
        name
        for name, table in standings.items()
        if any(words_of(r)["kind"] == UNBIASED for r in table.rankings)
    ]
    if selection in drawn or not drawn:
        return None
    return drawn[0], verdict(standings[drawn[0]])[0]


def correlations(found: Sequence[Question]) -> list[list[float | None]]:
    """Return the matrix of Spearman's correlations; None for two that share fewer than two models."""
    models = list(dict.fromkeys(m for one in found for m in one.scores))
    rows = [[math.nan if (x := one.scores.get(m)) is None else x for m in models] for one in found]
    return [[known(float(spearman(a, b))) for b in rows] for a in rows]


def warnings(standings: Mapping[str, Standings], found: Sequence[Question]) -> dict[str, list[str]]:
    """Return {competition: warnings} on how its choice of images can mislead, without competitions whose
    rankings are stable.

    >>> from faultscape.standings import Stability, WithoutModel
    >>> said = Stability(
    ...     "perron", {"a": WithoutModel(9, 0.5, 3, "b")}, [0.1, 0.5, 0.7, 0.8, 1.0], [1, 2, 3, 4, 5], ""
    ... )
    >>> warnings({"main": Standings(("a", "b"), {}, {}, {}, {}, stability=said)}, [])["main"][0]
    'without the images of a, b moves 3 ranks'
    """
    out = {}
    for name, table in standings.items():
        if table.stability:
            said = [*_left_out(table.stability), *_not_settled(table.stability), *_contradicted(name, found)]
            if said:
                out[name] = said
    return out


def last_quarter(top_k: Sequence[float | None]) -> list[float]:
    """Return the correlations of the last quarter of the k values, without the full k, which correlates
    perfectly with itself.

    >>> last_quarter([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0]), last_quarter([0.3, 1.0])
    ([0.6, 0.7], [0.3])
    """
    most = len(top_k)
    first = max(min(math.ceil(0.75 * most), most - 1), 1)
    return [x for x in map(known, top_k[first - 1 : most - 1]) if x is not None]


def _shown(table: Standings) -> list[str]:
    """Return the rankings to show: the first, and for a competition also the faithful one whose stability is
    known and one of re-used labels.
    """
    first = firsts(table)
    shown = list(first.values())[:1]
    if FAITHFUL in first:
        shown += [
            table.stability.ranking if table.stability else first[FAITHFUL],
            *([first[REUSE]] if REUSE in first else []),
        ]
    return list(dict.fromkeys(shown))


def _left_out(stability: Stability) -> list[str]:
    moved = [
        (change, model, said.moved)
        for model, said in stability.leave_one_out.items()
        if (change := known(said.largest_change)) is not None and change >= MOVES
    ]
    moved.sort(key=lambda row: -row[0])
    said = [
        f"without the images of {model}, {other} moves {change:g} ranks"
        for change, model, other in moved[:MANY]
    ]
    rest = len(moved) - MANY
    return said + (
        [f"leaving out {rest} more models moves another by {MOVES} ranks or more"] if rest > 0 else []
    )


def _not_settled(stability: Stability) -> list[str]:
    tail = last_quarter(stability.top_k)
    if not tail or min(tail) >= SETTLED:
        return []
    return [
        (
            "its ranking has not settled: in the last quarter of the top-k curve, the correlation falls to"
            f" {min(tail):.2f}"
        )
    ]


def _contradicted(name: str, found: Sequence[Question]) -> list[str]:
    """Return sentences on models that random draws order the other way round, both conclusively."""
    mine = next((one for one in found if one.selection == name and one.kind == FAITHFUL), None)
    beyond = (SPEAKS_OF[POOL], SPEAKS_OF[FUTURE], SPEAKS_OF[SAME_GROUPS])
    said = []
    for other in found:
        by_chance = (
            draws_evenly({"selector": other.selector}) or other.kind == UNBIASED or other.speaks_of in beyond
        )
        if mine is None or not by_chance or other.selection == name:
            continue
        pairs = [
            (a, b)
            for a in mine.order
            for b in mine.order
            if _surely_above(mine, a, b) and _surely_above(other, b, a)
        ]
        if pairs:
            told = [f"{a} above {b}" for a, b in pairs[:MANY]]
            more = f" ({len(pairs) - MANY} more)" if len(pairs) > MANY else ""
            said.append(
                f"it ranks {listed(told)}{more}, but {other.title} of selection {other.selection} ranks them"
                " the other way round, both conclusively (simultaneous rank intervals)"
            )
    return said


def _surely_above(one: Question, first: str, second: str) -> bool:
    bounds = [[known(x) for x in one.at_once.get(m) or ()] for m in (first, second)]
    if any(len(b) != 2 or None in b for b in bounds):
        return False
    return bounds[0][1] < bounds[1][0]  # type: ignore[operator]
