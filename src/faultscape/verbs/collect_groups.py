"""Which images of a study belong together: what `collect --group` and `--block` enter into the corpus.

Conventions: called by `collect` alone. The options speak of the images that the line names, or of all where it names none. Groups change no selection and no
prediction; they are what is drawn anew where an interval speaks of data to come.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from faultscape.corpus.groups import assign_groups
from faultscape.errors import StudyError, counted
from faultscape.study.corpus import Image, read_corpus, write_corpus


def group_images(images: list[Image], ids: Collection[str], group: Any, block: int | None) -> list[Image]:
    """Return the images with the groups of those in ``ids``; what neither option speaks of stays."""
    if group is None and block is None:
        return images
    mine = [image.id for image in images if image.id in ids]
    named = assign_groups(mine, group, block)
    asked = set(mine)
    return [replace(image, group=named.get(image.id, "")) if image.id in asked else image for image in images]


def group_again(root: Path, group: Any, block: int | None) -> tuple[list[Image], int]:
    """Enter the groups of all images that a study has; returns the images, and how many belong to another group than before."""
    from faultscape.study.lock import writing
    from faultscape.study.tables import log

    with writing(root):
        held = read_corpus(root)
        if not held:
            raise StudyError(
                f"{root} has no images yet that groups could be made of; name a folder, a glob in quotes, or a list file"
            )
        images = group_images(held, {image.id for image in held}, group, block)
        changed = sum(one.group != other.group for one, other in zip(held, images, strict=True))
        if changed:
            write_corpus(root, images)
        log(root, "collect", group=group if isinstance(group, str) else None, block=block)
    return images, changed


def told_changes(changed: int) -> str:
    """Return what to say of images that belong to another group now."""
    return f"{counted(changed, 'image belongs', 'images belong')} to another group now; intervals follow when measure and rank run again"
