"""Find and read the labelled images of a study for training or validating a network.

Conventions: labels are those of one truth, for made sets those of their parents (`reading.image_truths`),
scaled to their images by the nearest pixel. Classes are 0..K-1 in the order in which they are learnt.
Withheld pixels are IGNORED by every loss; pixels that were void from the start are OUTSIDE, which only losses
that request them use. An image that has boxes and no labels is IGNORED, and its boxes say what is known of
it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, OptionError, StudyError, counted
from faultscape.maps.boxes import covered
from faultscape.reading.boxes.evidence import boxes_of, truth_of_boxes
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.tables.corpus import Image
from faultscape.uncertainty.training.box_labels import BoxLabels
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE
from faultscape.verbs.train.labelled_images import BoxesOf, LabelledImages, find_labelled
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
        return photo, self._labels(number, (photo.shape[1], photo.shape[0]))

    def called(self, number: int) -> str:
        """Return the id of an image."""
        return self._images.rows[number][0].id

    def labels(self, number: int) -> np.ndarray:
        """Return only the labels (H, W) int16 of an image, at its size in the corpus."""
        image = self._images.rows[number][0]
        return self._labels(number, (image.width, image.height))

    def boxes(self, number: int) -> BoxLabels | None:
        """Return the boxes of an image that has no labels, None for any other. A box that meets one of a
        withheld class only says where its own class is not.
        """
        if (found := self._images.boxes(number)) is None:
            return None
        drawn, boxes_of = found
        channels = {place: int(self._places[place]) for place in boxes_of}
        boxes = [(channels[place], box) for place, some in boxes_of.items() for box in some]
        ignored = (box for channel, box in boxes if channel == IGNORED)
        hidden = covered(ignored, (drawn.height, drawn.width))
        whole = [
            box.whole and not hidden[box.top : box.bottom, box.left : box.right].any() for _, box in boxes
        ]
        return BoxLabels(
            (drawn.width, drawn.height),
            tuple(channel for channel in channels.values() if channel != IGNORED),
            np.array([(channel, *box[:4]) for channel, box in boxes], np.int64).reshape(-1, 5),
            np.repeat(np.array(whole, bool)[:, None], 2, axis=1),
        )

    @property
    def boxed(self) -> list[str]:
        """The ids of the images that have boxes and no labels."""
        return sorted(image.id for image, place in self._images.rows if place is None)

    @property
    def masked(self) -> int:
        """How many images, the first, have labels, if they are fewer than those with boxes and would hardly
        be drawn; 0 if all count the same.
        """
        masks = len(self._images) - len(self.boxed)
        return masks if masks < len(self.boxed) and not self.new else 0

    def _labels(self, number: int, size: tuple[int, int]) -> np.ndarray:
        if self._images.rows[number][1] is None:
            return np.full((size[1], size[0]), IGNORED, np.int16)
        return self._places[self._images.places(number, size)]

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
    truth = truth_of_masks(study, data)
    if labelled is None:
        boxes = boxes_that_teach(study, data, withheld)
        labelled = find_labelled(study, truth, data.set_, "train", "set", boxes)
        if data.boxes:
            need_boxes(labelled)
    train = Examples(labelled, withheld) if taught is None else taught(labelled, withheld)
    validation = Examples(find_labelled(study, truth, watched, "validation", "validation"), withheld)
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
    if not train.boxed and not any((train.labels(k) >= 0).any() for k in range(len(train))):
        known = ", ".join(withheld.classes.names[:6])
        raise StudyError(
            f"no training image has a labelled pixel of the classes to learn ({known}, ...); check the labels"
            " and --withhold"
        )
    return train, validation


def truth_of_masks(study: Study, data: TrainingData) -> str | None:
    """Return the truth whose masks teach, as it was asked for; '' if there are only boxes to learn from."""
    only_boxes = data.boxes and (data.truth not in study.truths if data.truth else not study.truths)
    return "" if only_boxes else data.truth


def boxes_that_teach(study: Study, data: TrainingData, withheld: Withheld) -> BoxesOf:
    """Return the boxes of all images, without those of which boxes do not say where a withheld class may be;
    {} without --boxes. StudyError if there are no boxes.
    """
    if not data.boxes:
        return {}
    found = boxes_of(study, truth_of_boxes(study, data.truth))
    kept = {id_: of for id_, of in found.items() if of.keys() >= {*withheld.names}}
    if left := len(found) - len(kept):
        print(
            f"note: {counted(left, 'image')} with boxes left out: withheld classes"
            f" ({', '.join(withheld.names)}) were not boxed there"
        )
    return kept


def need_boxes(images: LabelledImages) -> None:
    """Raise StudyError if none of the images to train on teaches by boxes."""
    if not any(place is None for _, place in images.rows):
        raise StudyError(
            "--boxes: no image to train on has boxes and no mask (a mask counts alone); leave it out, or name"
            " a set whose images have boxes with --set"
        )


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
    if not pixels.any():
        raise OptionError(
            "--class-weights counts pixels of masks, and no training image has one; leave it out"
        )
    shares = np.divide(pixels, of_images, out=np.zeros(channels), where=of_images > 0)
    middle = float(np.median(shares[shares > 0]))
    return tuple(float(f"{middle / share:.6g}") if share else 0.0 for share in shares)
