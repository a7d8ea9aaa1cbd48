"""Images next to a tool's file, in images/ as `label export` writes them: checks that each image that the
file names exists and has the stated size.

Conventions: names are POSIX; a leading images/ may be omitted, and so may leading folders if the rest is
unambiguous. Endings do not count, because tools find images without them. Without a folder images/ beside the
file, its images are not checked.
"""

from __future__ import annotations

import os
from pathlib import Path

from faultscape.errors import ImageError
from faultscape.formats.pictures import size_of

FOLDER = "images"
_HEAD = 1 << 20  # bytes of an image that include its size


class PhotosBeside:
    """The images in a folder beside a tool's file."""

    def __init__(self, file: Path, folder: str = FOLDER) -> None:
        self._file = file
        self._folder = folder
        self._there: dict[str, Path] = {}
        self._ends: dict[str, list[str]] = {}
        for above, _, names in os.walk(root := file.parent / folder):
            for name in names:
                path = Path(above, name)
                stem = _stem(path.relative_to(root).as_posix())
                self._there.setdefault(stem, path)
                self._ends.setdefault(stem.rpartition("/")[2], []).append(stem)

    def faults(self, name: str, *sizes: tuple[int, int]) -> list[str]:
        """Return a sentence if there is no image with a name, or for each (width, height) that is not its
        size; empty if there are no images.
        """
        if not self._there:
            return []
        photo = self._photo(name)
        if photo is None:
            return [f"{self._file}: image {name[:80]!r} not found in {self._folder}/"]
        return [fault for size in dict.fromkeys(sizes) if (fault := size_fault(photo, self._file, size))]

    def _photo(self, name: str) -> Path | None:
        inside = f"/{name}".rpartition(f"/{self._folder}/")[2].lstrip("/")
        for way in (name, inside, _stem(name), _stem(inside)):
            if way in self._there:
                return self._there[way]
        stem = _stem(inside)
        deeper = [way for way in self._ends.get(stem.rpartition("/")[2], ()) if way.endswith(f"/{stem}")]
        return self._there[deeper[0]] if len(deeper) == 1 else None


def size_fault(photo: Path, file: Path, size: tuple[int, int]) -> str:
    """Return what is wrong with an image for which a ``file`` states (width, height), or ''."""
    try:
        with open(photo, "rb") as stream:
            found = size_of(stream.read(_HEAD), photo)
    except (OSError, ImageError):
        return f"{photo}: is not a readable image"
    return (
        ""
        if found == size
        else f"{photo}: is {found[0]} x {found[1]} pixels, but in {file.name} {size[0]} x {size[1]}"
    )


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]
