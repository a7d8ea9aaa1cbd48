"""Select duels of segmentation models (Yan et al. 2021): for each ordered pair and class, the images of
lowest concordance, found shard by shard; by several measures in two passes, since a rank is known once all
images have their values.

Conventions: each shard writes its result to a temporary file in the study until all are merged.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from faultscape import ties
from faultscape.classes.class_lists import resolve
from faultscape.comparison import combinations
from faultscape.errors import FixedSelectionError, OptionError, counted
from faultscape.nouns import Definition, Pairs, Scale, Slots
from faultscape.progress import Tick
from faultscape.reading import evidence, fill, pairs
from faultscape.reading.fill import task
from faultscape.reading.instances.shard_segments import models_with_instances
from faultscape.reading.study import Study
from faultscape.selection import duel
from faultscape.selection.best import Best
from faultscape.selection.quartiles import from_json, read_scale, to_json
from faultscape.selection.spares import extended
from faultscape.study.folder import TEMPORARY
from faultscape.study.settings import AS_WRITTEN
from faultscape.study.tables import selections
from faultscape.study.tables.corpus import Image, part_name, pool, read_corpus
from faultscape.study.tables.pool import read_pool
from faultscape.verbs.select.replacement import (
    existing_selection,
    put_selection,
    refuse_gone_models,
    refuse_other_pool,
)
from faultscape.verbs.select.ties import tell_moved, tell_ties

if TYPE_CHECKING:
    from faultscape.verbs.options import SelectOptions

MOST = 10_000  # images per cell: for more, use random sampling
PILE = 10  # slots of one image above which a note is printed
_SIZE = 8  # bytes of the length of the first of two parts


def duels(study: Study, name: str, chosen: dict[str, Any], options: SelectOptions) -> Slots:
    """Draw or extend a selection of a study, as the ``chosen`` options say."""
    asked = {key: chosen.get(key) for key in duel.DEFAULTS}
    constraints = chosen.get("constraints")
    scale = chosen.get("scale")
    if "concordance" in chosen:
        combinations.as_defined(chosen["concordance"])
    for option, key, least in (("per-class", "per_class", 1), ("spares", "spares", 0)):
        value = chosen.get(key)
        if value is not None and not least <= value <= MOST:
            raise OptionError(f"{option} must be at least {least} and at most {MOST:,}; got {value}")
    selections.path(study.root, name)
    with study.writing():
        classes = resolve(study.classes)
        models = study.models
        anew = options.replace
        old = existing_selection(study, name, anew=anew)
        quartiles = scale if isinstance(scale, Scale) else read_scale(scale, classes) if scale else None
        if quartiles is not None and constraints not in (None, "class+scale"):
            raise OptionError(f"--scale is for --constraints class+scale; got {constraints}")
        given = {key: value for key, value in asked.items() if value is not None}
        if (
            anew
            and quartiles is None
            and constraints in (None, "class+scale")
            and name in selections.names(study.root)
        ):
            was = study.selection(name).slots.definition
            if was.get("constraints") == "class+scale":
                quartiles = from_json({"classes": was["scale"]}, classes, f"selection {name}")
                print("scale: kept as it was; change it with --scale, drop it with --constraints class")
        if old is None:
            define = duel.definition(
                classes, constraints=constraints, scale=quartiles, **{**duel.DEFAULTS, **given}
            )
        else:
            refuse_gone_models(study, old)
            define = _extended(name, old.slots.definition, given, constraints, quartiles)
            # earlier versions left those from before a rename
            define["groups"] = duel.group_names(classes, define["constraints"])
            for key in ("per_class", "spares"):
                if (asked[key] or 0) < define[key] and asked[key] is not None:
                    print(f"selection {name!r} cannot shrink: {key} stays {define[key]}")
            if define["constraints"] == "class+scale":
                quartiles = from_json({"classes": define["scale"]}, classes, f"selection {name}")
            refuse_other_pool(study, old)
        result = search(study, models, define, title="select", engine=options.engine, workers=options.workers)
        for note in evidence.trained_notes(study, models, evidence.pool_that_trained(study, models), "image"):
            print(f"{note}; no duel of it asks about {'it' if note.startswith('1 ') else 'them'}")
        tell_ties(result.tied, len(result.chosen), define)
        tell_moved(result.moved)
        _tell_instances(study, define)
        if old is not None:
            rows = old.slots.rows + extended(old.slots, result)
            result = Slots(models, define, rows, result.tied, result.moved)
        _tell_piles(result)
        put_selection(study, name, result, anew=anew, **{k: v for k, v in define.items() if k != "scale"})
    return result


@dataclass(frozen=True)
class DuelJob:
    """The search in one shard: the best candidates of each cell that a definition asks for.

    ``ranks`` is the file of `_ranks_of_pool`, in which the shard's images begin at ``start``; '' for none.
    """

    study: str
    number: int
    models: tuple[str, ...]
    define: Annotated[Definition, AS_WRITTEN]
    ranks: str = ""
    start: int = 0


def search(
    study: Study, models: tuple[str, ...], define: Definition, *, title: str, engine: str, workers: int | None
) -> Slots:
    """Return the slots that a definition asks for over the whole pool; StudyError if pairs are missing,
    SelectionError if every cell is empty.
    """
    best = duel.empty(models, define)
    alone = duel.empty_alone(models, define)
    keep = define["keep_duplicates"]
    drawn = read_pool(study.corpus, keep_duplicates=keep, seed=ties.tie_seed(define))
    starts = {number: int(np.searchsorted(drawn.shards, number)) for number in sorted(study.shard_sizes)}
    jobs = [DuelJob(str(study.root), number, models, define, start=start) for number, start in starts.items()]
    shards = "faultscape.verbs.select.duels:shard"
    items = len(drawn)
    every = drawn.families if alone is None else np.arange(items)
    with _ranks_of_pool(study, jobs, items, title=title, engine=engine, workers=workers) as ranks:
        jobs = [replace(job, ranks=ranks) for job in jobs]
        for place, data in fill.gather(
            study.root, shards, jobs, title=title, items=items, engine=engine, workers=workers
        ):
            size = int.from_bytes(data[:_SIZE], "little")
            for cells, part, families in (
                (best, data[_SIZE : _SIZE + size], drawn.families),
                (alone, data[_SIZE + size :], every),
            ):
                if cells is not None:
                    found = Best.of_bytes(part)
                    found.renumber(jobs[place].start, drawn.ranks, families)
                    cells.merge(found)
    return duel.slots(best, models, define, drawn.names(np.unique(best.images[best.images >= 0])), alone)


@contextmanager
def _ranks_of_pool(
    study: Study, jobs: list[DuelJob], items: int, *, title: str, engine: str, workers: int | None
) -> Iterator[str]:
    """Make a temporary file in the study with the `combinations.ranked` of all images, (J, J, M, I) of
    which measure 0 counts, and give its name; '' for a single measure, which needs none.

    The file is mapped, not held: in memory is one ordered pair at a time, a few numbers an image.
    """
    if not items or "combined" not in jobs[0].define:
        yield ""
        return
    j = len(jobs[0].models)
    number = len(combinations.measures(jobs[0].define["combined"]))
    name = f"{TEMPORARY}select-ranks.npy"
    shape = (j, j, number, items)
    held = np.lib.format.open_memmap(study.root / name, mode="w+", dtype=np.float64, shape=shape)
    try:
        for place, data in fill.gather(
            study.root,
            "faultscape.verbs.select.duels:measure_shard",
            jobs,
            title=title,
            items=items,
            engine=engine,
            workers=workers,
        ):
            values = np.load(io.BytesIO(data))
            start = jobs[place].start
            held[..., start : start + values.shape[-1]] = values
        for first, second in permutations(range(j), 2):
            held[first, second, 0] = combinations.rank_shares(held[first, second])
        held.flush()
        yield name
    finally:
        (study.root / name).unlink()


@task(DuelJob)
def measure_shard(job: DuelJob, tick: Tick) -> str:
    """Compute how closely the maps of one shard agree by each measure, (J, J, M, I), and return the name of a
    temporary file in the study with it.
    """
    study = Study(job.study)
    rows = pool(read_corpus(study.root, job.number))
    j = len(job.models)
    values = np.empty((j, j, len(combinations.measures(job.define["combined"])), 0))
    if rows:
        counts = pairs.read_block(study, rows, job.models)
        on_maps = pairs.read_on_maps(study, rows, job.models, job.define)
        values = np.moveaxis(duel.measured(counts, job.define, on_maps), 0, 2)
    tick(len(rows))
    sink = io.BytesIO()
    np.save(sink, values)
    return fill.leave(study.root, f"select-{part_name(job.number)}", sink.getvalue())


@task(DuelJob)
def shard(job: DuelJob, tick: Tick) -> str:
    """Find the best candidates of one shard, numbered within it, and return the name of a temporary file in
    the study with them.
    """
    study = Study(job.study)
    models = job.models
    define = job.define
    rows = pool(read_corpus(study.root, job.number))
    best = duel.empty(models, define)
    alone = duel.empty_alone(models, define)
    if rows:
        counts, scale, ranks, families = read_block(study, rows, models, define)
        places = np.arange(len(rows))
        of = places if define["keep_duplicates"] else families
        agreement = None
        if on_maps := {} if job.ranks else pairs.read_on_maps(study, rows, models, define):
            agreement = combinations.ranked(duel.measured(counts, define, on_maps))
        if job.ranks:
            held = np.load(study.root / job.ranks, mmap_mode="r")
            agreement = np.array(held[:, :, 0, job.start : job.start + len(rows)])
        duel.take(best, counts, define, scale, places, ranks, of, alone, agreement)
    tick(len(rows))
    data = best.to_bytes()
    beside = b"" if alone is None else alone.to_bytes()
    whole = len(data).to_bytes(_SIZE, "little") + data + beside
    return fill.leave(study.root, f"select-{part_name(job.number)}", whole)


def read_block(
    study: Study, rows: list[Image], models: tuple[str, ...], define: Definition
) -> tuple[Pairs, Scale | None, np.ndarray, np.ndarray]:
    """Return what a definition asks about the images of one shard: their counts, the quartiles that constrain
    them, and (I,) their ranks among equals and numbers of their near-duplicate groups, both within the shard.
    """
    scale = None
    if define["scale"]:
        scale = from_json({"classes": define["scale"]}, resolve(study.classes), f"{study.place}: the scale")
    ranks = ties.tie_ranks([image.key for image in rows], ties.tie_seed(define), [image.id for image in rows])
    groups: dict[str, int] = {}
    families = np.array([groups.setdefault(image.near_duplicate_of, len(groups)) for image in rows])
    return pairs.read_block(study, rows, models), scale, ranks, families


def _tell_instances(study: Study, define: Definition) -> None:
    """Print which models have instances, where PQ chose the images."""
    names = combinations.measures(combinations.spelt(define))
    if combinations.PQ not in names:
        return
    told = models_with_instances(study)
    rest = [model for model in study.models if model not in told]
    of = [f"instances of {', '.join(told)}"] * bool(told)
    of += [f"connected regions of the maps of {', '.join(rest)}"] * bool(rest)
    print(f"note: pq is of {' and '.join(of)}")


def _tell_piles(slots: Slots) -> None:
    """Report how many images fill more than ten slots each, where the constraint allows it: a few hard images
    then represent many classes.
    """
    held = Counter(row.image for row in slots.chosen)
    piles = [image for image, number in held.most_common() if number > PILE]
    if slots.definition["constraints"] == "class" and piles:
        share = sum(held[image] for image in piles) / len(slots.chosen)
        of = f"{len(piles)} of the " if len(held) > 1 else ""
        print(
            f"note: {of}{counted(len(held), 'image')} decide{'s' * (len(piles) == 1)}"
            f" {100 * share:.0f} % of the comparisons of two models (most: {piles[0]}, {held[piles[0]]}); to"
            " spread them over more images, give --scale FILE, which `faultscape scale` makes from old masks"
        )


def _extended(
    name: str, was: Definition, given: dict[str, Any], constraints: str | None, quartiles: Scale | None
) -> Definition:
    """Return the definition of an existing selection with its numbers grown; SelectionError if any other
    option changed.
    """
    if combinations.changed(was):
        raise FixedSelectionError(
            f"selection {name!r} was made with {combinations.spelt(was)}, which has changed since; its "
            "definition is fixed: use --as NAME for another, or --replace to redraw it"
        )
    asked = {key: value for key, value in given.items() if key not in ("per_class", "spares")}
    asked |= {"constraints": constraints} if constraints else {}
    asked |= {"scale": to_json(quartiles)["classes"]} if quartiles is not None else {}
    held = {**was, "concordance": combinations.spelt(was)}
    for key, value in asked.items():
        if held.get(key) != value:
            words = f"{key} {held[key]}, not {value}" if key in held else f"no {key}"
            words = "another scale file, or none" if key == "scale" else words
            raise FixedSelectionError(
                f"selection {name!r} was made with {words}; its definition is fixed: use --as NAME for "
                "another, or --replace to redraw it"
            )
    grown: Definition = {**was}
    for key in ("per_class", "spares"):
        grown[key] = max(was[key], given.get(key, 0))
    return grown
