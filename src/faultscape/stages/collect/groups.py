"""Which images of a study belong together: what `collect --group` and `--block` enter into the corpus.

Conventions: called by `collect` alone. The options speak of the images that the line names, or of all where it names none. Groups change no selection and no
prediction; they are what is drawn anew where an interval speaks of data to come.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from faultscape.corpus.groups import assign_groups, describe_groups, join_blocks
from faultscape.errors import StudyError, counted
from faultscape.study.tables.corpus import Image, read_corpus, write_corpus


def group_images(images: list[Image], ids: Collection[str], group: Any, block: int | None) -> list[Image]:
    """Return the images with the groups of those in ``ids``; what neither option speaks of stays, and a block alone cuts the groups that there are."""
    if group is None and block is None:
        return images
    mine = [image.id for image in images if image.id in ids]
    held = {image.id: image.group for image in images if image.id in ids and image.group}
    if group is None and (group := join_blocks(held) or None):
        print(f"--block {block} cuts the groups that the images have: {describe_groups(group.values())}")
    named = assign_groups(mine, group, block)
    asked = set(mine)
    return [replace(image, group=named.get(image.id, "")) if image.id in asked else image for image in images]


def group_again(root: Path, group: Any, block: int | None) -> tuple[list[Image], str]:
    """Enter the groups of all images that a study has; returns the images, and what to say of those whose group is another now."""
    from faultscape.study.lock import writing
    from faultscape.study.tables.logs import log

    with writing(root):
        held = read_corpus(root)
        if not held:
            raise StudyError(
                f"{root} has no images yet that groups could be made of; name a folder, a glob in quotes, or a list file"
            )
        images = group_images(held, {image.id for image in held}, group, block)
        changes = [(one.group, other.group) for one, other in zip(held, images, strict=True) if one.group != other.group]
        if changes:
            write_corpus(root, images)
        log(root, "collect", group=group if isinstance(group, str) else None, block=block)
    return images, _told(changes)


def _told(changes: list[tuple[str, str]]) -> str:
    """Return what to say of images whose group before and now is another; '' where there are none.

    >>> _told([("", "a"), ("", "a"), ("a", "b")])[:55]
    '2 images have a group now, 1 image belongs to another g'
    """
    first, none = sum(not old for old, _ in changes), sum(not new for _, new in changes)
    said = [
        counted(first, "image has a group now", "images have a group now"),
        counted(len(changes) - first - none, "image belongs to another group now", "images belong to another group now"),
        counted(none, "image stands alone now", "images stand alone now"),
    ]
    said = [words for words in said if not words.startswith("0 ")]
    return f"{', '.join(said)}; intervals follow when measure and rank run again" if said else ""
