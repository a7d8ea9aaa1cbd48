"""Options of `report`.

Conventions: imports are light, because the command line reads this file. None means that the default comes
from the study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from faultscape.verbs.given_options import refuse_empty


@dataclass(frozen=True)
class ReportOptions:
    """All options of `report`: ``thumbnail`` is the longest side of an image in pixels, ``better`` the
    smallest difference that counts.
    """

    selection: str = "main"
    output: str | None = None
    bands: Sequence[float] | None = None
    better: float | None = None
    reference_images: str | None = None
    thumbnail: int = 320

    def __post_init__(self) -> None:
        refuse_empty(self)
