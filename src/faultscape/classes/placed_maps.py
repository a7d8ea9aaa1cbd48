"""Read a label map from a file as places of the class list, or as the region ids it holds.

Conventions: places are 0..C-1 and C for void (nouns), uint8 or uint16. Colour-coded maps need the class
list's colours, whose table is made once.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping

import numpy as np

from faultscape.classes.class_lists import allowed, narrow, table
from faultscape.classes.palettes import palettes_of
from faultscape.errors import LabelMapError
from faultscape.formats.guard import decoding, open_picture, read_bytes
from faultscape.formats.label_maps import colour_table, read_map, stored_values
from faultscape.maps.resize import nearest
from faultscape.nouns import UNKNOWN, Classes


class PlacedMaps:
    """Reads label maps of one kind of files; ``labels`` maps their own values to class names, if these are
    not the class list's ids. Labels that a person has ``given`` hold whatever colours a palette shows.
    """

    def __init__(
        self, classes: Classes, labels: Mapping[str, str] | None = None, *, given: bool = False
    ) -> None:
        self._classes = classes
        self._labels = labels
        self._places = narrow(table(classes, labels))
        self._unknown = int(np.iinfo(self._places.dtype).max) if self._places.dtype == np.uint8 else UNKNOWN
        self._palettes = None if given else palettes_of(classes, labels)
        self._colours: np.ndarray | None = None

    def values(self, path: str | os.PathLike[str]) -> np.ndarray:
        """Return a map in the file's own values, of the class list if it is coded by colour; LabelMapError if
        it cannot be read.
        """
        try:
            return read_map(path, self._colours, self._palettes)
        except LabelMapError as error:
            if self._colours is not None or "three channels" not in str(error):
                raise
        self._colours = colour_table(self._classes)  # 32 MB, made once classes are coded by colour
        return read_map(path, self._colours, self._palettes)

    def read(self, path: str | os.PathLike[str], size: tuple[int, int] | None = None) -> np.ndarray:
        """Return a map of places, resized to ``size`` (width, height) if given; LabelMapError names the file
        and the value.
        """
        label_map = self.values(path)
        placed = self._places[label_map]
        if (bad := placed == self._unknown).any():
            value = int(label_map[bad][0])
            known = allowed(self._classes, self._labels)
            hint = (
                ""
                if self._classes.void
                else f"; if {value} is void, add it to the class list or give --ignore {value}"
            )
            raise LabelMapError(
                f"{path}: holds the value {value} in {int(bad.sum())} pixels; allowed are {known}{hint}"
            )
        return placed if size is None else nearest(placed, size)


def read_ids(path: str | os.PathLike[str]) -> np.ndarray:
    """Return (H, W) region ids unchanged: 8, 16 or 32-bit values, npy of integers, or red + 256 green +
    65,536 blue as in COCO's panoptic maps.
    """
    data = read_bytes(path, LabelMapError)
    with decoding(path, LabelMapError):
        if data[:6] == b"\x93NUMPY":
            values = np.load(io.BytesIO(data), allow_pickle=False)
        else:
            values = stored_values(
                open_picture(data, path, LabelMapError, lossless="changes region ids; save them as PNG")
            )
    if values.ndim == 3 and values.shape[2] >= 3 and values.dtype == np.uint8:
        wide = values.astype(np.int32)
        values = wide[..., 0] | wide[..., 1] << 8 | wide[..., 2] << 16
    if values.ndim != 2 or values.dtype.kind not in "iub" or not values.size:
        raise LabelMapError(
            f"{path}: expected region ids, whole numbers H x W; got {values.dtype} of shape {values.shape}"
        )
    return values
