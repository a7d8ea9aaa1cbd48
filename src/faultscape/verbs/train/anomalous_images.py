"""The images of a set with anomaly labels: made by `stress blend`, or collected with such labels.

Conventions: anomaly labels are 1 on unknown objects, 0 on what is known and 255 on void. Classes that the
study withholds are void, because the study evaluates on them (`reading.image_truths`), and a collected set
whose anomalies are such pixels is refused.
"""

from __future__ import annotations

import numpy as np

from faultscape.corpus.unread_images import UnreadImages
from faultscape.errors import OptionError, StudyError, closest, counted
from faultscape.reading.image_truths import Judge, View, find_judged, made_from, with_labels
from faultscape.reading.study import Study
from faultscape.stressors.holdout import hold_out
from faultscape.study.parts import key_of
from faultscape.study.tables.corpus import Image
from faultscape.verbs.train.labelled_images import role_of


class AnomalousImages:
    """The images with anomaly labels of a set that an ``option`` names. ``purpose`` follows "which" where
    there are none, ``use`` says in words what they are used for, and ``what`` names one of them.

    Errors: OptionError for an unknown set, StudyError for one without anomaly labels.
    """

    def __init__(
        self,
        study: Study,
        name: str,
        truth: str | None,
        *,
        option: str,
        purpose: str,
        use: str,
        what: str,
    ) -> None:
        images = study.image_rows
        known = [*study.sets]
        if name not in known:
            raise OptionError(
                f"--{option} {name!r}: the study has no such set; it has"
                f" {', '.join(known)}.{closest(name, known)}"
            )
        # the truth whose labels show withheld classes, if the study has any
        of_classes = study.truth(truth) if truth or study.truths else ""
        judged = with_labels(study, find_judged(study, images, of_classes))
        self.name = name
        self.images = [
            image for image in images.values() if image.set == name and judged[image.id].anomaly is not None
        ]
        if not self.images:
            raise StudyError(f"no image of {name} has anomaly labels, which {purpose}")
        self.tested = sum(role_of(image, images) == "test" for image in self.images)
        self.unread = UnreadImages(what, len(self.images))
        self._study = study
        self._use = use
        self._judge = Judge(study, judged)
        self._judged = judged
        self._withheld = {
            place: word
            for words in study.stress.holdouts.values()
            for place, word in enumerate(study.classes.names)
            if hold_out(study.classes, list(words)).is_withheld[place]
        }

    def view(self, image: Image, size: tuple[int, int]) -> tuple[np.ndarray, View]:
        """Return the anomaly labels (H, W) of an image at a size (width, height), and all its labels;
        StudyError if the anomalies of a collected image are pixels of a class that a holdout withholds.
        """
        (view,) = self._judge.views(image.id, size)
        assert view.anomaly is not None
        if view.semantic is not None and not image.parent:
            shown = np.unique(view.semantic[view.anomaly == 1]).tolist()
            if lost := [self._withheld[place] for place in shown if place in self._withheld]:
                raise StudyError(
                    f"{image.id}: its anomalies are pixels of {', '.join(lost)}, withheld by a holdout of"
                    f" this study: the study is judged by them, so they cannot be used {self._use}"
                )
        return view.anomaly, view

    def key(self) -> str:
        """Return a key of the images and of their labels."""
        labels = made_from(self._study, (self._judged[image.id] for image in self.images))
        return key_of([(image.id, image.digest) for image in self.images], list(labels))


def note_of_tested(images: AnomalousImages, doing: str) -> str:
    """Return the note that images ``doing`` something are evaluated on, '' if none is.

    >>> class Images:
    ...     tested, images = 1, [1, 2]
    >>> note_of_tested(Images(), "to search with")[:44]
    'note: 1 of 2 images to search with have role'
    """
    if not images.tested:
        return ""
    return (
        f"note: {images.tested} of {counted(len(images.images), 'image')} {doing} have role test or were made"
        " from such images; judge the method on other images"
    )
