"""The images that people see: an image, a model's map overlaid in two ways, and the regions of a map with one
of the classes in question.

Conventions: images are made on request, and kept in memory up to a limit. Maps are scaled to the size of the
image by the nearest pixel. A key changes with what an image was made from.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace

import numpy as np
from fastapi import Request
from fastapi.responses import Response

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, LabelMapError, StudyError
from faultscape.formats.png import encode_pixels
from faultscape.maps.resize import nearest
from faultscape.nouns import Classes
from faultscape.reading.maps import StoredLabels
from faultscape.reading.study import Study
from faultscape.reporting.pictures import fit
from faultscape.reporting.point_crops import SIDE, WHOLE, crop_around
from faultscape.study.tables.corpus import Image, part_name
from faultscape.verbs.serve.image_cache import DecodedImages
from faultscape.web import overlays
from faultscape.web.app import NotFoundError, send_picture
from faultscape.web.photos import Pictures, shrink

LONGEST = 1600
MAP_WAYS = ("fill", "outline")
WAYS = (*MAP_WAYS, "mark")
POINT_WAYS = ("crop", "wide", "place")
WIDE = 4  # times as much context
MARK = (255, 0, 160, 255)


def photo(image: Image, longest: int = LONGEST) -> tuple[bytes, str]:
    """Return an image as (bytes, media type); NotFoundError if it cannot be read."""
    try:
        return shrink(read_photo(image)[0], longest)
    except ImageError as error:
        raise _unseen("photo", image, error) from None


def point_picture(decoded: DecodedImages, image: Image, row: int, column: int, way: str) -> tuple[bytes, str]:
    """Return an image around a pixel, with a ring there, as (bytes, media type): a `crop` in the resolution
    of the image, a `wide` one shrunk, or the whole image shrunk, which shows the `place`. NotFoundError if
    the image cannot be read.
    """
    try:
        rgb = decoded.get(f"{image.id}\n{image.digest}", lambda: read_photo(image)[0])
    except ImageError as error:
        raise _unseen("photo", image, error) from None
    side, longest = {
        "crop": (SIDE, SIDE),
        "wide": (WIDE * SIDE, 2 * SIDE),
        "place": (WHOLE, SIDE),
    }[way]
    shown = crop_around(rgb, row, column, side, longest)
    # a crop keeps every pixel as it is
    return (encode_pixels(shown), "image/png") if way == "crop" else shrink(shown, longest)


def draw_map(
    study: Study, image: Image, way: str, *, model: str = "", truth: str = "", marked: Collection[str] = ()
) -> tuple[bytes, str]:
    """Return the map of an image by a model or of a truth as `overlay` draws it; NotFoundError if there is
    none, or its file is outside the study.
    """
    try:
        stored = _stored(study, model, truth)
        _refuse_elsewhere(stored, image)
        found = None if study.classifies else stored.of(image)
    except (OSError, StudyError, LabelMapError) as error:
        raise _unseen("map", image, error) from None
    if found is None:
        raise NotFoundError("this map no longer exists")
    return overlay(found, study.classes, image, way, marked)


def send_map(
    request: Request,
    pictures: Pictures,
    study: Study,
    image: Image,
    way: str,
    *,
    model: str = "",
    truth: str = "",
) -> Response:
    """Return the map of an image by a model or of a truth, filled or as outlines; a browser caches it until
    the map changes.
    """
    folder = _stored(study, model, truth).folder
    part = study.manifest(folder).get(part_name(image.shard))
    key = f"map\n{folder.relative_to(study.root)}\n{image.id}\n{way}\n{part.sha256 if part else ''}"
    return send_picture(request, pictures, key, lambda: draw_map(study, image, way, model=model, truth=truth))


def _stored(study: Study, model: str, truth: str) -> StoredLabels:
    return study.maps(model) if model else StoredLabels.of_truth(study, truth)


def _refuse_elsewhere(stored: StoredLabels, image: Image) -> None:
    """StudyError for a part that is, or is inside, a link that leads out of the study: files outside the
    study are not shown.
    """
    inside = stored.study.root.resolve()
    part = stored.study.manifest(stored.folder).get(part_name(image.shard))
    names = ("manifest.json", *([f"{part_name(image.shard)}-{part.sha256[:16]}.parquet"] if part else []))
    for path in (stored.folder / name for name in names):
        if not path.resolve().is_relative_to(inside):
            raise StudyError(f"{path}: is a link out of the study, so it is not shown")


def _unseen(what: str, image: Image, error: Exception) -> NotFoundError:
    """Return what people are told about an image that cannot be shown. Only the terminal shows why, because
    the reason may name a model or a folder.
    """
    print(f"faultscape: {what} of {image.id!r}: {error}", file=sys.stderr)
    return NotFoundError(f"this {what} cannot be shown; the terminal that runs `label serve` shows why")


def overlay(
    label_map: np.ndarray,
    classes: Classes,
    image: Image,
    way: str,
    marked: Collection[str] = (),
) -> tuple[bytes, str]:
    """Return a map of an image as a transparent image (bytes, media type): filled, as outlines, or only the
    edges of the classes that are ``marked``, which is a single pixel where they have none.
    """
    shown = nearest(label_map, fit(max(image.width, 1), max(image.height, 1), LONGEST))
    if way == "mark":
        wanted = np.isin(
            np.arange(len(classes) + 1),
            [classes.names.index(name) for name in marked if name in classes.names],
        )
        edges = overlays.edge(overlays.large_enough(wanted[np.minimum(shown, len(classes))]), MARK)
        if not edges.codes.any():  # none of the classes, or nothing else: a single pixel tells the page so
            edges = replace(edges, codes=edges.codes[:1, :1])
        return overlays.png(edges), "image/png"
    drawn = (overlays.outline if way == "outline" else overlays.fill)(shown, classes)
    return overlays.png(drawn), "image/png"
