"""Folders of data sets: files by ending, in an order independent of the file system, and possible locations
of a branch.

Conventions: names that begin with a dot are not data and are left out. Links are followed by name, but never
in a cycle.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from faultscape.errors import CorpusError

IMAGES = (".png", ".jpg", ".jpeg", ".webp")


def files(folder: Path, endings: str | tuple[str, ...] = IMAGES) -> Iterator[Path]:
    """Yield all files below a folder with one of these endings, ignoring case, in order of path; none if
    there is no such folder.
    """
    wanted = (endings,) if isinstance(endings, str) else endings
    seen: set[str] = set()
    for where, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(where)
        if real in seen:
            folders[:] = []
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name.lower().endswith(tuple(ending.lower() for ending in wanted)):
                yield Path(where, name)


def branch(root: Path, *names: str) -> Path | None:
    """Return the first folder with one of these names in ``root`` or one level down (archives often unpack
    into their own folder); None if there is none.
    """
    for name in names:
        if (root / name).is_dir():
            return root / name
    inner = (
        sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
        if root.is_dir()
        else []
    )
    return next((path / name for name in names for path in inner if (path / name).is_dir()), None)


def base(root: Path, *names: str) -> Path:
    """Return ``root``, or the folder in it with one of these names, because users pass either."""
    return next((root / name for name in names if (root / name).is_dir()), root)


def first_file(paths: Iterable[Path]) -> str:
    """Return the first path that is a file, or ''."""
    return next((str(path) for path in paths if path.is_file()), "")


def beside(path: Path, stem: str, endings: Iterable[str] = IMAGES) -> str:
    """Return the file ``path/stem`` with one of these endings, or ''."""
    return first_file(path / f"{stem}{ending}" for ending in endings)


def without(name: str, *suffixes: str) -> str:
    """Return a name without its ending and the first of these suffixes that it has.

    >>> without("aachen_000000_000019_leftImg8bit.png", "_leftImg8bit"), without("a.b.png")
    ('aachen_000000_000019', 'a.b')
    """
    stem = re.sub(r"\.\w+$", "", name)
    return next((stem.removesuffix(suffix) for suffix in suffixes if stem.endswith(suffix)), stem)


def lines(path: Path) -> list[str]:
    """Return the non-empty lines of a list file; none if there is no file; CorpusError if it is not text."""
    if not path.is_file():
        return []
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(
            f"{path}: cannot be read as a list of files: {getattr(error, 'strerror', None) or error}"
        ) from None


def inside(root: Path, name: str) -> Path:
    """Return the path for a name in a list file; CorpusError for one that leads out of the folder."""
    if ".." in Path(name).parts:
        raise CorpusError(
            f"{root}: a list of files names {name!r}, which leads out of the folder; remove that line"
        )
    return root / name.lstrip("/")
