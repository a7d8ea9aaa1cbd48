"""Unknown objects by which the study tests models: what teaches must not show them, nor objects that look
like them (corpus.objects.lookalikes).

Conventions: tests are blended images of role test whose originals are neither for training nor for
validation. Only objects that were blended can be compared; those of a collected data set cannot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote

from faultscape.corpus.duplicates import DISTANCE
from faultscape.corpus.objects.lookalikes import look_of, lookalikes
from faultscape.corpus.stress.files import read_object
from faultscape.corpus.stress.recipes import PlanStep, recipe_of
from faultscape.errors import OptionError, counted
from faultscape.reading.study import Study
from faultscape.stressors.blend_plans import plan_of_text
from faultscape.stressors.objects.cutout import Cutout
from faultscape.study.tables.corpus import Image
from faultscape.verbs.train.anomalous_images import AnomalousImages
from faultscape.verbs.train.labelled_images import role_of
from faultscape.verbs.train.negative_photos import NegativePhotos

_BITS = (1 << 64) - 1
_PRESET = "fishyscapes-v2"


def refuse_tested(study: Study, negatives: AnomalousImages) -> None:
    """Raise OptionError if a set tests models, or if its objects look like some by which the study does."""
    if any(_is_test(image, study.image_rows) for image in negatives.images):
        raise OptionError(
            f"--negatives {negatives.name}: models are tested by these objects; blend others:"
            f" {line_of_others(study)}"
        )
    mine = objects_of(negatives.images)
    tests = _tests(study)
    looks = {digest: look_of(cutout) for digest, cutout in mine.items()}
    found = lookalikes(looks, ((digest, look_of(cutout)) for digest, (_, cutout) in tests.items()))
    if found:
        pairs = [(mine[digest].name, tests[other]) for digest, other in found.items()]
        name, (where, other) = min(pairs, key=lambda pair: pair[0])
        raise OptionError(
            f"--negatives {negatives.name}: {len(found)} of {counted(len(mine), 'object')} look like objects"
            f" by which models are tested ({name} like {other.name} of {where}); blend others:"
            f" {line_of_others(study, negatives.name)}"
        )


def refuse_tested_photos(study: Study, photos: NegativePhotos) -> None:
    """Raise OptionError if images of a folder look like objects by which the study tests models."""
    looks = [(where, cutout, look_of(cutout)[:2]) for where, cutout in _tests(study).values()]
    for (name, _), value in zip(photos.files, photos.hashes, strict=True):
        for where, cutout, ways in looks:
            if value and min(((value ^ way) & _BITS).bit_count() for way in ways) <= DISTANCE:
                raise OptionError(
                    f"--negatives {photos.name}: {name} looks like {cutout.name} of {where}, by which models"
                    " are tested; give images of other things"
                )


def objects_of(images: Iterable[Image]) -> dict[str, Cutout]:
    """Return {digest: unknown object} of the objects that were blended into images."""
    found: dict[str, Cutout] = {}
    for image in images:
        recipe = recipe_of(image.source)
        while recipe is not None and not isinstance(recipe.step, PlanStep):
            recipe = recipe_of(recipe.of)
        if recipe is None:
            continue
        assert isinstance(recipe.step, PlanStep)
        for placed in plan_of_text(recipe.step.plan).objects:
            if placed.use == "anomaly" and placed.cutout not in found:
                found[placed.cutout] = read_object(recipe.step.objects, placed.cutout)
    return found


def line_of_others(study: Study, name: str = "") -> str:
    """Return the line that blends drawn objects, which look like none of the tests, into the images below a
    set, or without one into training images.
    """
    about = study.stress.sets.get(name)
    of = next((image.set for image in study.image_rows.values() if _teaches(image)), "train")
    preset, edition = _PRESET, ""
    if about is not None:
        preset, of, edition = about.parameters.get("preset", _PRESET), about.of, " --edition other"
    return f"`faultscape stress blend {quote(str(study.place))} --preset {preset} --set {quote(of)}{edition}`"


def _teaches(image: Image) -> bool:
    return image.role == "train" and not image.parent


def _is_test(image: Image, images: Mapping[str, Image]) -> bool:
    made = image.parent and image.role == "test"
    return bool(made) and role_of(image, images) not in ("train", "validation")


def _tests(study: Study) -> dict[str, tuple[str, Cutout]]:
    """Return {digest: set and object} of the objects of the test sets."""
    images = study.image_rows
    of_sets: dict[str, list[Image]] = {}
    for image in images.values():
        if _is_test(image, images):
            of_sets.setdefault(image.set, []).append(image)
    return {
        digest: (name, cutout)
        for name, mine in of_sets.items()
        for digest, cutout in objects_of(mine).items()
    }
