"""What people look at: a photo, a model's map over it in two ways, and where a map says one of the classes in question.

Conventions: pictures are made when they are asked for, and kept in memory up to a bound. Maps are brought to the size of the picture by the nearest pixel. A key changes with what a picture was made from.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, StudyError
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.reporting.competition.gallery import fit
from faultscape.study.parts import read_manifest
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.web import overlays
from faultscape.web.app import NotFoundError
from faultscape.web.photos import shrink

LONGEST = 1600
WAYS = ("fill", "outline", "mark")
MARK = (255, 0, 160, 255)


def photo(image: Image, longest: int = LONGEST) -> tuple[bytes, str]:
    """Return a photo as (bytes, media type); NotFoundError where it cannot be read."""
    try:
        return shrink(read_photo(image)[0], longest)
    except ImageError as error:
        raise NotFoundError(f"the photo cannot be shown: {error}") from None


def read_map(root: Path, settings: Settings, folder: Path, image: Image, model: str | None) -> np.ndarray:
    """Return the map (H, W) of an image in a folder of maps as places; ``model`` names whose labels it has, None a truth's. NotFoundError where there is none."""
    part = read_manifest(folder).get(part_name(image.shard))
    try:
        code = None if part is None else label_maps.read_map(folder, image.shard, part, image.id)
    except (OSError, StudyError) as error:
        raise NotFoundError(f"the map cannot be read: {error}") from None
    if code is None:
        raise NotFoundError(f"{root.name} has no such map of {image.id} any more")
    labels = settings.models[model].labels if model is not None and model in settings.models else None
    return runs.decode(code, narrow(table(settings.class_list, labels)))


def overlay(
    label_map: np.ndarray, settings: Settings, image: Image, way: str, classes: Collection[str] = (), longest: int = LONGEST
) -> tuple[bytes, str]:
    """Return a map of an image as a transparent picture (bytes, media type): filled, as outlines, or the edge of the ``classes`` alone."""
    known = settings.class_list
    shown = nearest(label_map, fit(max(image.width, 1), max(image.height, 1), longest))
    if way == "mark":
        wanted = np.isin(np.arange(len(known) + 1), [known.names.index(name) for name in classes if name in known.names])
        return overlays.png(overlays.edge(wanted[np.minimum(shown, len(known))], MARK)), "image/png"
    return overlays.png((overlays.outline if way == "outline" else overlays.fill)(shown, known)), "image/png"
