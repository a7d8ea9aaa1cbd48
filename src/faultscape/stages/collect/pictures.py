"""Look at the pictures that collect found: which are unchanged, what is to be kept of the others, and which are near-duplicates of banned ones.

Conventions: pictures are looked at side by side in threads. What was looked at is noted in ``.collecting.jsonl`` of the study until the corpus is written, so that
a kill loses nothing. A picture is decoded, for its difference hash, if it is a file of this machine, or as ``--probe`` says.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from faultscape.corpus.duplicates import Groups
from faultscape.corpus.parquet_rows import row_of
from faultscape.corpus.photos import digest_of, look, opened
from faultscape.corpus.sources import absolute, find
from faultscape.errors import ImageError
from faultscape.formats import pictures
from faultscape.formats.pictures import Picture
from faultscape.progress import progress
from faultscape.study import store
from faultscape.study.folder import cannot_write


def unchanged(held: dict[str, Any], found: list[Any], probe: bool | None) -> set[str]:
    """Return the ids of images that are still what was collected: their bytes decide, or what their store says of them."""

    def same(f: Any) -> bool:
        image = held.get(f.id)
        if image is None or image.source != absolute(f.path) or (image.dhash is None and whole_of(f.path, probe)):
            return False
        try:
            return digest_of(image.source) == image.digest
        except ImageError:
            return False

    with ThreadPoolExecutor() as pool:
        return {f.id for f, is_same in zip(found, pool.map(same, found), strict=True) if is_same}


def whole_of(path: str, probe: bool | None) -> bool:
    """Whether a picture is to be decoded when it is collected."""
    return not store.is_address(path) if probe is None else probe


def probe(root: Path, found: list[Any], whole: bool | None) -> tuple[list[tuple[Any, Any]], list[tuple[Any, str]]]:
    """Return (file, picture) of what can be read and (file, reason) of the rest; what a killed run had probed is taken from its notes."""
    notes = root / ".collecting.jsonl"
    known, whole_lines = _noted(notes)

    def one(f: Any) -> tuple[Any, Any, str]:
        try:
            source, decode = opened(f.path), whole_of(f.path, whole)
            picture = known.get(f"{f.path}\0{source.state}")
            if picture is None or (decode and picture.dhash is None):
                picture = look(f.path, source, whole=decode)
        except ImageError as error:
            return f, error, ""
        return f, picture, source.state

    good, bad = [], []
    try:
        with (
            progress("collect", len(found)) as tick,
            ThreadPoolExecutor() as pool,
            notes.open("a", encoding="utf-8", buffering=1) as file,
        ):
            file.truncate(whole_lines)
            for f, picture, state in pool.map(one, found):
                if isinstance(picture, ImageError):
                    bad.append((f, str(picture).removeprefix(f"{f.path}: ")))
                else:
                    good.append((f, picture))
                    if known.get(f"{f.path}\0{state}") != picture:
                        file.write(
                            json.dumps([f.path, state, picture.width, picture.height, picture.digest, picture.dhash]) + "\n"
                        )
                tick(1)
    except OSError as error:
        raise cannot_write(notes, error) from None
    return good, bad


def _noted(notes: Path) -> tuple[dict[str, Any], int]:
    """Return what a killed run noted, by path and state, and how many bytes of the notes are whole lines: a kill tears the last."""
    known: dict[str, Any] = {}
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


def other_now(held: dict[str, Any], probed: list[tuple[Any, Any]]) -> list[Any]:
    """Return the images, as they were collected, whose pictures are others now."""
    return [held[f.id] for f, picture in probed if f.id in held and held[f.id].digest != picture.digest]


def gone(held: dict[str, Any], found: list[Any], set_: str) -> list[Any]:
    """Return the images of a set that were not found now and whose files are no longer on this machine."""
    here = {f.id for f in found}
    rest = [image for image in held.values() if image.set == set_ and image.id not in here and image.source]
    rest = [image for image in rest if not store.is_address(image.source)]
    return [i for i in rest if not os.path.exists(i.source) and not os.path.exists((row_of(i.source) or (i.source, 0))[0])]


def banned(folders: list[str]) -> Any:
    """Return something to ask which picture of the --not-in folders a hash is a near-duplicate of."""
    groups, names = Groups(), []
    for f in find(folders) if folders else []:
        try:
            if (dhash := pictures.probe(f.path).dhash) is not None:
                groups.add(dhash)
                names.append(f.path)
        except ImageError as error:
            print(f"--not-in: {error}; left out")

    class Banned:
        def get(self, dhash: int | None) -> str | None:
            hit = None if dhash is None else groups.nearest(dhash)
            return None if hit is None else names[hit]

    return Banned()
