"""What duels of label maps would give with a smaller pool, one of another make, or twice as many images.

Conventions: the pool is divided at random into parts of equal size, whole groups and near-duplicates each;
each part has its own duels, and those of joined parts are the best of both. A mean concordance is one over
slots, a score of a model the mean over the distinct chosen images. ``levels`` come newest first: entry k has,
for each split, the pools of the size of the whole / 2**k.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from faultscape import ties
from faultscape.classes.class_lists import resolve
from faultscape.comparison import combinations
from faultscape.errors import SelectionError
from faultscape.nouns import Definition
from faultscape.progress import Tick
from faultscape.ranking.agreement import spearman
from faultscape.reading import evidence, fill
from faultscape.reading.fill import task
from faultscape.reading.pairs import read_on_maps
from faultscape.reading.study import Study
from faultscape.selection import duel
from faultscape.selection.best import Best
from faultscape.study.settings import AS_WRITTEN
from faultscape.study.tables import selections
from faultscape.study.tables.corpus import part_name, pool, read_corpus
from faultscape.study.tables.pool import Pool, read_groups, read_pool
from faultscape.verbs.plan.artefact import holds_duels
from faultscape.verbs.plan.pool_growth import LEAST_PARTS, LEAST_UNITS, divide, next_change, part_count
from faultscape.verbs.plan.result import PoolOutlook, PoolPart, PoolSize, Twice
from faultscape.verbs.select.duels import read_block

_SPLITS = 4  # of a small pool, whose division matters
_SMALL = 20_000  # images
_MOST_VALUES = 15  # of one of these
_LABELLED = 0.9  # of the images that pools chose: where fewer are, nothing is said of models
_NONE = "-"
_FIRST = ord("0")
_SIZE = 8  # bytes of the length of each part


@dataclass(frozen=True)
class PoolJob:
    """The search in one shard for the best candidates of several parts of the pool.

    Each of ``divisions`` has a character for each image of the shard's pool, `_FIRST` for the first of its
    parts and so on, `_NONE` for no part; ``parts`` says how many parts each has.
    """

    study: str
    number: int
    models: tuple[str, ...]
    define: Annotated[Definition, AS_WRITTEN]
    divisions: tuple[str, ...]
    parts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Division:
    """The pool in parts: (I,) the part of each image, -1 for none, and what each part is called."""

    part: np.ndarray
    words: tuple[str, ...]

    @property
    def sizes(self) -> list[int]:
        """How many images each part has."""
        return np.bincount(self.part[self.part >= 0], minlength=len(self.words)).tolist()

    def letters(self) -> str:
        """The part of each image as a character."""
        return bytes(np.where(self.part < 0, ord(_NONE), self.part + _FIRST).astype(np.uint8)).decode()


@dataclass(frozen=True, eq=False)
class Duels:
    """The duels of a pool of so many ``images``: the mean ``concordance`` of its slots, NaN without any, and
    the places in the corpus of their images.
    """

    images: int
    concordance: float
    slots: np.ndarray

    @classmethod
    def of(cls, best: Best, images: int, define: Definition) -> Duels:
        """Read the cells of a pool."""
        per_class = define["per_class"]
        chosen = best.images[..., :per_class]
        there = chosen >= 0
        keys = best.keys[..., :per_class][there] / 1e12
        return cls(images, float(keys.mean()) if len(keys) else np.nan, chosen[there])


@dataclass(frozen=True, eq=False)
class Scores:
    """(J, I) the models' scores on labelled images, by the places of these in the corpus."""

    columns: Mapping[int, int]
    values: np.ndarray

    def labelled(self, places: np.ndarray) -> float:
        """Return the share of images that have a label; NaN for no image."""
        known = [place in self.columns for place in np.unique(places).tolist()]
        return float(np.mean(known)) if known else np.nan

    def of(self, found: Duels) -> np.ndarray:
        """Return (J,) the mean scores on the images that duels chose; NaN where too few of them are
        labelled.
        """
        if not self.labelled(found.slots) >= _LABELLED:
            return np.full(len(self.values), np.nan)
        held = [self.columns[place] for place in np.unique(found.slots).tolist() if place in self.columns]
        return self.values[:, held].mean(1)


