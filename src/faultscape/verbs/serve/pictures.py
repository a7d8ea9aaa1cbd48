"""The images that people see: an image, a model's map overlaid in two ways, and the regions of a map with one
of the classes in question.

Conventions: images are made on request, and kept in memory up to a limit. Maps are scaled to the size of the
image by the nearest pixel. A key changes with what an image was made from.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
from fastapi import Request
from fastapi.responses import Response

from faultscape.classes.class_lists import narrow, table
from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, LabelMapError, StudyError
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.reporting.pictures import fit
from faultscape.study.parts import Part, read_manifest
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.web import overlays
from faultscape.web.app import NotFoundError, send_picture
from faultscape.web.photos import Pictures, shrink

LONGEST = 1600
MAP_WAYS = ("fill", "outline")
WAYS = (*MAP_WAYS, "mark")
MARK = (255, 0, 160, 255)


def photo(image: Image, longest: int = LONGEST) -> tuple[bytes, str]:
    """Return an image as (bytes, media type); NotFoundError if it cannot be read."""
    try:
        return shrink(read_photo(image)[0], longest)
    except ImageError as error:
        raise _unseen("photo", image, error) from None


def read_map(root: Path, settings: Settings, folder: Path, image: Image, model: str | None) -> np.ndarray:
    """Return the map (H, W) of an image in a folder of maps as places; ``model`` names the model whose labels
    it has, None a truth. NotFoundError if there is none, or its file is outside the study.
    """
    try:
        part = read_manifest(folder).get(part_name(image.shard))
        _refuse_elsewhere(root, folder, image, part)
        code = None if part is None else label_maps.read_map(folder, image.shard, part, image.id)
        if code is None:
            raise NotFoundError("this map no longer exists")
        labels = settings.models[model].labels if model is not None and model in settings.models else None
        return runs.decode(code, narrow(table(settings.class_list, labels)))
    except (OSError, StudyError, LabelMapError) as error:
        raise _unseen("map", image, error) from None


def send_map(
    request: Request,
    pictures: Pictures,
    root: Path,
    settings: Settings,
    folder: Path,
    image: Image,
    way: str,
    model: str | None,
) -> Response:
    """Return the map of an image in a folder of maps, as `read_map` reads it, filled or as outlines; a
    browser caches it until the map changes.
    """
    part = read_manifest(folder).get(part_name(image.shard))
    key = f"map\n{folder.relative_to(root)}\n{image.id}\n{way}\n{part.sha256 if part else ''}"

    def painted() -> tuple[bytes, str]:
        return overlay(read_map(root, settings, folder, image, model), settings, image, way)

    return send_picture(request, pictures, key, painted)


def _refuse_elsewhere(root: Path, folder: Path, image: Image, part: Part | None) -> None:
    """StudyError for a part that is, or is inside, a link that leads out of the study: files outside the
    study are not shown.
    """
    inside = root.resolve()
    names = ("manifest.json", *([f"{part_name(image.shard)}-{part.sha256[:16]}.parquet"] if part else []))
    for path in (folder / name for name in names):
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
    settings: Settings,
    image: Image,
    way: str,
    classes: Collection[str] = (),
    longest: int = LONGEST,
) -> tuple[bytes, str]:
    """Return a map of an image as a transparent image (bytes, media type): filled, as outlines, or only the
    edges of ``classes``, which is a single pixel where they have none.
    """
    known = settings.class_list
    shown = nearest(label_map, fit(max(image.width, 1), max(image.height, 1), longest))
    if way == "mark":
        wanted = np.isin(
            np.arange(len(known) + 1), [known.names.index(name) for name in classes if name in known.names]
        )
        edges = overlays.edge(overlays.large_enough(wanted[np.minimum(shown, len(known))]), MARK)
        if not edges.codes.any():  # none of the classes, or nothing else: a single pixel tells the page so
            edges = replace(edges, codes=edges.codes[:1, :1])
        return overlays.png(edges), "image/png"
    return overlays.png((overlays.outline if way == "outline" else overlays.fill)(shown, known)), "image/png"
