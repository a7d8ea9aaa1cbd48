"""The pool that a selection draws from for all models at once, and the facts that its selector needs about
every image.

Conventions: the predictions for one image are reduced to a few numbers: for label maps shard by shard,
through the engines; for classifiers all at once. An image for which some model has no prediction is in no
pool. Ties are in a fixed random order (study.pool), so that the same draws give the same images whatever
their names.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faultscape.nouns import Definition, Slots
from faultscape.progress import Tick
from faultscape.reading import drawing_facts, fill
from faultscape.reading.worker_calls import task
from faultscape.selection import draws
from faultscape.selection.catalogue import find_selector
from faultscape.selection.definitions import weights_as_defined
from faultscape.study.settings import AS_WRITTEN, Settings, read_settings
from faultscape.study.tables.corpus import part_name, pool, read_corpus, shard_sizes
from faultscape.study.tables.pool import Pool as ImagePool
from faultscape.study.tables.pool import read_pool
from faultscape.ties import tie_seed

Facts = dict[str, np.ndarray]  # see reading.drawing_facts


@dataclass(frozen=True)
class PoolJob:
    """The facts to compute about one shard's images for a selector's definition, with the ``trust`` (J,) in
    each model from the labels so far.
    """

    study: str
    number: int
    models: tuple[str, ...]
    define: Annotated[Definition, AS_WRITTEN]
    needs: tuple[str, ...]
    trust: tuple[float, ...] | None


def gather(
    root: Path,
    settings: Settings,
    models: Sequence[str],
    define: Definition,
    needs: Sequence[str],
    trust: np.ndarray | None = None,
    *,
    engine: str = "local",
    workers: int | None = None,
) -> Facts:
    """Return the facts about every image of the pool, in the fixed random order; ``trust`` (J,) is the trust
    in each model from the labels so far.
    """
    pool, order = read_drawing_pool(root, define)
    similar = "labels" if settings.classifies else "agreement"
    needs = [similar if need == "similarity" else need for need in needs]
    if settings.classifies:
        return drawing_facts.of_classes(root, settings, pool.ids, models, define, needs, trust)
    sizes, weights = shard_sizes(root), None if trust is None else tuple(trust.tolist())
    jobs = [
        PoolJob(str(root), number, tuple(models), define, tuple(needs), weights) for number in sorted(sizes)
    ]
    found: list[Facts] = [{}] * len(jobs)
    shards, items = "faultscape.reading.drawing_pool:shard", sum(sizes.values())
    for place, data in fill.gather(
        root, shards, jobs, title="select", items=items, engine=engine, workers=workers
    ):
        with np.load(io.BytesIO(data)) as held:
            found[place] = {key: held[key] for key in held.files}
    return {key: np.concatenate([part[key] for part in found], axis=-1)[..., order] for key in found[0]}


@task(PoolJob)
def shard(job: PoolJob, tick: Tick) -> str:
    """Compute the facts about one shard's images of the pool, and return the name of a temporary file in the
    study with the result.
    """
    root = Path(job.study)
    settings, rows = read_settings(root), pool(read_corpus(root, job.number))
    trust = None if job.trust is None else np.array(job.trust)
    facts = drawing_facts.of_shard(root, settings, rows, job.models, job.define, job.needs, trust)
    tick(len(rows))
    sink = io.BytesIO()
    np.savez(sink, **facts)  # type: ignore[arg-type]
    return fill.leave(root, f"draws-{part_name(job.number)}", sink.getvalue())


@dataclass(frozen=True, eq=False)
class Pool:
    """The images that a selection draws from, one of each group of near-duplicates: the one it drew, else the
    first. The expected loss (J, N) of each model on the first of each, and on those named. The images on
    which no two models differ, which it leaves out, with all their near-duplicates, and how many others it
    leaves out.
    """

    images: list[str]
    expected: np.ndarray
    named: np.ndarray
    agreed: list[str]
    like_agreed: frozenset[str]
    others: int


def drawn_from(root: Path, settings: Settings, slots: Slots, trust: np.ndarray | None = None) -> Pool:
    """Return the pool of a selection that draws for all models; for one without random draws, the images on
    which models differ.

    ``trust`` (J,) weighs the votes for the expected loss.
    """
    define = slots.definition
    selector = find_selector(define["selector"])
    # information draws from the images on which models differ, whatever their weights
    by_itself = selector.chance and not selector.informed
    pool = read_drawing_pool(root, define)[0]
    needs = dict.fromkeys([*(selector.needs if by_itself else ()), "dispute", "expected"])
    facts = gather(root, settings, slots.models, define, [*needs], trust)
    weight = weights_as_defined(define if by_itself else {**define, "selector": "disputed"}, facts)
    inside = np.flatnonzero((weight > 0) & draws.representatives(pool.families, weight > 0))
    rest = facts["complete"] & ~np.isin(pool.families, pool.families[inside])
    rest &= draws.representatives(pool.families, rest)
    agreed, others = np.flatnonzero(rest & (facts["dispute"] == 0)), rest & (facts["dispute"] > 0)
    at_inside, at_agreed = (_members_drawn(places, pool, slots) for places in (inside, agreed))
    alike = np.flatnonzero(facts["complete"] & np.isin(pool.families, pool.families[agreed]))
    names = pool.names(np.concatenate([at_inside, at_agreed, alike]))
    return Pool(
        [names[k] for k in at_inside.tolist()],
        facts["expected"][:, inside],
        facts["expected"][:, at_inside],
        [names[k] for k in at_agreed.tolist()],
        frozenset(names[k] for k in alike.tolist()),
        int(others.sum()),
    )


def _members_drawn(places: np.ndarray, pool: ImagePool, slots: Slots) -> np.ndarray:
    """Return ``places`` (N,) of a pool with that of the image that was drawn instead of each whose group was
    drawn.
    """
    drawn = [row.image for row in slots.draws]
    found = pc.call_function(
        "index_in", [pa.array(drawn, pa.string())], pc.SetLookupOptions(value_set=pool.ids)
    )
    instead = {int(pool.families[k]): k for k in found.to_pylist() if k is not None}
    return np.array(
        [
            instead.get(family, k)
            for k, family in zip(places.tolist(), pool.families[places].tolist(), strict=True)
        ],
        dtype=np.intp,
    )


def read_drawing_pool(root: Path, define: Definition) -> tuple[ImagePool, np.ndarray]:
    """Return the pool in the order in which a selection draws it, and the places (I,) of its images in corpus
    order, which earlier versions used.
    """
    seed = tie_seed(define)
    pool = read_pool(root, keep_duplicates=define.get("keep_duplicates", False), seed=seed)
    order = np.arange(len(pool.ranks)) if seed is None else np.argsort(pool.ranks)
    return pool.taken(order), order
