"""The pixels that points are drawn from: which images, sums over their tuples, and the draws.

Conventions: ``images`` are the pool of the drawing (`drawable`), one of each group of near-duplicates, in the
order among equals, for which every model has a map, whether they are discarded or labelled. Labels and tuples
are those of ``tuples``. Sums are made where tuples are, shard by shard, through the engines, and added in the
order of shards; no more than one shard's block of tuples is in memory.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from faultscape.nouns import Definition, Point
from faultscape.progress import Tick
from faultscape.ranking.points.belief import Belief
from faultscape.ranking.points.box_states import BoxStates
from faultscape.reading import fill
from faultscape.reading.boxes.open_classes import boxes_as_text
from faultscape.reading.fill import task
from faultscape.reading.points.tuples import Block, Scope, each_block, each_stack, labels_at, tuples_of
from faultscape.reading.pool import read_drawing_pool
from faultscape.reading.study import Study
from faultscape.selection.draws import representatives
from faultscape.selection.points.point_draws import along, nth_of
from faultscape.selection.points.probabilities import Allocation, mixed
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name

_AT = "faultscape.reading.points.pool"
_OF_BELIEF = ("votes", "bias", "boxed")
Arrays = Mapping[str, np.ndarray]


def drawable(study: Study, models: Sequence[str], define: Definition) -> list[str]:
    """Return the images whose pixels a selection of points draws from, none that trained one of the models,
    in the order among equals.
    """
    pool, _ = read_drawing_pool(study, define)
    ids = pool.ids.to_pylist()
    mapped = _mapped(study, models, set(pool.shards.tolist()))
    mapped = mapped.difference(*(study.trained_on(model) for model in models))
    complete = np.array([id_ in mapped for id_ in ids], bool)
    return [ids[k] for k in np.flatnonzero(complete & representatives(pool.families, complete)).tolist()]


def lacking_maps(study: Study, models: Sequence[str], images: Sequence[str]) -> list[str]:
    """Return the models that have no map of some of these images."""
    shards = set(study.corpus.shards_of(images).values())
    return [model for model in models if not _mapped(study, [model], shards) >= set(images)]


def _mapped(study: Study, models: Sequence[str], shards: Collection[int]) -> set[str]:
    """Return the images of some shards of which every model has a map."""
    out = set[str]()
    for shard in shards:
        held = [_ids(study, model, shard) for model in models]
        out |= set.intersection(*held) if held else set()
    return out


def _ids(study: Study, model: str, shard: int) -> set[str]:
    part = study.stored_maps[model].get(part_name(shard))
    return set(label_maps.read_ids(label_maps.predictions(study.root, model), shard, part)) if part else set()


@dataclass(frozen=True)
class PixelJob:
    """One shard of a pool: its ``images``, and which of them count. ``points`` (image, pixel) are pixels to
    look at, ``shares`` (image, 0 to 1) where pixels are drawn; ``boxed`` (image, its boxes as text) are the
    boxes of its truth, and ``asked`` is a file of the study with what else a task needs.
    """

    study: str
    scope: Scope
    number: int
    images: tuple[str, ...]
    counted: tuple[bool, ...]
    points: tuple[tuple[str, int], ...] = ()
    shares: tuple[tuple[str, float], ...] = ()
    boxed: tuple[tuple[str, str], ...] = ()
    asked: str = ""

    @property
    def blocks(self) -> Iterator[Block]:
        """The tuples of all images."""
        return each_block(Study(self.study), self.scope, self.number, self.images, dict(self.boxed))

    @property
    def arrays(self) -> Arrays:
        """What a task needs."""
        with np.load(Study(self.study).root / self.asked) as held:
            return {name: held[name] for name in held.files}

    def leave(self, what: str, arrays: Arrays) -> str:
        """Store a result, and return the name of its temporary file in the study."""
        return _leave(Study(self.study), f"{what}-{part_name(self.number)}", arrays)


@dataclass(frozen=True, eq=False)
class StoredPool:
    """The pixels of some ``images``, of which some are ``counted`` (I,), as an estimate takes them
    (`ranking.points.pool.Pool`): ``said`` (J, P) are the labels of the models at the points asked for,
    ``shown`` (P,) those of the truth, C + 1 where it has no map, and ``boxes`` what those of the images that
    are ``boxed`` {image: its boxes as text} leave open there.

    Of each image (I,) how many ``pixels`` it has, and whether it is ``labelled``; of those that count and
    are not, how many pixels a model predicts as what (``predicted``, (J, C + 1)); of those that are, the
    confusion counts ``known`` (J, C + 1, C + 1).
    """

    study: Study
    scope: Scope
    images: tuple[str, ...]
    counted: np.ndarray
    boxed: Mapping[str, str]
    engine: str
    workers: int | None
    classes: int
    said: np.ndarray
    shown: np.ndarray
    boxes: BoxStates | None
    pixels: np.ndarray
    labelled: np.ndarray
    predicted: np.ndarray
    known: np.ndarray

    @property
    def models(self) -> int:
        """J."""
        return len(self.scope.models)

    @property
    def size(self) -> float:
        """The pixels of the images that count and have no map of the truth."""
        return float(self.pixels[self.counted & ~self.labelled].sum())

    @property
    def known_size(self) -> int:
        """The pixels of the images that count and have one."""
        return int(self.pixels[self.counted & self.labelled].sum())

    @property
    def boxed_number(self) -> int:
        """How many images that count have boxes and no map."""
        rest = np.flatnonzero(self.counted & ~self.labelled)
        return sum(self.images[k] in self.boxed for k in rest.tolist())

    def confusions(self, beliefs: Sequence[Belief]) -> list[np.ndarray]:
        """Return (J, C + 1, Y) what each belief expects of the images that count and have no map."""
        each = [_of_belief(belief) for belief in beliefs]
        arrays = {name: np.array([one[name] for one in each]) for name in each[0]}
        return list(np.sum([held["expected"] for _, held in self._ask("expect", arrays)], axis=0))

    def slopes(self, belief: Belief, slopes: np.ndarray) -> np.ndarray:
        """Return (J, I) the sums of ``slopes`` (J, C + 1, C + 1) over the pixels of each image that counts,
        expected or as its map shows.
        """
        arrays = _of_belief(belief) | {"slopes": slopes}
        return self._by_image("sum_slopes", arrays)[:, self.counted]

    def draw(self, by: Allocation, numbers: np.ndarray) -> list[tuple[str, int, float]]:
        """Return for each of the ``numbers`` (L, K), from 0 to 1, the pixel that it draws, row by row, as
        (image, pixel, the probability of this pixel): the first of a row draws an image too, the others
        pixels of the same image.

        Images follow each other in their order, tuples as an image shows them, and their pixels row by row,
        so that neither the names of images nor the order of models decide what is drawn.
        """
        arrays = _arrays_of(by)
        weights = self._by_image("weigh", arrays)
        totals = weights.sum(1)
        place, inside = along(mixed(weights, totals), numbers[:, 0])
        of_look = np.column_stack([inside, numbers[:, 1:]]).tolist()
        shares = [
            (self.images[k], share) for k, row in zip(place.tolist(), of_look, strict=True) for share in row
        ]
        out = [("", 0, 0.0)] * len(shares)
        places: dict[int, list[int]] = {}
        shard_of = self._shard_of
        for k, (image, _) in enumerate(shares):
            places.setdefault(shard_of[image], []).append(k)
        jobs = [
            replace(job, shares=tuple(shares[k] for k in places[job.number]))
            for job in self._jobs
            if job.number in places
        ]
        for job, held in self._ask("find", {**arrays, "totals": totals}, jobs):
            found = zip(places[job.number], held["pixel"].tolist(), held["probability"].tolist(), strict=True)
            for k, pixel, probability in found:
                out[k] = shares[k][0], pixel, probability
        return out

    @cached_property
    def _shard_of(self) -> dict[str, int]:
        return self.study.corpus.shards_of(self.images)

    @cached_property
    def _jobs(self) -> list[PixelJob]:
        return _jobs(self.study, self.scope, self.images, self.counted, self.boxed)

    def _by_image(self, name: str, arrays: Arrays) -> np.ndarray:
        """Return the sums (K, I) that a task makes for each image."""
        place = {image: k for k, image in enumerate(self.images)}
        parts = [(job, held["sums"]) for job, held in self._ask(name, arrays)]
        out = np.zeros((len(parts[0][1]), len(self.images)))
        for job, sums in parts:
            out[:, [place[image] for image in job.images]] = sums
        return out

    def _ask(
        self, name: str, arrays: Arrays, jobs: Sequence[PixelJob] | None = None
    ) -> list[tuple[PixelJob, Arrays]]:
        """Return what a task finds in each shard, with ``arrays`` to go by."""
        asked = _leave(self.study, name, arrays)
        try:
            todo = [replace(job, asked=asked) for job in (self._jobs if jobs is None else jobs)]
            return _run(self.study, name, todo, self.engine, self.workers)
        finally:
            (self.study.root / asked).unlink()


def read_point_pool(
    study: Study,
    scope: Scope,
    images: Sequence[str],
    counted: np.ndarray | None = None,
    *,
    points: Sequence[Point] = (),
    engine: str = "local",
    workers: int | None = None,
) -> StoredPool:
    """Return the pixels of some ``images``, of which those ``counted`` (I,) count, by default all, and the
    labels at some ``points``, which may lie in others.
    """
    counts = np.ones(len(images), bool) if counted is None else counted
    boxed = boxes_as_text(study, scope.truth)
    jobs = _jobs(study, scope, images, counts, boxed, points)
    place = {image: k for k, image in enumerate(images)}
    side = len(study.classes) + 1
    pixels = np.zeros(len(images), np.int64)
    labelled = np.zeros(len(images), bool)
    predicted = np.zeros((len(scope.models), side), np.int64)
    known = np.zeros((len(scope.models), side, side), np.int64)
    said = np.zeros((len(scope.models), len(points)), np.int64)
    shown = np.zeros(len(points), np.int64)
    states = np.zeros((len(points), side - 1), np.uint8)
    shard_of = study.corpus.shards_of({point.image for point in points})
    mine: dict[int, list[int]] = {}
    for k, point in enumerate(points):
        mine.setdefault(shard_of[point.image], []).append(k)
    for job, held in _run(study, "survey", jobs, engine, workers):
        at = [place[image] for image in job.images]
        pixels[at] = held["pixels"]
        labelled[at] = held["labelled"]
        predicted += held["predicted"]
        known += held["known"]
        asked = mine.get(job.number, [])
        said[:, asked] = held["said"]
        shown[asked] = held["shown"]
        states[asked] = held.get("states", 0)
    boxes = BoxStates(*np.unique(states, axis=0, return_inverse=True)) if states.any() else None
    about = (study, scope, tuple(images), counts, boxed, engine, workers, side - 1)
    return StoredPool(*about, said, shown, boxes, pixels, labelled, predicted, known)


@task(PixelJob)
def survey(job: PixelJob, tick: Tick) -> str:
    """Count the pixels of a shard's images, what models predict there, and of labelled ones the confusion
    counts; and look at its points.
    """
    study = Study(job.study)
    side = len(study.classes) + 1
    counted = np.array(job.counted, bool)
    pixels = np.zeros(len(job.images), np.int64)
    labelled = np.zeros(len(job.images), bool)
    predicted = np.zeros((len(job.scope.models), side), np.int64)
    known = np.zeros((len(job.scope.models), side**2), np.int64)
    for block in job.blocks:
        counts = counted[block.images]
        mapped = ~_unlabelled(block, side)[block.place]
        pixels += np.bincount(block.images, block.pixels, len(job.images)).astype(np.int64)
        labelled[block.images[mapped]] = True
        rest = block.of_tuples(counts & ~mapped)
        inside = block.of_tuples(counts & mapped)
        there = np.flatnonzero(inside)
        truth = block.labels[-1, there]
        for j, own in enumerate(block.labels[:-1]):
            predicted[j] += np.bincount(own, rest, side).astype(np.int64)
            cells = own[there].astype(np.int64) * side + truth
            known[j] += np.bincount(cells, inside[there], side**2).astype(np.int64)
        tick(len(block.ends))
    at_points = labels_at(study, job.scope, job.number, job.points, dict(job.boxed))
    found = {"pixels": pixels, "labelled": labelled, "predicted": predicted}
    return job.leave("survey", found | at_points | {"known": known.reshape(-1, side, side)})


@task(PixelJob)
def expect(job: PixelJob, tick: Tick) -> str:
    """Sum what beliefs expect of a shard's images that count and have no map."""
    arrays = job.arrays
    each = zip(*(arrays[name] for name in _OF_BELIEF), strict=True)
    beliefs = [Belief(*one) for one in each]
    expected = np.zeros(arrays["votes"].shape)
    counted = np.array(job.counted, bool)
    for block in job.blocks:
        pixels = block.of_tuples(counted[block.images]) * _unlabelled(block, arrays["votes"].shape[2])
        asked = np.flatnonzero(pixels)
        said = np.ascontiguousarray(block.labels[:-1, asked])
        pixels = pixels[asked]
        boxes = block.boxes and block.boxes.of(asked)
        expected += [belief.confusion(said, pixels, boxes) for belief in beliefs]
        tick(len(block.ends))
    return job.leave("expected", {"expected": expected})


