"""The pixels that points are drawn from: the tuples of labels that models give them, counted from the joint
runs of the stored maps, and what single pixels are.

Conventions: pixels are those of maps at working size, numbered row by row in each image; ``images`` are the
pool of the drawing (`drawable`), one of each group of near-duplicates, in the order among equals, for which
every model has a map, whether they are discarded or labelled. Labels are places of classes, C for a model
that says none of them; C + 1 stands for a truth that has no map of the image. Pixels nearer than ``border``
to a border of any model's map are left out. Images are read shard by shard, through the engines.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.maps import tuples
from faultscape.maps.borders import near_borders
from faultscape.maps.counts import joint_tuples
from faultscape.nouns import Definition, Point
from faultscape.progress import Tick
from faultscape.reading import fill
from faultscape.reading.fill import task
from faultscape.reading.maps import StoredMaps
from faultscape.reading.pool import read_drawing_pool
from faultscape.reading.study import Study
from faultscape.selection.draws import representatives
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name, read_corpus

if TYPE_CHECKING:
    from faultscape.study.parts import Part

_AT = "faultscape.reading.points.pool"


@dataclass(frozen=True, eq=False)
class PixelTuples:
    """Distinct tuples of labels (J, X) that J maps give pixels, in their order, and the pixels (X,) of each;
    the last row may be that of a truth.
    """

    labels: np.ndarray
    pixels: np.ndarray

    def places(self, said: np.ndarray, n: int) -> np.ndarray:
        """Return which of these tuples (M,) the labels ``said`` (J, M) are; labels are below ``n``."""
        return np.searchsorted(tuples.packed(self.labels, n), tuples.packed(said, n))


@dataclass(frozen=True, eq=False)
class PixelPool:
    """The pixels of a pool: ``unlabelled`` of images without a map of the truth, with the labels of J models,
    ``labelled`` of those with one, with the truth's as the last; and of some single points the labels (J, P)
    of the models, and the label (P,) of the truth.
    """

    unlabelled: PixelTuples
    labelled: PixelTuples
    said: np.ndarray
    shown: np.ndarray


def drawable(study: Study, models: Sequence[str], define: Definition) -> list[str]:
    """Return the images whose pixels a selection of points draws from, in the order among equals."""
    pool, _ = read_drawing_pool(study, define)
    ids = pool.ids.to_pylist()
    mapped = _mapped(study, models, set(pool.shards.tolist()))
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
class TuplesJob:
    """One shard whose tuples are counted: of its ``images``, those with a map of ``truth`` apart ('' for
    none), and the labels at some ``points`` (image, pixel).
    """

    study: str
    number: int
    models: tuple[str, ...]
    border: int
    images: tuple[str, ...]
    truth: str
    points: tuple[tuple[str, int], ...]


def read_point_pool(
    study: Study,
    models: Sequence[str],
    define: Definition,
    images: Sequence[str],
    *,
    truth: str = "",
    points: Sequence[Point] = (),
    engine: str = "local",
    workers: int | None = None,
) -> PixelPool:
    """Return the tuples of the pixels of some ``images``, and the labels at some ``points``, which may lie in
    others.
    """
    n = len(study.classes) + 1
    shard_of = study.corpus.shards_of({*images, *(point.image for point in points)})
    jobs = [
        TuplesJob(
            str(study.root),
            number,
            tuple(models),
            define.get("border", 0),
            tuple(image for image in images if shard_of[image] == number),
            truth,
            tuple((point.image, point.pixel) for point in points if shard_of[point.image] == number),
        )
        for number in sorted(set(shard_of.values()))
    ]
    found = _gathered(study, "count_tuples", jobs, len(shard_of), engine, workers)
    unlabelled = _read_tuples(found, "rest", len(models), n)
    labelled = _read_tuples(found, "known", len(models) + 1, n)
    said = np.zeros((len(models), len(points)), np.int64)
    shown = np.zeros(len(points), np.int64)
    places: dict[int, list[int]] = {}
    for place, point in enumerate(points):
        places.setdefault(shard_of[point.image], []).append(place)
    for job, held in zip(jobs, found, strict=True):
        mine = places.get(job.number, [])
        said[:, mine] = held["said"]
        shown[mine] = held["shown"]
    return PixelPool(unlabelled, labelled, said, shown)


@task(TuplesJob)
def count_tuples(job: TuplesJob, tick: Tick) -> str:
    """Count the tuples of one shard's images, and return the name of a temporary file in the study with
    them.
    """
    study = Study(job.study)
    n = len(study.classes) + 1
    asked: dict[str, list[int]] = {}
    for place, (image, _) in enumerate(job.points):
        asked.setdefault(image, []).append(place)
    inside = set(job.images)
    said = np.zeros((len(job.models), len(job.points)), np.int64)
    shown = np.full(len(job.points), n, np.int64)
    rest: list[tuple[np.ndarray, np.ndarray]] = []
    known: list[tuple[np.ndarray, np.ndarray]] = []
    for image, maps, near, truth in _stacks(
        study, job.number, job.models, job.border, inside | {*asked}, job.truth
    ):
        if image in inside:
            held, of = (rest, maps) if truth is None else (known, [*maps, truth])
            held.append(_counted(of, near, n))
        places = asked.get(image, [])
        pixels = [job.points[place][1] for place in places]
        for row, label_map in zip(said, maps, strict=True):
            row[places] = label_map.ravel()[pixels]
        if truth is not None:
            shown[places] = truth.ravel()[pixels]
        tick(1)
    sink = io.BytesIO()
    parts = {"rest": tuples.merged(rest), "known": tuples.merged(known)}
    words = {
        f"{kind} {what}": part[k] for kind, part in parts.items() for k, what in enumerate(("keys", "pixels"))
    }
    np.savez(sink, said=said, shown=shown, **words)  # type: ignore[arg-type]
    return fill.leave(study.root, f"tuples-{part_name(job.number)}", sink.getvalue())


@dataclass(frozen=True)
class MassJob:
    """One shard of whose ``images`` the mass is summed: over pixels, the probability of their tuples, which
    the file ``chances`` of the study holds.
    """

    study: str
    models: tuple[str, ...]
    border: int
    chances: str
    number: int
    images: tuple[str, ...]


@dataclass(frozen=True)
class PlaceJob:
    """One shard in whose images pixels are found: at each of the ``shares`` (image, 0 to 1) of the image's
    mass, row by row.
    """

    study: str
    models: tuple[str, ...]
    border: int
    chances: str
    number: int
    shares: tuple[tuple[str, float], ...]


def draw_pixels(
    study: Study,
    models: Sequence[str],
    define: Definition,
    images: Sequence[str],
    found: PixelTuples,
    chance: np.ndarray,
    numbers: np.ndarray,
    *,
    engine: str = "local",
    workers: int | None = None,
) -> list[tuple[str, int, float]]:
    """Return for each of the ``numbers`` (M,), from 0 to 1, the pixel that it draws, as (image, pixel, the
    probability of this pixel): ``chance`` (X,) is that of one pixel of each tuple of the pool.

    Images follow each other in their order, and their pixels row by row, so that neither the names of images
    nor the order of models decide what is drawn.
    """
    sink = io.BytesIO()
    np.savez(sink, keys=tuples.packed(found.labels, len(study.classes) + 1), chance=chance)
    name = fill.leave(study.root, "chances", sink.getvalue())
    work = _Work(study, tuple(models), define.get("border", 0), name, engine, workers)
    try:
        mass = work.masses(images)
        ends = np.cumsum(mass)
        at = numbers * ends[-1]
        chosen = np.minimum(np.searchsorted(ends, at, "right"), len(images) - 1)
        inside = (at - (ends - mass)[chosen]) / mass[chosen]
        shares: list[tuple[str, float]] = [
            (images[int(k)], share) for k, share in zip(chosen.tolist(), inside.tolist(), strict=True)
        ]
        return [(image, *one) for (image, _), one in zip(shares, work.pixels(shares), strict=True)]
    finally:
        (study.root / name).unlink()


@dataclass(frozen=True)
class _Work:
    """Draws from the images of a study, by the probabilities in one of its files (``chances``)."""

    study: Study
    models: tuple[str, ...]
    border: int
    chances: str
    engine: str
    workers: int | None

    def masses(self, images: Sequence[str]) -> np.ndarray:
        """Return the mass (I,) of some images."""
        shard_of = self.study.corpus.shards_of(images)
        about = str(self.study.root), self.models, self.border, self.chances
        jobs = [
            MassJob(*about, shard, tuple(image for image in images if shard_of[image] == shard))
            for shard in sorted(set(shard_of.values()))
        ]
        found = _gathered(self.study, "sum_masses", jobs, len(images), self.engine, self.workers)
        mass = dict[str, float]()
        for job, held in zip(jobs, found, strict=True):
            mass |= dict(zip(job.images, held["mass"].tolist(), strict=True))
        return np.array([mass[image] for image in images])

    def pixels(self, shares: Sequence[tuple[str, float]]) -> list[tuple[int, float]]:
        """Return the pixel at each of some ``shares`` (image, 0 to 1) of an image's mass, row by row, and its
        probability.
        """
        shard_of = self.study.corpus.shards_of({image for image, _ in shares})
        places: dict[int, list[int]] = {}
        for place, (image, _) in enumerate(shares):
            places.setdefault(shard_of[image], []).append(place)
        about = str(self.study.root), self.models, self.border, self.chances
        jobs = [
            PlaceJob(*about, shard, tuple(shares[place] for place in mine))
            for shard, mine in sorted(places.items())
        ]
        found = _gathered(self.study, "find_pixels", jobs, len(shard_of), self.engine, self.workers)
        pixel = np.zeros(len(shares), np.int64)
        chance = np.zeros(len(shares))
        for job, held in zip(jobs, found, strict=True):
            pixel[places[job.number]] = held["pixels"]
            chance[places[job.number]] = held["chance"]
        return list(zip(pixel.tolist(), chance.tolist(), strict=True))


@task(MassJob)
def sum_masses(job: MassJob, tick: Tick) -> str:
    """Sum the mass of each of one shard's images, and return the name of a temporary file in the study with
    them.
    """
    study = Study(job.study)
    chance = _Chances(study, job.chances)
    mass = dict[str, float]()
    for image, maps, near, _ in _stacks(study, job.number, job.models, job.border, set(job.images), ""):
        keys, pixels = tuples.merged([_counted(maps, near, chance.n)])
        mass[image] = float(chance.of(keys) @ pixels)
        tick(1)
    sink = io.BytesIO()
    np.savez(sink, mass=np.array([mass[image] for image in job.images]))
    return fill.leave(study.root, f"mass-{part_name(job.number)}", sink.getvalue())


@task(PlaceJob)
def find_pixels(job: PlaceJob, tick: Tick) -> str:
    """Find the pixels at some shares of the mass of one shard's images, and return the name of a temporary
    file in the study with them and their probabilities.
    """
    study = Study(job.study)
    chance = _Chances(study, job.chances)
    places: dict[str, list[int]] = {}
    for place, (image, _) in enumerate(job.shares):
        places.setdefault(image, []).append(place)
    pixels = np.zeros(len(job.shares), np.int64)
    found = np.zeros(len(job.shares))
    for image, maps, near, _ in _stacks(study, job.number, job.models, job.border, {*places}, ""):
        begins, long = joint_runs(maps, near)
        keys = tuples.packed(np.stack([m.ravel()[begins] for m in maps]), chance.n)
        one = chance.of(keys) if near is None else np.where(near.ravel()[begins], 0.0, chance.of(keys))
        ends = np.cumsum(one * long)
        mine = places[image]
        at = np.array([job.shares[k][1] for k in mine]) * ends[-1]
        run = np.searchsorted(ends, at, "right")
        run = np.minimum(
            run, np.flatnonzero(one)[-1]
        )  # rounding may lead past the last pixel that can be drawn
        into = (at - (ends[run] - one[run] * long[run])) / one[run]
        pixels[mine] = begins[run] + np.clip(into.astype(np.int64), 0, long[run] - 1)
        found[mine] = one[run]
        tick(1)
    sink = io.BytesIO()
    np.savez(sink, pixels=pixels, chance=found)
    return fill.leave(study.root, f"pixels-{part_name(job.number)}", sink.getvalue())


class _Chances:
    """The probability of one pixel of each tuple of a pool."""

    def __init__(self, study: Study, name: str) -> None:
        self.n = len(study.classes) + 1
        with np.load(study.root / name) as held:
            self._keys = held["keys"]
            self._chance = held["chance"]

    def of(self, keys: np.ndarray) -> np.ndarray:
        """Return the probabilities (X,) of tuples, by their keys; 0 for one that is not in the pool."""
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._chance[place], 0.0)


@dataclass(frozen=True)
class ValuesJob:
    """One shard of whose ``images`` values are summed over pixels: those of the tuples that the file
    ``values`` of the study holds, of images with a map of the ``truth`` with its labels as the last.
    """

    study: str
    models: tuple[str, ...]
    border: int
    values: str
    truth: str
    number: int
    images: tuple[str, ...]


def sum_values(
    study: Study,
    models: Sequence[str],
    define: Definition,
    images: Sequence[str],
    unlabelled: tuple[PixelTuples, np.ndarray],
    labelled: tuple[PixelTuples, np.ndarray],
    *,
    truth: str,
    engine: str,
) -> np.ndarray:
    """Return (K, I) the sums over the pixels of each of some images of the values (K, X) of their tuples."""
    n = len(study.classes) + 1
    sink = io.BytesIO()
    parts = {"rest": unlabelled, "known": labelled}
    arrays = {f"{kind} keys": tuples.packed(found.labels, n) for kind, (found, _) in parts.items()}
    np.savez(sink, **arrays, **{f"{kind} values": held for kind, (_, held) in parts.items()})  # type: ignore[arg-type]
    name = fill.leave(study.root, "values", sink.getvalue())
    about = str(study.root), tuple(models), define.get("border", 0), name, truth
    shard_of = study.corpus.shards_of(images)
    jobs = [
        ValuesJob(*about, shard, tuple(image for image in images if shard_of[image] == shard))
        for shard in sorted(set(shard_of.values()))
    ]
    out = dict[str, np.ndarray]()
    try:
        found = _gathered(study, "sum_of_images", jobs, len(images), engine, None)
    finally:
        (study.root / name).unlink()
    for job, held in zip(jobs, found, strict=True):
        out |= dict(zip(job.images, held["sums"].T, strict=True))
    return np.array([out[image] for image in images]).T


@task(ValuesJob)
def sum_of_images(job: ValuesJob, tick: Tick) -> str:
    """Sum the values of each of one shard's images, and return the name of a temporary file in the study with
    them.
    """
    study = Study(job.study)
    n = len(study.classes) + 1
    with np.load(study.root / job.values) as held:
        tables = {kind: (held[f"{kind} keys"], held[f"{kind} values"]) for kind in ("rest", "known")}
    sums = dict[str, np.ndarray]()
    wanted = set(job.images)
    for image, maps, near, truth in _stacks(study, job.number, job.models, job.border, wanted, job.truth):
        keys, pixels = tuples.merged([_counted([*maps, *([] if truth is None else [truth])], near, n)])
        known, values = tables["rest" if truth is None else "known"]
        sums[image] = values[:, np.searchsorted(known, keys)] @ pixels
        tick(1)
    sink = io.BytesIO()
    np.savez(sink, sums=np.array([sums[image] for image in job.images]).T)
    return fill.leave(study.root, f"sums-{part_name(job.number)}", sink.getvalue())


def joint_runs(maps: Sequence[np.ndarray], near: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return where the joint runs of maps (H, W) begin, as numbers of pixels row by row, and how many pixels
    each has; a run lies in one row, and in or outside of what is ``near`` a border.

    >>> begins, pixels = joint_runs([np.array([[0, 0, 1], [1, 1, 1]])])
    >>> begins.tolist(), pixels.tolist()
    ([0, 2, 3], [2, 1, 3])
    """
    first = np.ones(maps[0].shape, bool)
    first[:, 1:] = False
    for label_map in [*maps, *([] if near is None else [near])]:
        first[:, 1:] |= label_map[:, 1:] != label_map[:, :-1]
    begins = np.flatnonzero(first)
    return begins, np.diff(begins, append=first.size)