def pool_outlook(
    study: Study, models: tuple[str, ...], truth: str, *, seed: int, engine: str, workers: int | None
) -> PoolOutlook:
    """Return the outcomes of duels in parts of a study's pool, and what they lead to expect of twice as many
    images; SelectionError for a pool too small to be divided, or of which duels choose none.
    """
    define = _definition(study, models)
    drawn = read_pool(study.corpus, seed=ties.tie_seed(define))
    splits = _splits(study, drawn, seed)
    makes = _makes(study)
    best = _search(study, models, define, drawn, [*splits, *makes], engine=engine, workers=workers)
    grown = [
        [[Duels.of(one, images, define) for one, images in level] for level in _joined(own, of.sizes)]
        for own, of in zip(best, splits, strict=False)
    ]
    levels = [list(pools) for pools in zip(*grown, strict=True)]
    scores = _scores(study, models, truth, define, drawn, levels)
    orders = _changes(levels, lambda whole, half: 1 - float(spearman(scores.of(whole), scores.of(half))))
    falls = _changes(levels, lambda whole, half: half.concordance - whole.concordance)
    whole = levels[0][0][0]
    if not len(whole.slots):
        raise SelectionError(
            "--pool: duels choose no image, since the models differ on none; add a model that differs, or"
            " plan without --pool"
        )
    return {
        "sizes": [_size_row(pools, orders[k - 1] if k else None) for k, pools in enumerate(levels)],
        "twice": _twice(whole, levels, falls, orders),
        "make": [
            row
            for own, of in zip(best[len(splits) :], makes, strict=True)
            for row in _make_rows(own, of, define, levels)
        ],
        "labelled": scores.labelled(whole.slots),
    }


def _definition(study: Study, models: tuple[str, ...]) -> Definition:
    """Return the definition of the duels of selection main, by its first measure and without spares, or of
    those that `select` makes by default.
    """
    held = duel.definition(
        resolve(study.classes), constraints=None, scale=None, **{**duel.DEFAULTS, "spares": 0}
    )
    if selections.MAIN in study.selections:
        slots = study.selection(selections.MAIN).now
        if holds_duels(slots, models):
            kept = {key: value for key, value in slots.definition.items() if key in held}
            return {**held, **kept, "spares": 0, "keep_duplicates": False}  # type: ignore[typeddict-item]
    return held


def _splits(study: Study, drawn: Pool, seed: int) -> list[Division]:
    """Return the pool in equal parts, several times at random where it is small; SelectionError where it is
    too small to be divided.
    """
    groups = read_groups(study.corpus)
    units = drawn.families
    if groups:
        numbers = {group: len(drawn) + k for k, group in enumerate(sorted({*groups.values()}))}
        ids = drawn.ids.to_pylist()
        units = np.array([numbers[groups[i]] if i in groups else f for i, f in zip(ids, units, strict=True)])
    number = len(np.unique(units))
    parts = part_count(number)
    if not parts:
        raise SelectionError(
            f"--pool divides the pool into parts, and needs {LEAST_PARTS * LEAST_UNITS}"
            f" {'groups' if groups else 'images'} for it; the pool has {number}"
            f"{'' if groups else ', near-duplicates once'}"
        )
    words = tuple(map(str, range(parts)))
    return [
        Division(divide(units, drawn.ranks, parts, np.random.default_rng([seed, split])), words)
        for split in range(_SPLITS if len(drawn) <= _SMALL else 1)
    ]


