"""Standings as tables and sentences: rankings with their intervals, matrices as heat maps, and a headline
that claims no more than the intervals allow.

Conventions: standings are made by ``ranking``; values that older standings lack are shown as a dash or left
out. ``tied_for_best`` and ``rank_interval`` are valid for one comparison at a time, ``best_set`` and
``simultaneous_rank_interval`` for all models at once. Images that were not drawn at random have *descriptive*
intervals: they have no level, and claim nothing about other images. A headline rests on the first ranking
whose intervals claim more. A model without a score there was compared with no other: it is called unknown,
never worse.
Source: Yan et al. 2021, Tables 1 and 3; Wang et al. 2020, Table 1 and Fig. 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from faultscape.errors import counted as counted_words
from faultscape.metrics.intervals.units import LEAST
from faultscape.ranking.agreement import spearman
from faultscape.ranking.catalogue import RANKINGS, UNBIASED
from faultscape.ranking.replicates import CHOSEN, FUTURE, POOL, SAME_GROUPS
from faultscape.reporting.charts import heat
from faultscape.reporting.view import Column, HeatCell, Mark, Table, TableRow, axis_of, listed
from faultscape.standings import (
    FEW,
    ModelRanking,
    Standings,
    could_be_best,
    decimals,
    labelled_words,
    rank_words,
    shown_best,
)

SPEAKS_OF = {
    POOL: "this pool",
    FUTURE: "data to come",
    SAME_GROUPS: "more of the same groups",
    CHOSEN: "the chosen images",
}
CAVEAT = (
    "These images were chosen for what the models predict, not at random: scores, ranks and intervals"
    " describe these images only."
)
TOO_FEW = (  # for images that were drawn at random
    "The pool cannot be scored yet: {why}. Scores, ranks and intervals describe the labelled images only."
)
DRAWN = (
    "The images were drawn at random, but the intervals do not hold for the pool: {why}. Scores, ranks and"
    " intervals describe the labelled images only."
)
_NAMED = 4  # more models than that are counted, not named
_DARK, _BRIGHT = np.array([18, 38, 66]), np.array([250, 226, 150])  # ends of the scale of Fig. 3


def words_of(name: str, definitions: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the texts for a ranking: name, title, short title, meaning, source and kind; for a custom
    ranking, those recorded in the standings' ``definitions``.

    >>> words_of("perron")["title"], words_of("unheard")["title"]
    ('Perron rank', 'unheard')
    """
    own = {str(words.get("name")): words for words in (definitions or {}).get("rankings", ())}
    built_in = next((ranking.words() for ranking in RANKINGS if ranking.name == name), None)
    return built_in or {
        "name": name,
        "title": name,
        "short": name,
        "says": "",
        "source": "",
        "kind": "",
    } | own.get(name, {})


def known(value: Any) -> float | None:
    """Return a finite number, or None."""
    return None if value is None or not math.isfinite(value) else float(value)


def level(standings: Standings | None) -> str:
    """Return the level of the intervals in per cent."""
    return f"{100 * cast('float', standings.definitions.get('level', 0.95)):g} %" if standings else "95 %"


def descriptive(ranking: ModelRanking) -> bool:
    """Return whether the intervals and ranks of a ranking describe only the chosen images."""
    return ranking.speaks_of == CHOSEN


def claiming(standings: Standings) -> dict[str, ModelRanking]:
    """Return the rankings that a headline may rest on: the usable ones that claim something beyond the chosen
    images, or else all usable ones.

    >>> pool, chosen = ModelRanking(speaks_of="pool"), ModelRanking(speaks_of="chosen")
    >>> rankings = {"lure": ModelRanking(unusable="few"), "margins": pool, "reuse_mean": chosen}
    >>> list(claiming(Standings(("a",), {}, {}, rankings, {})))
    ['margins']
    """
    usable = {name: said for name, said in standings.rankings.items() if not said.unusable}
    return {name: said for name, said in usable.items() if not descriptive(said)} or usable


def caveat(standings: Standings) -> str:
    """Return the caveat above standings that describe only the chosen images; '' if some ranking
    claims more.
    """
    found = claiming(standings)
    if not found or not all(map(descriptive, found.values())):
        return ""
    why = next((said.unusable for said in standings.rankings.values() if said.unusable), "")
    if any(words_of(name)["kind"] == UNBIASED for name in found):
        return DRAWN.format(why=standings.definitions.get("descriptive", "the notes say why"))
    return TOO_FEW.format(why=why) if why else CAVEAT


