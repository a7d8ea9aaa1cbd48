"""The pool that a selection draws from for all models at once, and the facts that its selector needs about
every image, computed from the models' predictions alone.

Conventions: ``complete`` (I,) marks the images for which every model has a prediction; the others have no
facts and are in no pool. ``dispute`` (I,) is how far models differ, ``expected`` (J, I) the expected loss of
each, ``discrepancy`` (P, I) that of each pair, ``entropy`` (I,) that of their votes, ``labels`` (J, I) for
classifiers, ``agreement`` (J, J, I) for label maps: their concordances. For label maps a discrepancy is 1 -
concordance, the mean of both directions if it has two; they are read shard by shard, through the engines,
answers of classifiers all at once. Ties are in a fixed random order (study.pool), so that the same draws give
the same images whatever their names.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from faultscape.classes.class_lists import allowed, table
from faultscape.comparison import combinations
from faultscape.comparison.distance_definitions import distances_of
from faultscape.comparison.semantic_distances import pair_distances
from faultscape.maps.counts import vote_entropy
from faultscape.nouns import Definition, Slots
from faultscape.progress import Tick
from faultscape.reading import fill
from faultscape.reading.answers import read_predictions
from faultscape.reading.fill import task
from faultscape.reading.maps import StoredMaps
from faultscape.reading.pairs import read_block, read_on_maps
from faultscape.reading.study import Study
from faultscape.selection import draws, proposals
from faultscape.selection.catalogue import find_selector
from faultscape.selection.definitions import weights_as_defined
from faultscape.study.settings import AS_WRITTEN
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name, pool, read_corpus
from faultscape.study.tables.pool import Pool as ImagePool
from faultscape.study.tables.pool import read_pool
from faultscape.ties import equal_to_zero, tie_seed

if TYPE_CHECKING:
    from faultscape.study.tables.corpus import Image


Facts = dict[str, np.ndarray]


def of_classes(
    study: Study,
    images: Sequence[str] | pa.Array,
    models: Sequence[str],
    define: Definition,
    needs: Sequence[str],
    trust: np.ndarray | None,
) -> Facts:
    """Return ``complete`` and the facts about classifiers' answers to all images at once, with the distances
    that ``define`` names; ``trust`` (J,) weighs their votes.
    """
    labels = read_predictions(study, models, images).labels
    complete = np.asarray((labels >= 0).all(0))
    out: Facts = {"complete": complete}
    first, second = np.triu_indices(len(models), 1)
    if "dispute" in needs:
        out["dispute"] = np.where(complete, (labels != labels[0]).any(0).astype(float), 0.0)
    if "expected" in needs:
        out["expected"] = proposals.expected_of_labels(labels, trust)
    if "entropy" in needs:
        out["entropy"] = proposals.entropy_of_labels(labels)
    if "labels" in needs:
        out["labels"] = labels
    if "discrepancy" in needs:
        _, distances = distances_of(study.classes, define.get("distance"), define.get("hierarchy"))
        out["discrepancy"] = np.nan_to_num(pair_distances(distances, labels[first], labels[second]))
    return out


def of_shard(
    study: Study,
    images: Sequence[Any],
    models: Sequence[str],
    define: Definition,
    needs: Sequence[str],
    trust: np.ndarray | None,
) -> Facts:
    """Return ``complete`` and the facts about label maps, for one shard's images; StudyError if pairs are
    missing.
    """
    j = len(models)
    i = len(images)
    first, second = np.triu_indices(j, 1)
    shapes = {
        "dispute": (i,),
        "expected": (j, i),
        "discrepancy": (len(first), i),
        "entropy": (i,),
        "agreement": (j, j, i),
    }
    names = combinations.measures(combinations.spelt(define))
    if len(names) > 1:
        shapes["apart"] = (len(names), len(first), i)
        needs = [*needs, "apart"]
    if not i:
        return {"complete": np.zeros(0, bool), **{name: np.zeros(shapes[name]) for name in needs}}
    on_maps = read_on_maps(study, images, models, define)
    by_each = combinations.measured(
        read_block(study, images, models), names, over=define["over"], on_maps=on_maps
    )
    both = by_each[0]  # by the measure that scores the models
    all_apart = equal_to_zero(1 - (by_each[:, first, second] + by_each[:, second, first]) / 2)
    apart = all_apart[0]
    complete = np.asarray(~np.isnan(all_apart).any((0, 1)))
    out = {"complete": complete, **{name: np.zeros(shapes[name]) for name in needs}}
    if "apart" in out:
        out["apart"] = all_apart
    if "dispute" in out:
        out["dispute"][complete] = np.maximum(apart[:, complete].mean(0), 0)
    if "discrepancy" in out:
        out["discrepancy"][:, complete] = np.maximum(apart[:, complete], 0)
    if "expected" in out and complete.any():
        out["expected"][:, complete] = proposals.expected_of_concordances(both[..., complete], trust)
    if "agreement" in out:
        out["agreement"] = both.astype(np.float32)
    if "entropy" in out:
        out["entropy"] = _entropies(study, images, models, complete)
    return out


def _entropies(
    study: Study, images: Sequence[Image], models: Sequence[str], complete: np.ndarray
) -> np.ndarray:
    """Return the mean vote entropy over the pixels of each complete image."""
    root = study.root
    settings = study.settings
    classes = study.classes
    shard = images[0].shard
    labels = {m: settings.models[m].labels for m in models}
    sources = [
        StoredMaps(
            label_maps.predictions(root, m), shard, table(classes, labels[m]), allowed(classes, labels[m])
        )
        for m in models
    ]
    out = np.zeros(len(images))
    for k in np.flatnonzero(complete).tolist():
        size = settings.working_size or (images[k].width, images[k].height)
        maps = [source.read(images[k].id, size) for source in sources]
        out[k] = vote_entropy([m for m in maps if m is not None], len(classes) + 1)
    return out


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
    study: Study,
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
    pool, order = read_drawing_pool(study, define)
    similar = "labels" if study.classifies else "agreement"
    needs = [similar if need == "similarity" else need for need in needs]
    if study.classifies:
        return of_classes(study, pool.ids, models, define, needs, trust)
    sizes = study.shard_sizes
    weights = None if trust is None else tuple(trust.tolist())
    jobs = [
        PoolJob(str(study.root), number, tuple(models), define, tuple(needs), weights)
        for number in sorted(sizes)
    ]
    found: list[Facts] = [{}] * len(jobs)
    shards = "faultscape.reading.pool:shard"
    items = sum(sizes.values())
    for place, data in fill.gather(
        study.root, shards, jobs, title="select", items=items, engine=engine, workers=workers
    ):
        with np.load(io.BytesIO(data)) as held:
            found[place] = {key: held[key] for key in held.files}
    facts = {key: np.concatenate([part[key] for part in found], axis=-1)[..., order] for key in found[0]}
    return _by_ranks(facts) if "apart" in facts else facts


def _by_ranks(facts: Facts) -> Facts:
    """Return facts whose ``dispute`` and ``discrepancy`` are by the mean rank of several measures, (M, P, I)
    ``apart``: 0 where a pair does not differ by any of them.
    """
    every = facts["apart"]
    complete = facts["complete"]
    discrepancy = np.zeros(every.shape[1:])
    for place, apart in enumerate(every.swapaxes(0, 1)):
        differ = complete & (apart > 0).any(0)
        discrepancy[place, differ] = 1 - combinations.rank_shares(-apart[:, differ])
    made = {"discrepancy": discrepancy, "dispute": np.where(complete, discrepancy.mean(0), 0.0)}
    return {name: made.get(name, fact) for name, fact in facts.items() if name != "apart"}


@task(PoolJob)
def shard(job: PoolJob, tick: Tick) -> str:
    """Compute the facts about one shard's images of the pool, and return the name of a temporary file in the
    study with the result.
    """
    study = Study(job.study)
    rows = pool(read_corpus(study.root, job.number))
    trust = None if job.trust is None else np.array(job.trust)
    facts = of_shard(study, rows, job.models, job.define, job.needs, trust)
    tick(len(rows))
    sink = io.BytesIO()
    np.savez(sink, **facts)  # type: ignore[arg-type]
    return fill.leave(study.root, f"draws-{part_name(job.number)}", sink.getvalue())


@dataclass(frozen=True, eq=False)
class Pool:
    """The images that a selection draws from, one of each group of near-duplicates: the one it drew, else the
    first. The expected loss (J, N) of each model on the first of each, and on those named. The images on
    which no two models differ, which it leaves out, with all their near-duplicates, and how many others it
    leaves out. The ``labels`` (J, N) of classifiers on the first of each.
    """

    images: list[str]
    expected: np.ndarray
    named: np.ndarray
    agreed: list[str]
    like_agreed: frozenset[str]
    others: int
    labels: np.ndarray | None = None


def drawn_from(study: Study, slots: Slots, trust: np.ndarray | None = None) -> Pool:
    """Return the pool of a selection that draws for all models; for one without random draws, the images on
    which models differ.

    ``trust`` (J,) weighs the votes for the expected loss.
    """
    define = slots.definition
    selector = find_selector(define["selector"])
    # information draws from the images on which models differ, whatever their weights
    by_itself = selector.chance and not selector.informed
    pool = read_drawing_pool(study, define)[0]
    told = ["dispute", "expected", *(["labels"] if study.classifies else [])]
    needs = dict.fromkeys([*(selector.needs if by_itself else ()), *told])
    facts = gather(study, slots.models, define, [*needs], trust)
    weight = weights_as_defined(define if by_itself else {**define, "selector": "disputed"}, facts)
    inside = np.flatnonzero((weight > 0) & draws.representatives(pool.families, weight > 0))
    rest = facts["complete"] & ~np.isin(pool.families, pool.families[inside])
    rest &= draws.representatives(pool.families, rest)
    agreed = np.flatnonzero(rest & (facts["dispute"] == 0))
    others = rest & (facts["dispute"] > 0)
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
        facts["labels"][:, inside] if "labels" in facts else None,
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


def read_drawing_pool(study: Study, define: Definition) -> tuple[ImagePool, np.ndarray]:
    """Return the pool in the order in which a selection draws it, and the places (I,) of its images in corpus
    order, which earlier versions used.
    """
    seed = tie_seed(define)
    pool = read_pool(study.corpus, keep_duplicates=define.get("keep_duplicates", False), seed=seed)
    order = np.arange(len(pool)) if seed is None else np.argsort(pool.ranks)
    return pool.taken(order), order
