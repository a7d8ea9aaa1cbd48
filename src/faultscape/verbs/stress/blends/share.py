"""Write blended sets to a folder for sharing: images or overlays, labels, and the manifest.

Conventions: SET/images/ID.png, SET/labels/ID.png (0 known, 1 anomalous, 255 void), SET/manifest.csv; with
overlays SET/overlays/ID.overlay instead of images: the signed difference to the base, which names its base
and image by digests, so that a benchmark on licensed images can be shared without them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from faultscape.corpus.photos import read_parent, read_photo
from faultscape.errors import FaultscapeError, ImageError, counted
from faultscape.formats import png
from faultscape.maps import runs
from faultscape.reading import fill
from faultscape.reading.fill import task
from faultscape.reading.study import Study
from faultscape.stressors.overlay import overlay_of
from faultscape.study.folder import put
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.stress_sets import labels_folder
from faultscape.verbs.stress.blends.blended_labels import ANOMALIES
from faultscape.verbs.stress.options import claim_place


@dataclass(frozen=True)
class ShareJob:
    """One shard of a set to write."""

    study: str
    folder: str
    set: str
    number: int
    overlay_only: bool


@dataclass(frozen=True)
class Shared:
    """The number of images written, and (id, why) for those that could not be made."""

    images: int
    failures: tuple[tuple[str, str], ...]


def write_shared(
    study: Study, folder: Path, sets: Sequence[str], *, overlay_only: bool, engine: str, workers: int | None
) -> int:
    """Write sets to a folder, and return the number of images. ImageError for images that could not be made,
    after all others are written.
    """
    claim_place(folder)
    root = study.root
    images = [image for image in study.image_rows.values() if image.set in sets]
    numbers = sorted({(image.set, image.shard) for image in images})
    jobs = [
        ShareJob(str(root), str(folder.absolute()), name, number, overlay_only) for name, number in numbers
    ]
    written = 0
    failures = list[tuple[str, str]]()
    for _, made in fill.do(
        "faultscape.verbs.stress.blends.share:share_shard",
        jobs,
        Shared,
        title="write",
        items=len(images),
        engine=engine,
        workers=workers,
    ):
        written += made.images
        failures += made.failures
    for name in sets:
        put(folder / name / "manifest.csv", (labels_folder(root, name) / "manifest.csv").read_bytes())
        _say_others(
            folder / name, {image.id.removeprefix(f"{name}/") for image in images if image.set == name}
        )
    if failures:
        raise ImageError(
            f"{counted(len(failures), 'image')} of {len(images)} could not be made; first: "
            f"{failures[0][0]}: {failures[0][1]}"
        )
    return written


def _say_others(folder: Path, names: set[str]) -> None:
    """Report how many files in a folder are left over from images that are no longer in the set, because
    users of the folder would include them.
    """
    found = [
        path
        for kind in ("images", "overlays", "labels")
        for path in sorted((folder / kind).rglob("*"))
        if path.is_file()
    ]
    others = [
        path
        for path in found
        if path.relative_to(folder).with_suffix("").as_posix().partition("/")[2] not in names
    ]
    if others:
        print(
            f"{folder}: {counted(len(others), 'file')} of an earlier run "
            f"{'does' if len(others) == 1 else 'do'} not belong to the set; delete files that "
            f"manifest.csv does not list (first: {others[0].relative_to(folder)})"
        )


@task(ShareJob)
def share_shard(job: ShareJob, tick: Callable[[int], None]) -> Shared:
    """Make and write the images or overlays of one shard, and their labels."""
    root = Path(job.study)
    folder = Path(job.folder) / job.set
    labels = label_maps.read_maps(labels_folder(root, job.set) / ANOMALIES, job.number)
    done = 0
    failures = []
    for image in read_corpus(root, job.number):
        name = image.id.removeprefix(f"{job.set}/")
        try:
            photo = read_photo(image)[0]
            if job.overlay_only:
                put(folder / "overlays" / f"{name}.overlay", overlay_of(read_parent(image), photo).encoded())
            else:
                put(folder / "images" / f"{name}.png", png.encode_pixels(photo))
            put(folder / "labels" / f"{name}.png", png.encode_pixels(runs.decode(labels[image.id])))
            done += 1
        except FaultscapeError as error:
            failures.append((image.id, str(error)))
        tick(1)
    return Shared(done, tuple(failures))
