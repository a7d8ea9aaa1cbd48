"""Images that a command needs but cannot read: told in one line once all were tried, kept in failures.csv."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, StudyError, counted
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.logs import Failure

_SHOWN = 3


class UnreadImages:
    """The images among ``total`` that could not be read, {id: why}; ``what`` names one of them, for example
    ``training image``.
    """

    def __init__(self, what: str, total: int) -> None:
        self.reasons: dict[str, str] = {}
        self._what = what
        self._total = total
        self._told = 0

    def read(self, image: Image) -> np.ndarray | None:
        """Return the pixels (H, W, 3) uint8 of an image; None, and note it, if it cannot be read."""
        try:
            return read_photo(image)[0]
        except ImageError as error:
            self.reasons.setdefault(image.id, str(error))
            return None

    def tell(self) -> None:
        """Print how many images could not be read, unless that was told; StudyError if none could be read."""
        if self.reasons and len(self.reasons) == self._total:
            first, why = min(self.reasons.items())
            each = counted(self._total, self._what)
            raise StudyError(f"none of {each} can be read; the first, {first}: {why}")
        if len(self.reasons) > self._told:
            left_out = f"{'is' if len(self.reasons) == 1 else 'are'} left out (failures.csv)"
            print(f"note: {unread_text(self.reasons, self._what, left_out)}")
            self._told = len(self.reasons)

    def failures(self, stage: str, name: str) -> list[Failure]:
        """Return the rows of failures.csv about these images."""
        return [Failure(stage, name, image, why) for image, why in self.reasons.items()]


def unread_text(reasons: Mapping[str, str], what: str, so: str) -> str:
    """Return how many things, {name: why}, cannot be read, what follows, their first names and the first
    reason.

    >>> unread_text({"a": "it is empty", "b": "it is gone"}, "image", "are left out")
    '2 images cannot be read and are left out: a, b; the first: it is empty'
    """
    ordered = sorted(reasons)
    names = ", ".join([*ordered[:_SHOWN], *(["..."] if len(ordered) > _SHOWN else [])])
    return f"{counted(len(reasons), what)} cannot be read and {so}: {names}; the first: {reasons[ordered[0]]}"
