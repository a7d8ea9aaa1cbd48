"""What `collect` changes in a study without naming images (classes, working size, groups), and its summary of
the study.
"""

from __future__ import annotations

from collections import Counter

from faultscape.classes.built_in import BUILT_IN
from faultscape.classes.class_lists import FORMS, resolve
from faultscape.corpus.groups import describe_groups
from faultscape.errors import CorpusError, counted
from faultscape.metrics.intervals.units import LEAST
from faultscape.nouns import Classes
from faultscape.reading.sets import collected, follow
from faultscape.reading.study import Study
from faultscape.study import settings as toml
from faultscape.study.tables.corpus import write_corpus
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
        if options.grouping.asked:
            images = study.corpus.images()
            images = follow(
                groups.group_images(images, {image.id for image in collected(images)}, options.grouping)
            )
            write_corpus(root, images)
        log(root, "collect", images=[], size=wanted.size)
        failures = sum(f.stage == "collect" for f in read_failures(root))
    return described(study, options.study, 0, failures)


def change_groups(study: Study, options: CollectOptions) -> Collected:
    """Write the groups of all images of the study."""
    if changes := groups.group_again(study, options.grouping):
        print(changes)
    failures = sum(f.stage == "collect" for f in read_failures(study.root))
    return described(study, options.study, 0, failures)


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


def described(study: Study, called: str, new: int, failures: int) -> Collected:
    """Return the summary of what the study contains now."""
    corpus = study.corpus
    made = alone = duplicates = pool = blind = 0
    drawn = 0  # groups whose first image is in the pool
    elsewhere = set[str]()  # first images of the others of the pool
    sizes = Counter[str]()
    shards = set[int]()
    columns = ("id", "parent", "source", "dhash", "role", "near_duplicate_of", "group", "shard")
    for id_, parent, source, dhash, role, first, group, shard in corpus.each_row(*columns):
        if parent:
            made += 1
            continue
        alone += not source
        blind += dhash is None and bool(source)
        duplicates += first != id_
        sizes[group] += 1
        shards.add(shard)
        if role == "pool":
            pool += 1
            drawn += first == id_
            elsewhere.update([first] if first != id_ else [])
    roles = corpus.rows_of(elsewhere, "id", "role").to_pydict() if elsewhere else {"role": []}
    drawn += len(elsewhere) - roles["role"].count("pool")
    if blind:
        print(
            f"{counted(blind, 'image')} not searched for near-duplicates; add --probe to read each one"
            " completely"
        )
    if made:
        print(f"{counted(made, 'more image')} in sets made by `faultscape stress`")
    classes, size = settings.describe(study.settings, alone)
    about = describe_groups(sizes)
    if about and len(sizes) - ("" in sizes) + sizes[""] < LEAST:
        cut = f"`faultscape collect {called} --block N` splits groups into runs of N consecutive images"
        print(f"{about}: intervals need at least {LEAST}; {cut}")
    return Collected(
        called,
        sizes.total(),
        new,
        len(shards),
        duplicates,
        failures,
        classes,
        size,
        about,
        drawn_from=drawn if drawn < pool else None,
    )
