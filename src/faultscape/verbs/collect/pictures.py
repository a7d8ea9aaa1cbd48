"""Probe the images that collect found: which are unchanged, what to store about the others, and which are
near-duplicates of excluded ones.

Conventions: images are probed in parallel threads. Results are noted in ``.collecting.jsonl`` of the study
until the corpus is written, so that a kill loses nothing. An image is decoded, for its difference hash, if
its file is on this machine, or as ``--probe`` says.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path
from typing import TypeVar

from faultscape.corpus.duplicates import Groups
from faultscape.corpus.photos import digest_of, look, opened
from faultscape.corpus.sources import RECIPE, Found, absolute, find
from faultscape.corpus.unread_images import unread_text
from faultscape.errors import ImageError, counted
from faultscape.formats import pictures
from faultscape.formats.deep_pictures import DIM, REACH
from faultscape.formats.packed.places import file_of
from faultscape.formats.pictures import Picture
from faultscape.progress import progress
from faultscape.study import store
from faultscape.study.folder import cannot_write
from faultscape.study.tables.corpus import Image

_NOTES = ".collecting.jsonl"
_AHEAD = 256  # files under way or done, of which the first is waited for
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


def _in_threads(work: Callable[[Found], Said], found: Sequence[Found]) -> Iterator[Said]:
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


def probe(
    root: Path, found: Sequence[Found], whole: bool | None
) -> tuple[list[tuple[Found, Picture]], list[tuple[Found, str]]]:
    """Return (file, image) for readable files and (file, reason) for the rest; results of a killed run are
    read from its notes.
    """
    notes = root / _NOTES
    known, whole_lines = _noted(notes)

    def one(f: Found) -> tuple[Found, Picture | ImageError, str]:
        try:
            source = opened(f.path)
            decode = whole_of(f.path, whole)
            picture = known.get(f"{f.path}\0{source.state}")
            if picture is None or (decode and picture.dhash is None):
                picture = look(f.path, source, whole=decode)
        except ImageError as error:
            return f, error, ""
        return f, picture, source.state

    good = []
    bad = []
    try:
        with (
            progress("collect", len(found)) as tick,
            notes.open("a", encoding="utf-8", buffering=1) as file,
        ):
            file.truncate(whole_lines)
            for f, picture, state in _in_threads(one, found):
                if isinstance(picture, ImageError):
                    bad.append((f, str(picture).removeprefix(f"{f.path}: ")))
                else:
                    good.append((f, picture))
                    if known.get(f"{f.path}\0{state}") != picture:
                        file.write(json.dumps([f.path, state, *astuple(picture)]) + "\n")
                tick(1)
    except OSError as error:
        raise cannot_write(notes, error) from None
    _tell_clipped(good)
    return _without_dim(good, bad)


def _without_dim(
    good: list[tuple[Found, Picture]], bad: list[tuple[Found, str]]
) -> tuple[list[tuple[Found, Picture]], list[tuple[Found, str]]]:
    """Return what `probe` found, without the images of 16 bits if even the brightest of them is dim: then
    they hold values of 13 or 14 bits, or reflectance, in a wider file. One bright image among them says that
    the others are dark and read as they are.
    """
    reach = max((picture.reach for _, picture in good if picture.reach is not None), default=DIM)
    if reach >= DIM:
        return good, bad
    bits = 8 + reach.bit_length()
    deep = [f for f, picture in good if picture.reach is not None]
    why = (
        f"its 16-bit values would make an almost black image: in {counted(len(deep), 'such image')},"
        f" {REACH} % of the values of each are at most {256 * reach + 255:,} of 65,535, as when {bits} bits"
        f" are stored in a wider file; multiply all by {1 << (16 - bits)}, or save them as 8-bit PNG"
    )
    # first, so that what is said of all of them is what a person reads
    return [one for one in good if one[1].reach is None], [(f, why) for f in deep] + bad


def _tell_clipped(good: list[tuple[Found, Picture]]) -> None:
    if above := [(f, picture) for f, picture in good if picture.clipped]:
        most = max(picture.clipped / (picture.width * picture.height) for _, picture in above)
        share = f"at most {most:.2%}" if most >= 0.0001 else "less than 0.01 %"
        print(
            f"note: {counted(len(above), 'image holds', 'images hold')} floats from 0 to 1 and a few above,"
            f" {share} of the pixels, which are read as white: {above[0][0].id}"
            f"{', ...' if len(above) > 1 else ''}"
        )


def forget_notes(root: Path) -> None:
    """Delete the notes of probed images: the corpus now has their contents."""
    (root / _NOTES).unlink(missing_ok=True)


def _noted(notes: Path) -> tuple[dict[str, Picture], int]:
    """Return what a killed run noted, by path and state, and how many bytes of the notes are whole lines: a
    kill tears the last.
    """
    known: dict[str, Picture] = {}
    held = 0
    for line in notes.read_bytes().splitlines(keepends=True) if notes.exists() else []:
        try:
            path, state, *picture = json.loads(line)
            noted = Picture(*picture)
        except (ValueError, TypeError, RecursionError):
            break
        if not line.endswith(b"\n"):
            break
        known[f"{path}\0{state}"] = noted
        held += len(line)
    return known, held


def changed(held: Mapping[str, Image], probed: Sequence[tuple[Found, Picture]]) -> list[Image]:
    """Return the images, as they were collected, whose files changed."""
    return [held[f.id] for f, picture in probed if f.id in held and held[f.id].digest != picture.digest]


def gone(held: Mapping[str, Image], found: Sequence[Found], set_name: str) -> list[Image]:
    """Return the images of a set that were not found now and whose files are no longer on this machine."""
    here = {f.id for f in found}
    rest = [
        image for image in held.values() if image.set == set_name and image.id not in here and image.source
    ]
    rest = [
        image for image in rest if not store.is_address(image.source) and not image.source.startswith(RECIPE)
    ]
    return [i for i in rest if not os.path.exists(i.source) and not os.path.exists(file_of(i.source))]


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
