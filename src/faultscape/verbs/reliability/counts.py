"""Pixel counts of a study's models: find the existing ones, make others from stored maps and doubt, and name
the command that makes what is missing.

Conventions: stored doubt is counted as `predict --measure` would. A model has the scorers for which counts or
doubt exist.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.maps import runs
from faultscape.metrics.scorers import SCORERS, SUBMITTED, plain_name, split_fitted
from faultscape.prediction.keep import DOUBT, OTHERS, doubt_folder
from faultscape.reading.evidence import truth_words
from faultscape.reading.fill import CHANGES_NOTHING, Engine, Work, fill, task
from faultscape.reading.study import Study
from faultscape.study.parts import Part
from faultscape.study.tables import label_maps, outputs, pixel_counts
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.logs import Timing
from faultscape.study.tables.pixel_counts import MAPS
from faultscape.study.tables.removed_images import whole_shard
from faultscape.verbs.predict.pixel_counts import (
    MSP,
    CountedPart,
    Counting,
    CountParts,
    PixelCounter,
    counting_of,
    state_of_maps,
)

if TYPE_CHECKING:
    from faultscape.verbs.options import ReliabilityOptions


@dataclass(frozen=True)
class CountJob:
    """The counts of one shard of a model, made from stored outputs; ``keys`` (kind, key) identify the inputs
    of each kind.
    """

    study: str = field(metadata=CHANGES_NOTHING)
    name: str
    number: int
    images: int
    kinds: tuple[str, ...]
    counting: Counting
    labels: dict[str, str]
    state: str
    keys: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class ModelCounts:
    """The counts of a model: {kind: its valid parts}, the word of each scorer {folder: word}, and the shards
    that lack each kind.
    """

    name: str
    parts: Mapping[str, Mapping[str, Part]]
    scorers: Mapping[str, str]
    lacking: Mapping[str, Collection[int]]


def scorers_of_model(study: Study, name: str) -> dict[str, str]:
    """Return {folder: word} of the scorers for which a model has counts or stored doubt, in the order of the
    catalogue.
    """
    root = study.root
    model = study.settings.models[name]
    known = {doubt_folder(scorer.name): scorer.name for scorer in SCORERS}
    known |= {
        doubt_folder(word): word
        for word in model.options.get("scorer", [])
        if ".py:" in word or split_fitted(word)
    }
    if model.kind == "submission":
        known[doubt_folder(SUBMITTED.name)] = SUBMITTED.name
    stored = {kind for kind in outputs.kinds(root, name, study.manifest) if kind.startswith(DOUBT)}
    counted = {folder for folder in known if study.manifest(pixel_counts.counts_folder(root, name, folder))}
    return {folder: word for folder, word in known.items() if folder in stored | counted}


def fill_counts(
    study: Study, truth: str, models: Sequence[str], options: ReliabilityOptions
) -> dict[str, ModelCounts]:
    """Make the missing or stale counts that stored outputs allow, and return the counts of each model."""
    root = study.root
    settings = study.settings
    counts = CountParts(study, truth)
    jobs = list[CountJob]()
    scorers = dict[str, dict[str, str]]()
    sizes = study.shard_sizes
    states: dict[str, dict[int, str]] = {}
    for name in models:
        scorers[name] = scorers_of_model(study, name)
        counting = counting_of(settings, name, truth, list(scorers[name].values()))
        maps = study.stored_maps[name]
        stamps = label_maps.stamps_of(label_maps.predictions(root, name))
        states[name] = {int(part): state_of_maps(entry, stamps.get(part, "")) for part, entry in maps.items()}
        stored = {kind: outputs.parts_by_shard(root, name, kind, study.manifest) for kind in scorers[name]}
        for number in sorted(sizes):
            if not (part := maps.get(part_name(number))) or not part.rows:
                continue
            lacking = counts.lacking(name, number, states[name][number], counting)
            kinds = tuple(kind for kind in lacking if kind == MAPS or number in stored[kind])
            if kinds:
                only = Counting(
                    truth, {kind: about for kind, about in counting.scorers.items() if kind in kinds}
                )
                state = states[name][number]
                keys = tuple((kind, counts.key(name, number, kind, state, counting)) for kind in kinds)
                labels = settings.models[name].labels
                jobs.append(
                    CountJob(str(root), name, number, sizes[number], kinds, only, labels, state, keys)
                )

    def enter(made: list[tuple[CountJob, CountedPart]]) -> list[Timing]:
        for name in dict.fromkeys(job.name for job, _ in made):
            counts.enter(
                name, [(job.number, job.state, job.counting, part) for job, part in made if job.name == name]
            )
        return []

    work = Work(
        "count",
        "faultscape.verbs.reliability.counts:count_shard",
        CountedPart,
        enter,
        lambda job, made: [
            (pixel_counts.counts_folder(root, job.name, kind), part_name(job.number), sha)
            for kind, (sha, _) in made.parts.items()
        ],
    )
    engine = Engine(options.engine, options.workers, begin_here=True)
    fill(root, work, jobs, engine, items=sum(job.images for job in jobs))
    if jobs:
        study.reread()

    def known(name: str) -> ModelCounts:
        counting = counting_of(settings, name, truth, list(scorers[name].values()))
        parts: dict[str, dict[str, Part]] = {}
        lacking: dict[str, set[int]] = {}
        for kind in (MAPS, *scorers[name]):
            held = counts.made(name, kind)
            fresh = {
                number
                for number in sizes
                if (part := held.get(part_name(number)))
                and part.key == counts.key(name, number, kind, states[name].get(number, ""), counting)
            }
            parts[kind] = {part_name(number): held[part_name(number)] for number in fresh}
            lacking[kind] = set(sizes) - fresh
        words = {folder: plain_name(word) for folder, word in scorers[name].items()}
        return ModelCounts(name, parts, words, lacking)

    return {name: known(name) for name in models}


@task(CountJob)
def count_shard(job: CountJob, tick: Callable[[int], None]) -> CountedPart:
    """Count the pixels of one shard of a model from its stored maps and doubt."""
    root = Path(job.study)
    counter = PixelCounter(Study(root), job.name, job.number, job.counting, job.labels, job.kinds)
    maps = label_maps.read_maps(label_maps.predictions(root, job.name), job.number)
    kinds = [*job.counting.scorers, *(["confidence"] if MAPS in job.kinds else [])]
    if MAPS in job.kinds and MSP not in kinds:
        kinds.append(MSP)  # confidence is 1 - MSP doubt
    beside = {kind: outputs.read_kept(root, job.name, kind, job.number) for kind in kinds}
    waiting = {kind: next(rows, None) for kind, rows in beside.items()}
    for image in whole_shard(root, job.number):
        code = maps.get(image.id)
        scores: dict[str, np.ndarray] = {}
        for kind, held in waiting.items():
            if held is not None and held[0] == image.id:
                scores[kind], waiting[kind] = held[1][0], next(beside[kind], None)
        if MSP in scores:
            scores[OTHERS] = scores[MSP]
        if code is not None:
            label_map = runs.decode(code)
            counter.take(image.id, counter.of_answer(image.id, label_map, scores))
            counter.compare(image.id, label_map)
        tick(1)
    return counter.finish()


def line_that_counts(study: Study, name: str, truth: str, *scorers: str) -> str:
    """Return the command that makes a model's missing counts against a truth. With ``scorers`` it also names
    the model's existing scorers, which it would otherwise drop.
    """
    model = study.settings.models[name]
    words = [f"faultscape predict {study.place}", shlex.quote(f"{name}={model.source}")]
    new = [scorer for scorer in scorers if scorer not in ("", SUBMITTED.name)]
    names = (
        dict.fromkeys(plain_name(word) for word in [*model.options.get("scorer", []), *new]) if new else ()
    )
    asked = [f"--scorer {shlex.quote(name)}" for name in names]
    return " ".join([*words, *asked, "--measure", *truth_words(study, truth)])
