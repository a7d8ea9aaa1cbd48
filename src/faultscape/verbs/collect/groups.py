"""Which images of a study belong together: what `collect --group` and `--block` write into the corpus.

Conventions: the options apply to the images that the command names, or to all if it names none. Groups change
no selection and no prediction; intervals about future data resample whole groups.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from faultscape.corpus.groups import assign_groups, describe_groups, join_blocks
from faultscape.errors import StudyError, counted
from faultscape.reading.sets import collected, follow
from faultscape.reading.study import Study
from faultscape.study.tables.corpus import Image, write_corpus
from faultscape.study.tables.logs import log
from faultscape.verbs.collect.options import Grouping


def check(ids: Sequence[str], asked: Grouping) -> None:
    """Raise CorpusError if groups do not fit the images that the command names; no image is read."""
    assign_groups(ids, asked.group, asked.block)


def group_images(images: list[Image], ids: Collection[str], asked: Grouping) -> list[Image]:
    """Return the images with the groups of those in ``ids``. Images that neither option covers stay as they
    are; a block alone splits the existing groups.
    """
    if not asked.asked:
        return images
    group = asked.group
    block = asked.block
    mine = [image.id for image in images if image.id in ids]
    held = {image.id: image.group for image in images if image.id in ids and image.group}
    if group is None and (group := join_blocks(held) or None):
        print(f"--block {block} splits the existing groups: {describe_groups(group.values())}")
    named = assign_groups(mine, group, block)
    named_ids = set(mine)
    return [
        replace(image, group=named.get(image.id, "")) if image.id in named_ids else image for image in images
    ]


def group_again(study: Study, asked: Grouping) -> str:
    """Write the groups of all images of a study; return a text about those whose group changed."""
    root = study.root
    with study.writing():
        held = study.corpus.images()
        if not held:
            raise StudyError(
                f"{root} has no images to group yet; name a folder, a glob in quotes, or a list file"
            )
        images = follow(group_images(held, {image.id for image in collected(held)}, asked))
        changes = [
            (one.group, other.group)
            for one, other in zip(held, images, strict=True)
            if one.group != other.group
        ]
        if changes:
            write_corpus(root, images)
        log(root, "collect", group=asked.group if isinstance(asked.group, str) else None, block=asked.block)
    return _changes_text(changes)


def _changes_text(changes: list[tuple[str, str]]) -> str:
    """Return a text about images whose group changed, or ''.

    >>> _changes_text([("", "a"), ("", "a"), ("a", "b")])[:55]
    '2 images have a group now, 1 image belongs to another g'
    """
    first = sum(not old for old, _ in changes)
    none = sum(not new for _, new in changes)
    parts = [
        counted(first, "image has a group now", "images have a group now"),
        counted(
            len(changes) - first - none,
            "image belongs to another group now",
            "images belong to another group now",
        ),
        counted(none, "image has no group now", "images have no group now"),
    ]
    parts = [words for words in parts if not words.startswith("0 ")]
    return f"{', '.join(parts)}; `faultscape run` and `measure` update intervals" if parts else ""
