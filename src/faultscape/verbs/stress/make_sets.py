"""Make sets by the recipe of a command: enter their images, make their own labels, and write them on request.

Conventions: new images get their own shards, changed ones keep theirs, and those whose parents left also
leave. A shard holds images of one made set. The entry of a set in sets.json is written before its rows,
without inputs, and again with inputs once the rows and its own labels exist: a command killed in between
counts as unfinished, and completes when it is rerun. Written images with the same recipe are kept:
``.made.json`` beside them holds the digest of each one that was written completely.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from faultscape import engine as engines
from faultscape.corpus.photos import read_photo
from faultscape.corpus.stress.recipes import Step
from faultscape.errors import CorpusError, ImageError, OptionError, counted
from faultscape.formats import png
from faultscape.reading import fill
from faultscape.reading.fill import task
from faultscape.reading.sets import follow
from faultscape.reading.study import Study, opened
from faultscape.study.folder import put
from faultscape.study.tables.corpus import Image, read_corpus, write_corpus
from faultscape.study.tables.logs import log
from faultscape.study.tables.removed_images import note_removed, read_removed
from faultscape.study.tables.stress_sets import Kind, StressSet, add_sets
from faultscape.verbs.options import StressCorruptOptions, StressFogOptions
from faultscape.verbs.stress.options import NOTES, claim_place
from faultscape.verbs.stress.parents import Base, Stressing, find_base, line_of, made_image
from faultscape.verbs.stress.result import Stressed

Rows: TypeAlias = Mapping[str, Sequence[Image]]  # {set: its images}
# parameters that may change: different files remake all images, and more frames add images
_FREE = ("code", "textures", "frames")
_AT_ONCE = 64  # images that a job writes


@dataclass(frozen=True)
class Ground:
    """A study that is held for writing, and the set from which others are made."""

    study: Study
    base: Base

    def refuse_made(self, how: str) -> None:
        """Raise OptionError for a base that was itself made; ``how`` is what to do with its own base."""
        if about := self.study.stress.sets.get(self.base.name):
            raise OptionError(
                f"--set {self.base.name}: was itself made by `faultscape stress`; {how} its base set, "
                f"{about.of}"
            )


@dataclass(frozen=True, eq=False)
class SetRecipe:
    """How a command makes sets: what it records about each, their images, their own labels, if any, and how
    images are written, by their number.

    ``images`` is called only if no set of the same name was made differently.
    """

    about: Mapping[str, StressSet]
    images: Callable[[], Rows]
    write: Callable[[Rows], int]
    label: Callable[[Rows], object] = lambda _: None


@dataclass(frozen=True)
class Effect:
    """What is done to each image of a base: the condition, the step of an image, and the folder that its
    images are written to.
    """

    condition: str
    step: Callable[[Image], Step]
    folder: str


def make_sets(options: Stressing, kind: Kind, recipe_on: Callable[[Ground], SetRecipe]) -> Stressed:
    """Make sets by a recipe, and write their images to a folder on request. Errors: OptionError, CorpusError
    and StudyError if that is impossible.
    """
    with ground_of(options) as ground:
        study = ground.study
        recipe = recipe_on(ground)
        _refuse_others(study, recipe.about)
        rows = recipe.images()
        about = {name: one for name, one in recipe.about.items() if name in rows}
        new, changed, left = _enter(study, rows, about)
        study.reread()
        recipe.label(rows)
        add_sets(study.root, about)
        log(study.root, f"stress {kind}", **line_of(options, ground.base))
    written = recipe.write(rows) if options.write else 0
    images = sum(map(len, rows.values()))
    folder = options.write or ""
    return Stressed(
        options.study, kind, ground.base.name, tuple(rows), images, new, changed, left, folder, written
    )


@contextmanager
def ground_of(options: Stressing) -> Iterator[Ground]:
    """Yield the study of a command, held for writing, and the set that it names."""
    study = opened(options.study)
    engines.check(options.engine, options.workers)
    with study.writing():
        yield Ground(study, find_base(study, options.set_))


def of_effects(
    options: StressCorruptOptions | StressFogOptions,
    ground: Ground,
    about: Mapping[str, StressSet],
    effects: Mapping[str, Effect],
    label: Callable[[Rows], object] = lambda _: None,
) -> SetRecipe:
    """Return the recipe of sets, {set: its effect}, that hold every image of the base."""
    base = ground.base

    def images() -> Rows:
        return {
            name: [
                made_image(base, image, name, one.condition, options.role, one.step(image))
                for image in base.images
            ]
            for name, one in effects.items()
        }

    def write(rows: Rows) -> int:
        places = {
            image.id: f"{effects[name].folder}/{base.relative(image.parent)}.png"
            for name, mine in rows.items()
            for image in mine
        }
        folder = Path(str(options.write))
        return _write_images(ground.study, folder, places, engine=options.engine, workers=options.workers)

    return SetRecipe(about, images, write, label)


def _refuse_others(study: Study, about: Mapping[str, StressSet]) -> None:
    """Raise OptionError if a set of the same name was made differently: its results would be mistaken for
    those of the new one.
    """
    known = study.stress.sets
    differ: dict[str, list[str]] = {}
    for name, one in about.items():
        before = known[name].parameters if name in known else one.parameters
        if keys := [
            key
            for key in {**before, **one.parameters}
            if key not in _FREE and before.get(key) != one.parameters.get(key)
        ]:
            differ[name] = keys
    if differ:
        name, keys = next(iter(differ.items()))
        others = f" and {len(differ) - 1} more" if len(differ) > 1 else ""
        remove = " ".join(f"--remove '{one}/*'" for one in differ)
        held = ", ".join(str(known[name].parameters.get(key, "none")) for key in keys)
        raise OptionError(
            f"the study has a set {name!r}{others} made with another"
            f" {' and '.join(word.replace('_', ' ') for word in keys)} ({held}); remove"
            f" {'them' if others else 'it'} first: faultscape collect {study.place} {remove}"
        )


def _enter(study: Study, wanted: Rows, about: Mapping[str, StressSet]) -> tuple[int, int, int]:
    """Make the corpus contain exactly the ``wanted`` images of these sets, and record in sets.json how they
    are made, not yet as done; return how many images are new, changed, or left. CorpusError if a set of the
    same name was collected.
    """
    root = study.root
    by_id = study.image_rows
    held = [*by_id.values()]
    gone_before = read_removed(study.corpus)
    removed = {image.id: image for image in gone_before if image.parent}
    known = study.stress.sets
    if taken := next(
        (image.set for image in held if image.set in wanted and image.set not in known and not image.parent),
        None,
    ):
        raise CorpusError(
            f"a collected set is already named {taken!r}; collect it under another name with --set"
        )
    _refuse_twins(held, wanted)
    add_sets(root, {name: one.model_copy(update={"inputs": {}}) for name, one in about.items()})
    size = study.settings.shard
    last = max([*study.shard_sizes, *(image.shard for image in gone_before)], default=-1)
    names = {name: {image.id for image in rows} for name, rows in wanted.items()}
    left = [image for image in held if image.set in names and image.id not in names[image.set]]
    gone = {image.id for image in left}
    rows = {image.id: image for image in held if image.id not in gone}
    for images in wanted.values():
        fresh = []
        for image in sorted(images, key=lambda image: image.id):
            earlier = by_id.get(image.id) or removed.get(image.id)
            if earlier is None:
                fresh.append(image)
                continue
            rows[image.id] = replace(image, shard=earlier.shard)
        for place, image in enumerate(fresh):
            rows[image.id] = replace(image, shard=last + 1 + place // size)
        last += -(-len(fresh) // size)
    entered = follow([*rows.values()])
    new = sum(image.id not in by_id for image in entered)
    changed = sum(image != by_id.get(image.id, image) for image in entered)
    if left:
        note_removed(root, left)
    if new or changed or left:
        write_corpus(root, entered)
    return new, changed, len(left)


def _refuse_twins(held: Sequence[Image], wanted: Rows) -> None:
    """Raise CorpusError for an id that an image of another set has, or that two images of a set would have:
    one of them would be lost.
    """
    twice = Counter(image.id for rows in wanted.values() for image in rows)
    others = [image.id for image in held if image.set not in wanted and image.id in twice]
    if found := others or [id_ for id_, times in twice.items() if times > 1]:
        raise CorpusError(
            f"two images of the study would be named {found[0]!r}; collect them under another name with --set"
        )


@dataclass(frozen=True)
class WriteJob:
    """Images of one shard to write: {id: path within the folder}."""

    study: str
    folder: str
    number: int
    places: dict[str, str]


@dataclass(frozen=True)
class Written:
    """{path: digest of the recipe} of the images that were written, and (id, why) for those that could not be
    made.
    """

    digests: dict[str, str]
    failures: tuple[tuple[str, str], ...]


def _write_images(
    study: Study, folder: Path, places: Mapping[str, str], *, engine: str, workers: int | None
) -> int:
    """Write images of a study, {id: path within the folder}, and return how many were written now. ImageError
    for images that could not be made, after all others are written.
    """
    claim_place(folder)
    images = {id_: image for id_, image in study.image_rows.items() if id_ in places}
    noted = _noted(folder / NOTES)
    todo = [
        image
        for id_, image in images.items()
        if noted.get(places[id_]) != image.digest or not (folder / places[id_]).is_file()
    ]
    jobs = []
    for first in range(0, len(todo), _AT_ONCE):
        batch = todo[first : first + _AT_ONCE]
        jobs += [
            WriteJob(
                str(study.root),
                str(folder.absolute()),
                number,
                {i.id: places[i.id] for i in batch if i.shard == number},
            )
            for number in sorted({i.shard for i in batch})
        ]
    failures: list[tuple[str, str]] = []

    def enter(made: list[Written]) -> None:
        for one in made:
            noted.update(one.digests)
            failures.extend(one.failures)
        put(folder / NOTES, json.dumps(dict(sorted(noted.items())), indent=0).encode())

    with fill.Entry(enter) as entry:
        for _, made in fill.do(
            "faultscape.verbs.stress.make_sets:write_shard",
            jobs,
            Written,
            title="write",
            items=len(todo),
            engine=engine,
            workers=workers,
        ):
            entry.add(made)
            entry.if_due()
    if failures:
        raise ImageError(
            f"{counted(len(failures), 'image')} of {len(todo)} could not be made; first: "
            f"{failures[0][0]}: {failures[0][1]}"
        )
    return len(todo)


@task(WriteJob)
def write_shard(job: WriteJob, tick: Callable[[int], None]) -> Written:
    """Make and write some images of a shard."""
    images = {image.id: image for image in read_corpus(Path(job.study), job.number)}
    done: dict[str, str] = {}
    failures = []
    for id_, place in job.places.items():
        try:
            write_png(Path(job.folder), place, images[id_])
            done[place] = images[id_].digest
        except ImageError as error:
            failures.append((id_, str(error)))
        tick(1)
    return Written(done, tuple(failures))


def write_png(folder: Path, place: str, image: Image) -> None:
    """Write one image as PNG to a path within a folder; OptionError for a path that leads out of it."""
    path = folder / place
    if not path.resolve().is_relative_to(folder.resolve()):
        raise OptionError(f"{place}: is outside {folder}")
    put(path, png.encode_pixels(read_photo(image)[0]))


def _noted(path: Path) -> dict[str, str]:
    try:
        held = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return {str(place): str(digest) for place, digest in held.items()} if isinstance(held, dict) else {}