def _makes(study: Study) -> list[Division]:
    """Return the pool by sets, by conditions, and each tag against all else, where images differ in it."""
    rows = study.corpus.each_row("id", "role", "set", "condition")
    inside = [(id_, set_, condition) for id_, role, set_, condition in rows if role == "pool"]
    found = []
    for key, place in (("set", 1), ("condition", 2)):
        values = sorted({row[place] for row in inside})
        if 1 < len(values) <= _MOST_VALUES:
            part = np.array([values.index(row[place]) for row in inside])
            found.append(Division(part, tuple(f"{key}={value}" for value in values)))
    tagged: dict[str, set[str]] = {}
    for tag in study.tags:
        if not tag.model:
            tagged.setdefault(tag.tag, set()).add(tag.image)
    for name, images in sorted(tagged.items())[:_MOST_VALUES]:
        part = np.array([0 if row[0] in images else -1 for row in inside])
        found.append(Division(part, (f"tag={name}",)))
    return found


def _search(
    study: Study,
    models: tuple[str, ...],
    define: Definition,
    drawn: Pool,
    divisions: Sequence[Division],
    *,
    engine: str,
    workers: int | None,
) -> list[list[Best]]:
    """Return the cells of each part of each division."""
    letters = [of.letters() for of in divisions]
    parts = tuple(len(of.words) for of in divisions)
    numbers = sorted(study.shard_sizes)
    starts = np.searchsorted(drawn.shards, numbers).tolist()
    jobs = [
        PoolJob(str(study.root), number, models, define, tuple(text[start:end] for text in letters), parts)
        for number, start, end in zip(numbers, starts, [*starts[1:], len(drawn)], strict=True)
    ]
    best = [[duel.empty(models, define) for _ in of.words] for of in divisions]
    for place, data in fill.gather(
        study.root,
        "faultscape.verbs.plan.pool:shard",
        jobs,
        title="pool",
        items=len(drawn),
        engine=engine,
        workers=workers,
    ):
        source = io.BytesIO(data)
        for cells in (one for of in best for one in of):
            found = Best.of_bytes(source.read(int.from_bytes(source.read(_SIZE), "little")))
            found.renumber(starts[place], drawn.ranks, drawn.families)
            cells.merge(found)
    return best


@task(PoolJob)
def shard(job: PoolJob, tick: Tick) -> str:
    """Find the best candidates of each part in one shard, and return the name of a temporary file in the
    study with them.
    """
    study = Study(job.study)
    rows = pool(read_corpus(study.root, job.number))
    best = [[duel.empty(job.models, job.define) for _ in range(number)] for number in job.parts]
    if rows:
        counts, scale, ranks, families = read_block(study, rows, job.models, job.define)
        on_maps = read_on_maps(study, rows, job.models, job.define)
        agreement = combinations.ranked(duel.measured(counts, job.define, on_maps))
        member = duel.members(counts, job.define["constraints"], scale)
        for of, letters in zip(best, job.divisions, strict=True):
            part = np.frombuffer(letters.encode(), np.uint8).astype(int) - _FIRST
            for number, cells in enumerate(of):
                here = np.flatnonzero(part == number)
                cells.offer(agreement[..., here], member[:, here], here, ranks[here], families[here])
    tick(len(rows))
    codes = [one.to_bytes() for of in best for one in of]
    data = b"".join(len(code).to_bytes(_SIZE, "little") + code for code in codes)
    return fill.leave(study.root, f"pool-{part_name(job.number)}", data)


def _joined(parts: Sequence[Best], sizes: Sequence[int]) -> list[list[tuple[Best, int]]]:
    """Return the pools that parts make as they are joined two by two, the whole first, with their images."""
    levels = [list(zip(parts, sizes, strict=True))]
    while len(levels[0]) > 1:
        pairs = zip(levels[0][::2], levels[0][1::2], strict=True)
        levels.insert(0, [(_both(first, second), a + b) for (first, a), (second, b) in pairs])
    return levels


def _both(first: Best, second: Best) -> Best:
    found = Best(0, 0, 0)
    found.entries = first.entries
    found.pools = first.pools
    found.merge(second)
    return found