def recommended(standings: Standings) -> str:
    """Return the name of the headline's ranking: of those that it may rest on, the first with intervals, or
    else the first; '' if no ranking is usable.

    >>> rankings = {"lure": ModelRanking(unusable="few"), "reuse_mean": ModelRanking(speaks_of="chosen")}
    >>> recommended(Standings(("a",), {}, {}, rankings, {}))
    'reuse_mean'
    """
    found = claiming(standings)
    return next((name for name, said in found.items() if said.tied_for_best), next(iter(found), ""))


def verdict(standings: Standings) -> tuple[str, str]:
    """Return a headline, the recommended ranking in one sentence, and what it rests on; neither claims more
    than the intervals allow.
    """
    counted = claiming(standings)
    above = caveat(standings)
    name = recommended(standings)
    if not name or not counted[name].tied_for_best:
        return _without_intervals(standings)
    tied = counted[name].tied_for_best
    best = could_be_best(counted[name])
    rest = [m for m in best if m not in tied]
    unknown = _may_be_better(standings, [name])
    where = " on the chosen images" if above else ""
    if len(tied) > 1:
        head = f"{any_of(best, standings)} could be best{where}"
    else:
        head = f"{tied[0]} leads{where}{', but not conclusively' if rest or unknown else ''}"
        head += f": {any_of(rest, standings)} could be best too" if rest else ""
    title = words_of(name, standings.definitions)["title"]
    tests = "corrected for multiple comparisons" if counted[name].best_set else "one pair at a time"
    ranking = ", ".join([title, *([] if above else [level(standings)]), tests])
    # the headline already names several
    tested = f"Ranking: {ranking}." if len(best) > 1 else f"Only {best[0]!r} can be best ({ranking})."
    said = [*([above] if above else []), tested]
    others = {m for ranking in counted.values() for m in shown_best(ranking)} - set(best)
    if others:
        named = [m for m in standings.models if m in others]
        quoted = listed([repr(m) for m in named], "or") if len(named) <= _NAMED else f"{len(named)} others"
        said.append(f"In other rankings, {quoted} could be best too.")
    return head, " ".join([*said, *unknown])


def _without_intervals(standings: Standings) -> tuple[str, str]:
    """Return headline and text for standings that cannot say which models could be best."""
    if standings.labels.get("used", FEW) < FEW:
        return "Too few labels to say who leads", (
            f"{labelled_words(standings.labels)}: too few for reliable intervals. Label at least {FEW}."
        )
    return "No intervals yet", (
        f"Without intervals, the scores do not say which model is best. {for_intervals(standings)}"
    )


def any_of(models: Sequence[str], standings: Standings) -> str:
    """Return a text for "any of these models", by name if they are few."""
    if 2 < len(models) == len(standings.models):
        return f"any of the {len(models)} models"
    return listed(models, "or") if len(models) <= _NAMED else f"any of {len(models)} models"


def _without_score(standings: Standings, name: str) -> list[str]:
    """Return the models without a score in a ranking: their comparisons or labels do not link them to the
    others.
    """
    scores = standings.rankings[name].scores
    return [model for model in standings.models if model in scores and known(scores[model]) is None]


def _may_be_better(standings: Standings, names: Sequence[str]) -> list[str]:
    """Return a sentence about the models without a score in one of these rankings, if any."""
    lacking = {name: lone for name in names if (lone := _without_score(standings, name))}
    models = [model for model in standings.models if any(model in lone for lone in lacking.values())]
    if not models:
        return []
    titles = listed([words_of(name, standings.definitions)["title"] for name in lacking])
    return [
        f"{_named(models)} {'has' if len(models) == 1 else 'have'} no score by {titles}, and may be better."
    ]


def _few_groups(standings: Standings) -> bool:
    """Return whether whole groups of images were resampled and the labels come from too few groups for
    intervals.
    """
    return (
        cast("int", standings.definitions.get("resamples", 0)) > 0
        and standings.labels.get("groups", LEAST) < LEAST
    )


