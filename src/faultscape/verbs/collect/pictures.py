"""Probe the images that collect found: which are unchanged, what to store about the others, and which are
near-duplicates of excluded ones.

Conventions: images are probed in parallel threads, in the order of their ids. Results are noted in
``.collecting.jsonl`` of the study until the corpus is written, so that a kill loses nothing. An image is
decoded, for its difference hash, if its file is on this machine, or as ``--probe`` says.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from faultscape.corpus.duplicates import Groups
from faultscape.corpus.photos import digest_of, look, opened
from faultscape.corpus.sources import RECIPE, Found, absolute, find
from faultscape.corpus.unread_images import unread_text
from faultscape.errors import ImageError, counted
from faultscape.formats import pictures
from faultscape.formats.deep_pictures import DIM, REACH
from faultscape.formats.packed.places import file_of
from faultscape.formats.pictures import Picture
from faultscape.study import store
from faultscape.study.folder import cannot_write
from faultscape.study.tables.corpus import Corpus, Image

_NOTES = ".collecting.jsonl"
_AHEAD = 256  # files under way or done, of which the first is waited for
_LONGEST = 1 << 20  # bytes of a line
Asked = TypeVar("Asked")
Said = TypeVar("Said")


def unchanged(held: Mapping[str, Image], found: Sequence[Found], probe: bool | None) -> set[str]:
    """Return the ids of images that have not changed, judged by their bytes or by their store's metadata."""

    def same(f: Found) -> bool:
        image = held[f.id]
        if image.source != absolute(f.path) or (image.dhash is None and whole_of(f.path, probe)):
            return False
        try:
            return digest_of(image.source) == image.digest
        except ImageError:
            return False

    there = [f for f in found if f.id in held]
    return {f.id for f, is_same in zip(there, _in_threads(same, there), strict=True) if is_same}


def _in_threads(work: Callable[[Asked], Said], found: Iterable[Asked]) -> Iterator[Said]:
    """Yield the result of each file, in order, with a few under way: what a pool's own ``map`` holds for all
    files at once is a kilobyte each.
    """
    with ThreadPoolExecutor() as pool:
        under_way = deque[Future[Said]]()
        for f in found:
            under_way.append(pool.submit(work, f))
            if len(under_way) > _AHEAD:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def whole_of(path: str, probe: bool | None) -> bool:
    """Return whether to decode an image when it is collected."""
    return not store.is_address(path) if probe is None else probe


