"""Guards of a blended benchmark: whether a score detects the blending rather than the object, and how much a
cheat gains by knowing the backgrounds.

Conventions: (a) *pasted known objects* should look as known as everything else: the AUROC of their pixels
against other known ones is .5 if blending leaves no trace that a score detects. (b) the cheat scores a pixel
by |image - base|, averaged over channels; fog on the known pixels (Blum et al. 2021, 3.1) is meant to defeat
it, so foggy and clear images are judged separately.
Source: Blum et al. 2021, 3.1 (fixed backgrounds), Fig. 4 (artefacts in FS Web March 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.corpus.photos import read_parent, read_photo
from faultscape.corpus.stress.recipes import PlanStep, recipe_of
from faultscape.errors import FaultscapeError
from faultscape.maps.resize import nearest
from faultscape.metrics.intervals.evidence import Ratios
from faultscape.metrics.scorers import Scorer, rounded
from faultscape.metrics.scores.grouped_counts import (
    count_groups,
    decode_counts,
    encode_counts,
    group_pixels,
    of_anomaly,
)
from faultscape.metrics.scores.rank_slopes import rank_images
from faultscape.reading.fill import CHANGES_NOTHING, Engine, Work, fill, task
from faultscape.reading.image_truths import Judge, made_from
from faultscape.reading.study import Study
from faultscape.reporting.measure.document import number
from faultscape.reporting.reliability.document import CardGuard
from faultscape.stressors.blend_plans import plan_of_text
from faultscape.study.folder import check_name
from faultscape.study.parts import Part, key_of, read_manifest, there, write_manifest
from faultscape.study.tables import pixel_counts
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.logs import Timing
from faultscape.verbs.reliability.card import Judgement, interval_of
from faultscape.verbs.reliability.conditions import Condition, LabelledStudy, Units

if TYPE_CHECKING:
    from faultscape.verbs.options import ReliabilityOptions

METHOD = 1
CHEAT = Scorer(
    "difference",
    "Difference to the base",
    "mean over channels of |image - base|",
    lambda facts: facts.others,
    needs="nothing",
    most=lambda _classes: 255.0,
    tells_errors=False,
)


@dataclass(frozen=True)
class CheatJob:
    """The counts of the cheat on one shard of a blended set."""

    study: str = field(metadata=CHANGES_NOTHING)
    set: str
    number: int
    truth: str
    images: tuple[str, ...]
    key: str


@dataclass(frozen=True)
class CheatPart:
    """The part written for one shard, and whether it is ``whole``: all of its images could be made."""

    sha256: str
    rows: int
    whole: bool


def guards_folder(root: Path, name: str) -> Path:
    """Return the folder of the cheat's counts on a set."""
    return root / "reliability" / "guards" / check_name(name, "set")


def fill_cheat(labelled: LabelledStudy, conditions: Sequence[Condition], options: ReliabilityOptions) -> None:
    """Count the cheat on the blended sets where its counts are missing or stale."""
    study = labelled.study
    root = study.root
    images = study.image_rows
    jobs = list[CheatJob]()
    for condition in conditions:
        by_shard: dict[int, list[str]] = {}
        for id_ in condition.images if _is_blended(condition, images) else ():
            by_shard.setdefault(images[id_].shard, []).append(id_)
        held = _counted(study, condition) if by_shard else {}
        for shard, ids in sorted(by_shard.items()):
            labels = list(made_from(study, (labelled.judged[id_] for id_ in ids)))
            digests = [(id_, images[id_].digest) for id_ in ids]
            key = key_of(METHOD, labels, digests, study.settings.size, labelled.holdouts)
            if (part := held.get(part_name(shard))) is None or part.key != key:
                jobs.append(CheatJob(str(root), condition.sets[0], shard, labelled.truth, tuple(ids), key))

    def enter(made: list[tuple[CheatJob, CheatPart]]) -> list[Timing]:
        for name in {job.set for job, _ in made}:
            new = {
                # a part that is not whole is made again
                part_name(job.number): Part(one.sha256, one.rows, job.key if one.whole else "")
                for job, one in made
                if job.set == name
            }
            write_manifest(guards_folder(root, name), read_manifest(guards_folder(root, name)) | new)
        return []

    work = Work(
        "guard",
        "faultscape.verbs.reliability.guards:count_cheat",
        CheatPart,
        enter,
        lambda job, made: [(guards_folder(root, job.set), part_name(job.number), made.sha256)],
    )
    engine = Engine(options.engine, options.workers, begin_here=True)
    fill(root, work, jobs, engine, items=sum(len(job.images) for job in jobs))
    if jobs:
        study.reread()


