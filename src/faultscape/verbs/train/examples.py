"""Find and read the labelled images of a study for training or validating a network.

Conventions: labels are those of one truth, for made sets those of their parents (`reading.image_truths`),
scaled to their images by the nearest pixel. Classes are 0..K-1 in the order in which they are learnt.
Withheld pixels are IGNORED by every loss; pixels that were void from the start are OUTSIDE, which only losses
that request them use.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, OptionError, StudyError, counted
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.tables.corpus import Image
from faultscape.uncertainty.training.labels import OUTSIDE
from faultscape.verbs.train.labelled_images import LabelledImages, find_labelled
from faultscape.verbs.train.options import TrainingData
from faultscape.verbs.train.withheld import Withheld


class Examples:
    """Labelled images for training or validation; `read` is safe for several threads."""

    def __init__(self, images: LabelledImages, withheld: Withheld) -> None:
        self._images = images
        self._places = withheld.places

    def __len__(self) -> int:
        return len(self._images)

    @property
    def ids(self) -> set[str]:
        """The ids of the images."""
        return {image.id for image, _ in self._images.rows}

    @property
    def images(self) -> list[Image]:
        """The rows of the images in the corpus."""
        return [image for image, _ in self._images.rows]

    @property
    def new(self) -> int:
        """How many of them, the first, are new to the network, and fill half of each batch; 0 if all count
        the same.
        """
        return self._images.new

    @property
    def an_epoch(self) -> int:
        """How many images an epoch shows: all, or the new ones and as many old ones."""
        return 2 * self.new or len(self)

    @property
    def roles(self) -> list[str]:
        """The role of each image; a made image has the role of its original."""
        return list(self._images.roles)

    @property
    def parents(self) -> set[str]:
        """The ids of the parents of these images; a collected image is its own parent."""
        return {image.parent or image.id for image, _ in self._images.rows}

    @property
    def sets(self) -> set[str]:
        """The sets of the images; without those of a selection."""
        return set(self._images.sets)

    def read(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the pixels (H, W, 3) uint8 of an image and its labels (H, W) int16. ImageError names an
        image that cannot be read.
        """
        image = self._images.rows[number][0]
        try:
            photo = read_photo(image)[0]
        except ImageError as error:
            raise ImageError(f"{image.id}: {error}") from None
        return photo, self._places[self._images.places(number, (photo.shape[1], photo.shape[0]))]

    def called(self, number: int) -> str:
        """Return the id of an image."""
        return self._images.rows[number][0].id

    def labels(self, number: int) -> np.ndarray:
        """Return only the labels (H, W) int16 of an image, at its size in the corpus."""
        image = self._images.rows[number][0]
        return self._places[self._images.places(number, (image.width, image.height))]

    def key(self) -> str:
        """Return a key of the images, their labels and the learnt classes."""
        return key_of(self._images.key(), self._places.tolist())


def find_examples(
    study: Study,
    data: TrainingData,
    withheld: Withheld,
    taught: Taught | None = None,
    labelled: LabelledImages | None = None,
) -> tuple[Examples, Examples]:
    """Return the training images and the validation images, of which there may be none; ``taught`` makes the
    training images from the ``labelled`` ones where unknown objects teach.

    Errors: OptionError for an unknown set; StudyError if nothing is labelled, or an image is in both.
    """
    watched = [data.validation] if data.validation else None
    labelled = labelled or find_labelled(study, data.truth, data.set_, "train", "set")
    train = Examples(labelled, withheld) if taught is None else taught(labelled, withheld)
    validation = Examples(find_labelled(study, data.truth, watched, "validation", "validation"), withheld)
    if not len(train):
        where = (
            f"no image of {', '.join(data.set_)} has labels"
            if data.set_
            else "no image of role train has labels"
        )
        raise StudyError(
            f"nothing to train on: {where}; collect images with --role train and import their labels, or name"
            " a labelled set with --set"
        )
    if data.validation and not len(validation):
        raise StudyError(
            f"no image of {data.validation} has labels; import its labels, or leave --validation out"
        )
    if both := (train.ids & validation.ids) | (train.parents & validation.parents):
        raise OptionError(
            f"{counted(len(both), 'image')} would be in both training and validation, such as {min(both)};"
            " use disjoint sets"
        )
    if not any((train.labels(k) >= 0).any() for k in range(len(train))):
        known = ", ".join(withheld.classes.names[:6])
        raise StudyError(
            f"no training image has a labelled pixel of the classes to learn ({known}, ...); check the labels"
            " and --withhold"
        )
    return train, validation


Taught = Callable[[LabelledImages, Withheld], Examples]


def class_weights(examples: Examples, classes: int, *, void: bool = False) -> tuple[float, ...]:
    """Return the weight of each class by median-frequency balancing: the median share of pixels over the
    class's own, in the images that have it (Eigen and Fergus 2015); 0 for a class that no image has. With
    ``void``, void pixels are an additional class.
    """
    channels = classes + void
    pixels = np.zeros(channels)
    of_images = np.zeros(channels)
    for number in range(len(examples)):
        labels = examples.labels(number)
        labels = np.where(labels == OUTSIDE, classes, labels) if void else labels
        counts = np.bincount(labels[labels >= 0].ravel(), minlength=channels)[:channels]
        pixels += counts
        of_images += (counts > 0) * (labels >= 0).sum()
    shares = np.divide(pixels, of_images, out=np.zeros(channels), where=of_images > 0)
    middle = float(np.median(shares[shares > 0]))
    return tuple(float(f"{middle / share:.6g}") if share else 0.0 for share in shares)
