"""The objects of a blended set: read from a folder, drawn by code, or cut out of training images; kept in the study by their digests.

Conventions: a set that exists keeps its objects, whatever its folder holds by now. Known objects are of the classes that Fishyscapes takes, under the names that class lists give
them, from labelled images of role train; at most `MOST_KNOWN` of them, of which the digest decides.
Source: S4 3.1; the number of known objects is ours.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faultscape.classes.class_lists import table
from faultscape.corpus.objects.cutout_files import write_cutout
from faultscape.corpus.objects.folder import read_cutouts
from faultscape.corpus.photos import read_photo
from faultscape.corpus.stress.files import read_object
from faultscape.errors import CorpusError, ImageError, OptionError, counted
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.progress import progress
from faultscape.stages.stress.options import BlendOptions
from faultscape.stressors.objects.cutout import Cutout, connected_cutouts, usable_cutouts
from faultscape.stressors.objects.drawn import drawn_cutouts
from faultscape.study.folder import put
from faultscape.study.parts import key_of
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, shards
from faultscape.study.tables.stress_sets import StressSet

FOLDER = "objects"  # of the study
MOST_KNOWN = 500
KNOWN = ("car", "person", "pedestrian", "truck", "bus", "train", "bicycle", "bicyclist", "bike")


@dataclass(frozen=True)
class Objects:
    """The cut-outs of a set, by digest, and a digest of all of them."""

    cutouts: tuple[Cutout, ...]

    @property
    def digests(self) -> list[str]:
        """Their digests, sorted."""
        return sorted(cutout.digest for cutout in self.cutouts)

    @property
    def key(self) -> str:
        """A digest of all of them."""
        return key_of(self.digests)


def find_objects(
    root: Path, settings: Settings, images: Sequence[Image], options: BlendOptions, truth: str, held: StressSet | None
) -> Objects:
    """Return the objects that a line is to blend; of a set that was made before, those that it has. Errors: CorpusError where there are none that can be used."""
    if held is not None and held.kind == "blend":
        stored = held.parameters.get("objects")
        folder = str((root / FOLDER).absolute())
        found = Objects(tuple(read_object(folder, str(digest)) for digest in (stored if isinstance(stored, list) else [])))
        if options.objects and set(_anomalies(options)) - set(found.digests):
            print(
                f"{options.objects} holds objects that the set was not made of; it keeps its own: give --edition NAME for a set of them"
            )
        return found
    if options.objects:
        folder = read_cutouts(options.objects, smallest=options.how.smallest)
        cutouts = list(folder.cutouts)
    else:
        cutouts = drawn_cutouts()
    off = switched_off(os.fspath(options.how.without)) if options.how.without else set()
    if unknown := sorted(off - {cutout.digest for cutout in cutouts}):
        raise OptionError(
            f"--without {options.how.without}: {counted(len(unknown), 'object')} of it are not among these; the first: {unknown[0]}"
        )
    cutouts = [cutout for cutout in cutouts if cutout.digest not in off]
    if options.blending == "v3":
        known = [cutout for cutout in cutouts if cutout.use == "known"] or _known_objects(root, settings, images, options, truth)
        cutouts = [cutout for cutout in cutouts if cutout.use != "known"] + known
    if not cutouts:
        raise CorpusError("all objects are switched off; leave some on")
    return Objects(tuple({cutout.digest: cutout for cutout in cutouts}.values()))


def keep_objects(root: Path, objects: Objects) -> None:
    """Put the objects that the study does not keep yet."""
    folder = root / FOLDER
    todo = [cutout for cutout in objects.cutouts if not (folder / f"{cutout.digest}.png").is_file()]
    with progress("objects", len(todo)) as tick:
        for cutout in todo:
            put(folder / f"{cutout.digest}.png", write_cutout(cutout))
            tick(1)


def switched_off(file: str) -> set[str]:
    """Return the digests that a CSV file, saved by the contact sheet, switches off; OptionError for a file that is none."""
    try:
        with Path(file).open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OptionError(f"--without {file}: cannot be read: {error}") from None
    if rows and "object" not in rows[0]:
        raise OptionError(f"--without {file}: expected a column object, as the contact sheet of --review saves it")
    return {str(row["object"]).strip() for row in rows if row.get("object")}


def _anomalies(options: BlendOptions) -> list[str]:
    return [
        cutout.digest for cutout in read_cutouts(str(options.objects), smallest=options.how.smallest, say=lambda _: None).cutouts
    ]


def _known_objects(root: Path, settings: Settings, images: Sequence[Image], options: BlendOptions, truth: str) -> list[Cutout]:
    """Return known objects of labelled training images; CorpusError where there are none."""
    names = {place: name for place, name in enumerate(settings.classes.names) if name.lower() in KNOWN}
    training = [
        image
        for image in images
        if not image.parent and (image.set == options.how.known if options.how.known else image.role == "train")
    ]
    if not names:
        raise OptionError(
            f"fishyscapes-v3 blends known objects ({', '.join(KNOWN)}), and the study has no such class; give some in objects.csv with use known"
        )
    if not training:
        raise CorpusError(
            "fishyscapes-v3 blends known objects of training images, and the study has none: collect some with --set NAME --role train, name a set with --known, or give objects.csv with use known"
        )
    places, found = table(settings.class_list), list[Cutout]()
    where = label_maps.truth(root, truth)
    with progress("known objects", len(training)) as tick:
        for number, rows in shards(training).items():
            held = label_maps.read_maps(where, number)
            for image in rows:
                if image.id in held and len(found) < 4 * MOST_KNOWN:
                    try:
                        photo = read_photo(image)[0]
                    except ImageError:
                        tick(1)
                        continue
                    labels = nearest(places[runs.decode(held[image.id])], (image.width, image.height))
                    found += usable_cutouts(
                        connected_cutouts(photo, labels, names, image.id, smallest=options.how.smallest), options.how.smallest
                    )[0]
                tick(1)
    if not found:
        raise CorpusError(
            f"no known object of {options.how.smallest} pixels or more in {counted(len(training), 'training image')} with labels of truth {truth}; lower --smallest, or give objects.csv with use known"
        )
    return sorted(found, key=lambda cutout: cutout.digest)[:MOST_KNOWN]


def by_digest(objects: Objects) -> Mapping[str, Cutout]:
    """Return {digest: cut-out}."""
    return {cutout.digest: cutout for cutout in objects.cutouts}
