"""The objects of a blended set: read from a folder, drawn by code, or cut out of training images; stored in
the study by digest.

Conventions: an existing set keeps its objects, whatever its folder now contains. An object of a class that
the study knows is not an anomaly (Blum et al. 2021 use only objects of classes that Cityscapes does not
have). Known objects (fishyscapes-v3) are cut out of labelled training images, each at its original position:
instances if the study has them (`truth/instances`), else connected regions of a class. The choice of images
and objects depends on bytes, never on names. An instance in several pieces is occluded and left out; people
judge the others (`--review`). Objects that are drawn for training images are others than those for test
images, and none of them looks like one of those; those for validation images are others than both.
Source: Blum et al. 2021, 3.1: car, person, truck, bus, train, bike "where we manually filter out any occluded
instances"; how many is ours.
"""

from __future__ import annotations

import csv
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.corpus.objects.cutout_files import write_cutout
from faultscape.corpus.objects.folder import read_cutouts
from faultscape.corpus.objects.lookalikes import look_of, lookalikes
from faultscape.corpus.photos import read_photo
from faultscape.corpus.stress.files import read_object
from faultscape.errors import CorpusError, ImageError, OptionError, closest, counted
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes
from faultscape.progress import progress
from faultscape.reading.study import Study
from faultscape.stressors.fs_static import FS_STATIC_CLASSES, is_of_fs_static
from faultscape.stressors.objects.cutout import Cutout, connected_cutouts, usable_cutouts
from faultscape.stressors.objects.drawn import drawn_cutouts
from faultscape.stressors.objects.shapes import noise_shapes, texture_shapes
from faultscape.study.folder import put
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.stress_sets import StressSet
from faultscape.ties import tie_order
from faultscape.verbs.options import StressBlendOptions
from faultscape.verbs.stress.blends.other_photos import OtherPhotos
from faultscape.verbs.stress.options import FS_STATIC, Blending, blending_version

FOLDER = "objects"  # folder in the study
MOST = 500  # most known objects per set
KNOWN = ("car", "person", "pedestrian", "truck", "bus", "train", "bicycle", "bicyclist", "bike")
_INSTANCES = "instances"
Use = Literal["test", "train", "validation"]
_USES: tuple[Use, ...] = ("test", "train", "validation")  # the place is the seed of the objects made for it
_VARIANTS = 6  # drawn of each object for training images
_SHAPES = 200  # least shapes cut out of photos
_WHOLE = 0.98  # share of an instance's pixels in its largest piece, to tolerate specks left by annotators
_SAME = (  # names of the same class in different data sets
    ("person", "pedestrian", "people"),
    ("bicycle", "bike", "bicyclist"),
    ("motorcycle", "motorbike"),
    ("car", "automobile"),
    ("aeroplane", "airplane", "plane"),
    ("sofa", "couch"),
    ("tvmonitor", "tv", "television"),
    ("traffic sign", "stop sign", "sign_symbol"),
    ("diningtable", "dining table"),
    ("pottedplant", "potted plant"),
)


@dataclass(frozen=True)
class Objects:
    """The cut-outs of a set."""

    cutouts: tuple[Cutout, ...]

    @property
    def digests(self) -> list[str]:
        """Their digests, sorted."""
        return sorted(cutout.digest for cutout in self.cutouts)