@task(PixelJob)
def sum_slopes(job: PixelJob, tick: Tick) -> str:
    """Sum slopes over the pixels of each of a shard's images."""
    arrays = job.arrays
    slopes = arrays["slopes"]
    belief = _belief_of(arrays)
    sums = np.zeros((len(slopes), len(job.images)))
    for block in job.blocks:
        *labels, truth = block.labels
        said = np.array(labels)
        of_known = np.ascontiguousarray(slopes[:, :, : len(belief.bias)])
        values = belief.slopes(said, of_known, block.boxes)
        known = ~_unlabelled(block, slopes.shape[1])
        for own, table, row in zip(values, slopes, said, strict=True):
            own[known] = table[row[known], truth[known]]
        sums += _sums(block, values, len(job.images))
        tick(len(block.ends))
    return job.leave("slopes", {"sums": sums})


@task(PixelJob)
def weigh(job: PixelJob, tick: Tick) -> str:
    """Sum the weights by which pixels are drawn over each of a shard's images that count and have no map."""
    arrays = job.arrays
    by = _allocation_of(arrays)
    counted = np.array(job.counted, bool)
    sums = np.zeros((3, len(job.images)))
    for block in job.blocks:
        weights = by.weights(np.ascontiguousarray(block.labels[:-1]), block.boxes)
        weights *= _unlabelled(block, arrays["slopes"].shape[1])
        sums += _sums(block, weights, len(job.images)) * counted
        tick(len(block.ends))
    return job.leave("weights", {"sums": sums})