def for_intervals(standings: Standings) -> str:
    """Return why there are no intervals, and how to get them."""
    if not standings.definitions.get("resamples", 0):
        return "Run rank with --resamples 1000."
    if _few_groups(standings):
        future = standings.definitions.get("population") == FUTURE
        return (
            f"Labels lie in {counted_words(standings.labels['groups'], 'group')} of images, and an interval"
            f" needs {LEAST}: label images of more groups, {'' if future else 'or '}cut groups into runs of"
            f" images (collect --block N){', or leave out --population future' if future else ''}."
        )
    why = next((said.unusable for said in standings.rankings.values() if said.unusable), "")
    return f"No ranking can carry any: {why}." if why else "The notes say what is missing."


def _named(models: Sequence[str], last: str = "and") -> str:
    return listed(models, last) if len(models) <= _NAMED else f"{len(models)} models"


def best_at_once(standings: Standings) -> str:
    """Return a sentence on which models could be the best, corrected for multiple comparisons, by the first
    ranking of each kind; '' if none says so.

    >>> of = lambda best: ModelRanking(order=["a", "b", "c"], best_set=best)
    >>> best_at_once(
    ...     Standings(
    ...         ("a", "b", "c"),
    ...         {},
    ...         {},
    ...         {"perron": of(["a", "b"]), "borda": of(["a"]), "reuse_mean": of(["a"])},
    ...         {},
    ...     )
    ... )
    'Corrected for multiple comparisons (95 %), a or b could be best by Perron rank; only a by Mean over all
    labels.'
    """
    said = []
    counted = claiming(standings)
    for name in firsts(standings).values():
        ranking = counted.get(name, ModelRanking())
        best = ranking.best_set
        if best and (not said or shown_best(ranking)):
            who = f"only {best[0]}" if len(best) == 1 else any_of(best, standings)
            lone = _without_score(standings, name)
            verb = "has" if len(lone) == 1 else "have"
            more = f" ({_named(lone)} {verb} no score there, and may be better)" if lone else ""
            could = "" if said else "could be best "
            said.append(f"{who} {could}by {words_of(name, standings.definitions)['title']}{more}")
    if not said:
        return ""
    where = "" if caveat(standings) else f" ({level(standings)})"
    return f"Corrected for multiple comparisons{where}, {'; '.join(said)}."


def firsts(standings: Standings) -> dict[str, str]:
    """Return {kind: the first usable ranking of that kind}.

    >>> firsts(
    ...     Standings(
    ...         ("a",),
    ...         {},
    ...         {},
    ...         dict.fromkeys(["resistance", "aggressiveness", "reuse_mean"], ModelRanking()),
    ...         {},
    ...     )
    ... )
    {'faithful': 'resistance', 're-use': 'reuse_mean'}
    """
    out: dict[str, str] = {}
    for name, said in standings.rankings.items():
        if not said.unusable:
            out.setdefault(words_of(name, standings.definitions)["kind"] or name, name)
    return out


@dataclass(frozen=True)
class RankTable(Table):
    """One ranking: a score a row, and as words the ranks of one pair at a time and those of all at once. The
    kind of a row is tied and best, by the two tests; ``speaks_of`` is what its intervals hold for.
    """

    short: str = ""
    source: str = ""
    kind: str = ""
    speaks_of: str = ""
    descriptive: bool = False
    unusable: str = ""
    tied: tuple[str, ...] = ()

    @property
    def at_once(self) -> bool:
        """Whether it has ranks for all models at once."""
        return any(row.words[1] for row in self.rows)

    @property
    def intervals(self) -> bool:
        """Whether a score has an interval."""
        return any(row.marks[0].low is not None for row in self.rows)

    @property
    def exact(self) -> bool:
        """Whether no interval has a width, since all is labelled."""
        ends = [row.marks[0].ends for row in self.rows if row.marks[0].ends]
        return bool(ends) and all(low == high for low, high in ends)


def rank_table(
    name: str, ranking: ModelRanking, models: Any, definitions: Mapping[str, Any] | None = None
) -> RankTable:
    """Return one ranking as a table: rows in its order, models without a score at the end; ``definitions``
    are those of the standings.
    """
    about = words_of(name, definitions)
    order = [*ranking.order, *(m for m in models if m not in ranking.order and m in ranking.scores)]
    could = could_be_best(ranking)
    rows = []
    for model in order:
        score = known(ranking.scores.get(model))
        low, high = (known(x) for x in ranking.score_interval.get(model) or (None, None))
        # nothing was tested where a score has no ranks
        ranks = rank_words(ranking.rank_interval, model) or ("open" if score is not None else "")
        kinds = ["tied"] if model in ranking.tied_for_best else []
        kinds += ["best"] if model in could else []
        words = (ranks, rank_words(ranking.simultaneous_rank_interval, model))
        rows.append(TableRow(model, (Mark(score, low, high),), kind=" ".join(kinds), words=words))
    marks = [row.marks[0] for row in rows]
    return RankTable(
        (Column("score", axis_of(marks, at_most=4), digits=decimals([m.ends for m in marks if m.ends])),),
        tuple(rows),
        name=name,
        title=about["title"],
        says=about["says"],
        short=about["short"],
        source=about["source"],
        kind=about["kind"],
        speaks_of=SPEAKS_OF.get(ranking.speaks_of, ""),
        descriptive=descriptive(ranking),
        unusable=ranking.unusable,
        tied=tuple(ranking.tied_for_best),
    )


