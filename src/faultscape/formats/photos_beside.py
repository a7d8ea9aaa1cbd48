"""Images next to a tool's file, in images/ as `label export` writes them: whether each that the file
names is there, and as large as the file says.

Conventions: names are POSIX; images/ before them may be left out, and so may folders that lead to one image
alone. Endings do not count: tools find images without them. Where no folder images/ lies beside the file,
nothing is known of its images.
"""

from __future__ import annotations

import os
from pathlib import Path

from faultscape.errors import ImageError
from faultscape.formats.pictures import size_of

FOLDER = "images"
_HEAD = 1 << 20  # bytes of a photo, in which its size stands


class PhotosBeside:
    """The images in a folder beside a file of a tool."""

    def __init__(self, file: Path, folder: str = FOLDER) -> None:
        self._file, self._folder = file, folder
        self._there: dict[str, Path] = {}
        self._ends: dict[str, list[str]] = {}
        for above, _, names in os.walk(root := file.parent / folder):
            for name in names:
                path = Path(above, name)
                stem = _stem(path.relative_to(root).as_posix())
                self._there.setdefault(stem, path)
                self._ends.setdefault(stem.rpartition("/")[2], []).append(stem)

    def faults(self, name: str, *sizes: tuple[int, int]) -> list[str]:
        """Return a sentence where there is no image of a name, or for each (width, height) that is not its
        own; nothing where no images lie there.
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
    """Return what is wrong with an image of which a ``file`` says (width, height), '' where nothing is."""
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