@task(PixelJob)
def find(job: PixelJob, tick: Tick) -> str:
    """Find the pixels at some shares of what a shard's images weigh, and their probabilities."""
    arrays = job.arrays
    by = _allocation_of(arrays)
    n = arrays["slopes"].shape[1]
    places: dict[str, list[int]] = {}
    for place, (image, _) in enumerate(job.shares):
        places.setdefault(image, []).append(place)
    pixel = np.zeros(len(job.shares), np.int64)
    probability = np.zeros(len(job.shares))
    for image, maps, near, _, told in each_stack(
        Study(job.study), job.scope, job.number, places, dict(job.boxed)
    ):
        labels, pixels, boxes = tuples_of(maps, near, n, told)
        one = mixed(by.weights(labels, boxes), arrays["totals"])
        mine = places[image]
        rows, inside = along(one * pixels, [job.shares[k][1] for k in mine])
        for k, row, nth in zip(mine, rows, nth_of(inside, pixels[rows]), strict=True):
            there = np.ones(maps[0].shape, bool) if near is None else ~near
            for label_map, label in zip(maps, labels[:, row], strict=True):
                there &= label_map == label
            if told is not None and boxes is not None:
                there &= told.rows == boxes.place[row]
            pixel[k] = np.flatnonzero(there)[nth]
            probability[k] = one[row]
        tick(1)
    return job.leave("pixels", {"pixel": pixel, "probability": probability})


