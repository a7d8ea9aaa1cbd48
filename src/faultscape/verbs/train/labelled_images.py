"""The labelled images of some sets, or selections, of a study: where their labels are, and how to read one.

Conventions: labels are those of one truth, for made sets those of their parents (`reading.image_truths`), as
places of the class list (C for void), scaled to a size by the nearest pixel. Where images with boxes count
too, an image that has a mask counts by its mask alone.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.errors import OptionError, StudyError, closest, counted
from faultscape.maps.boxes import Box
from faultscape.reading.image_truths import Place, find_judged, with_labels
from faultscape.reading.maps import StoredMaps
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.tables.corpus import Image, part_name
from faultscape.verbs.label.artefact import export_line
from faultscape.verbs.train.label_parts import label_digests

SELECTION = "selection:"  # what names the labelled images of a selection as a set
BoxesOf = Mapping[str, Mapping[str, Sequence[Box]]]  # {image: {class that was boxed: its boxes}}


class LabelledImages:
    """Labelled images of a study; `places` is safe for several threads. Of the first ``new`` ones, half of
    each batch is drawn, if there are any; ``sets`` are the sets that were named, by default those of the
    images. An image without a place has ``boxes`` instead.
    """

    def __init__(
        self,
        study: Study,
        rows: Sequence[tuple[Image, Place | None]],
        roles: Sequence[str],
        *,
        boxes: BoxesOf | None = None,
        new: int = 0,
        sets: Sequence[str] | None = None,
    ) -> None:
        self._study = study
        self.new = new
        self.sets = frozenset(image.set for image, _ in rows) if sets is None else frozenset(sets)
        self._classes = study.classes
        self.rows = tuple(rows)
        self.roles = tuple(roles)
        self.boxes_of = boxes or {}
        self._lock = threading.Lock()
        self._maps = lru_cache(maxsize=8)(self._open)

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, number: int, size: tuple[int, int]) -> np.ndarray:
        """Return the labels (H, W) of an image as places, at a size (width, height)."""
        _, place = self.rows[number]
        with self._lock:
            found = None if place is None else self._maps(*place[:2]).read(place[2], size)
            return (
                np.full((size[1], size[0]), len(self._classes), np.uint8) if found is None else found.copy()
            )

    def boxes(self, number: int) -> tuple[Image, Mapping[int, Sequence[Box]]] | None:
        """Return the boxes of an image that has no labels: the image in which they were drawn, and {place of
        a class that was boxed: its boxes}.
        """
        image, place = self.rows[number]
        if place is not None:
            return None
        drawn = _drawn(self._study, image)
        names = self._classes.names
        return drawn, {names.index(name): boxes for name, boxes in self.boxes_of[drawn.id].items()}

    def key(self) -> str:
        """Return a key of the images and of their labels; those of other images do not matter."""
        wanted = dict[tuple[str, int], set[str]]()
        places = [place for _, place in self.rows if place is not None]
        for folder, shard, id_ in places:
            wanted.setdefault((folder, shard), set()).add(id_)
        digests = {
            (folder, shard): label_digests(
                self._study.root / folder, shard, self._checksum(folder, shard), wanted[folder, shard]
            )
            for folder, shard in sorted(wanted)
        }
        known = [
            self._boxes_key(number) if place is None else digests[place[:2]][place[2]]
            for number, (_, place) in enumerate(self.rows)
        ]
        rows = [(image.id, image.digest, key) for (image, _), key in zip(self.rows, known, strict=True)]
        return key_of(rows, *([["new", self.new]] if self.new else []))

    def _boxes_key(self, number: int) -> str:
        found = self.boxes(number)
        assert found is not None
        return key_of(sorted((place, [tuple(box) for box in boxes]) for place, boxes in found[1].items()))

    def _open(self, folder: str, shard: int) -> StoredMaps:
        where = self._study.root / folder
        known = allowed(self._classes)
        return StoredMaps(where, shard, table(self._classes), known, self._checksum(folder, shard))

    def _checksum(self, folder: str, shard: int) -> str:
        return self._study.manifest(self._study.root / folder)[part_name(shard)].sha256


def find_labelled(
    study: Study,
    truth: str | None,
    sets: Sequence[str] | None,
    role: str,
    option: str,
    boxes: BoxesOf | None = None,
) -> LabelledImages:
    """Return the labelled images of some sets and selections (``selection:NAME``), or without any the
    collected images with a role; those with ``boxes`` and no labels too. A ``truth`` of '' has no labels.
    OptionError for an unknown set, naming the ``option``, StudyError for a selection without labels.
    """
    images = study.image_rows
    known = [*study.sets]
    chosen = dict.fromkeys(name for word in selections_of(sets) for name in study.selection(word).now.images)
    if lost := next((name for name in sets_of(sets) if name not in known), None):
        raise OptionError(
            f"--{option} {lost!r}: the study has no such set; it has"
            f" {', '.join(known)}.{closest(lost, known)}"
        )
    judged = with_labels(study, find_judged(study, images, "" if truth == "" else study.truth(truth)))
    if sets and not sets_of(sets):
        mine = [images[id_] for id_ in chosen if id_ in images]
    else:
        found = of_sets_or_role(images, sets_of(sets), role)
        mine = [*found, *(images[id_] for id_ in chosen if id_ in images and images[id_] not in found)]
    places = [(image, judged[image.id].semantic) for image in mine]
    boxed = {image.id for image in mine if _drawn(study, image).id in boxes} if boxes else set[str]()
    rows = [(image, place) for image, place in places if place is not None or image.id in boxed]
    rows.sort(key=lambda row: row[1] is None)
    names = ", ".join(selections_of(sets))
    if names and not chosen:
        raise StudyError(
            f"--{option} {SELECTION}{names}: all its images are discarded; choose others with `faultscape"
            f" select {study.place}`"
        )
    if chosen and not any(image.id in chosen for image, _ in rows):
        raise StudyError(
            f"--{option} {SELECTION}{names}: none of its {counted(len(chosen), 'image')} has a label; label"
            f" them first: `{export_line(study, selections_of(sets)[0])}`"
        )
    named = sets_of(sets) if chosen else None
    roles = [role_of(image, images) for image, _ in rows]
    return LabelledImages(study, rows, roles, boxes=boxes, sets=named)


def _drawn(study: Study, image: Image) -> Image:
    """Return the image in which the boxes of an image were drawn: itself, or what it was made from where no
    pixel moved.
    """
    while (about := study.stress.sets.get(image.set)) is not None and about.labels == "parents":
        if (parent := study.image_rows.get(image.parent)) is None:
            break
        image = parent
    return image


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