class Notes:
    """What was found out about images, written at once, so that the same line looks at no image again after
    it was killed. Images come in the order of their ids, and so do notes: those of the killed run are read
    beside them, none is held. StudyError if notes cannot be written.
    """

    def __init__(self, root: Path) -> None:
        self._place = root / _NOTES
        try:
            self._file = self._place.open("a+b", buffering=0)
            whole = self._end_of_lines()
            self._file.truncate(whole)
            # of the lines that are there already, not of those that follow
            self._before = self._read(whole)
        except OSError as error:
            raise cannot_write(self._place, error) from None
        self._next = next(self._before, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._file.close()
        self._before.close()

    def _end_of_lines(self) -> int:
        """Return where the last whole line ends: a kill tears the last one."""
        size = self._file.seek(0, os.SEEK_END)
        start = max(size - _LONGEST, 0)
        self._file.seek(start)
        return start + self._file.read().rfind(b"\n") + 1

    def _read(self, upto: int) -> Generator[tuple[str, str, str, Picture]]:
        with self._place.open("rb") as file:
            for line in file:
                if file.tell() > upto:
                    return
                with suppress(ValueError, TypeError, RecursionError):
                    id_, path, state, *picture = json.loads(line)
                    yield id_, path, state, Picture(*picture)

    def noted(self, found: Found) -> tuple[str, Picture] | None:
        """Return the state and the contents of an image, as they were noted; the images have to come in the
        order of their ids.
        """
        while self._next is not None and self._next[0] < found.id:
            self._next = next(self._before, None)
        if self._next is not None and self._next[:2] == (found.id, found.path):
            return self._next[2:]
        return None

    def note(self, found: Found, state: str, picture: Picture) -> None:
        """Note what was found out about an image."""
        line = json.dumps([found.id, found.path, state, *astuple(picture)])
        try:
            self._file.write(f"{line}\n".encode())
        except OSError as error:
            raise cannot_write(self._place, error) from None

    def forget(self) -> None:
        """Delete the notes: the corpus now has their contents."""
        self._close()
        self._place.unlink(missing_ok=True)


def probe(
    notes: Notes, found: Iterable[Found], whole: bool | None
) -> Iterator[tuple[Found, Picture | ImageError]]:
    """Yield each file, in order, with its contents, or with why it cannot be read; what ``notes`` hold is not
    looked at again.
    """

    def one(asked: tuple[Found, tuple[str, Picture] | None]) -> tuple[Found, Picture | ImageError, str]:
        f, noted = asked
        try:
            source = opened(f.path)
            decode = whole_of(f.path, whole)
            if noted is not None and noted[0] == source.state and not (decode and noted[1].dhash is None):
                return f, noted[1], ""
            return f, look(f.path, source, whole=decode), source.state
        except ImageError as error:
            return f, error, ""

    for f, picture, state in _in_threads(one, ((f, notes.noted(f)) for f in found)):
        if state and isinstance(picture, Picture):
            notes.note(f, state, picture)
        yield f, picture


class Together:
    """What holds for all images that were read: of those of 16 bits, that even the brightest is dim; of
    those of floats, that some values are above 1.
    """

    def __init__(self) -> None:
        self._deep = list[Found]()  # until one is bright
        self._reach = -1
        self._clipped = 0
        self._first_clipped = ""
        self._most_clipped = 0.0

    def count(self, f: Found, picture: Picture) -> bool:
        """Count one image, and return whether it may turn out to be dim."""
        if picture.clipped:
            self._clipped += 1
            self._first_clipped = self._first_clipped or f.id
            share = picture.clipped / (picture.width * picture.height)
            self._most_clipped = max(self._most_clipped, share)
        if picture.reach is None:
            return False
        self._reach = max(self._reach, picture.reach)
        if self._reach < DIM:
            self._deep.append(f)
            return True
        self._deep.clear()
        return False

    def dim(self) -> tuple[list[Found], str]:
        """Return the images of 16 bits if even the brightest of them is dim, and why they cannot be used:
        they hold values of 13 or 14 bits, or reflectance, in a wider file. One bright image among them says
        that the others are dark and read as they are.
        """
        bits = 8 + self._reach.bit_length()
        return self._deep, (
            f"its 16-bit values would make an almost black image: in"
            f" {counted(len(self._deep), 'such image')},"
            f" {REACH} % of the values of each are at most {256 * self._reach + 255:,} of 65,535, as when"
            f" {bits} bits are stored in a wider file; multiply all by {1 << (16 - bits)}, or save them as"
            " 8-bit PNG"
        )

    def tell_clipped(self) -> None:
        """Print how many images hold floats above 1."""
        if self._clipped:
            most = self._most_clipped
            share = f"at most {most:.2%}" if most >= 0.0001 else "less than 0.01 %"
            print(
                f"note: {counted(self._clipped, 'image holds', 'images hold')} floats from 0 to 1 and a"
                f" few above, {share} of the pixels, which are read as white: {self._first_clipped}"
                f"{', ...' if self._clipped > 1 else ''}"
            )


def gone(corpus: Corpus, set_name: str, seen: np.ndarray) -> tuple[int, str]:
    """Return how many images of a set have no file on this machine any more, and the source of the first;
    those whose hashed ids were ``seen`` (sorted) are there.
    """
    count = 0
    first = ""
    for _, images in corpus.each_shard():
        mine = [image for image in images if image.set == set_name]
        unseen = ~np.isin(np.array([hash(image.id) for image in mine], np.int64), seen, assume_unique=False)
        for k in np.flatnonzero(unseen).tolist():
            if _is_gone(mine[k].source):
                count += 1
                first = first or mine[k].source
    return count, first


def _is_gone(source: str) -> bool:
    if not source or store.is_address(source) or source.startswith(RECIPE):
        return False
    return not os.path.exists(source) and not os.path.exists(file_of(source))


class Banned:
    """The images of the --not-in folders, whose near-duplicates are excluded."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._groups = Groups()
        self._paths = []
        unread: dict[str, str] = {}
        for f in find(folders) if folders else []:
            try:
                if (dhash := pictures.probe(f.path).dhash) is not None:
                    self._groups.add(dhash)
                    self._paths.append(f.path)
            except ImageError as error:
                unread[f.id] = str(error)
        if unread:
            so = f"{'keeps' if len(unread) == 1 else 'keep'} no near-duplicate out"
            print(f"note: --not-in: {unread_text(unread, 'image', so)}")

    def near(self, dhash: int | None) -> str | None:
        """Return the path of the image that a hash is a near-duplicate of, or None."""
        hit = None if dhash is None else self._groups.nearest(dhash)
        return None if hit is None else self._paths[hit]
