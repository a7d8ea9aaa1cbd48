"""Which image of a study each thing in memory belongs to.

Conventions: by its id, {ID: map} or pairs (ID, map); without ids by the order of the collected images, that
of `Study.images` without made ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultscape.errors import FaultscapeError, closest, counted
from faultscape.reading.sets import collected
from faultscape.reading.study import Study


def images_of(
    study: Study,
    ids: Sequence[str] | None,
    number: int,
    name: str,
    what: str = "map",
    *,
    error: type[FaultscapeError],
) -> list[str]:
    """Return the image of each of so many maps, or whatever they are. An error for more or fewer than there
    are images, if they have no ids, and for an id that the study does not have; ``name`` is what they are of.
    """
    images = [image.id for image in collected(study.corpus.images())]
    if ids is None and number != len(images):
        raise error(
            f"{name}: got {counted(number, what)} for {counted(len(images), 'image')}; give one for each, in"
            f" the order of fs.Study({study.called!r}).images, or {{id: {what}}}"
        )
    if ids is None:
        return images
    known = set(study.images)
    if lost := next((id_ for id_ in ids if id_ not in known), None):
        first = f"; it has {images[0]!r}" if images else ""
        raise error(f"{name}: {lost!r} is not an image of the study{first}.{closest(lost, images)}")
    return list(ids)