def find_objects(
    study: Study, options: StressBlendOptions, truth: str, made: Mapping[str, StressSet], use: Use
) -> Objects:
    """Return the objects to blend; for existing sets (``made``), the objects that they have; ``use`` says
    what for, if they are drawn. Errors: CorpusError if there are no usable ones.
    """
    held = next((one for one in made.values() if one.kind == "blend"), None)
    if held is not None:
        stored = held.parameters.get("objects")
        folder = str((study.root / FOLDER).absolute())
        found = Objects(
            tuple(read_object(folder, str(digest)) for digest in (stored if isinstance(stored, list) else []))
        )
        _refuse_switched_off(options, found, [*made])
        if differ := [
            word
            for word in ("smallest", "known")
            if (given := getattr(options.blending, word)) != getattr(Blending(), word)
            and given != held.line.get(word)
        ]:
            print(
                f"--{differ[0]} chooses objects, but the set exists and keeps its own; give --edition "
                "NAME to make a new set"
            )
        if options.objects and {one.digest for one in _offered(study, options, lambda _: None, use)} - set(
            found.digests
        ):
            print(
                f"{options.objects} has objects that are not in the set, which keeps its own; give "
                "--edition NAME to make a new set"
            )
        return found
    cutouts = _offered(study, options, print, use)
    off = switched_off(os.fspath(options.blending.without)) if options.blending.without else set()
    if unknown := sorted(off - {cutout.digest for cutout in cutouts}):
        raise OptionError(
            f"--without {options.blending.without}: {counted(len(unknown), 'object')} in it "
            f"{'is' if len(unknown) == 1 else 'are'} not among these objects (first: {unknown[0]})"
        )
    cutouts = [cutout for cutout in cutouts if cutout.digest not in off]
    if blending_version(options) == "v3":
        known = [cutout for cutout in cutouts if cutout.use == "known"]
        known = known or _known_objects(study, options, truth)
        cutouts = [cutout for cutout in cutouts if cutout.use != "known"] + known
    if not cutouts:
        raise CorpusError("all objects are switched off; keep at least one")
    return Objects(tuple({cutout.digest: cutout for cutout in cutouts}.values()))


def _refuse_switched_off(options: StressBlendOptions, found: Objects, sets: Sequence[str]) -> None:
    """Raise OptionError if an existing set has objects that the command switches off: they would stay,
    contrary to expectation.
    """
    if options.blending.without is None or options.review:
        return
    if kept := switched_off(os.fspath(options.blending.without)) & {*found.digests}:
        remove = " ".join(
            ["faultscape collect", shlex.quote(options.study), *(f"--remove '{name}/*'" for name in sets)]
        )
        raise OptionError(
            f"--without {options.blending.without}: {counted(len(kept), 'object')} in it "
            f"{'is' if len(kept) == 1 else 'are'} part of the set, which keeps its objects; give "
            f"--edition NAME to make a set without them, or remove this one first: {remove}"
        )


def keep_objects(root: Path, objects: Objects) -> None:
    """Store the objects that the study does not have yet."""
    folder = root / FOLDER
    todo = [cutout for cutout in objects.cutouts if not (folder / f"{cutout.digest}.png").is_file()]
    with progress("objects", len(todo)) as tick:
        for cutout in todo:
            put(folder / f"{cutout.digest}.png", write_cutout(cutout))
            tick(1)


def switched_off(file: str) -> set[str]:
    """Return the digests that a CSV file, saved by the contact sheet, switches off; OptionError for any other
    file.
    """
    try:
        with Path(file).open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as error:
        raise OptionError(
            f"--without {file}: {error.strerror}; expected switched-off.csv, as the contact sheet of --review"
            " saves it"
        ) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise OptionError(
            f"--without {file}: is not a CSV file ({error}); expected switched-off.csv, as the contact "
            "sheet of --review saves it"
        ) from None
    if rows and "object" not in rows[0]:
        raise OptionError(
            f"--without {file}: expected a column object, as the contact sheet of --review saves it"
        )
    return {str(row["object"]).strip() for row in rows if row.get("object")}


def known_words(classes: Classes) -> frozenset[str]:
    """Return the lowercase words for the classes of a list: names, synonyms, and names in other data sets.

    >>> words = known_words(Classes(("object--vehicle--motorcycle", "Pedestrian"), (0, 1), ()))
    >>> sorted({"motorbike", "person", "horse"} & words)
    ['motorbike', 'person']
    """
    names = [name.rpartition("--")[2] for name in classes.names] + [
        word for words in classes.synonyms.values() for word in words
    ]
    own = {name.casefold() for name in names}
    return frozenset(own.union(*(same for same in _SAME if own & set(same))))