def _jobs(
    study: Study,
    scope: Scope,
    images: Sequence[str],
    counted: np.ndarray,
    boxed: Mapping[str, str],
    points: Sequence[Point] = (),
) -> list[PixelJob]:
    """Return a job for each shard with images or points."""
    shard_of = study.corpus.shards_of({*images, *(point.image for point in points)})
    inside: dict[int, tuple[list[str], list[bool]]] = {shard: ([], []) for shard in shard_of.values()}
    for image, counts in zip(images, counted.tolist(), strict=True):
        ids, counting = inside[shard_of[image]]
        ids.append(image)
        counting.append(counts)
    asked: dict[int, list[tuple[str, int]]] = {}
    for point in points:
        asked.setdefault(shard_of[point.image], []).append((point.image, point.pixel))
    out = []
    for shard, (ids, counting) in sorted(inside.items()):
        mine = tuple(asked.get(shard, ()))
        there = dict.fromkeys((*ids, *(image for image, _ in mine)))
        of_boxes = tuple((image, boxed[image]) for image in there if image in boxed)
        out.append(PixelJob(str(study.root), scope, shard, tuple(ids), tuple(counting), mine, boxed=of_boxes))
    return out


def _run(
    study: Study, name: str, jobs: Sequence[PixelJob], engine: str, workers: int | None
) -> list[tuple[PixelJob, Arrays]]:
    """Return the arrays that a task leaves for each job, in their order."""
    out: list[Arrays] = [{}] * len(jobs)
    items = sum(len({image for image, _ in job.shares}) if job.shares else len(job.images) for job in jobs)
    found = fill.gather(
        study.root, f"{_AT}:{name}", jobs, title="points", items=items, engine=engine, workers=workers
    )
    for place, data in found:
        with np.load(io.BytesIO(data)) as held:
            out[place] = {key: held[key] for key in held.files}
    return list(zip(jobs, out, strict=True))


