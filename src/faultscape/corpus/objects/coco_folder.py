"""Objects from COCO instances: a JSON file in the folder or its subfolder ``annotations``, and the images
that it names.

Conventions: an image is found by the end of its path, first in the folder that the JSON file's name ends in
(instances_val2017.json: val2017), then in ``images``; elsewhere it must be unique. The class is the
category's name. Crowds are not objects. Objects from a file with ``_val`` in its name are for validation,
with ``_test`` for test, all others for both.
"""

from __future__ import annotations

import posixpath
import re

from faultscape.corpus.objects.file_tree import stem_of
from faultscape.corpus.objects.harvest import MOST_OBJECTS, Harvest
from faultscape.errors import CorpusError, FaultscapeError
from faultscape.formats.coco import MOST_BYTES, NO_OUTLINE, CocoImage, coco_of, is_coco, mask_of
from faultscape.formats.pictures import rgb_of
from faultscape.stressors.objects.cutout import cutout_of_mask

_SPLITS = {"val": "validation", "validation": "validation", "test": "test"}


def coco_files(harvest: Harvest) -> list[str]:
    """Return the JSON files of a folder that may be COCO files, by name; note files that cannot be read or
    are too large.
    """
    near = [
        name
        for name in harvest.tree.files
        if name.lower().endswith(".json") and posixpath.dirname(name) in ("", "annotations")
    ]
    return [name for name in near if _may_be(harvest, name)]


def take_coco(harvest: Harvest, json: str) -> None:
    """Take the objects of a JSON file; note problems with the file, an image or an object."""
    try:
        images = coco_of(harvest.tree.read(json, MOST_BYTES, CorpusError), json)
    except FaultscapeError as error:
        harvest.leave(json, error)
        return
    harvest.done.add(json)
    files: dict[str, list[str]] = {}
    for name in harvest.tree.images():
        files.setdefault(posixpath.basename(name), []).append(name)
    split = _split(stem_of(json))
    for image in harvest.each(images):
        name = _file_of(harvest, json, image, files)
        if not name or name in harvest.settled:
            continue
        if image.objects:
            _take_image(harvest, name, image, split)
        else:
            harvest.leave(name, f"has no object in {json}")


def _take_image(harvest: Harvest, name: str, image: CocoImage, split: str) -> None:
    try:
        pixels = rgb_of(harvest.tree.read(name), name)
    except FaultscapeError as error:
        harvest.leave(name, error)
        return
    height, width = image.size
    if pixels.shape[:2] != image.size:
        harvest.leave(
            name,
            f"is {pixels.shape[1]} x {pixels.shape[0]} pixels, but {width} x {height} in its annotations",
        )
        return
    if len(image.objects) > MOST_OBJECTS:
        harvest.leave(name, f"has {len(image.objects):,} objects; at most {MOST_OBJECTS:,} are read")
        return
    counts: dict[str, int] = {}
    for one in image.objects:
        counts[one.class_] = counts.get(one.class_, 0) + 1
        which = f"{one.class_} {counts[one.class_]}"
        if one.crowd:
            harvest.leave(name, f"{which}: is a crowd, not one object")
            continue
        try:
            if one.only:
                raise CorpusError(NO_OUTLINE[one.only])
            inside = mask_of(one.outline, image.size)
        except FaultscapeError as error:
            harvest.leave(name, f"{which}: {error} (annotation {one.number})")
            continue
        if inside.any():
            harvest.take(name, cutout_of_mask(pixels, inside, name, one.class_, split=split), which)
        else:
            harvest.leave(name, f"{which}: its outline lies outside the image (annotation {one.number})")


def _file_of(harvest: Harvest, json: str, image: CocoImage, files: dict[str, list[str]]) -> str:
    """Return the file of an image; if there is none, note it and return ''."""
    asked = posixpath.normpath(image.file.replace("\\", "/"))
    if asked.startswith(("/", "../")) or asked in ("..", "."):
        harvest.leave(json, f"names {image.file[:200]!r}, which lies outside the folder")
        return ""
    found = [name for name in files.get(posixpath.basename(asked), ()) if f"/{name}".endswith(f"/{asked}")]
    for folder in (stem_of(json).rpartition("_")[2], "images"):
        if several := [
            name
            for name in found
            if f"{folder}/{asked}" in (name, name[-len(folder) - len(asked) - 1 :]) and len(found) > 1
        ]:
            found = several
    if len(found) != 1:
        why = (
            f"is the name of {len(found)} files, {found[0]} and {found[1]}"
            if found
            else "is not a file of the folder"
        )
        harvest.leave(json, f"names {image.file[:200]!r}, which {why}")
        return ""
    return found[0]


def _may_be(harvest: Harvest, name: str) -> bool:
    try:
        return is_coco(harvest.tree.read(name, MOST_BYTES, CorpusError))
    except CorpusError as error:
        harvest.leave(name, error)
        return False


def _split(stem: str) -> str:
    """Return the split in the name of a JSON file, or ''.

    >>> _split("annotations/instances_val2017"), _split("instances_train2017")
    ('validation', '')
    """
    words = re.findall(r"[a-z]+", posixpath.basename(stem).lower())
    return next((_SPLITS[word] for word in words if word in _SPLITS), "")
