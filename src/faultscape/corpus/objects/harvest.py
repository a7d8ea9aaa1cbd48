"""The results gathered while a folder of cut-outs is read: the objects that can be blended, and a one-line
reason for everything else.

Conventions: a file is named relative to the folder. What `objects.csv` says about a file overrides its folder
or data set. Two cut-outs that look the same count once: the one with more description, and among equals the
first by class, split and digest, so that file names affect only the name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from faultscape.corpus.objects.file_tree import FileTree, shown
from faultscape.corpus.objects.objects_csv import NAME as ROWS
from faultscape.corpus.objects.objects_csv import ObjectRow
from faultscape.errors import CorpusError, FaultscapeError
from faultscape.progress import progress
from faultscape.stressors.objects.cutout import Cutout, reason_to_drop

File = TypeVar("File")  # a name, or a pair of names

MOST_BYTES = 4 << 30  # pixels of all cut-outs, which are held in memory
MOST_OBJECTS = 1_000  # per image


class Harvest:
    """The cut-outs of a folder so far, and what was left out."""

    def __init__(self, tree: FileTree, smallest: int, done: Iterable[str] = ()) -> None:
        """Start with only what the tree left out; ``done`` are files in which no object is sought."""
        self.tree = tree
        self.left_out = [(shown(name), why) for name, why in tree.left_out]
        self.done = set(done)
        self.settled: set[str] = set()  # files whose object objects.csv describes
        self._rows: dict[str, ObjectRow] = {}
        self.smallest = smallest
        self._kept: dict[bytes, Cutout] = {}
        self._used: dict[bytes, Cutout] = {}
        self._bytes = 0

    def each(self, files: Sequence[File]) -> Iterator[File]:
        """Yield the files to read objects from, showing progress."""
        with progress("objects", len(files)) as tick:
            for file in files:
                yield file
                tick(1)

    def say_of(self, *rows: ObjectRow) -> None:
        """Use these rows of objects.csv to describe the objects of their files from now on."""
        self._rows |= {row.file: row for row in rows}

    def leave(self, name: str, why: FaultscapeError | str) -> None:
        """Note why a file, or an object of it, is left out."""
        reason = str(why)
        for known in (str(self.tree.root / name), name, shown(name)):
            reason = reason.removeprefix(f"{known}: ")
        self.done.add(name)
        self.left_out.append((shown(name), shown(reason)))

    def take(self, name: str, cutout: Cutout, which: str = "") -> None:
        """Take an object of a file if it can be blended; ``which`` says which of several it is."""
        self.done.add(name)
        row = self._rows.get(name)
        cutout = replace(cutout, name=" ".join([shown(name), *([which] if which else [])]))
        if row:
            cutout = replace(
                cutout,
                class_=row.class_ or cutout.class_,
                split=row.split or cutout.split,
                use=row.use or cutout.use,
                family=row.family or cutout.family,
            )
        if why := reason_to_drop(cutout, self.smallest).removeprefix(f"{cutout.name}: "):
            self._leave_object(name, which, why)
            return
        other = self._used.setdefault(_looks(cutout), cutout)
        if other.use != cutout.use:
            first, second = sorted((other, cutout), key=lambda one: one.use)
            raise CorpusError(
                f"{self.tree.root}: {first.name} (an anomaly) and {second.name} (known) are the same object;"
                f" set its use in {ROWS}, or remove one"
            )
        looks = _looks(cutout, place=cutout.use == "known")  # known objects stay in place
        other = self._kept.get(looks)
        if other is None:
            self._bytes += cutout.pixels.nbytes + cutout.alpha.nbytes
            if self._bytes > MOST_BYTES:
                raise CorpusError(
                    f"{self.tree.root}: its objects have more than {MOST_BYTES >> 30} GiB of pixels, too"
                    " many to hold in memory; give a part of the folder"
                )
            self._kept[looks] = cutout
            return
        best, worse = sorted((other, cutout), key=_rank)
        self._kept[looks] = best
        said = ", ".join(word for word in (best.class_, best.split) if word)
        self.left_out.append(
            (worse.name, f"is the same object as {best.name}" + (f" ({said})" if said else ""))
        )

    def cutouts(self) -> tuple[Cutout, ...]:
        """Return the objects taken, in the order of digests."""
        return tuple(sorted(self._kept.values(), key=lambda one: one.digest))

    def _leave_object(self, name: str, which: str, why: str) -> None:
        self.left_out.append((shown(name), f"{which}: {why}" if which else why))


def _rank(cutout: Cutout) -> tuple[bool, bool, str, str, str, str]:
    return (not cutout.class_, not cutout.split, cutout.class_, cutout.split, cutout.digest, cutout.name)


def _looks(cutout: Cutout, *, place: bool = False) -> bytes:
    """Return a digest of the visible pixels of a cut-out and, with ``place``, of its position."""
    stood = (cutout.corner, cutout.frame) if place else ()
    hashed = hashlib.blake2b(repr((cutout.alpha.shape, stood)).encode(), digest_size=16)
    hashed.update(np.ascontiguousarray(cutout.alpha).tobytes())
    hashed.update(np.where(cutout.alpha[..., None] > 0, cutout.pixels, 0).tobytes())
    return hashed.digest()
