"""Write made images as PNG to a folder outside the study, in parallel worker processes.

Conventions: existing files with the same recipe are kept: ``.made.json`` next to the images holds the digest
of each one that was written completely.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, OptionError, counted
from faultscape.formats import png
from faultscape.reading import fill
from faultscape.reading.fill import task
from faultscape.study.folder import put
from faultscape.study.tables.corpus import Image, read_corpus
from faultscape.verbs.stress.options import NOTES, claim_place

_AT_ONCE = 64


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


def write_images(
    root: Path, folder: Path, places: Mapping[str, str], *, engine: str, workers: int | None
) -> int:
    """Write images of a study, {id: path within the folder}, and return how many were written now. ImageError
    for images that could not be made, after all others are written.
    """
    claim_place(folder)
    images = {image.id: image for image in read_corpus(root) if image.id in places}
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
                str(root),
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
            "faultscape.verbs.stress.pixels:write_shard",
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
