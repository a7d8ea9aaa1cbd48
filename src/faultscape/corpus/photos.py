"""Open an image wherever it is stored: a file, an object in a store, a row of a Parquet or Arrow file, a
member of a tar, or a recipe that makes it from another image.

Conventions: RGB, upright, as `read_rgb` returns it. The digest of an image is the SHA-256 of its bytes, or,
for an object in a store, ``etag:...`` (``changed:...`` if the store has no tags): then only the beginning of
its bytes is read when it is collected, and the SHA-256 is computed when a network reads it. An image that has
changed since it was collected raises ImageError and is never read silently. The bytes of a made image are a
PNG of it; its digest is that of its recipe.

Read images from rows of Parquet files as a stream.

Conventions: the last few rows of each row group being read are kept, so that rows requested in about the
file's order are read once and no row group is ever held whole. At most ``_GROUPS`` row groups are open; for a
row passed long ago, its row group is read again from the start.
"""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np

from faultscape.corpus.parquet_rows import image_column, open_file, passing, row_of
from faultscape.corpus.stress.recipes import CANNOT, Recipe, cook, recipe_of
from faultscape.errors import FaultscapeError, ImageError
from faultscape.formats import png
from faultscape.formats.guard import read_bytes
from faultscape.formats.packed import tables
from faultscape.formats.packed.places import packed_of, read_packed
from faultscape.formats.packed.tables import Group
from faultscape.formats.pictures import Picture, examine, rgb_of, size_of
from faultscape.study import store
from faultscape.study.tables.corpus import Image

HEAD = 1 << 16  # holds an image's size, and most cameras' thumbnails
CHANGED = "changed since it was collected; run collect again"
PARENT_CHANGED = "changed since images were made from it; run collect again, then `faultscape stress`"
_GROUPS = 4
_BUFFER = 16


@dataclass(frozen=True)
class Source:
    """An image that exists: ``state`` changes when the image does, ``tag`` is its digest if that is not
    computed from the bytes, and ``read`` returns the first bytes, or all.
    """

    state: str
    tag: str
    read: Callable[..., bytes]


def opened(source: str) -> Source:
    """Return an image for reading; ImageError if it does not exist."""
    if recipe := recipe_of(source):
        return Source(
            opened(recipe.of).state, recipe.made_digest, lambda _=None: png.encode_pixels(_made(recipe))
        )
    if packed := packed_of(source):
        try:
            return Source(packed.state, "", lambda _=None: read_packed(packed, ImageError))
        except OSError as error:
            raise ImageError(f"{packed.file}: {error.strerror}") from None
    if (row := row_of(source)) and not os.path.isfile(source):
        path, number = row
        return Source(_ROWS.state(path), "", lambda _=None: _ROWS.read(path, number))
    if store.is_address(source):
        place = store.parse(source, ImageError)
        with store.told(place, ImageError):
            found = store.open_object(place)

        def ranged(length: int | None = None) -> bytes:
            with store.told(place, ImageError):
                return found.read(length)

        return Source(found.tag, found.tag, ranged)
    if not source:
        raise ImageError("the study has only its id, not the image itself")
    try:
        about = os.stat(source)
    except OSError as error:
        raise ImageError(f"{source}: {error.strerror}") from None
    return Source(f"{about.st_size}-{about.st_mtime_ns}", "", lambda _=None: read_bytes(source, ImageError))


def look(source: str, found: Source, *, whole: bool) -> Picture:
    """Return what `collect` keeps of an image: with ``whole`` it is decoded, for its difference hash;
    otherwise reading its size is enough.
    """
    if found.tag and not whole:
        try:
            width, height = size_of(found.read(HEAD), source)
        except ImageError:
            width, height = size_of(found.read(), source)
        return Picture(width, height, found.tag, None)
    data = found.read()
    picture = (
        examine(data, source)
        if whole
        else Picture(*size_of(data, source), hashlib.sha256(data).hexdigest(), None)
    )
    return replace(picture, digest=found.tag or picture.digest)


def digest_of(source: str) -> str:
    """Return the current digest of an image; ImageError if it cannot be read."""
    if recipe := recipe_of(source):
        return replace(recipe, digest=digest_of(recipe.of)).made_digest
    found = opened(source)
    return found.tag or hashlib.sha256(found.read()).hexdigest()


def read_bytes_of(image: Image) -> tuple[bytes, str]:
    """Return the bytes of an image of the corpus and its digest, which is their SHA-256 unless the image is
    made; ImageError if it cannot be read or has changed since it was collected.
    """
    if recipe := recipe_of(image.source):
        return png.encode_pixels(_made(recipe)), image.digest
    found = opened(image.source)
    changed = bool(found.tag) and found.tag != image.digest
    data = b"" if changed else found.read()
    digest = hashlib.sha256(data).hexdigest()
    if changed or (not found.tag and digest != image.digest):
        raise ImageError(f"{image.source}: {CHANGED}")
    return data, digest


def read_photo(image: Image) -> tuple[np.ndarray, str]:
    """Return an image of the corpus as (H, W, 3) uint8, and its digest as `read_bytes_of` does; ImageError if
    it cannot be read or has changed since it was collected.
    """
    if recipe := recipe_of(image.source):
        return _made(recipe), image.digest
    data, digest = read_bytes_of(image)
    return rgb_of(data, image.source), digest


def read_photo_again(image: Image) -> tuple[np.ndarray, str]:
    """Return what `read_photo` does, for networks that look at the same images one after another: the first
    ones are decoded once (`DECODED`).
    """
    if recipe_of(image.source):
        return read_photo(image)
    data, digest = read_bytes_of(image)
    return DECODED.read(data, digest, image.source), digest


