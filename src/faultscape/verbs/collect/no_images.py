"""What `collect` changes in a study without naming images (classes, working size, groups), and its summary of
the study.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultscape.classes.built_in import BUILT_IN
from faultscape.classes.class_lists import FORMS, resolve
from faultscape.corpus.groups import describe_groups
from faultscape.errors import CorpusError, counted
from faultscape.metrics.intervals.units import LEAST, units_of
from faultscape.nouns import Classes
from faultscape.reading.sets import collected, follow
from faultscape.reading.study import Study
from faultscape.study import settings as toml
from faultscape.study.tables.corpus import Image, write_corpus
from faultscape.study.tables.logs import log, read_failures
from faultscape.verbs.collect import groups, settings
from faultscape.verbs.collect.result import Collected
from faultscape.verbs.options import CollectOptions


def change_settings(study: Study, options: CollectOptions) -> Collected:
    """Change the classes, the working size, and any groups given, without reading images."""
    toml.parse_size(options.size or "own")
    assert options.task is not None
    classes = given_classes(options, options.task, is_new=False)
    root = study.root
    with study.writing():
        wanted = settings.asked_settings(study, options, classes)
        settings.enter_settings(study, wanted)
        images = study.corpus.images()
        if options.grouping.asked:
            images = follow(
                groups.group_images(images, {image.id for image in collected(images)}, options.grouping)
            )
            write_corpus(root, images)
        log(root, "collect", images=[], size=wanted.size)
        failures = sum(f.stage == "collect" for f in read_failures(root))
    return described(options.study, images, 0, failures, wanted)


def change_groups(study: Study, options: CollectOptions) -> Collected:
    """Write the groups of all images of the study."""
    images, changes = groups.group_again(study, options.grouping)
    if changes:
        print(changes)
    failures = sum(f.stage == "collect" for f in read_failures(study.root))
    return described(options.study, images, 0, failures, study.settings)


def given_classes(options: CollectOptions, task: str, *, is_new: bool) -> Classes | None:
    """Return the classes that were given; CorpusError if a study needs some, or if these cannot be drawn."""
    classes = resolve(options.classes) if options.classes is not None else None
    if classes is None and is_new:
        raise CorpusError(
            f"a new study needs its class list: --classes with a file ({FORMS}) or a built-in name"
            f" ({', '.join(sorted(BUILT_IN))})"
        )
    if classes is not None and task != toml.CLASSIFICATION and not classes.colours:
        raise CorpusError(
            f"classes {options.classes} have no colours, so they cannot be drawn as label maps; add --task"
            f" {toml.CLASSIFICATION}, or give colours"
        )
    return classes


def described(study: str, images: Sequence[Image], new: int, failures: int, held: toml.Settings) -> Collected:
    """Return the summary of what the study contains now."""
    made = images
    images = collected(images)
    duplicates = sum(image.near_duplicate_of != image.id for image in images)
    drawn = len({image.near_duplicate_of for image in images if image.role == "pool"})
    classes, size = settings.describe(held, sum(not image.source for image in images))
    if len(made) > len(images):
        print(f"{counted(len(made) - len(images), 'more image')} in sets made by `faultscape stress`")
    about = describe_groups(image.group for image in images)
    if about and units_of([image.group for image in images]).count < LEAST:
        cut = f"`faultscape collect {study} --block N` splits groups into runs of N consecutive images"
        print(f"{about}: intervals need at least {LEAST}; {cut}")
    return Collected(
        study,
        len(images),
        new,
        len({image.shard for image in images}),
        duplicates,
        failures,
        classes,
        size,
        about,
        drawn_from=drawn if drawn < sum(image.role == "pool" for image in images) else None,
    )
