"""The labelled images of a study that a network learns from, or is watched on: where they lie, and one of them read.

Conventions: labels are those of one truth, made sets having their parents' (`stages.image_truths`), at the size of their photos by the nearest pixel. Classes are 0..K-1 in the order of those that are learnt;
withheld pixels are IGNORED, which no loss sees, and pixels that were void from the start OUTSIDE, which only a loss that asks for them sees.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, OptionError, StudyError, closest, counted
from faultscape.nouns import Classes
from faultscape.stages import evidence
from faultscape.stages.image_truths import Place, find_judged, with_labels
from faultscape.stages.stored_maps import StoredMaps
from faultscape.stages.train.options import TrainingData
from faultscape.stressors.holdout import Holdout, hold_out
from faultscape.study.parts import key_of, read_manifest
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Image, part_name, read_corpus
from faultscape.study.tables.stress_sets import read_stress
from faultscape.uncertainty.training.losses import IGNORED, OUTSIDE

ALL = "none"  # the word for withholding nothing


@dataclass(frozen=True)
class Withheld:
    """The classes that are learnt, those that are not, and (C + 1,) int16 what each place of the study's class list is to a loss."""

    classes: Classes
    names: tuple[str, ...]
    places: np.ndarray


class Examples:
    """Labelled images of a study; `read` may be called in several threads."""

    def __init__(self, root: Path, settings: Settings, rows: Sequence[tuple[Image, Place]], withheld: Withheld) -> None:
        self._root, self._classes, self._places = root, settings.class_list, withheld.places
        self.rows = tuple(rows)
        self._lock = threading.Lock()
        self._manifests = lru_cache(maxsize=8)(lambda folder: read_manifest(root / folder))
        self._maps = lru_cache(maxsize=8)(self._open)

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the photo (H, W, 3) uint8 of an image and its labels (H, W) int16. ImageError, which names it, for one that cannot be read."""
        image, (folder, shard, id_) = self.rows[number]
        try:
            photo = read_photo(image)[0]
        except ImageError as error:
            raise ImageError(f"{image.id}: {error}") from None
        with self._lock:
            found = self._maps(folder, shard).read(id_, (photo.shape[1], photo.shape[0]))
            labels = self._places[found] if found is not None else np.full(photo.shape[:2], IGNORED, np.int16)
        return photo, labels

    def labels(self, number: int) -> np.ndarray:
        """Return the labels (H, W) int16 of an image alone, at the size that the corpus knows."""
        image, (folder, shard, id_) = self.rows[number]
        with self._lock:
            found = self._maps(folder, shard).read(id_, (image.width, image.height))
            return self._places[found] if found is not None else np.full((1, 1), IGNORED, np.int16)

    def key(self) -> str:
        """Return a key of the images and of their labels."""
        judged = sorted({(folder, shard) for _, (folder, shard, _) in self.rows})
        held = [(folder, shard, self._manifests(folder)[part_name(shard)].sha256) for folder, shard in judged]
        return key_of([(image.id, image.digest) for image, _ in self.rows], held, self._places.tolist())

    def _open(self, folder: str, shard: int) -> StoredMaps:
        return StoredMaps(
            self._root / folder,
            shard,
            table(self._classes),
            allowed(self._classes),
            self._manifests(folder)[part_name(shard)].sha256,
        )


def find_withheld(root: Path, settings: Settings, asked: str | None) -> Withheld:
    """Return the classes that a line lets a network learn; OptionError for a holdout that there is not, or where there are several and none is named."""
    held, classes = read_stress(root).holdouts, settings.class_list
    if asked is not None and asked != ALL and asked not in held:
        raise OptionError(f"the study has no holdout {asked!r}; it has {', '.join(held) or 'none'}.{closest(asked, [*held])}")
    if asked is None and len(held) > 1:
        raise OptionError(
            f"the study has several holdouts ({', '.join(held)}); say with --withhold which one's classes are not learnt, or none"
        )
    name = asked if asked is not None else next(iter(held), ALL)
    places = np.arange(len(classes) + 1, dtype=np.int16)
    places[-1] = OUTSIDE
    if name == ALL:
        return Withheld(classes, (), places)
    found: Holdout = hold_out(classes, held[name])
    places[:-1] = found.kept_places[:-1]
    places[found.is_withheld] = IGNORED
    return Withheld(found.kept, found.withheld, places)


def find_examples(root: Path, settings: Settings, data: TrainingData, withheld: Withheld) -> tuple[Examples, Examples]:
    """Return the images to learn from, and those to watch on, which may be none.

    Errors: OptionError for a set that there is not; StudyError where nothing is labelled, or where an image is in both.
    """
    images = {image.id: image for image in read_corpus(root)}
    truth = evidence.choose_truth(root, data.truth)
    judged = with_labels(root, find_judged(root, images, truth))
    learnt = _of(images, data.set_, "train", "set")
    watched = _of(images, [data.validation] if data.validation else None, "validation", "validation")
    found = [
        [(image, place) for image in group if (place := judged[image.id].semantic) is not None] for group in (learnt, watched)
    ]
    if not found[0]:
        why = (
            f"none of the {counted(len(learnt), 'image')} has labels of {truth!r}"
            if learnt
            else "the study has no images of role train"
        )
        raise StudyError(
            f"there is nothing to learn from: {why}; collect labelled images with --role train and bring their labels in, or name a set with --set"
        )
    if data.validation and not found[1]:
        raise StudyError(
            f"none of the images of {data.validation!r} has labels of {truth!r}; leave --validation out, or bring its labels in"
        )
    both = {image.id for image, _ in found[0]} & {image.id for image, _ in found[1]}
    if both:
        raise OptionError(
            f"{counted(len(both), 'image')} would be learnt from and watched, such as {min(both)}; name different sets"
        )
    train, validation = (Examples(root, settings, rows, withheld) for rows in found)
    if not any((train.labels(k) >= 0).any() for k in range(len(train))):
        raise StudyError(
            f"no image has a labelled pixel of a class that is learnt ({', '.join(withheld.classes.names[:6])}, ...); check the labels of {truth!r}"
        )
    return train, validation


def class_weights(examples: Examples, classes: int) -> tuple[float, ...]:
    """Return the weight of each class by median-frequency balancing: the median share of pixels over the class's own, in the images that have it (Eigen and Fergus 2015); 0 of a class that none has."""
    pixels, of_images = np.zeros(classes), np.zeros(classes)
    for number in range(len(examples)):
        labels = examples.labels(number)
        counts = np.bincount(labels[labels >= 0].ravel(), minlength=classes)[:classes]
        pixels += counts
        of_images += (counts > 0) * (labels >= 0).sum()
    shares = np.divide(pixels, of_images, out=np.zeros(classes), where=of_images > 0)
    middle = float(np.median(shares[shares > 0]))
    return tuple(float(f"{middle / share:.6g}") if share else 0.0 for share in shares)


def _of(images: dict[str, Image], sets: Sequence[str] | None, role: str, option: str) -> list[Image]:
    """Return the images of some sets, or where none is named of a role."""
    if not sets:
        return [image for image in images.values() if image.role == role and not image.parent]
    known = list(dict.fromkeys(image.set for image in images.values()))
    if lost := next((name for name in sets if name not in known), None):
        raise OptionError(f"--{option} {lost!r}: the study has no such set; it has {', '.join(known)}.{closest(lost, known)}")
    return [image for image in images.values() if image.set in set(sets)]