def back(image: Image, why: str) -> bool:
    """Whether an image that failed because its file, or a file needed to make it, was missing or changed, is
    again as it was collected.
    """
    recipe = recipe_of(image.source)
    place = recipe.of if recipe else image.source
    if recipe and why.startswith(CANNOT):
        try:
            return bool(read_photo(image)[0].size)
        except ImageError:
            return False
    if why not in (
        f"{place}: {CHANGED}",
        f"{place}: {PARENT_CHANGED}",
        f"{place}: {os.strerror(errno.ENOENT)}",
    ):
        return False
    try:
        return digest_of(image.source) == image.digest
    except ImageError:
        return False


def read_source(source: str | os.PathLike[str]) -> np.ndarray:
    """Return the current image of a source, (H, W, 3) uint8; ImageError if it cannot be read."""
    if recipe := recipe_of(os.fspath(source)):
        return _made(recipe)
    return rgb_of(opened(os.fspath(source)).read(), source)


def read_parent(image: Image) -> np.ndarray:
    """Return the image (H, W, 3) uint8 that an image was made from; ImageError if that cannot be read or has
    changed, or if the image was not made.
    """
    if (recipe := recipe_of(image.source)) is None:
        raise ImageError(f"{image.id}: was collected, not made from another image")
    return parent_of(recipe)


def _made(recipe: Recipe) -> np.ndarray:
    """Return the image that a recipe makes; its parent must be unchanged."""
    return cook(recipe, parent_of(recipe))


def parent_of(recipe: Recipe) -> np.ndarray:
    """Return the image (H, W, 3) uint8 that a recipe starts from; ImageError if that cannot be read or has
    changed.
    """
    if inner := recipe_of(recipe.of):
        if inner.made_digest != recipe.digest:
            raise ImageError(f"{inner.of}: {PARENT_CHANGED}")
        return _made(inner)
    found = opened(recipe.of)
    data = b"" if found.tag and found.tag != recipe.digest else found.read()
    if (found.tag or hashlib.sha256(data).hexdigest()) != recipe.digest:
        raise ImageError(f"{recipe.of}: {PARENT_CHANGED}")
    return rgb_of(data, recipe.of)


def forget() -> None:
    """Close open Parquet and Arrow files, which may have been replaced."""
    _ROWS.forget()
    tables.forget()


class Rows:
    """The rows of any number of Parquet files; one thread reads at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[str, tuple[Any, str, list[int], str | None]] = OrderedDict()
        self._groups: OrderedDict[tuple[str, int], Group] = OrderedDict()

    def state(self, path: str) -> str:
        """Return a text that changes with a file; ImageError if it cannot be opened."""
        with self._lock:
            return self._open(path)[1]

    def read(self, path: str, row: int) -> bytes:
        """Return the bytes of a row's image; ImageError names a row without one."""
        with self._lock:
            file, _, ends, column = self._open(path)
            if column is None:
                raise ImageError(f"{path}#{row}: the row names no image file")
            if row >= ends[-1]:
                raise ImageError(
                    f"{path}#{row}: the file has only {ends[-1]} rows; it was changed or replaced since"
                    " it was collected, so run collect again"
                )
            group = bisect_right(ends, row) - 1
            if (path, group) not in self._groups:
                self._groups[path, group] = Group(partial(passing, file, group, column, _BUFFER), _BUFFER)
                while len(self._groups) > _GROUPS:
                    self._groups.popitem(last=False)
            self._groups.move_to_end((path, group))
            try:
                data = self._groups[path, group].value(row - ends[group])
            except Exception as fault:  # noqa: BLE001 - a damaged file may raise nearly anything
                del self._groups[path, group]
                raise ImageError(
                    f"{path}#{row}: cannot be read:"
                    f" {str(fault).splitlines()[0][:200] if str(fault) else type(fault).__name__}"
                ) from None
        if not data:
            raise ImageError(f"{path}#{row}: the row holds no image bytes")
        return data

    def forget(self) -> None:
        """Close every file, because it may have been replaced."""
        with self._lock:
            self._groups.clear()
            self._files.clear()

    def _open(self, path: str) -> tuple[Any, str, list[int], str | None]:
        if path not in self._files:
            file, state = open_file(path, ImageError)
            try:
                column = image_column(file.schema_arrow, path)[0]
            except FaultscapeError as error:
                raise ImageError(str(error)) from None
            about = file.metadata
            ends = [0, *accumulate(about.row_group(g).num_rows for g in range(about.num_row_groups))]
            self._files[path] = (file, state, ends, column)
            while len(self._files) > _GROUPS:
                self._files.popitem(last=False)
        self._files.move_to_end(path)
        return self._files[path]


class Decoded:
    """Images that stay decoded, by the SHA-256 of their bytes: the first ones of a process, up to a number of
    bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held = dict[str, np.ndarray]()
        self._bytes = 0

    def read(self, data: bytes, digest: str, source: str) -> np.ndarray:
        """Return the image (H, W, 3) uint8 in some bytes; ImageError, which names the source, if there is
        none.
        """
        held = self._held.get(digest)
        if held is not None:
            return held.copy()
        photo = rgb_of(data, source)
        with self._lock:
            if digest not in self._held and self._bytes + photo.nbytes <= self._most:
                self._held[digest] = photo.copy()
                self._bytes += photo.nbytes
        return photo

    def forget(self) -> None:
        """Hold none of them."""
        with self._lock:
            self._held.clear()
            self._bytes = 0


_ROWS = Rows()
DECODED = Decoded(32 << 20)
