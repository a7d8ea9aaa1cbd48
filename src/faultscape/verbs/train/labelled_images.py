"""The labelled images of some sets, or selections, of a study: where their labels are, and how to read one.

Conventions: labels are those of one truth, for made sets those of their parents (`reading.image_truths`), as
places of the class list (C for void), scaled to a size by the nearest pixel.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.errors import OptionError, StudyError, closest, counted
from faultscape.reading.image_truths import Place, find_judged, with_labels
from faultscape.reading.maps import StoredMaps
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.tables.corpus import Image, part_name
from faultscape.verbs.train.label_parts import label_digests

SELECTION = "selection:"  # what names the labelled images of a selection as a set


class LabelledImages:
    """Labelled images of a study; `places` is safe for several threads. Of the first ``new`` ones, half of
    each batch is drawn, if there are any; ``sets`` are the sets that were named, by default those of the
    images.
    """

    def __init__(
        self,
        study: Study,
        rows: Sequence[tuple[Image, Place]],
        roles: Sequence[str],
        *,
        new: int = 0,
        sets: Sequence[str] | None = None,
    ) -> None:
        self._study = study
        self.new = new
        self.sets = frozenset(image.set for image, _ in rows) if sets is None else frozenset(sets)
        self._classes = study.classes
        self.rows = tuple(rows)
        self.roles = tuple(roles)
        self._lock = threading.Lock()
        self._maps = lru_cache(maxsize=8)(self._open)

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, number: int, size: tuple[int, int]) -> np.ndarray:
        """Return the labels (H, W) of an image as places, at a size (width, height)."""
        _, (folder, shard, id_) = self.rows[number]
        with self._lock:
            found = self._maps(folder, shard).read(id_, size)
            return (
                np.full((size[1], size[0]), len(self._classes), np.uint8) if found is None else found.copy()
            )

    def key(self) -> str:
        """Return a key of the images and of their labels; those of other images do not matter."""
        wanted = dict[tuple[str, int], set[str]]()
        for _, (folder, shard, id_) in self.rows:
            wanted.setdefault((folder, shard), set()).add(id_)
        digests = {
            (folder, shard): label_digests(
                self._study.root / folder, shard, self._checksum(folder, shard), wanted[folder, shard]
            )
            for folder, shard in sorted(wanted)
        }
        rows = [
            (image.id, image.digest, digests[folder, shard][id_]) for image, (folder, shard, id_) in self.rows
        ]
        return key_of(rows, *([["new", self.new]] if self.new else []))

    def _open(self, folder: str, shard: int) -> StoredMaps:
        where = self._study.root / folder
        known = allowed(self._classes)
        return StoredMaps(where, shard, table(self._classes), known, self._checksum(folder, shard))

    def _checksum(self, folder: str, shard: int) -> str:
        return self._study.manifest(self._study.root / folder)[part_name(shard)].sha256


def find_labelled(
    study: Study, truth: str | None, sets: Sequence[str] | None, role: str, option: str
) -> LabelledImages:
    """Return the labelled images of some sets and selections (``selection:NAME``), or without any the
    collected images with a role. OptionError for an unknown set, naming the ``option``, StudyError for a
    selection without labels.
    """
    images = study.image_rows
    known = [*study.sets]
    chosen = dict.fromkeys(name for word in selections_of(sets) for name in study.selection(word).now.images)
    if lost := next((name for name in sets_of(sets) if name not in known), None):
        raise OptionError(
            f"--{option} {lost!r}: the study has no such set; it has"
            f" {', '.join(known)}.{closest(lost, known)}"
        )
    judged = with_labels(study, find_judged(study, images, study.truth(truth)))
    if sets and not sets_of(sets):
        mine = [images[id_] for id_ in chosen if id_ in images]
    else:
        found = of_sets_or_role(images, sets_of(sets), role)
        mine = [*found, *(images[id_] for id_ in chosen if id_ in images and images[id_] not in found)]
    places = [(image, judged[image.id].semantic) for image in mine]
    rows = [(image, place) for image, place in places if place is not None]
    names = ", ".join(selections_of(sets))
    if names and not chosen:
        raise StudyError(
            f"--{option} {SELECTION}{names}: all its images are discarded; choose others with `faultscape"
            f" select {study.place}`"
        )
    if chosen and not any(image.id in chosen for image, _ in rows):
        raise StudyError(
            f"--{option} {SELECTION}{names}: none of its {counted(len(chosen), 'image')} has a label; label"
            f" them first: `faultscape label export {study.place}`"
        )
    named = sets_of(sets) if chosen else None
    return LabelledImages(study, rows, [role_of(image, images) for image, _ in rows], sets=named)


def selections_of(sets: Sequence[str] | None) -> list[str]:
    """Return the names of the selections among sets.

    >>> selections_of(["train", "selection:main"])
    ['main']
    """
    return [word.removeprefix(SELECTION) for word in sets or () if word.startswith(SELECTION)]


def sets_of(sets: Sequence[str] | None) -> list[str]:
    """Return the sets that do not stand for a selection.

    >>> sets_of(["train", "selection:main"])
    ['train']
    """
    return [word for word in sets or () if not word.startswith(SELECTION)]


def role_of(image: Image, images: Mapping[str, Image]) -> str:
    """Return the role of an image; a made one has the role of its original."""
    while image.parent in images:
        image = images[image.parent]
    return image.role


def of_sets_or_role(images: Mapping[str, Image], sets: Sequence[str] | None, role: str) -> list[Image]:
    """Return the images of some sets, or without sets those with a role."""
    if not sets:
        return [image for image in images.values() if image.role == role and not image.parent]
    return [image for image in images.values() if image.set in set(sets)]
