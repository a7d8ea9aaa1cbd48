"""A model that is a folder of label maps.

Conventions: maps are stored as they came, in the file's own labels; they are brought to another size only when read, by nearest neighbour. A
map may have the photo's size, the working size, or the photo's aspect ratio within a pixel; any other size needs ``resize_maps``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.errors import LabelMapError
from faultscape.formats.label_maps import colour_table, read_map
from faultscape.maps import runs
from faultscape.nouns import UNKNOWN, Classes


class FolderModel:
    """Reads the maps of one model and checks each for size and values."""

    def __init__(
        self, classes: Classes, labels: dict[str, str], working_size: tuple[int, int] | None, *, resize_maps: bool
    ) -> None:
        self._places = table(classes, labels)
        self._allowed = allowed(classes, labels)
        self._classes = classes
        self._size = working_size
        self._resize = resize_maps
        self._colours: np.ndarray | None = None

    def read(self, path: str, width: int, height: int) -> bytes:
        """Return the runs of one map of a photo of this size; LabelMapError names the file, the value and what is allowed."""
        try:
            label_map = read_map(path, self._colours)
        except LabelMapError:
            if self._colours is not None:
                raise
            self._colours = colour_table(self._classes)  # 32 MB, only once somebody codes classes by colour
            label_map = read_map(path, self._colours)
        check_size(path, label_map, (width, height), self._size, resize_maps=self._resize)
        if label_map.dtype == np.uint16 and label_map.max() < 256:  # the same map has the same code, however its file was written
            label_map = label_map.astype(np.uint8)
        code = runs.encode(label_map)
        check_values(path, runs.labels(code), self._places, self._allowed)
        return code


def check_size(
    path: str, label_map: np.ndarray, photo: tuple[int, int], working: tuple[int, int] | None, *, resize_maps: bool = False
) -> None:
    """LabelMapError unless a map has a size that fits its photo."""
    h, w = label_map.shape
    width, height = photo
    same_aspect = abs(w * height - h * width) <= max(width, height)
    if not (resize_maps or (w, h) in (photo, working) or same_aspect):
        other = f", the working size {working[0]} x {working[1]}" if working else ""
        raise LabelMapError(
            f"{path}: is {w} x {h} pixels, its photo {width} x {height}; expected the photo's size{other} or the photo's aspect ratio "
            "(--resize-maps takes any size)"
        )


def check_values(path: str, values: np.ndarray, places: np.ndarray, words: str) -> None:
    """LabelMapError when a map holds a value that means nothing."""
    bad = values[places[values] == UNKNOWN]
    if len(bad):
        raise LabelMapError(f"{path}: holds the value {int(bad[0])}; allowed are {words}")


def coded_by_colour(files: Sequence[str]) -> bool:
    """Whether these maps are pictures of three channels, judged by some that lie far apart."""
    from PIL import Image

    for path in files[:: max(1, len(files) // 64)]:
        try:
            with Image.open(path) as picture:
                if picture.mode in ("RGB", "RGBA"):
                    return True
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            continue
    return False


def fingerprint(source: str, files: Sequence[str]) -> str:
    """Return a digest that changes when any file below ``source`` changes (by size and times of change, not by reading them)."""
    digest = hashlib.sha256()
    for path in files:
        state = os.stat(path) if path and Path(path).exists() else None
        name = os.path.relpath(path, source) if path else ""
        digest.update(
            f"{name}\0{state and (state.st_size, state.st_mtime_ns, state.st_ctime_ns)}\n".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()[:32]
