"""What `label import --present` reports.

Conventions: light, no heavy imports.
"""

from __future__ import annotations

from dataclasses import dataclass

from faultscape.errors import counted, shortened
from faultscape.terminal_lines import wrapped


@dataclass(frozen=True)
class PresentImported:
    """What `label import --present` stored."""

    truth: str  # name under which the answers are kept
    images: int  # images of the file that can be used
    new: int  # answers, of an image and a class each, that are new or changed
    present: int  # classes that are in an image, summed over the images
    classes: tuple[str, ...]  # the classes that were asked about
    failures: int  # lines that cannot be used
    first: str = ""  # why the first of them was rejected
    then: str = ""

    def __repr__(self) -> str:
        wrong = (
            f"; {counted(self.failures, 'line')} not usable (failures.csv); the first: {self.first}"
            if self.failures
            else ""
        )
        lines = wrapped(
            f"truth {self.truth}: {counted(self.present, 'class', 'classes')} present in"
            f" {counted(self.images, 'image')}, {counted(self.new, 'new answer')}; asked:"
            f" {shortened(self.classes)}{wrong}"
        )
        return "\n".join([*lines, *([f"next: {self.then}"] if self.then else [])])
