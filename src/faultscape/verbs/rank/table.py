"""Write standings.json of one selection from the existing labels, compared with other selections."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape import plug
from faultscape.comparison.distance_definitions import absolute_distance
from faultscape.errors import OptionError, RankingError, counted, shortened
from faultscape.ranking import catalogue
from faultscape.ranking.agreement import compare_selections, settled_in_both
from faultscape.ranking.drawn.rankings import check_population
from faultscape.ranking.standings_json import to_json
from faultscape.reading.choices import Voices
from faultscape.reading.study import Study, opened
from faultscape.standings import OtherSelection, Standings
from faultscape.study.folder import local, put
from faultscape.study.tables import selections
from faultscape.study.tables.logs import log
from faultscape.study.tables.selections import MAIN
from faultscape.verbs.compare.count import count
from faultscape.verbs.rank import artefact
from faultscape.verbs.rank.about_leader import about_leader
from faultscape.verbs.rank.benchmark import read_benchmark
from faultscape.verbs.rank.options import Looks, NearMisses, OtherStudies
from faultscape.verbs.rank.points import standings_of_points
from faultscape.verbs.rank.result import Ranked
from faultscape.verbs.rank.standings import recorded, standings_of
from faultscape.verbs.status.work import read_status

if TYPE_CHECKING:
    from faultscape.verbs.options import RankOptions


def rank_selection(options: RankOptions) -> Ranked:
    """Rank the models of a selection, write its standings, and return them with the verdict on the study."""
    study = opened(options.study)
    options = replace(options, selection=selections.the_name(study.root, options.selection))
    found = _make_standings(study, options)
    return found if options.where else replace(found, verdict=read_status(study.skipping_damaged()).verdict)


def _make_standings(study: Study, options: RankOptions) -> Ranked:
    classifies = study.classifies
    selection = options.selection
    if (options.epsilon if classifies else options.laplace) is not None:
        raise OptionError(
            f"--{'epsilon' if classifies else 'laplace'} does not apply to"
            f" {'classifiers' if classifies else 'label maps'}"
        )
    truth = study.truth(options.truth)
    slots = study.selection(selection).slots
    if options.misses.distance is not None and not slots.pairs:
        raise OptionError(
            "--distance is for pairs of classifiers, where both may be wrong; this selection is of"
            f" {'images drawn for all models' if slots.draws else 'label maps'}"
        )
    by_chance = artefact.is_by_chance(study, selection)
    check_population(options.population, by_chance, study.place, where=bool(options.where))
    if options.looks.anytime:
        _refuse_once(study, options, by_chance=by_chance)
    target = _target(study.root, options)
    for other in options.against:
        if other == selection:
            raise RankingError(f"--against {other} is the selection being ranked; name another")
        study.selection(other)
    extra = [catalogue.find_ranking(source) for source in options.ranking]
    fits = None if slots.draws else "counts" if classifies else "ratios"
    catalogue.refuse_misfits(extra, fits)
    closed = read_benchmark(options.benchmark) if options.benchmark else None
    # recorded with absolute paths, because the command may be run again in another folder
    options = replace(
        options,
        benchmark=os.path.abspath(options.benchmark) if options.benchmark else None,
        others=OtherStudies([os.path.abspath(place) for place in options.others.against_study or ()] or None),
        ranking=tuple(plug.absolute(source) for source in options.ranking),
        misses=NearMisses(absolute_distance(options.misses.distance)),
    )
    if slots.points:
        return _of_points(study, truth, closed, options, target)
    with study.writing():
        if not classifies:
            count(study, study.truths, engine=options.engine)
        standings, images, outside = standings_of(study, truth, closed, options, extra)
        compared = {}
        notes = list(standings.notes)
        for other in options.against:
            # without intervals, on its own pool
            alone = replace(
                options, selection=other, benchmark=None, resamples=0, population="pool", looks=Looks()
            )
            theirs, other_images, _ = standings_of(study, truth, None, alone)
            compared[other] = compare_selections(standings, theirs, images, other_images)
            missing = theirs.labels["missing"]
            notes.append(
                f"against {other}: {len(other_images) - missing} of its {len(other_images)} chosen images are"
                " labelled"
            )
        for place, found, note in _against_studies(study, standings, options, images):
            compared[place] = found
            notes.append(note)
        more = about_leader(study, standings, truth, images, Voices(weighted=options.votes.weight_annotators))
        standings = replace(standings, against=compared, notes=tuple(notes), **more)
        _write(study, truth, standings, options, target)
    # what lies outside, and marks, are no part of the standings: they do not become stale with them
    said = [outside, _marks_note(study, truth, images)]
    return Ranked.of(replace(standings, notes=(*standings.notes, *filter(None, said))))


def _against_studies(
    study: Study, standings: Standings, options: RankOptions, images: Collection[str]
) -> Iterator[tuple[str, OtherSelection, str]]:
    """Yield each other study, how far its rankings agree with those of a selection of ``images``, and a note
    about it; RankingError for a study without standings, or without two of the models.
    """
    name = options.selection
    digests = [image.digest for image in study.corpus.by_id(images).values()]
    for place in options.others.against_study or ():
        other = opened(place)
        if other.root.resolve() == study.root.resolve():
            raise RankingError(
                f"--against-study {place} is the study being ranked; --against names another selection of it"
            )
        chosen = name if name in other.selections else selections.the_name(other.root, MAIN)
        theirs = artefact.STANDINGS.table(other, chosen) if chosen in other.selections else None
        if theirs is None:
            raise RankingError(
                f"--against-study {place}: has no standings yet; label its selection, and run"
                f" `faultscape rank {place}` first"
            )
        asked = other.selection(chosen).now.images
        if len([model for model in standings.models if model in theirs.models]) < 2:
            raise RankingError(
                f"--against-study {place}: has {shortened(theirs.models)} where this study has"
                f" {shortened(standings.models)}, and two models in common are needed; where they are the"
                f" same under other names, `faultscape predict {place} --rename OLD=NEW`"
            )
        found = compare_selections(
            standings, theirs, digests, [image.digest for image in other.corpus.by_id(asked).values()]
        )
        if not found.spearman:
            raise RankingError(
                f"--against-study {place}: has no ranking in common; this one has"
                f" {shortened(list(standings.rankings))}, the other {shortened(list(theirs.rankings))}"
            )
        said = f"its standings of {chosen} from {counted(theirs.labels['used'], 'label')}"
        said += "" if artefact.STANDINGS.is_done(other, chosen) else ", which are stale"
        yield place, found, f"against {place}: {said}; {settled_in_both(standings, theirs)}"


def _refuse_once(study: Study, options: RankOptions, *, by_chance: bool) -> None:
    """Raise OptionError where intervals hold for one look alone."""
    slots = study.selections[options.selection].slots
    if slots.points:
        what = f"selection {options.selection} is of points, whose belief learns from all answers at once"
    elif not slots.draws:
        what = f"selection {options.selection} is of duels, which describe the chosen images alone"
    elif not by_chance:
        what = f"{slots.draws[0].selector} does not draw at random, so no label says anything of other images"
    elif options.where:
        what = "--where ranks a part of the pool, a ratio of two sums"
    else:
        return
    raise OptionError(
        f"--anytime is for images drawn at random: {what}; rank without --anytime, and read the result once"
    )


def _of_points(
    study: Study, truth: str, closed: dict[str, float] | None, options: RankOptions, target: Path | None
) -> Ranked:
    """Write the standings of a selection of points, and return them."""
    with study.writing():
        standings = standings_of_points(study, truth, closed, options)
        _write(study, truth, standings, options, target)
    return Ranked.of(standings)


def _write(study: Study, truth: str, standings: Standings, options: RankOptions, target: Path | None) -> None:
    """Write standings to a file, if one is named, and log it."""
    if target is not None:
        text = json.dumps(to_json(standings), indent=1, ensure_ascii=False, allow_nan=False)
        put(target, f"{text}\n".encode())
    part = {"where": list(options.where)} if options.where else {}
    about = recorded(options, classifies=study.classifies) | part
    log(study.root, "rank", selection=options.selection, truth=truth, **about)


def _marks_note(study: Study, truth: str, images: Collection[str]) -> str:
    """Return a note on open marks on the masks of ranked images, in a truth or, for a consensus, in those of
    its annotators; '' without any.
    """
    truths = [name for name in study.label_folders if name == truth or name.startswith(f"{truth}-")]
    marks = study.second_round.words(images, truths)
    where = f"the Check masks page of `faultscape label serve {study.place}`"
    return f"{marks} of this selection: discuss and resolve them on {where}" if marks else ""


def _target(root: Path, options: RankOptions) -> Path | None:
    """Return the file to write standings to; standings of a part (--where) go to the file that is named, or
    to none.
    """
    if not options.where:
        return selections.path(root, options.selection, "json", stem="standings")
    if not options.output:
        return None
    target = local(options.output, "standings of --where")
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise OptionError(
            f"--output {options.output}: {'is a folder' if target.is_dir() else 'its folder is not there'};"
            " name the file to write"
        )
    if target.resolve().parent == root.resolve() and re.fullmatch(r"standings(-.*)?\.json", target.name):
        raise OptionError(
            f"--output {options.output}: holds the standings of whole selections; name another file"
        )
    return target