def _counted(maps: Sequence[np.ndarray], near: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys of the tuples of maps, and the pixels of each that are not ``near`` a border."""
    if near is None:
        columns, pixels = joint_tuples(maps, n)
    else:  # as one map more, which splits each tuple
        columns, pixels = joint_tuples([*maps, near.astype(maps[0].dtype)], n)
        pixels = pixels[columns[-1] == 0]
        columns = columns[:-1, columns[-1] == 0]
    return tuples.packed(columns, n), pixels


def _stacks(
    study: Study, shard: int, models: Sequence[str], border: int, wanted: Collection[str], truth: str
) -> Iterator[tuple[str, list[np.ndarray], np.ndarray | None, np.ndarray | None]]:
    """Yield the images ``wanted`` of a shard, with the maps of every model, which pixels are near a border
    (None where no border counts), and the map of a truth, or None. Maps are overwritten by the next ones.
    """
    root = study.root
    settings = study.settings
    classes = study.classes
    labels = [settings.models[model].labels for model in models]
    sources = [
        StoredMaps(label_maps.predictions(root, model), shard, table(classes, of), allowed(classes, of))
        for model, of in zip(models, labels, strict=True)
    ]
    if truth and _part(study, truth, shard):
        sources.append(StoredMaps(label_maps.truth(root, truth), shard, table(classes), allowed(classes)))
    for image in read_corpus(root, shard):
        if image.id not in wanted:
            continue
        size = settings.working_size or (image.width, image.height)
        stack = [source.read(image.id, size) for source in sources]
        maps = [label_map for label_map in stack[: len(models)] if label_map is not None]
        if len(maps) < len(models):
            continue  # it is not of the pool: a point of it asks about a model that was added
        near = np.any([near_borders(m, border) for m in maps], axis=0) if border else None
        yield image.id, maps, near, stack[-1] if len(stack) > len(models) else None


def _part(study: Study, truth: str, shard: int) -> Part | None:
    return study.manifest(label_maps.truth(study.root, truth)).get(part_name(shard))


def _gathered(
    study: Study, name: str, jobs: Sequence[Any], items: int, engine: str, workers: int | None
) -> list[dict[str, np.ndarray]]:
    """Return the arrays that a task leaves for each job."""
    out: list[dict[str, np.ndarray]] = [{}] * len(jobs)
    found = fill.gather(
        study.root, f"{_AT}:{name}", jobs, title="points", items=items, engine=engine, workers=workers
    )
    for place, data in found:
        with np.load(io.BytesIO(data)) as held:
            out[place] = {key: held[key] for key in held.files}
    return out


def _read_tuples(found: Sequence[dict[str, np.ndarray]], kind: str, maps: int, n: int) -> PixelTuples:
    keys, pixels = tuples.merged((held[f"{kind} keys"], held[f"{kind} pixels"]) for held in found)
    return PixelTuples(tuples.unpacked(keys, maps, n), pixels)


def image_pixels(image: Image, working: tuple[int, int] | None) -> int:
    """Return how many pixels the maps of an image have at working size."""
    width, height = working or (image.width, image.height)
    return width * height


def place_in_image(image: Image, working: tuple[int, int] | None, pixel: int) -> tuple[int, int]:
    """Return the row and the column in an image of a ``pixel`` of its maps at working size, as nearest
    neighbour takes it (`maps.resize.nearest`).
    """
    width, height = working or (image.width, image.height)
    row, column = divmod(pixel, width)
    return (2 * row + 1) * image.height // (2 * height), (2 * column + 1) * image.width // (2 * width)
