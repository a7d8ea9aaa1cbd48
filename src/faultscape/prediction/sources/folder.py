"""A model that is a folder of label maps.

Conventions: maps are stored unchanged, in the file's own labels; they are resized only when read, by nearest
neighbour. A map may have the image's size, the working size, or the image's aspect ratio within a pixel; any
other size needs ``resize_maps``.

``path`` is the file of a map. ``width`` and ``height`` are those of the image.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

from faultscape.classes import mapping as label_names
from faultscape.classes.class_lists import allowed, table
from faultscape.classes.mapping import LABEL_IDS, TRAIN_IDS
from faultscape.classes.mask_folders import ask_about_void, named_reading, of_label_ids
from faultscape.classes.palettes import coded_by_palette
from faultscape.classes.placed_maps import PlacedMaps
from faultscape.corpus.shard_files import ShardFiles, match_shards
from faultscape.corpus.sources import path_below
from faultscape.errors import FaultscapeError, LabelMapError
from faultscape.formats.packed.places import file_of, opened_at
from faultscape.formats.scores import beside, holds_confidence, read_confidence
from faultscape.maps import array_codes, runs
from faultscape.nouns import UNKNOWN, Classes
from faultscape.prediction.batches import Row
from faultscape.prediction.source import Opening, Origin, Request, Source
from faultscape.prediction.stored_outputs.each_map import OpenStored
from faultscape.study.parts import key_of
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Image

OPTIONS = ("pattern", "resize_maps")
_VOID = 255  # the value for void in most data sets


class FolderModel:
    """Reads the maps of one model and checks each for size and values."""

    def __init__(
        self,
        classes: Classes,
        labels: dict[str, str],
        working_size: tuple[int, int] | None,
        *,
        resize_maps: bool,
        given: bool = False,
    ) -> None:
        self._places = table(classes, labels)
        self._allowed = allowed(classes, labels)
        self._size = working_size
        self._resize = resize_maps
        self._maps = PlacedMaps(classes, labels, given=given)

    def read(self, path: str, width: int, height: int) -> bytes:
        """Return the runs of one map for an image of this size; LabelMapError names the file, the value and
        the allowed values.
        """
        label_map = self._maps.values(path)
        check_size(path, label_map, (width, height), self._size, resize_maps=self._resize)
        if label_map.dtype == np.uint16 and label_map.max() < 256:
            # equal maps have equal codes, however their files were written
            label_map = label_map.astype(np.uint8)
        code, labels = runs.encode_with_labels(label_map)
        check_values(path, labels, self._places, self._allowed)
        return code


def check_size(
    path: str,
    label_map: np.ndarray,
    photo: tuple[int, int],
    working: tuple[int, int] | None,
    *,
    resize_maps: bool = False,
) -> None:
    """Raise LabelMapError unless a map has a size that fits its image."""
    h, w = label_map.shape
    width, height = photo
    same_aspect = abs(w * height - h * width) <= max(width, height)
    if not (resize_maps or (w, h) in (photo, working) or same_aspect):
        other = f", the working size {working[0]} x {working[1]}" if working else ""
        raise LabelMapError(
            f"{path}: is {w} x {h} pixels, its image {width} x {height}; expected the image's size{other} or"
            " the image's aspect ratio (--resize-maps takes any size)"
        )


def check_values(path: str, values: np.ndarray, places: np.ndarray, words: str) -> None:
    """Raise LabelMapError when a map holds an unknown value."""
    bad = values[places[values] == UNKNOWN]
    if len(bad):
        value = _VOID if _VOID in bad else int(bad[0])
        hint = (
            f"if {_VOID} is void, add it to `void` in study.toml"
            if value == _VOID
            else f"--labels {value}=CLASS or {value}=void says what it means"
        )
        raise LabelMapError(f"{path}: holds the value {value}; allowed are {words}; {hint}")


def coded_by_colour(files: Sequence[str]) -> bool:
    """Whether these maps are images of three channels, judged by a few spread over the list."""
    for path in files[:: max(1, len(files) // 64)]:
        try:
            with Pillow.open(opened_at(path, LabelMapError)) as picture:
                if picture.mode in ("RGB", "RGBA"):
                    return True
        except (OSError, ValueError, SyntaxError, Pillow.DecompressionBombError, LabelMapError):
            continue
    return False


def fingerprint(source: str, files: Sequence[str]) -> str:
    """Return a digest that changes when any file below ``source`` changes (by size and modification times,
    without reading them).
    """
    digest = hashlib.sha256()
    for path in files:
        state = None
        with suppress(OSError, ValueError):
            state = os.stat(file_of(path)) if path else None
        name = path and path_below(path, source)
        digest.update(
            f"{name}\0{state and (state.st_size, state.st_mtime_ns, state.st_ctime_ns)}\n".encode(
                "utf-8", "surrogateescape"
            )
        )
    return digest.hexdigest()[:32]


class OpenFolder(OpenStored):
    """A folder of maps, read file by file."""

    batch = 64

    def __init__(self, opening: Opening, settings: Settings) -> None:
        resize = bool(opening.options.get("resize_maps"))
        self._model = FolderModel(
            settings.class_list,
            opening.labels,
            settings.working_size,
            resize_maps=resize,
            given="labels" in opening.options,
        )
        self._folder = opening.source
        self._has_confidence = holds_confidence(opening.source)

    def read(self, image: Image, stored: str) -> Row:
        """Return the map of an image, or why it cannot be used."""
        try:
            code = self._model.read(stored, image.width, image.height)
            sure = beside(self._folder, stored) if self._has_confidence else None
            kept = (
                {"confidence": (array_codes.encode(read_confidence(sure, runs.shape(code))),)} if sure else {}
            )
        except FaultscapeError as error:
            return Row(image.id, None, problem=self.told(image, stored, str(error)))
        return Row(image.id, code, kept)

    def told(self, image: Image, path: str, problem: str) -> str:
        """Return what is wrong with the map of an image, as a person reads it."""
        del image, path
        return problem


def _reading(source: Source, request: Request, files: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return what the values of maps mean if no one has said so, and a note; as the same folder was read
    before, which it must not contradict.
    """
    before = request.settings.models.get(request.name)
    same = before is not None and before.source == source.kept_as(request.source)
    labels, note = of_label_ids(
        f"{request.name}={request.source}",
        request.settings.class_list,
        files,
        before=named_reading(before.labels) if before is not None and same else "",
        again=f"if all maps are of one coding, give --labels {LABEL_IDS} or --labels {TRAIN_IDS}",
    )
    return request.held or labels, note


