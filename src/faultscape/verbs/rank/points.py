"""The standings of a selection of points: pooled mIoU of the models over all images that could be drawn, from
the answers so far and from what is known without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from faultscape import __version__
from faultscape.errors import OptionError, RankingError, counted
from faultscape.metrics.intervals.units import LEVEL
from faultscape.nouns import JsonObject
from faultscape.ranking.agreement import compare_benchmark
from faultscape.ranking.point_ranking import point_ranking
from faultscape.ranking.replicates import POOL
from faultscape.reading.point_evidence import PointEvidence, read_point_evidence
from faultscape.reading.study import Study
from faultscape.standings import Standings
from faultscape.verbs.rank import artefact
from faultscape.verbs.rank.where import domain_of

if TYPE_CHECKING:
    from faultscape.verbs.options import RankOptions

METRIC = "pooled mIoU"
LEAST = 30  # answered points without which nothing is said
_OF_IMAGES = {
    "against": "compares selections of images",
    "ranking": "adds a ranking of scores of images",
    "all_labels": "counts labelled images",
    "epsilon": "belongs to duels of images",
}


def standings_of_points(
    study: Study, truth: str, closed: Mapping[str, float] | None, asked: RankOptions
) -> Standings:
    """Return the standings of a selection of points; OptionError for options that need scores of images,
    RankingError without enough answers.
    """
    name = asked.selection
    for option, does in _OF_IMAGES.items():
        if getattr(asked, option):
            raise OptionError(
                f"--{option.replace('_', '-')} {does}, and selection {name!r} asks about points; leave it out"
            )
    where = domain_of(study, asked.where)
    found = read_point_evidence(study, name, truth, where and where.images, engine=asked.engine)
    known = int(found.answered.sum())
    if found.unlabelled.pixels.sum() and known < LEAST:
        raise RankingError(
            f"selection {name!r} has {counted(known, 'answered point')} in truth {truth!r}, and at least"
            f" {LEAST} are needed; {counted(found.waiting, 'point')} without an answer"
        )
    scores, covariance, freedom = _estimate(found, len(study.classes))
    row = point_ranking(found.models, scores, covariance, freedom, speaks_of=POOL)
    slots = study.selection(name).now
    arguments = asked.given(but=("selection", "truth"))
    provenance = {
        "faultscape": __version__,
        "selection": name,
        "truth": truth,
        "seed": asked.seed,
        "population": asked.population,
        "inputs": artefact.STANDINGS.inputs(study, name, {"truth": truth, "arguments": arguments})
        | ({"tags": study.tags_key()} if where and not where.known else {}),
        "arguments": arguments,
        "benchmark": dict(closed or {}),
    }
    gap = (scores[:, None] - scores).tolist()
    standings = Standings(
        models=found.models,
        labels={
            "used": known,
            "slots": len(slots.points),
            "missing": found.waiting,
            "points": known,
        },
        matrices={"difference": gap},
        rankings={"points": row},
        definitions=cast(
            "JsonObject",
            {
                **slots.definition,
                "selection": name,
                "truth": truth,
                "metric": METRIC,
                "population": POOL,
                "level": LEVEL,
                "resamples": asked.resamples,
                "interval": "Student's t, linearised",
            }
            | ({"where": where.words, "where_images": len(where.images)} if where else {}),
        ),
        notes=tuple(_notes(found)),
        provenance=provenance,
    )
    if closed is not None:
        rng = np.random.default_rng(asked.seed)
        drawn = rng.multivariate_normal(scores, covariance, asked.resamples, method="eigh")
        of = {m: closed[m] for m in found.models if m in closed}
        standings = replace(
            standings, benchmark=compare_benchmark(found.models, of, {"points": scores}, {"points": drawn})
        )
    return standings


def _notes(found: PointEvidence) -> list[str]:
    """Return what to say about the answers."""
    notes = [f"scores are {METRIC}: IoU of each class over all pixels, not the mean over images"]
    if found.untold:
        share = found.untold / (found.untold + int(found.answered.sum()))
        lost = counted(found.untold, "point")
        notes.append(f"{lost} ({100 * share:.0f} %) where nobody can tell: left out, as if missing at random")
    if found.waiting:
        after = f"; {counted(found.after, 'answer')} to later ones will count then" if found.after else ""
        notes.append(f"{counted(found.waiting, 'point')} without an answer{after}")
    if number := int(found.labelled.pixels.sum()):
        share = number / (number + int(found.unlabelled.pixels.sum()))
        notes.append(f"masks answer {100 * share:.0f} % of all pixels; points speak about the rest")
    if found.late:
        lack = f"{', '.join(found.late)} {'lacks' if len(found.late) == 1 else 'lack'}"
        notes.append(f"{lack} maps of some images that points were drawn from: not ranked here")
    return notes


def _estimate(found: PointEvidence, c: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Interim: plain ratios of the draws, without a control."""
    j = len(found.models)
    rest, known = found.unlabelled, found.labelled
    p = np.array([np.bincount(own, rest.pixels, c + 1)[:c] for own in rest.labels])
    t0 = np.zeros(c)
    tp0 = np.zeros((j, c))
    if len(known.pixels):
        truth = known.labels[-1]
        t0 = np.bincount(truth, known.pixels, c + 1)[:c]
        ok = truth < c
        p = p + np.array([np.bincount(own[ok], known.pixels[ok], c + 1)[:c] for own in known.labels[:-1]])
        tp0 = np.array(
            [
                np.bincount(own[own == truth], known.pixels[own == truth], c + 1)[:c]
                for own in known.labels[:-1]
            ]
        )
    told = found.answered | ~found.inside
    m = told.sum()
    w = np.where(found.inside, 1 / found.chance, 0)[told]
    y = found.shares[told] * w[:, None]
    f = found.said[:, told]
    hit = np.array([np.where(np.arange(c) == own[:, None], y[:, :c], 0) for own in f])  # J M C
    gone = np.array([np.where(np.arange(c) == own[:, None], y[:, c:], 0) for own in f])
    t = t0 + y[:, :c].sum(0) / m
    tp = tp0 + hit.sum(1) / m
    pred = p - gone.sum(1) / m
    union = pred + t - tp
    with np.errstate(invalid="ignore", divide="ignore"):
        iou = tp / union
    live = union > 0
    scores = np.nanmean(np.where(live, iou, np.nan), 1)
    # linearised
    num = live.sum(1)
    d = np.zeros((j, m))
    for k in range(j):
        u = np.maximum(union[k], 1)
        g = (hit[k] * (1 + iou[k]) - iou[k] * (y[:, :c] - gone[k])) / u
        d[k] = np.nansum(np.where(live[k], g, 0), 1) / num[k]
    d -= d.mean(1, keepdims=True)
    return scores, d @ d.T / m / (m - 1), float(m - 1)
