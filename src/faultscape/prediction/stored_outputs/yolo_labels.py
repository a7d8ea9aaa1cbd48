"""A model that is a folder of results of ultralytics: a text file of outlines an image, in ``labels/``.

Conventions: a line is a class, corners x y x y ... as shares of the width and height, and perhaps a score.
Outlines are painted as those of `coco_results`, and values of the stored maps are classes, 255 under no
outline. No file is written for an image on which nothing was found; such an image counts as predicted if the
folder has the image with its results, which ultralytics writes beside ``labels/``. Classes are the places of
the class list, if that has neither a background nor gaps, or mean what ``--labels`` says: the files do not
name them.

``path`` is the text file of an image.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from faultscape.classes import mapping as label_names
from faultscape.classes.class_lists import allowed, table
from faultscape.corpus.shard_files import ShardFiles, Shards, match_shards
from faultscape.corpus.sources import IMAGE_ENDINGS, MAP_ENDINGS
from faultscape.corpus.walks import each_folder
from faultscape.errors import FaultscapeError, LabelMapError, ModelError
from faultscape.formats.guard import read_bytes
from faultscape.maps import instances, runs
from faultscape.prediction.batches import INSTANCES, Row
from faultscape.prediction.source import Opening, Origin, Request, Source
from faultscape.prediction.sources.folder import check_values, fingerprint
from faultscape.prediction.stored_outputs.coco_results import Mask, draw, instances_of, with_nothing
from faultscape.prediction.stored_outputs.each_map import OpenStored
from faultscape.study.parts import key_of
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Image

OPTIONS = ("pattern",)
_TEXTS = frozenset([".txt"])
_MOST_BYTES = 64 << 20
_MOST_CLASS = 254
UNDER_NONE = 255  # the value of pixels under no outline
_CORNERS = 6  # numbers of the smallest outline


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is a folder with text files, and no maps, in ``labels/``.

    >>> recognised(".", "segmentation")
    False
    """
    del task
    labels = Path(source, "labels")
    if not labels.is_dir():
        return False
    endings = {os.path.splitext(name)[1].lower() for _, names in each_folder(labels) for name in names}
    return bool(endings & _TEXTS) and not endings & MAP_ENDINGS


class OpenOutlines(OpenStored):
    """A folder of outlines, drawn image by image."""

    batch = 32

    def __init__(self, opening: Opening, settings: Settings) -> None:
        self._places = table(settings.class_list, opening.labels)
        self._allowed = allowed(settings.class_list, opening.labels)

    def read(self, image: Image, stored: str) -> Row:
        """Return the map of an image, or why it cannot be used."""
        try:
            masks = read_outlines(stored, image.width, image.height) if stored.endswith(".txt") else []
            size = (image.height, image.width)
            code, labels = runs.encode_with_labels(draw(stored, size, masks, UNDER_NONE))
            check_values(stored, labels, self._places, self._allowed)
        except FaultscapeError as error:
            return Row(image.id, None, problem=str(error))
        return Row(image.id, code, {INSTANCES: (instances.encode(instances_of(masks, size)),)})


def read_outlines(path: str, width: int, height: int) -> list[Mask]:
    """Return the outlines in a file, in pixels of its image; LabelMapError names the line that is wrong."""
    data = read_bytes(path, LabelMapError, limit=_MOST_BYTES)
    masks = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip():
            continue
        class_, *rest = line.split()
        where = f"{path}, line {number}"
        if not (class_.isascii() and class_.isdigit() and int(class_[:6]) <= _MOST_CLASS):
            raise LabelMapError(f"{where}: begins with {class_[:40]!r}; expected the number of a class")
        try:
            numbers = [float(word) for word in rest]
        except ValueError:
            raise LabelMapError(f"{where}: holds something that is not a number") from None
        score = numbers.pop() if len(numbers) % 2 else None
        if len(numbers) < _CORNERS:
            raise LabelMapError(
                f"{where}: holds a box, no outline, so which pixels the object covers is not known; use a"
                " segmentation network (-seg)"
            )
        bad = [one for one in (*numbers, score or 0.0) if not (math.isfinite(one) and 0 <= one <= 1)]
        if bad:
            raise LabelMapError(
                f"{where}: holds {bad[0]:g}; expected shares of the width and height, and a score, from 0 to"
                " 1; save results without track ids"
            )
        outline = [one * (height if k % 2 else width) for k, one in enumerate(numbers)]
        masks.append(Mask(number, int(class_), [outline], score, id=number))
    return masks


def origin(source: Source, request: Request) -> Origin:
    """Return what the maps of a folder depend on: its files, identified by their sizes and times."""
    place = request.source
    notes = list[str]()
    pattern = request.options.get("pattern")
    texts = match_shards(
        os.path.join(place, "labels"),
        request.shards,
        pattern=pattern,
        say=notes.append,
        endings=_TEXTS,
        folder=request.scratch_folder,
    )
    drawn = _drawn_on(place, request.shards)
    mapping = _meaning(request)
    about = key_of(source.name, mapping)
    rules = key_of(mapping, request.settings.classes.ids, request.settings.classes.void)
    stamps = {}
    files = ShardFiles(request.scratch_folder)
    for shard, images in request.shards():
        of_shard = texts.get(shard, {})
        mine = {image.id: of_shard.get(image.id) or drawn.get(image.id, "") for image in images}
        stamps[shard] = f"{fingerprint(place, [*mine.values()])}-{about}:{rules}"
        files.add(shard, {id_: path for id_, path in mine.items() if path})
    return Origin(request.options, mapping, stamps, files, notes=tuple(notes), source=place)


def _drawn_on(place: str, shards: Shards) -> dict[str, str]:
    """Return {image id: file} of the images with results beside ``labels/``, whose names have no folders; a
    name that two images have counts for neither.
    """
    there = {
        os.path.splitext(entry.name)[0]: entry.path
        for entry in os.scandir(place)
        if os.path.splitext(entry.name)[1].lower() in IMAGE_ENDINGS
    }
    of_stems = dict[str, list[str]]()
    for _, images in shards() if there else ():
        for image in images:
            if not image.parent and (stem := image.id.rsplit("/", 1)[-1]) in there:
                of_stems.setdefault(stem, []).append(image.id)
    return {ids[0]: there[stem] for stem, ids in of_stems.items() if len(ids) == 1}


def _meaning(request: Request) -> dict[str, str]:
    """Return {class of the files, or the value of pixels under no outline: class or void}."""
    classes = request.settings.class_list
    given = request.held if "labels" in request.options else {}
    if request.labels:
        given = label_names.of_file(request.labels, classes, [])
    if not given and (classes.background is not None or classes.ids != tuple(range(len(classes)))):
        raise ModelError(
            f"{request.name}={request.source}: its classes have only numbers, and the class list has a"
            f" background or other ids; say what they are: --labels 0={classes.names[-1]},1=..."
        )
    mapping = dict(given or zip(map(str, classes.ids), classes.names, strict=True))
    return with_nothing(mapping, UNDER_NONE, classes)
