"""Where the images of a study are after it was moved together with them.

Conventions: a study records its folder in place.txt, and not in corpus.parquet, which is the same wherever
it is made; another table of images records it in its metadata. Where the study is in another folder now, an
image that lay in the study, or beside it (below the folder that holds the study), is looked for at the same
place relative to the study. It counts if its file is there, which is looked up once for each folder;
otherwise its recorded path does, so that a study that was moved without its images still finds them.
Digests tell whether it is the same image.
"""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from faultscape.study.folder import put

PLACE = b"faultscape.study"  # the key in the metadata of a table
FILE = "place.txt"  # the folders in which corpus.parquet was written, a line each, the last one last
CORPUS = "corpus.parquet"
_DEEPEST = 4  # depth of recipes within recipes
_RECIPE = "stress:"


class MovedImages:
    """The sources of a study that was at ``before``, and is at ``now``."""

    def __init__(self, before: str, now: str) -> None:
        self._above = os.path.dirname(before)
        self._now_above = os.path.dirname(now)
        self._inside = os.path.basename(before)
        self._now_inside = os.path.basename(now)
        self._there: dict[str, bool] = {}

    def source(self, source: str) -> str:
        """Return where an image is now."""
        if source.startswith(_RECIPE):
            return self._recipe(source)
        above = f"{self._above.rstrip('/')}/"
        return self._moved(source[len(above) :]) or source if source.startswith(above) else source

    def _recipe(self, source: str) -> str:
        """Return a recipe with the places of its files; each is a text within a text at some depth."""
        above = f"{self._above.rstrip('/')}/"
        for depth in range(1, _DEEPEST + 1):
            named = re.compile(f'"{re.escape(_in_json(above, depth))}([^"\\\\]*)')
            source = named.sub(lambda match, depth=depth: self._in_recipe(match, depth), source)
        return source

    def _in_recipe(self, match: re.Match[str], depth: int) -> str:
        moved = self._moved(match[1])
        return match[0] if moved is None else f'"{_in_json(moved, depth)}'

    def _moved(self, name: str) -> str | None:
        """Return the path of a ``name`` below the folder that held the study, or None if nothing is there."""
        first, slash, rest = name.partition("/")
        if first == self._inside:
            name = f"{self._now_inside}{slash}{rest}"
        path = os.path.join(self._now_above, name)
        file = path.partition("#")[0]  # of a file within another
        folder = os.path.dirname(file)
        if folder not in self._there:
            self._there[folder] = os.path.exists(path) or os.path.exists(file)
        return path if self._there[folder] else None


def with_place(table: pa.Table, root: Path) -> pa.Table:
    """Return a table of images, other than the corpus, that records where the study is."""
    return table.replace_schema_metadata({PLACE: os.fsencode(os.path.abspath(root))})


def put_place(root: Path) -> None:
    """Record where a study is, before its corpus is written: a run that is killed in between leaves sources
    below an earlier place, which stays recorded.
    """
    place = os.fsencode(os.path.abspath(root)) + b"\n"
    held = _read(root / FILE)
    if not held.endswith(place):
        put(root / FILE, held + place)


def moved_images(file: Path, root: Path) -> list[MovedImages]:
    """Return where the images of a file are now, one for each place at which the study was before."""
    record = root / FILE if file.name == CORPUS else file
    try:
        about = os.stat(record)
    except OSError:
        return []
    now = os.path.abspath(root)
    places = _places(record, about.st_size, about.st_mtime_ns)
    return [MovedImages(before, now) for before in dict.fromkeys(reversed(places)) if before != now]


@lru_cache(maxsize=16)
def _places(file: Path, size: int, time: int) -> tuple[str, ...]:
    del size, time
    if file.name == FILE:
        return tuple(os.fsdecode(_read(file)).splitlines())
    try:
        place = (pq.read_schema(file).metadata or {}).get(PLACE)
    except (OSError, ValueError, pa.ArrowException):  # damaged, which its reader reports
        return ()
    return (os.fsdecode(place),) if place else ()


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _in_json(text: str, depth: int) -> str:
    """Return a text as it stands in texts of JSON, ``depth`` deep."""
    for _ in range(depth):
        text = json.dumps(text)[1:-1]
    return text