def _counted(study: Study, condition: Condition) -> dict[str, Part]:
    """Return the existing counts of the cheat on a blended set."""
    where = guards_folder(study.root, condition.sets[0])
    return there(where, parts=study.manifest(where))


@task(CheatJob)
def count_cheat(job: CheatJob, tick: Callable[[int], None]) -> CheatPart:
    """Count |image - base| over the images of one shard; an image that cannot be made now is left out."""
    root = Path(job.study)
    study = Study(root)
    judge = Judge.of_truth(study, job.truth)
    rows = []
    whole = True
    for id_ in job.images:
        tick(1)
        image = study.image_rows[id_]
        size = study.settings.working_size or (image.width, image.height)
        views = judge.views(id_, size)
        try:
            away = np.abs(read_photo(image)[0].astype(np.int16) - read_parent(image)).mean(-1)
        except FaultscapeError:
            whole = False
            continue
        for view in views:
            if view.anomaly is None:
                continue
            score = nearest(away.astype(np.float32), size)
            groups, objects = group_pixels(view.anomaly, None, view.pasted)
            rows.append(
                (id_, "", encode_counts(count_groups(rounded(CHEAT, score, 0), groups, objects, where=id_)))
            )
    return CheatPart(
        pixel_counts.put_score_counts(guards_folder(root, job.set), job.number, rows), len(rows), whole
    )


def guards(study: Study, found: Judgement, units: Units, conditions: Sequence[Condition]) -> list[CardGuard]:
    """Return the guards of every blended set: how well each scorer separates pasted known objects from the
    rest, and what the cheat gains, with and without fog.
    """
    images = study.image_rows
    out = list[CardGuard]()
    for (model, scorer, condition), numbers in found.scores.items():
        if numbers.pasted is not None and not numbers.pasted.undefined:
            low, high = interval_of(Ratios(numbers.pasted.auroc, None), units)
            out.append(
                {
                    "kind": "pasted",
                    "model": model,
                    "scorer": scorer,
                    "condition": condition,
                    "auroc": number(numbers.pasted.auroc.value),
                    "low": low,
                    "high": high,
                }
            )
    for condition in conditions:
        if not _is_blended(condition, images):
            continue
        where = guards_folder(study.root, condition.sets[0])
        held = {
            id_: decode_counts(code)
            for part, entry in _counted(study, condition).items()
            for id_, _, code in pixel_counts.read_score_counts(where, part, entry)
        }
        for weather in ("clear", "foggy"):
            mine = [
                held[id_]
                for id_ in condition.images
                if id_ in held and _is_foggy(images[id_]) == (weather == "foggy")
            ]
            ranked = rank_images([of_anomaly(counts) for counts in mine])
            if mine and not ranked.undefined:
                out.append(
                    {
                        "kind": "difference",
                        "condition": condition.name,
                        "weather": weather,
                        "images": len(mine),
                        "auroc": number(ranked.auroc.value),
                        "average_precision": number(ranked.average_precision.value),
                        "fpr95": number(ranked.fpr.value),
                        "share": number(ranked.share),
                    }
                )
    return out


def _is_blended(condition: Condition, images: Mapping[str, Image]) -> bool:
    """Whether the images of a condition were blended by a plan, so that their bases are known."""
    recipe = (
        recipe_of(images[condition.images[0]].source)
        if condition.kind == "anomaly" and condition.images and not condition.holdout
        else None
    )
    return recipe is not None and isinstance(recipe.step, PlanStep)


def _is_foggy(image: Image) -> bool:
    recipe = recipe_of(image.source)
    assert recipe is not None
    assert isinstance(recipe.step, PlanStep)
    return plan_of_text(recipe.step.plan).fog is not None
