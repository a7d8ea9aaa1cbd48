"""Compare the standings of a selection with those of other studies of the same models, as these were ranked.

Conventions: images are the same where their digests are. A pair of models is settled by a ranking whose rank
intervals, for all models at once, do not overlap.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

from faultscape.errors import RankingError, counted, shortened
from faultscape.ranking.agreement import compare_selections
from faultscape.reading.study import Study, opened
from faultscape.standings import ModelRanking, OtherSelection, Standings
from faultscape.study.tables.selections import MAIN, the_name
from faultscape.verbs.rank.artefact import STANDINGS


def ranked_selection(study: Study, name: str) -> str:
    """Return which selection of another study is compared with one of this name: the same, or main."""
    return name if name in study.selections else the_name(study.root, MAIN)


def against_studies(
    study: Study, standings: Standings, name: str, images: Collection[str], others: Sequence[str]
) -> tuple[dict[str, OtherSelection], list[str]]:
    """Return how far the rankings of other studies agree with those of a selection of ``images``, and a note
    about each; RankingError for a study without standings, or without two of the models.
    """
    digests = [image.digest for image in study.corpus.by_id(images).values()]
    compared = {}
    notes = []
    for place in others:
        other = opened(place)
        if other.root.resolve() == study.root.resolve():
            raise RankingError(
                f"--against-study {place} is the study being ranked; --against names another selection of it"
            )
        chosen = ranked_selection(other, name)
        theirs = STANDINGS.table(other, chosen) if chosen in other.selections else None
        if theirs is None:
            raise RankingError(
                f"--against-study {place}: has no standings yet; label its selection, and run"
                f" `faultscape rank {place}` first"
            )
        asked = other.selection(chosen).now.images
        found = compare_selections(
            standings, theirs, digests, [image.digest for image in other.corpus.by_id(asked).values()]
        )
        if not found.spearman:
            raise RankingError(
                f"--against-study {place}: has no ranking in common; this one has"
                f" {shortened(list(standings.rankings))}, the other {shortened(list(theirs.rankings))}"
            )
        compared[place] = found
        said = f"its standings of {chosen} from {counted(theirs.labels['used'], 'label')}"
        said += "" if STANDINGS.is_done(other, chosen) else ", which are stale"
        notes.append(f"against {place}: {said}; {settled_in_both(standings, theirs)}")
    return compared, notes


def settled_in_both(first: Standings, second: Standings) -> str:
    """Return in words which pairs of models the first ranking that both have settles in both.

    >>> ends = {"a": [1, 1], "b": [2, 3], "c": [2, 3]}, {"a": [2, 3], "b": [1, 1], "c": [2, 3]}
    >>> one, two = (ModelRanking(order=list(end), simultaneous_rank_interval=end) for end in ends)
    >>> here, there = (Standings(("a", "b", "c"), {}, {}, {"mean": ranking}, {}) for ranking in (one, two))
    >>> settled_in_both(here, there)
    'by mean 1 of 3 pairs of models are settled in both, and a and b stand in the other order there'
    """
    name = next(
        (
            n
            for n, r in first.rankings.items()
            if n in second.rankings and not (r.unusable or second.rankings[n].unusable)
        ),
        "",
    )
    if not name:
        return "no ranking of both can be used"
    models = [model for model in first.models if model in second.models]
    signs = {
        (a, b): (_sign(first.rankings[name], a, b), _sign(second.rankings[name], a, b))
        for a, b in combinations(models, 2)
    }
    both = {pair: here == there for pair, (here, there) in signs.items() if here and there}
    said = f"by {name} {len(both)} of {counted(len(signs), 'pair')} of models are settled in both"
    opposed = [" and ".join(pair) for pair, alike in both.items() if not alike]
    if opposed:
        return f"{said}, and {shortened(opposed, most=3)} stand in the other order there"
    return f"{said}, all in the same order" if both else said


def _sign(ranking: ModelRanking, first: str, second: str) -> int:
    """Return 1 if the first model is settled to stand before the second, -1 if behind, else 0."""
    ranges = ranking.simultaneous_rank_interval or ranking.rank_interval
    if first not in ranges or second not in ranges:
        return 0
    (best, worst), (other_best, other_worst) = ranges[first], ranges[second]
    return int(worst < other_best) - int(other_worst < best)
