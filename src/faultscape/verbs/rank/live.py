"""Current standings of a study that is open for answers: computed, but not written."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import cast

from faultscape.errors import StudyError
from faultscape.ranking.catalogue import find_ranking
from faultscape.reading.choices import EVERYBODY, Voices
from faultscape.reading.study import Study
from faultscape.standings import Standings
from faultscape.verbs.options import RankOptions
from faultscape.verbs.rank.about_leader import about_leader
from faultscape.verbs.rank.artefact import STANDINGS, is_by_chance
from faultscape.verbs.rank.options import Looks, VoteRules
from faultscape.verbs.rank.points import standings_of_points
from faultscape.verbs.rank.standings import standings_of

_ELSEWHERE = (
    "study",
    "selection",
    "truth",
    "against",
    "benchmark",
    "where",
    "output",
    "engine",
    "votes",
    "looks",
    "others",
)


def standings_now(study: Study, selection: str, truth: str, voices: Voices = EVERYBODY) -> Standings:
    """Return the standings of a selection by a truth as `rank` would write them now, with the options of its
    last run, from the answers of ``voices`` alone, and without a benchmark or other selections;
    RankingError if nothing can be ranked yet. Of images drawn at random they are those of `rank --anytime`,
    since a page is looked at all the time.
    """
    given = STANDINGS.options_again(study, selection)[0] if selection in study.selections else {}
    known = {f.name for f in fields(RankOptions)} - set(_ELSEWHERE)
    kept = {name: tuple(held) if isinstance(held, list) else held for name, held in given.items()}
    options = replace(
        RankOptions(
            study=str(study.root),
            selection=selection,
            truth=truth,
            votes=VoteRules(weight_annotators=voices.weighted),
        ),
        **{name: held for name, held in kept.items() if name in known},
    )
    if selection in study.selections:
        slots = study.selection(selection).slots
        if slots.points:
            return standings_of_points(study, truth, None, options, voices.without)
        looked = bool(slots.draws) and is_by_chance(study, selection)
        options = replace(options, looks=Looks(looked, cast("float | None", given.get("indifference"))))
    extra = [find_ranking(source) for source in options.ranking]
    found, images, _ = standings_of(study, truth, None, options, extra, voices.without)
    try:
        return replace(found, **about_leader(study, found, truth, images, voices))
    except StudyError:  # masks came that `rank` would count first, which takes longer than a page may
        return found