def _scores(
    study: Study,
    models: tuple[str, ...],
    truth: str,
    define: Definition,
    drawn: Pool,
    levels: Sequence[Sequence[Sequence[Duels]]],
) -> Scores:
    """Return the scores of the models on all images that some pool chose and that are labelled."""
    if truth not in study.truths:
        return Scores({}, np.zeros((len(models), 0)))
    images, values = evidence.scores(study, models, truth, define, study.discarded)
    column = {image: k for k, image in enumerate(images) if not np.isnan(values[:, k]).any()}
    chosen = np.unique(np.concatenate([of.slots for pools in levels for split in pools for of in split]))
    names = drawn.names(chosen)
    return Scores({place: column[name] for place, name in names.items() if name in column}, values)


def _changes(
    levels: Sequence[Sequence[Sequence[Duels]]], change: Callable[[Duels, Duels], float]
) -> list[np.ndarray]:
    """Return (splits, pools, 2) of each level: what ``change`` says of each pool and each of its halves."""
    return [
        np.array(
            [
                [[change(whole, halves[2 * k + h]) for h in (0, 1)] for k, whole in enumerate(wholes)]
                for wholes, halves in zip(now, before, strict=True)
            ]
        )
        for now, before in pairwise(levels)
    ]


def _size_row(pools: Sequence[Sequence[Duels]], orders: np.ndarray | None) -> PoolSize:
    every = [of for split in pools for of in split]
    return {
        "images": round(float(np.mean([of.images for of in every]))),
        "pools": 1 if len(pools[0]) == 1 else len(every),  # the whole is the same in every split
        "chosen": float(np.mean([len(np.unique(of.slots)) for of in every])),
        "concordance": float(np.nanmean([of.concordance for of in every])),
        "spearman": None if orders is None or np.isnan(orders).any() else 1 - float(orders.mean()),
    }


def _twice(
    whole: Duels,
    levels: Sequence[Sequence[Sequence[Duels]]],
    falls: Sequence[np.ndarray],
    orders: Sequence[np.ndarray],
) -> Twice:
    """Return what twice as many images are expected to choose, whose minima are as low or lower."""
    fall, least, most = next_change(falls)
    concordance = [whole.concordance - min(max(end, 0.0), whole.concordance) for end in (fall, most, least)]
    apart, near, far = next_change(orders)
    order = [1 - min(max(end, 0.0), 2.0) for end in (apart, far, near)]
    kept = _changes(levels, lambda all_, half: float(np.isin(all_.slots, half.slots).mean()))
    return {
        "images": 2 * whole.images,
        "concordance": None if np.isnan(fall) else concordance,
        "spearman": None if np.isnan(apart) else order,
        "new": 1 - float(kept[0].mean()),
    }


def _make_rows(
    best: Sequence[Best], of: Division, define: Definition, levels: Sequence[Sequence[Sequence[Duels]]]
) -> Iterator[PoolPart]:
    """Yield the parts of a make that are as large as the smallest random pools, beside random ones of their
    size: their mean and how far 95 % of them lie from it, between sizes in proportion to the logarithm.
    """
    flat = [[one for split in pools for one in split] for pools in levels][::-1]
    sizes = np.log([np.mean([one.images for one in pools]) for pools in flat])
    means = [np.nanmean([one.concordance for one in pools]) for pools in flat]
    errors = [np.nanstd([one.concordance for one in pools]) for pools in flat[:-1]]
    for cells, images, words in zip(best, of.sizes, of.words, strict=True):
        found = Duels.of(cells, images, define)
        if images < np.exp(sizes[0]) or images >= np.exp(sizes[-1]) or np.isnan(found.concordance):
            continue
        mean = float(np.interp(np.log(images), sizes, means))
        half = 1.96 * float(np.interp(np.log(images), sizes[:-1], errors))
        yield {
            "make": words,
            "images": images,
            "concordance": found.concordance,
            "random": [mean, max(0.0, mean - half), mean + half],
        }
