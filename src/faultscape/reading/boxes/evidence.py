"""The boxes of a study that count, by image and class.

Conventions: boxes of discarded images, and of images that left the study, do not count; nor does a class that
left the list. Boxes are those of the image, at its own size.
"""

from __future__ import annotations

from collections.abc import Collection

from faultscape.errors import StudyError, closest
from faultscape.maps.boxes import Box
from faultscape.reading.study import LABELS, Study
from faultscape.study.answers.boxes import BoxAnswer, BoxAnswers, joined
from faultscape.study.parts import key_of


def box_answers(study: Study) -> BoxAnswers:
    """Return the table of boxes of a study."""
    return BoxAnswers(study.root, study.database, lambda: study.settings.classes)


def truth_of_boxes(study: Study, asked: str | None) -> str:
    """Return the truth whose boxes count: the one asked for, else `labels`, else the only one; otherwise
    StudyError.
    """
    known = box_answers(study).truths()
    name = asked or (LABELS if LABELS in known or len(known) != 1 else known[0])
    if name in known:
        return name
    if not known:
        raise StudyError(
            f"there are no boxes yet; import some with `faultscape label import {study.place} SOURCE --boxes`"
        )
    raise StudyError(
        f"truth {name!r} has no boxes; choose another with --truth: {', '.join(known)}.{closest(name, known)}"
    )


def boxes_of(study: Study, truth: str) -> dict[str, dict[str, list[Box]]]:
    """Return {image: {class that was boxed: its boxes}} of a truth, in corpus order."""
    by_image = dict[str, list[BoxAnswer]]()
    for answer in box_answers(study).answers(truth):
        by_image.setdefault(answer.image, []).append(answer)
    if not by_image:
        return {}
    names = {*study.classes.names}
    there = by_image.keys() & study.ids - study.discarded.keys()
    found = {image: joined(by_image[image]) for image in study.images if image in there}
    return {
        image: {name: boxes for name, boxes in of.items() if name in names} for image, of in found.items()
    }


def boxes_key(study: Study, truth: str, images: Collection[str] | None = None) -> str:
    """Return a key of the boxes of a truth that count, or of those of some images, '' for none; renaming
    classes does not change it.
    """
    first = study.settings.classes.first_name_of
    rows = [
        (image, first.get(name, name), [tuple(box) for box in boxes])
        for image, of in boxes_of(study, truth).items()
        if images is None or image in images
        for name, boxes in of.items()
    ]
    return key_of(sorted(rows)) if rows else ""
