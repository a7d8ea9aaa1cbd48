"""The standings of a selection of points: pooled mIoU of the models over all images that could be drawn, from
the answers so far and from what is known without them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from faultscape import __version__
from faultscape.errors import OptionError, RankingError, counted
from faultscape.metrics.intervals.units import LEAST as LEAST_GROUPS
from faultscape.metrics.intervals.units import LEVEL
from faultscape.nouns import Definition, JsonObject
from faultscape.ranking.agreement import compare_benchmark
from faultscape.ranking.points import intervals
from faultscape.ranking.points.estimates import PointScores, point_scores
from faultscape.ranking.points.open_ranges import open_range
from faultscape.ranking.points.row import point_ranking
from faultscape.ranking.points.totals import PointTotals
from faultscape.ranking.replicates import FUTURE, POOL
from faultscape.reading.choices import Voices, weights_note
from faultscape.reading.evidence import pool_that_trained, trained_notes
from faultscape.reading.points.evidence import (
    PointEvidence,
    added_by_image,
    read_point_evidence,
    totals_of,
)
from faultscape.reading.study import Study
from faultscape.standings import FEW_POINTS, ModelRanking, Standings
from faultscape.verbs.rank import artefact
from faultscape.verbs.rank.where import domain_of

if TYPE_CHECKING:
    from faultscape.ranking.drawn.domains import Domain
    from faultscape.verbs.options import RankOptions

METRIC = "pooled mIoU"
NAME = "points"  # of the ranking
ROUGH_ALONE = 1000  # of a model alone, since no other shows where it may be wrong
ROUGH = 300  # answered points below which intervals were measured to hold the worst pair too rarely
LOOSE = 1.5  # times as uncertain as differences: single scores are said to be
_OF_IMAGES = {
    "against": "compares selections of images",
    "ranking": "adds a ranking of scores of images",
    "all_labels": "counts labelled images",
    "epsilon": "belongs to duels of images",
}


def standings_of_points(
    study: Study,
    truth: str,
    closed: Mapping[str, float] | None,
    asked: RankOptions,
    without: Collection[str] = (),
) -> Standings:
    """Return the standings of a selection of points, without the answers of some people; OptionError for
    options that need scores of images, RankingError without enough answers.
    """
    name = asked.selection
    for option, does in _OF_IMAGES.items():
        if getattr(asked, option):
            flag = option.replace("_", "-")
            raise OptionError(f"--{flag} {does}, and selection {name!r} asks about points; leave it out")
    if asked.others.against_study:
        raise OptionError(
            f"--against-study compares scores of images, and selection {name!r} asks about points; leave it"
            " out"
        )
    where = domain_of(study, asked.where)
    voices = Voices(frozenset(without), asked.votes.weight_annotators)
    covered = where and where.images
    found = read_point_evidence(study, name, truth, covered, voices, engine=asked.engine)
    refuse_few(found, name, truth)
    totals = totals_of(found, study.classes)
    scores = point_scores(totals)
    spread = intervals.pool_spread(totals, scores)
    labels = {"used": found.told, "slots": len(study.selection(name).now.points), "missing": found.waiting}
    of_pool = point_ranking(found.models, scores, spread, speaks_of=POOL)
    later = _of_images_to_come(study, asked, found, totals, scores)
    future = asked.population == FUTURE
    if future and later is None:
        raise RankingError(
            f"--population future: points speak about images to come if the pool has {LEAST_GROUPS} groups of"
            f" images; make them with `faultscape collect {study.place} --group PATTERN`, or leave it out"
        )
    other = {} if later is None else {NAME: of_pool if future else later}
    standings = Standings(
        models=found.models,
        labels=labels | {"points": found.told} | other_kinds(found),
        matrices={"difference": (scores.score[:, None] - scores.score).tolist()},
        rankings={NAME: later if future and later is not None else of_pool},
        to_come={} if future else other,
        of_pool=other if future else {},
        definitions=_definitions(study, asked, truth, where, found.weights),
        notes=(
            *point_notes(found, totals, scores, spread, study.selection(name).slots.definition),
            *trained_notes(study, found.models, pool_that_trained(study, found.models), "image"),
            *([weights_note(found.weights)] if voices.weighted else ()),
        ),
        provenance=_provenance(study, asked, truth, where, closed),
    )
    if closed is None:
        return standings
    rng = np.random.default_rng(asked.seed)
    drawn = rng.multivariate_normal(scores.score, scores.covariance, asked.resamples, method="eigh")
    compared = compare_benchmark(found.models, closed, {NAME: scores.score}, {NAME: drawn})
    return replace(standings, benchmark=compared)


def other_kinds(found: PointEvidence) -> dict[str, int]:
    """Return how many points lie in images with a map (``masked``), how many images have one (``masks``), and
    how many others boxes (``boxed``), without zeros.
    """
    pool = found.pool
    masks = int((pool.counted & pool.labelled).sum())
    numbers = {"masked": found.masked, "masks": masks, "boxed": pool.boxed_number}
    return {kind: number for kind, number in numbers.items() if number}


def _of_images_to_come(
    study: Study,
    asked: RankOptions,
    found: PointEvidence,
    totals: PointTotals,
    scores: PointScores,
) -> ModelRanking | None:
    """Return the ranking whose intervals speak of images to come; None without groups of images, because
    neighbours in a sequence are alike, or for a part of the images.
    """
    groups = study.groups
    of = [groups.get(image, "") for image in found.images]
    if asked.where or not all(of) or len(set(of)) < LEAST_GROUPS:
        return None
    sums = added_by_image(found, totals, scores.slopes)
    return point_ranking(
        found.models, scores, intervals.spread_over_groups(sums, np.array(of), scores), speaks_of=FUTURE
    )


def _definitions(
    study: Study,
    asked: RankOptions,
    truth: str,
    where: Domain | None,
    weights: Mapping[str, float] | None,
) -> JsonObject:
    part = {} if where is None else {"where": where.words, "where_images": len(where.images)}
    if asked.votes.weight_annotators:
        part = {**part, "annotator_weights": dict(weights or {})}
    drawn = study.selection(asked.selection).slots.definition
    return cast(
        "JsonObject",
        {
            **{key: value for key, value in drawn.items() if key != "masked"},
            "selection": asked.selection,
            "truth": truth,
            "metric": METRIC,
            "population": asked.population,
            "level": LEVEL,
            "resamples": asked.resamples,
            "interval": "Student's t over draws",
        }
        | part,
    )


def _provenance(
    study: Study, asked: RankOptions, truth: str, where: Domain | None, closed: Mapping[str, float] | None
) -> JsonObject:
    arguments = asked.given(but=("selection", "truth"))
    about = {"truth": truth, "arguments": arguments}
    tags = {"tags": study.tags_key()} if where is not None and not where.known else {}
    return cast(
        "JsonObject",
        {
            "faultscape": __version__,
            "selection": asked.selection,
            "truth": truth,
            "seed": asked.seed,
            "population": asked.population,
            "inputs": artefact.STANDINGS.inputs(study, asked.selection, about) | tags,
            "arguments": arguments,
            "benchmark": dict(closed or {}),
        },
    )


def refuse_few(found: PointEvidence, name: str, truth: str) -> None:
    """Raise RankingError if too few points of a selection are answered in a truth to say anything."""
    if found.told < FEW_POINTS and found.pool.size:
        raise RankingError(
            f"selection {name!r} has {counted(found.told, 'answered point')} in truth {truth!r}"
            f"{f', {found.masked} of them by masks' if found.masked else ''}, and at least {FEW_POINTS} are"
            f" needed; {counted(found.waiting, 'point')} without an answer"
        )


def point_notes(
    found: PointEvidence,
    totals: PointTotals,
    scores: PointScores,
    spread: intervals.Spread,
    drawn: Definition,
) -> list[str]:
    """Return what to say about the answers."""
    notes = [f"scores are {METRIC}: IoU of each class over all pixels, not the mean over images"]
    alone = len(found.models) == 1
    if found.told < (ROUGH_ALONE if alone else ROUGH) and found.pool.size:
        notes.append(
            f"intervals of a model alone from fewer than {ROUGH_ALONE:,} answered points are rough: they hold"
            " its score less often than 95 %"
            if alone
            else f"intervals from fewer than {ROUGH} answered points are rough: for some pairs they hold the"
            " difference less often than 95 %"
        )
    own, gap = intervals.how_well_known(spread)
    if own > LOOSE * gap and drawn.get("goal") != "values":
        notes.append(
            f"these points were drawn to tell models apart: a difference is known to ±{100 * gap:.1f} points,"
            f" a single score only to ±{100 * own:.1f}; --goal values draws for the scores"
        )
    if found.untold:
        share = found.untold / (found.untold + int(found.answered.sum()))
        ends = open_range(totals, scores)
        most = 100 * float(np.nanmax(np.abs(ends)))
        notes.append(
            f"{counted(found.untold, 'point')} ({100 * share:.0f} %) where nobody can tell: left out, as if"
            f" missing at random; whatever they show could change a score by {most:.1f} points"
        )
    if found.waiting:
        after = f"; {counted(found.after, 'answer')} to later ones will count then" if found.after else ""
        notes.append(f"{counted(found.waiting, 'point')} without an answer{after}")
    if number := found.pool.known_size:
        share = number / (number + found.pool.size)
        notes.append(f"masks answer {100 * share:.0f} % of all pixels; points speak about the rest")
    if number := found.pool.boxed_number:
        some = f"{counted(found.unboxed, 'answer shows', 'answers show')} a class outside of all its boxes"
        against = f"; {some}, and scores follow answers" if found.unboxed else ""
        notes.append(
            f"boxes in {counted(number, 'image')} narrow what is expected there, and count as no"
            f" answer{against}"
        )
    if found.late:
        lack = f"{', '.join(found.late)} {'lacks' if len(found.late) == 1 else 'lack'}"
        notes.append(f"{lack} maps of some images that points were drawn from: not ranked here")
    return notes
