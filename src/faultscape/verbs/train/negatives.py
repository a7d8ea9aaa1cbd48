"""What teaches to tell what is unknown (`train --negatives`, `fit --negatives`): the images of a set with
unknown objects, which networks are trained on beside the labelled ones, or, for networks, a folder of other
images.

Conventions: pixels of unknown objects are OUTSIDE. Void pixels of the labels then count in no loss, because
what they show may well be known. Objects by which the study tests models, or that look like them, are refused
(`tested_objects`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, OptionError
from faultscape.reading.study import Study
from faultscape.study.parts import key_of
from faultscape.study.tables.corpus import Image
from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE
from faultscape.verbs.stress.blends.other_photos import OtherPhotos
from faultscape.verbs.stress.object_families import family_of_set
from faultscape.verbs.train.anomalous_images import AnomalousImages
from faultscape.verbs.train.examples import Examples
from faultscape.verbs.train.labelled_images import LabelledImages, role_of
from faultscape.verbs.train.options import TrainingData
from faultscape.verbs.train.tested_objects import line_of_others, refuse_tested, refuse_tested_photos
from faultscape.verbs.train.withheld import Withheld


class NegativeImages(AnomalousImages):
    """The images of a set that --negatives names; OptionError for objects by which the study tests models."""

    def __init__(self, study: Study, name: str, truth: str | None = None) -> None:
        super().__init__(
            study,
            name,
            truth,
            option="negatives",
            purpose=(
                f"--negatives needs; blend objects into training images: {line_of_others(study)}, or collect"
                " a data set with such labels"
            ),
            use="to teach what is unknown",
            what="image with unknown objects",
        )
        refuse_tested(study, self)
        self.family = family_of_set(study, name)
        self.roles = [role_of(image, study.image_rows) for image in self.images]


class TaughtExamples(Examples):
    """Labelled images, and behind them the images of a set with unknown objects; `read` is safe for several
    threads.
    """

    def __init__(self, images: LabelledImages, withheld: Withheld, negatives: NegativeImages) -> None:
        super().__init__(images, withheld)
        self._negatives = negatives

    def __len__(self) -> int:
        return super().__len__() + len(self._negatives.images)

    @property
    def ids(self) -> set[str]:
        """The ids of the images."""
        return super().ids | {image.id for image in self._negatives.images}

    @property
    def images(self) -> list[Image]:
        """The rows of the images in the corpus."""
        return [*super().images, *self._negatives.images]

    @property
    def roles(self) -> list[str]:
        """The role of each image; a made image has the role of its original."""
        return [*super().roles, *self._negatives.roles]

    @property
    def parents(self) -> set[str]:
        """The ids of the parents of these images; a collected image is its own parent."""
        return super().parents | {image.parent or image.id for image in self._negatives.images}

    @property
    def sets(self) -> set[str]:
        """The sets of the images."""
        return super().sets | {self._negatives.name}

    def read(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the pixels (H, W, 3) uint8 of an image and its labels (H, W) int16. ImageError names an
        image that cannot be read.
        """
        if (image := self._negative(number)) is None:
            return super().read(number)
        try:
            photo = read_photo(image)[0]
        except ImageError as error:
            raise ImageError(f"{image.id}: {error}") from None
        return photo, self._taught(image, (photo.shape[1], photo.shape[0]))

    def called(self, number: int) -> str:
        """Return the id of an image."""
        image = self._negative(number)
        return super().called(number) if image is None else image.id

    def labels(self, number: int) -> np.ndarray:
        """Return only the labels (H, W) int16 of an image, at its size in the corpus."""
        if (image := self._negative(number)) is None:
            return super().labels(number)
        return self._taught(image, (image.width, image.height))

    def key(self) -> str:
        """Return a key of the images, their labels and the learnt classes."""
        return key_of(super().key(), self._negatives.key())

    def _negative(self, number: int) -> Image | None:
        first = super().__len__()
        return None if number < first else self._negatives.images[number - first]

    def _taught(self, image: Image, size: tuple[int, int]) -> np.ndarray:
        anomaly, view = self._negatives.view(image, size)
        known = (
            np.full(anomaly.shape, IGNORED, np.int16)
            if view.semantic is None
            else self._places[view.semantic]
        )
        return np.where(anomaly == 1, OUTSIDE, known).astype(np.int16)


Negatives = NegativeImages | OtherPhotos


def find_negatives(study: Study, data: TrainingData) -> Negatives | None:
    """Return what --negatives names, None without it. Errors: OptionError for something else, and for objects
    by which the study tests models.
    """
    name = data.negatives
    if name is None:
        return None
    if name not in study.sets:
        photos = OtherPhotos(study, name)
        refuse_tested_photos(study, photos)
        return photos
    if name in (data.set_ or ()):
        raise OptionError(f"--negatives {name}: is also named by --set; leave it out there")
    return NegativeImages(study, name, data.truth)


def taught_by(negatives: Negatives, images: LabelledImages, withheld: Withheld) -> Examples:
    """Return training images whose void pixels count in no loss, with the images of a set with unknown
    objects behind them.
    """
    places = withheld.places.copy()
    places[places == OUTSIDE] = IGNORED
    known = replace(withheld, places=places)
    if isinstance(negatives, OtherPhotos):
        return Examples(images, known)
    return TaughtExamples(images, known, negatives)