def _leave(study: Study, name: str, arrays: Arrays) -> str:
    sink = io.BytesIO()
    np.savez(sink, **arrays)  # type: ignore[arg-type]
    return fill.leave(study.root, name, sink.getvalue())


def _arrays_of(by: Allocation) -> dict[str, Any]:
    return _of_belief(by.belief) | {
        "slopes": by.slopes,
        "weights": by.variance_weights,
        "reference": by.reference,
        "area": by.area,
    }


def _allocation_of(arrays: Arrays) -> Allocation:
    return Allocation(
        _belief_of(arrays), *(arrays[name] for name in ("slopes", "weights", "reference", "area"))
    )


def _of_belief(belief: Belief) -> dict[str, np.ndarray]:
    return {name: getattr(belief, name) for name in _OF_BELIEF}


def _belief_of(arrays: Arrays) -> Belief:
    return Belief(*(arrays[name] for name in _OF_BELIEF))


def _unlabelled(block: Block, side: int) -> np.ndarray:
    """Return which tuples (X,) lie in images without a map of the truth."""
    return block.labels[-1] >= side


def _sums(block: Block, values: np.ndarray, images: int) -> np.ndarray:
    """Return (K, I) the sums over the pixels of each image of values (K, X) of its tuples."""
    return np.array([np.bincount(block.images, row[block.place] * block.pixels, images) for row in values])
