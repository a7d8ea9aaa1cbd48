"""Files of depth beside the images of a set, and what a person says of them."""

from __future__ import annotations

from collections.abc import Sequence

from faultscape.corpus.matches import match
from faultscape.corpus.stress.files import DEPTH_ENDINGS, depth_digest
from faultscape.errors import counted
from faultscape.study.tables.corpus import Image


def depth_files(folder: str | None, images: Sequence[Image]) -> dict[str, tuple[str, str]]:
    """Return {image id: (path of its depth, its digest)} of a folder; what has none gets fog by place, which is said."""
    if folder is None:
        return {}
    found = match(folder, [image.id for image in images], endings=frozenset(DEPTH_ENDINGS))
    if len(found) < len(images):
        print(f"--depth {folder}: has no depth of {counted(len(images) - len(found), 'image')}; their fog follows from place")
    return {id_: (path, depth_digest(path)) for id_, path in found.items()}
