"""The answers of a submission: ``NUMBER_anomaly.npy`` and ``NUMBER_segmentation.npy`` for each image, all
checked before any is used.

Conventions: an anomaly is (H, W) floats, all finite, at the size of its image; a segmentation is (H, W) whole
numbers, places of the class list. Any other file, file name, or link makes the whole submission refused; an
image that lacks a file counts as left out. Files are read one at a time, and never beyond the size that the
image allows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultscape.errors import ModelError, RefusedError, counted
from faultscape.formats.npy import read_npy
from faultscape.nouns import UNKNOWN

ANOMALY = "_anomaly.npy"
SEGMENTATION = "_segmentation.npy"
_WHOLE = 1 << 16


@dataclass(frozen=True)
class Shown:
    """An image shown to a submission: its number and its size (height, width); ``id`` is its id in
    the study.
    """

    number: str
    shape: tuple[int, int]
    id: str


@dataclass(frozen=True, eq=False)
class Answer:
    """A submission's answer for an image: anomaly (H, W) float32, and segmentation (H, W) of class places."""

    anomaly: np.ndarray
    segmentation: np.ndarray


class Answers:
    """The answers in a folder for the images shown; ``lacking`` {number: the files that were not written}.
    RefusedError if anything is wrong, with the number of faults and the first of them.

    ``places`` (65536,) says which values a segmentation may hold, ``allowed`` says it as text.
    """

    def __init__(self, folder: Path, shown: Sequence[Shown], places: np.ndarray, allowed: str) -> None:
        self._folder = folder
        self._places = places
        self._allowed = allowed
        found = _names(folder)
        names = {f"{one.number}{ending}": one for one in shown for ending in (ANOMALY, SEGMENTATION)}
        faults = [f"{name} is not a valid answer file name" for name in sorted(found - names.keys())]
        for name, one in names.items():
            if name in found and (why := self._fault(name, one)):
                faults.append(f"{name}, of {one.id}, {why}")
        if faults:
            raise RefusedError(
                f"{counted(len(faults), 'file')} of {len(found)} cannot be used; the first: {faults[0]}"
            )
        self.lacking: Mapping[str, list[str]] = {
            one.number: absent
            for one in shown
            if (
                absent := [
                    word
                    for word, ending in (("anomaly", ANOMALY), ("segmentation", SEGMENTATION))
                    if f"{one.number}{ending}" not in found
                ]
            )
        }

    def read(self, one: Shown) -> Answer:
        """Return the answer for an image with both files; RefusedError if it has changed since it was
        checked.
        """
        try:
            return Answer(self._anomaly(one), self._segmentation(one))
        except ModelError as error:
            raise RefusedError(f"a file of {one.id} changed after it was checked: it {error}") from None

    def _fault(self, name: str, one: Shown) -> str:
        """Return what is wrong with a file, or ''."""
        try:
            (self._anomaly if name.endswith(ANOMALY) else self._segmentation)(one)
        except ModelError as error:
            return str(error)
        return ""

    def _anomaly(self, one: Shown) -> np.ndarray:
        given = read_npy(self._folder / f"{one.number}{ANOMALY}", ModelError, shape=one.shape, kinds="f")
        if bad := given.size - int(np.isfinite(given).sum()):
            what = "NaN" if int(np.isnan(given).sum()) == bad else "NaN or infinite"
            raise ModelError(f"holds {bad} of {given.size} scores that are {what}")
        with np.errstate(over="ignore"):
            scores = given.astype(np.float32)
        if bad := scores.size - int(np.isfinite(scores).sum()):
            raise ModelError(f"holds {counted(bad, 'score')} beyond what float32 holds")
        return scores

    def _segmentation(self, one: Shown) -> np.ndarray:
        given = read_npy(
            self._folder / f"{one.number}{SEGMENTATION}", ModelError, shape=one.shape, kinds="iu"
        )
        low = int(given.min())
        high = int(given.max())
        if low < 0 or high >= _WHOLE:
            raise ModelError(f"holds the value {low if low < 0 else high}; allowed are {self._allowed}")
        labels = given.astype(np.uint8 if high < 256 else np.uint16)
        if (bad := self._places[labels] == UNKNOWN).any():
            raise ModelError(f"holds the value {int(labels[bad][0])}; allowed are {self._allowed}")
        return labels


def _names(folder: Path) -> set[str]:
    """Return the names in a folder that a program had; RefusedError if it is no longer a folder."""
    if os.path.islink(folder) or not folder.is_dir():
        raise RefusedError("it removed its output folder")
    return set(_each_name(folder))


def _each_name(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        yield from (entry.name for entry in entries)
