"""The images of a folder that show what the classes of the study do not: `train --negatives` pastes pieces of
them, and `stress blend --textures` cuts shapes out of them.

Conventions: images are found in all subfolders and ordered by the digests of their files, so that names
change nothing; equal files count once. Label maps are refused, and so are cut-outs with transparency, which
`stress blend` can use, and images of the study itself, which show what is known. An image is kept at no more
than ``_SIDE`` pixels a side: pieces of it are smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np
from PIL import Image as Pillow

from faultscape.corpus.duplicates import Groups
from faultscape.corpus.objects.file_tree import FileTree, file_tree
from faultscape.errors import CorpusError, ImageError, OptionError, counted
from faultscape.formats.guard import decoding, open_picture
from faultscape.formats.pictures import examine, rgb_of
from faultscape.progress import progress
from faultscape.reading.study import Study
from faultscape.study.parts import key_of

FAMILY = "pieces of images"
_SIDE = 1024
_HELD = 256  # photos in memory
_GREY = ("1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "F")


class OtherPhotos:
    """The images of a folder; `read` is safe for several threads. Errors: OptionError for a folder without
    images, with label maps or cut-outs, or with images of the study.
    """

    family = FAMILY

    def __init__(self, study: Study, place: str, option: str = "negatives") -> None:
        self.name = place
        named = f"--{option} {place}"
        try:
            self._tree = file_tree(place)
        except CorpusError:
            sets = f"neither a set of the study ({', '.join(study.sets)}) nor a folder on this machine"
            expected = f"{sets}; give one of these" if option == "negatives" else "no folder on this machine"
            raise OptionError(f"{named}: is {expected}") from None
        if not self._tree.images():
            raise OptionError(f"{named}: has no images; give a folder of images of other things")
        self.files, self.hashes = _photos(self._tree, named)
        _refuse_known(study, named, self.files, self.hashes)
        self.read = lru_cache(maxsize=_HELD)(self._read)

    def __len__(self) -> int:
        return len(self.files)

    def key(self) -> str:
        """Return a key of the images."""
        return key_of([digest for _, digest in self.files])

    def _read(self, number: int) -> np.ndarray:
        """Return an image (H, W, 3) uint8; ImageError names one that cannot be read."""
        name = self.files[number][0]
        photo = rgb_of(self._tree.read(name), self._tree.root / name)
        factor = _SIDE / max(photo.shape[:2])
        if factor >= 1:
            return photo
        size = tuple(max(1, round(side * factor)) for side in photo.shape[1::-1])
        return cv2.resize(photo, size, interpolation=cv2.INTER_AREA)


def _photos(tree: FileTree, named: str) -> tuple[list[tuple[str, str]], list[int]]:
    """Return (name, digest) of each image by digest, and their difference hashes; OptionError for label maps
    and cut-outs.
    """
    found: dict[str, tuple[str, int]] = {}
    unread: list[ImageError] = []
    wrong: list[tuple[str, str]] = []
    names = tree.images()
    with progress("photos", len(names)) as tick:
        for name in names:
            try:
                data = tree.read(name)
                if why := _no_photo(data, name):
                    wrong.append((name, why))
                else:
                    seen = examine(data, tree.root / name)
                    found.setdefault(seen.digest, (name, seen.dhash or 0))
            except ImageError as error:
                unread.append(error)
            tick(1)
    if wrong:
        name, why = wrong[0]
        raise OptionError(
            f"{named}: {len(wrong)} of {counted(len(names), 'image')} cannot be pasted; first: {name} {why}"
        )
    if not found:
        raise OptionError(f"{named}: none of its images can be read; first: {unread[0]}")
    if unread:
        print(f"note: {named}: {counted(len(unread), 'image')} left out; first: {unread[0]}")
    order = sorted(found)
    return [(found[digest][0], digest) for digest in order], [found[digest][1] for digest in order]


def _no_photo(data: bytes, name: str) -> str:
    """Return why a file is a label map or a cut-out, '' for other images: label maps have a palette, or a
    single channel that is stored without loss.
    """
    with decoding(name, ImageError):
        picture = open_picture(data, name, ImageError)
        if picture.mode in ("P", "PA"):
            return "has a palette, as label maps have; give images in RGB"
        if picture.mode in _GREY and picture.format != "JPEG":
            return "has a single channel, as label maps have; give images in RGB"
        if picture.mode in ("RGBA", "RGBa") and _transparent(picture):
            return "is a cut-out with transparency; `faultscape stress blend --objects` can blend it"
    return ""


def _transparent(picture: Pillow.Image) -> bool:
    return bool((np.asarray(picture.getchannel("A")) < 255).any())


def _refuse_known(study: Study, named: str, files: Sequence[tuple[str, str]], hashes: Sequence[int]) -> None:
    """Raise OptionError for near-duplicates of images of the study."""
    groups = Groups()
    ids: list[str] = []
    digests: dict[str, str] = {}
    for image in study.image_rows.values():
        if image.parent:
            continue
        digests.setdefault(image.digest, image.id)
        if image.dhash:
            groups.add(image.dhash)
            ids.append(image.id)
    alike = []
    for (name, digest), value in zip(files, hashes, strict=True):
        near = groups.nearest(value) if value else None
        if (id_ := digests.get(digest) or (ids[near] if near is not None else None)) is not None:
            alike.append((name, id_))
    if alike:
        name, id_ = alike[0]
        raise OptionError(
            f"{named}: {len(alike)} of {counted(len(files), 'image')} "
            f"{'is' if len(alike) == 1 else 'are'} in the study, whose images show what is known ({name} is"
            f" {id_}); give images of other things"
        )