def _offered(
    study: Study, options: StressBlendOptions, say: Callable[[str], object], use: Use
) -> list[Cutout]:
    """Return the cut-outs in the given folders, or drawn ones, of classes that the preset uses and the study
    does not know.
    """
    found = list[Cutout]()
    if options.objects:
        found += read_cutouts(options.objects, smallest=options.blending.smallest, say=say).cutouts
    if options.blending.textures:
        found += _textures(study, str(options.blending.textures), use)
    found = found or _made(use)
    words = known_words(study.classes)
    familiar = [cutout for cutout in found if cutout.use == "anomaly" and cutout.class_.casefold() in words]
    held = {cutout.digest for cutout in familiar}
    cutouts = [cutout for cutout in found if cutout.digest not in held]
    of_classes = ", ".join(sorted({cutout.class_ for cutout in familiar}))
    if found and not cutouts:
        raise CorpusError(
            f"all {len(found):,} objects are of classes that the study knows ({of_classes}), so none is an"
            " anomaly; give others, or mark known objects with use known in objects.csv"
        )
    if familiar:
        say(
            f"{counted(len(familiar), 'object')} of {len(found):,} left out, because the study knows "
            f"their classes: {of_classes}"
        )
    if options.preset != FS_STATIC:
        return cutouts
    mine = [cutout for cutout in cutouts if cutout.use == "known" or is_of_fs_static(cutout)]
    if not mine:
        raise CorpusError(
            f"{options.preset} takes objects of the classes {', '.join(FS_STATIC_CLASSES)}, and"
            f" {options.objects or 'what is drawn'} has none of them that the study does not know; name the"
            " classes by folders or in objects.csv"
        )
    if len(mine) < len(cutouts):
        say(f"{options.preset}: {len(mine):,} of these {len(cutouts):,} objects are of its twelve classes")
    return mine


def _made(use: Use) -> list[Cutout]:
    """Return the objects that are made by code: drawings, and to teach also shapes of noise."""
    drawn = _drawn(use)
    return [*drawn, *noise_shapes(len(drawn), _USES.index(use))] if use == "train" else drawn


def _drawn(use: Use) -> list[Cutout]:
    """Return drawn objects: to test, to teach, or to choose by; those of a later use are others than those of
    the uses before it, and none looks like one of these.
    """
    place = _USES.index(use)
    before = [(cutout.digest, look_of(cutout)) for earlier in _USES[:place] for cutout in _drawn(earlier)]
    drawn = drawn_cutouts(_VARIANTS, place) if use == "train" else drawn_cutouts(seed=place)
    mine = {cutout.digest: cutout for cutout in drawn}
    looks = {digest: look_of(cutout) for digest, cutout in mine.items()}
    alike = lookalikes(looks, before)
    return [cutout for digest, cutout in mine.items() if digest not in alike]


def _textures(study: Study, place: str, use: Use) -> list[Cutout]:
    """Return shapes cut out of the images of --textures: of a third of them, by digest, for each use, so that
    nothing that teaches shows what tests.
    """
    photos = OtherPhotos(study, place, "textures")
    mine = [k for k, (_, digest) in enumerate(photos.files) if int(digest, 16) % 3 == _USES.index(use)]
    if not mine:
        raise OptionError(
            f"--textures {place}: each use (test, training, validation) has a third of the images, and of"
            f" these {len(photos)} none is for {use}; give more"
        )
    shapes = max(len(mine), _SHAPES)
    return texture_shapes([photos.read(number) for number in mine], shapes, _USES.index(use))