def ratio_matrix(matrix: Any) -> list[list[HeatCell]]:
    """Return the cells of a matrix of ratios, with 1 in the middle of a diverging scale."""
    logs = [abs(math.log(x)) for row in matrix for x in row if known(x) and x > 0]
    return [[heat(known(x), max(logs, default=0.0)) for x in row] for row in matrix]


def accuracy_matrix(matrix: Any) -> list[list[HeatCell]]:
    """Return the cells of a matrix of accuracies, from dark where lowest to bright where highest (Wang et al.
    2020, Fig. 3).

    >>> accuracy_matrix([[None, 0.9], [0.1, None]])[0][1]
    HeatCell(value=0.9, kind='', style='background:#fae296;color:#101418')
    """
    values = [x for row in matrix for x in row if known(x) is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    span = high - low or 1.0
    return [
        [HeatCell(known(x), style="" if known(x) is None else _shade((x - low) / span)) for x in row]
        for row in matrix
    ]


def _shade(share: float) -> str:
    background = np.rint(_DARK + share * (_BRIGHT - _DARK)).astype(int)
    linear = (background / 255) ** 2.2
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    ink = "#101418" if luminance > 0.18 else "#ffffff"  # the one with more contrast
    return f"background:#{background[0]:02x}{background[1]:02x}{background[2]:02x};color:{ink}"


def correlation(standings: Standings) -> float | None:
    """Return Spearman's correlation of aggressiveness and resistance, if both exist."""
    if not {"aggressiveness", "resistance"} <= set(standings.rankings):
        return None
    first, second = (
        [standings.rankings[n].scores.get(m) for m in standings.models]
        for n in ("aggressiveness", "resistance")
    )
    return known(spearman(*([math.nan if x is None else x for x in scores] for scores in (first, second))))


def contradictions(standings: Standings) -> list[str]:
    """Return sentences on how far pairs of classifiers contradict each other: the share of their differences
    that runs in circles, and Saaty's consistency ratio, each if known.

    >>> shares = {"gradient": 0.75, "curl": 0.2, "harmonic": 0.05}
    >>> contradictions(Standings(("a", "b"), {}, {}, {"hodge": ModelRanking(shares=shares)}, {}))[0][:75]
    '25 % of the differences between models run in circles (a beats b, b beats c'
    """
    said = []
    rankings = standings.rankings
    gradient = known((rankings["hodge"].shares or {}).get("gradient")) if "hodge" in rankings else None
    ratio = known(rankings["perron"].consistency_ratio) if "perron" in rankings else None
    if gradient is not None:
        said.append(
            f"{100 * max(0.0, 1 - gradient):.0f} % of the differences between models run in circles (a beats"
            " b, b beats c, c beats a), measured by the squares of log dominance. No scores can explain that"
            " part; few images per pair can cause circles too."
        )
    if ratio is not None:
        said.append(
            f"Saaty's consistency ratio is {max(0.0, ratio):.3f}: 0 if every dominance is the product of"
            " those on an indirect path, about 1 if dominances are random."
        )
    return said


def parents(standings: Standings) -> list[tuple[str, int, list[RankTable]]]:
    """Return (parent group, labelled images, tables of its rankings)."""
    return [
        (name, part.labels.get("used", 0), _tables(part.rankings, standings))
        for name, part in standings.parents.items()
    ]


def rank_tables(found: Standings) -> list[RankTable]:
    """Return all rankings as tables."""
    return _tables(found.rankings, found)


def _tables(rankings: Mapping[str, ModelRanking], of: Standings) -> list[RankTable]:
    return [rank_table(name, one, of.models, of.definitions) for name, one in rankings.items()]
