"""Find the frames of a set that is a data set in a known layout, with the files it has besides images and
truth.
"""

from __future__ import annotations

from pathlib import Path

from faultscape.corpus.layouts.catalogue import entry
from faultscape.corpus.layouts.layout import Frame, Layout, find_frames
from faultscape.errors import FaultscapeError
from faultscape.study.tables.stress_sets import read_stress
from faultscape.verbs.stress.parents import Base


def frames_of_set(root: Path, base: Base) -> tuple[Layout | None, dict[str, Frame]]:
    """Return the layout of a set and {image id: frame}; None and {} for a set without a layout, or whose data
    set is gone.
    """
    source = read_stress(root).data.get(base.name)
    if source is None:
        return None, {}
    try:
        layout = entry(source.layout)
        frames = find_frames(layout, source.path, source.split)
    except FaultscapeError:
        return None, {}
    ids = {base.relative(image.id): image.id for image in base.images}
    return layout, {ids[frame.id]: frame for frame in frames if frame.id in ids}
