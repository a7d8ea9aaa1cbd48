"""Find the depth files of a set's images: the given ones, else those in the layout of its data set."""

from __future__ import annotations

import os
from pathlib import Path

from faultscape.corpus.matches import match
from faultscape.corpus.stress.files import DEPTH_ENDINGS, check_depth, depth_digest, depth_of_layout
from faultscape.errors import CorpusError, counted
from faultscape.verbs.stress.parents import Base, frames_of_set


def depth_files(root: Path, folder: str | None, base: Base) -> dict[str, tuple[str, str]]:
    """Return {image id: (path of its depth, its digest)}; for an image without one, fog is estimated from
    pixel position, with a note. CorpusError and ImageError if a folder has no depth.
    """
    if folder is None:
        layout, frames = frames_of_set(root, base)
        if layout is None or layout.read_depth is None:
            return {}
        found = {
            id_: depth_of_layout(layout.name, frame)
            for id_, frame in frames.items()
            if frame.depth and frame.camera
        }
        what = layout.title
    else:
        what = f"--depth {folder}"
        try:
            of = match(folder, [image.id for image in base.images], endings=frozenset(DEPTH_ENDINGS))
            found = {id_: os.path.abspath(place) for id_, place in of.items()}
        except CorpusError as error:
            raise CorpusError(f"--depth {str(error).partition(', or give --pattern')[0]}") from None
        for image in base.images:  # before anything is made
            if image.id in found:
                check_depth(found[image.id], (image.height, image.width))
    if found and len(found) < len(base.images):
        print(
            f"{what}: has no depth for {counted(len(base.images) - len(found), 'image')}; depth is "
            "estimated from pixel position there"
        )
    return {id_: (place, depth_digest(place)) for id_, place in found.items()}