def _known_objects(study: Study, options: StressBlendOptions, truth: str) -> list[Cutout]:
    """Return known objects of labelled training images, at most `MOST`; CorpusError if there are none."""
    images = [*study.image_rows.values()]
    names = {place: name for place, name in enumerate(study.classes.names) if name.lower() in KNOWN}
    training = [
        image
        for image in images
        if not image.parent
        and (image.set == options.blending.known if options.blending.known else image.role == "train")
    ]
    collected = list(dict.fromkeys(image.set for image in images if not image.parent))
    if options.blending.known is not None and options.blending.known not in collected:
        raise CorpusError(
            f"--known {options.blending.known}: no set of this name was collected; there"
            f" {'is' if len(collected) == 1 else 'are'}"
            f" {', '.join(collected)}.{closest(options.blending.known, collected)}"
        )
    if not names:
        raise OptionError(
            f"fishyscapes-v3 blends known objects ({', '.join(KNOWN)}), and the study has no such class; give"
            " some in objects.csv with use known"
        )
    if not training:
        raise CorpusError(
            "fishyscapes-v3 blends known objects from training images, and the study has none; collect "
            "some with --set NAME --role train, name a set with --known, or give objects.csv with use "
            "known"
        )
    places = table(study.classes)
    found = list[Cutout]()
    unread = list[ImageError]()
    maps = lru_cache(maxsize=4)(partial(_maps_of, study, truth))
    instances = lru_cache(maxsize=4)(partial(_maps_of, study, _INSTANCES))
    order = tie_order(
        [image.key for image in training], options.seed, [image.id for image in training]
    ).tolist()
    with progress("known objects", len(training)) as tick:
        for image in [training[k] for k in order]:
            tick(1)
            if len(found) >= MOST or (code := maps(image.shard).get(image.id)) is None:
                continue
            try:
                photo = read_photo(image)[0]
            except ImageError as error:
                unread.append(error)
                continue
            size = (image.width, image.height)
            labels = nearest(places[runs.decode(code)], size)
            of_labels = names
            if (numbered := instances(image.shard).get(image.id)) is not None:
                own = nearest(runs.decode(numbered), size)
                labels, of_labels = own, names_of_instances(own, labels, names)
            cut = connected_cutouts(photo, labels, of_labels, image.id, smallest=options.blending.smallest)
            found += usable_cutouts(cut, options.blending.smallest)[0]
    if unread:
        print(
            f"{counted(len(unread), 'training image')} cannot be read; no known objects are taken from "
            f"{'it' if len(unread) == 1 else 'them'} (first: {unread[0]})"
        )
    if not found:
        raise CorpusError(
            f"no known object of {options.blending.smallest} pixels or more in"
            f" {counted(len(training), 'training image')} with labels of truth {truth}; lower --smallest, or"
            " give objects.csv with use known"
        )
    return found[:MOST]


def _maps_of(study: Study, truth: str, number: int) -> dict[str, bytes]:
    where = label_maps.truth(study.root, truth)
    part = study.manifest(where).get(part_name(number))
    return label_maps.read_maps(where, number, part) if part else {}


def names_of_instances(instances: np.ndarray, places: np.ndarray, names: dict[int, str]) -> dict[int, str]:
    """Return {instance: class} of the instances (H, W), 0 for none, whose most common place is one of
    ``names`` and that are in one piece; the others are occluded.

    >>> names_of_instances(np.array([[1, 1, 2, 0]]), np.array([[8, 8, 3, 3]]), {8: "car"})
    {1: 'car'}
    >>> names_of_instances(
    ...     np.array([[1, 0, 1, 2]]), np.full((1, 4), 8), {8: "car"}
    ... )  # a pole before the first
    {2: 'car'}
    """
    from scipy import ndimage

    values, numbered = np.unique(instances, return_inverse=True)
    found = {}
    for value, box in zip(
        values.tolist(), ndimage.find_objects(numbered.reshape(instances.shape) + 1), strict=True
    ):
        if not value:
            continue
        there = instances[box] == value
        commonest = int(np.bincount(places[box][there]).argmax())
        pieces = np.empty(there.shape, np.int32)
        ndimage.label(there, np.ones((3, 3), bool), pieces)
        if commonest in names and np.bincount(pieces[there]).max() >= _WHOLE * np.count_nonzero(there):
            found[value] = names[commonest]
    return found