def origin(source: Source, request: Request) -> Origin:
    """Return what the maps of a folder depend on: its files, identified by their sizes and times."""
    place = request.source
    notes = list[str]()
    maps = Path(place, "labels") if Path(place, "labels").is_dir() else Path(place)
    pattern = request.options.get("pattern")
    files = match_shards(
        str(maps), request.shards, pattern=pattern, say=notes.append, folder=request.scratch_folder
    )
    return origin_of_files(source, request, files, place, partial(fingerprint, place), notes)


def origin_of_files(
    source: Source,
    request: Request,
    files: ShardFiles,
    place: str,
    mark: Callable[[Sequence[str]], str],
    notes: list[str],
) -> Origin:
    """Return what maps in ``files`` below a ``place`` depend on; ``mark`` returns a digest that changes when
    any of some files changes.
    """
    settings = request.settings
    given = label_names.of_file(request.labels, settings.class_list, None) if request.labels else {}
    given = given or (request.held if "labels" in request.options else {})
    coloured = coded_by_colour(files.paths)
    labels = given
    if not given:
        labels, note = _reading(source, request, files.paths)
        notes += [f"{request.name}: {note}"] if note else []
        coloured = coded_by_palette(files.paths, settings.class_list, labels) or coloured
        labels = label_names.of_colours(settings) if coloured else labels
    ask_about_void(
        f"{request.name}={request.source}",
        files.paths,
        settings.class_list,
        labels,
        known=map(int, given),
    )
    colours = settings.classes.model_dump(include={"names", "ids", "colours", "void"}) if coloured else None
    about = key_of(request.options.get("resize_maps", False), colours)
    rules = key_of(labels, settings.size, settings.classes.ids, settings.classes.void)
    stamps = {}
    has_confidence = holds_confidence(place)
    with_sure = 0
    for shard, images in request.shards():
        of_shard = files.get(shard, {})
        mine = [of_shard.get(image.id, "") for image in images]
        sure = [there for path in mine if has_confidence and path and (there := beside(place, path))]
        with_sure += len(sure)
        stamps[shard] = f"{mark(mine + sure)}-{about}:{rules}"
    if 0 < with_sure < files.count:
        notes.append(f"{place}: confidence found for {with_sure} of {files.count} maps")
    return Origin(request.options, labels, stamps, files, notes=tuple(notes), source=place)
