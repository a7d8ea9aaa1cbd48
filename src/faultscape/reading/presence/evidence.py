"""Which classes images of a study show, as far as anybody said: answers of people, and masks.

Conventions: a mask says it of every class and counts alone, whatever people answered about its image. Of
several people's answers the majority counts; a tie, or only unsure ones, says nothing. Discarded images, and
images and classes that left the study, do not count.
"""

from __future__ import annotations

from collections.abc import Mapping

from faultscape.errors import StudyError, closest
from faultscape.labelling.answers import majority
from faultscape.reading.maps import StoredLabels
from faultscape.reading.study import LABELS, Study
from faultscape.study.parts import key_of


def truth_of_presence(study: Study, asked: str | None) -> str:
    """Return the truth that says which classes images show, by answers or by masks: the one asked for, else
    `labels`, else the only one; otherwise StudyError.
    """
    answered = study.answers.truths()
    known = sorted({*answered, *study.label_folders})
    few = answered or known
    name = asked or (LABELS if LABELS in few or len(few) != 1 else few[0])
    if name in known:
        return name
    if not known:
        raise StudyError(
            "nobody has said yet which classes images show; import it with `faultscape label import"
            f" {study.place} FILE.csv --present`, or masks"
        )
    raise StudyError(
        f"truth {name!r} has no answers about classes, and no masks; choose another with --truth:"
        f" {', '.join(known)}.{closest(name, known)}"
    )


def answered_presence(study: Study, truth: str) -> dict[str, dict[str, bool]]:
    """Return {image: {class: whether it shows it}} of what people answered under a truth, in corpus order."""
    names = {*study.classes.names}
    of_image = dict[str, dict[str, bool]]()
    for (image, class_), yes in majority(study.answers.answers(truth)).items():
        if yes is not None and class_ in names:
            of_image.setdefault(image, {})[class_] = yes
    there = of_image.keys() & study.ids - study.discarded.keys()
    return {image: of_image[image] for image in study.images if image in there} if there else {}


def known_presence(study: Study, truth: str) -> dict[str, Mapping[str, bool]]:
    """Return {image: {class: whether it shows it}} of what people answered about the images that have answers
    or a mask under a truth, in corpus order.
    """
    answered = answered_presence(study, truth)
    masked = {*StoredLabels.of_truth(study, truth)} if truth in study.label_folders else set[str]()
    counted = (answered.keys() | masked) - study.discarded.keys()
    return {image: answered.get(image, {}) for image in study.images if image in counted}


def presence_key(study: Study, truth: str) -> str:
    """Return a key of what people answered under a truth, '' for nothing; renaming classes does not change
    it.
    """
    first = study.settings.classes.first_name_of
    rows = [
        (image, first.get(name, name), yes)
        for image, of in answered_presence(study, truth).items()
        for name, yes in of.items()
    ]
    return key_of(sorted(rows)) if rows else ""
