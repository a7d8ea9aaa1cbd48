"""Duels of label maps over a study's pool (Yan et al. 2021): the images of lowest concordance for every
ordered pair and class, found shard by shard.

Conventions: each shard writes its result to a temporary file in the study until all are merged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from faultscape import ties
from faultscape.classes.class_lists import resolve
from faultscape.nouns import Definition, Slots
from faultscape.progress import Tick
from faultscape.reading import fill, pairs
from faultscape.reading.fill import task
from faultscape.reading.study import Study
from faultscape.selection import duel
from faultscape.selection.best import Best
from faultscape.selection.quartiles import from_json
from faultscape.study.settings import AS_WRITTEN, read_settings
from faultscape.study.tables.corpus import part_name, pool, read_corpus
from faultscape.study.tables.pool import read_pool

_SIZE = 8  # bytes of the length of the first of two parts


@dataclass(frozen=True)
class DuelJob:
    """The search in one shard: the best candidates of each cell that a definition asks for."""

    study: str
    number: int
    models: tuple[str, ...]
    define: Annotated[Definition, AS_WRITTEN]


def search(
    study: Study, models: tuple[str, ...], define: Definition, *, title: str, engine: str, workers: int | None
) -> Slots:
    """Return the slots that a definition asks for over the whole pool; StudyError if pairs are missing,
    SelectionError if every cell is empty.
    """
    best = duel.empty(models, define)
    alone = duel.empty_alone(models, define)
    root = study.root
    keep = define["keep_duplicates"]
    drawn = read_pool(study.corpus, keep_duplicates=keep, seed=ties.tie_seed(define))
    jobs = [DuelJob(str(root), number, models, define) for number in sorted(study.shard_sizes)]
    shards = "faultscape.verbs.select.map_duels:shard"
    items = len(drawn.ids)
    for place, data in fill.gather(
        root, shards, jobs, title=title, items=items, engine=engine, workers=workers
    ):
        start = int(np.searchsorted(drawn.shards, jobs[place].number))
        every = np.arange(items)
        size = int.from_bytes(data[:_SIZE], "little")
        for cells, part, families in (
            (best, data[_SIZE : _SIZE + size], drawn.families),
            (alone, data[_SIZE + size :], every),
        ):
            if cells is not None:
                found = Best.of_bytes(part)
                found.renumber(start, drawn.ranks, families)
                cells.merge(found)
    return duel.slots(best, models, define, drawn.names(np.unique(best.images[best.images >= 0])), alone)


@task(DuelJob)
def shard(job: DuelJob, tick: Tick) -> str:
    """Find the best candidates of one shard, numbered within it, and return the name of a temporary file in
    the study with them.
    """
    root = Path(job.study)
    models = job.models
    define = job.define
    settings = read_settings(root)
    rows = pool(read_corpus(root, job.number))
    best = duel.empty(models, define)
    alone = duel.empty_alone(models, define)
    if rows:
        classes = resolve(settings.class_list)
        scale = (
            from_json({"classes": define["scale"]}, classes, f"{job.study}: the scale")
            if define["scale"]
            else None
        )
        places = np.arange(len(rows))
        ranks = ties.tie_ranks(
            [image.key for image in rows], ties.tie_seed(define), [image.id for image in rows]
        )
        groups: dict[str, int] = {}
        families = np.array([groups.setdefault(image.near_duplicate_of, len(groups)) for image in rows])
        counts = pairs.read_block(Study(root), rows, models)
        of = places if define["keep_duplicates"] else families
        duel.take(best, counts, define, scale, places, ranks, of, alone)
    tick(len(rows))
    data = best.to_bytes()
    beside = b"" if alone is None else alone.to_bytes()
    whole = len(data).to_bytes(_SIZE, "little") + data + beside
    return fill.leave(root, f"select-{part_name(job.number)}", whole)
