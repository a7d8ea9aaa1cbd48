"""The image files of an export: the bytes that were collected, or hard links to their files.

Conventions: an image that its EXIF turns, and one that a recipe makes, is written upright, as PNG, since few
tools turn it as the maps of models are; all others are byte for byte what was collected. Paths are relative,
POSIX, with the ending that the bytes ask for.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from PIL import Image as Picture

from faultscape.choices import ImageFiles
from faultscape.corpus.photos import read_bytes_of
from faultscape.corpus.stress.recipes import recipe_of
from faultscape.errors import OptionError, StudyError, counted
from faultscape.formats.packed.places import file_of
from faultscape.formats.pictures import rgb_of
from faultscape.formats.png import encode_pixels
from faultscape.study.store import is_address
from faultscape.study.tables.corpus import Image

_TURNED = 0x0112  # EXIF's tag of the orientation
_ENDINGS = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp", "TIFF": ".tif", "BMP": ".bmp", "GIF": ".gif"}


def refuse_missing(images: Sequence[Image], how: ImageFiles, called: str) -> None:
    """Raise OptionError if image files are wanted and some do not exist: they are only ids of a list, were
    moved, or cannot be linked.
    """
    if how == "none":
        return
    if bare := [image for image in images if not image.source]:
        raise OptionError(
            f"of {counted(len(bare), 'image')} the study has only the id (first: {bare[0].id}); leave"
            " images out with --image-files none"
        )
    others = [image for image in images if not _is_file(image.source)]
    if how == "link" and others:
        kind = "is not a local file" if len(others) == 1 else "are not local files"
        raise OptionError(
            f"--image-files link: {counted(len(others), 'image')} {kind} (first: {others[0].id}); use"
            " --image-files copy"
        )
    left = {image.id for image in others}
    gone = [image for image in images if image.id not in left and not os.path.isfile(image.source)]
    if gone:
        which = f"{len(gone)} of {counted(len(images), 'image')} {'is' if len(gone) == 1 else 'are'}"
        raise OptionError(
            f"{which} no longer where they were collected (first:"
            f" {gone[0].source}); if they were moved, run `faultscape collect {called} NEWFOLDER`, or leave"
            " them out with --image-files none"
        )


def _is_file(source: str) -> bool:
    """Whether a source names a file, rather than an object of a store, a recipe, or a row of a table."""
    of_table = file_of(source) != source
    return not (is_address(source) or recipe_of(source) or of_table)


def image_bytes(image: Image) -> tuple[bytes, str, bool]:
    """Return the bytes of an image, upright, the ending of their format, and whether they are not those that
    were collected; ImageError if it cannot be read or changed since.
    """
    data, _ = read_bytes_of(image)
    with Picture.open(BytesIO(data)) as picture:
        turned = picture.getexif().get(_TURNED, 1) != 1
        ending = _ENDINGS.get(picture.format or "", "")
    if turned or not ending:
        return encode_pixels(rgb_of(data, image.source)), ".png", True
    return data, ending, False


def write_image(image: Image, folder: Path, below: str, how: ImageFiles) -> str:
    """Write or link an image to ``folder / below`` and return its path relative to the folder; '' if none is
    wanted. Errors as `image_bytes`; StudyError for a link to another disk.
    """
    if how == "none":
        return ""
    data, ending, made_anew = image_bytes(image)
    name = file_name(image.id, below, ending)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if how == "link" and not made_anew:
        try:
            os.link(os.path.realpath(image.source), path)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
                raise
            raise StudyError(
                f"{image.source}: cannot be linked from another disk; use --image-files copy"
            ) from None
        return name
    path.write_bytes(data)
    return name


def file_name(id_: str, below: str, ending: str) -> str:
    """Return the path of an image's file in a folder of an export; StudyError for an id that leads out of it.

    >>> file_name("night/street 1", "images", ".jpg")
    'images/night/street 1.jpg'
    """
    name = posixpath.normpath(f"{below}/{id_}{ending}")
    if not name.startswith(f"{below}/") or "\0" in name:
        raise StudyError(f"image {id_!r}: its id leads out of the folder; collect it under another name")
    return name
