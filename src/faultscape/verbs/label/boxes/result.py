"""What `label import --boxes` reports.

Conventions: light, no heavy imports.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from faultscape.errors import counted, shortened
from faultscape.terminal_lines import wrapped


def measure_line(study: str, flag: str, truth: str) -> str:
    """Return the command that measures models from boxes, or from the classes present.

    >>> measure_line("my study", "boxes", "labels"), measure_line("s", "present", "ann")
    ("faultscape measure 'my study' --boxes", 'faultscape measure s --present --truth ann')
    """
    under = [] if truth == "labels" else ["--truth", truth]
    return shlex.join(["faultscape", "measure", study, f"--{flag}", *under])


@dataclass(frozen=True)
class BoxesImported:
    """What `label import --boxes` stored."""

    truth: str  # name under which the boxes are kept
    images: int  # images of the files whose boxes can be used
    new: int  # of these, the ones whose boxes are new or changed
    boxes: int  # their boxes
    classes: tuple[str, ...]  # the classes that were boxed
    failures: int  # images whose boxes cannot be used
    first: str = ""  # why the first of them was rejected
    then: str = ""

    def __repr__(self) -> str:
        found = f"{counted(self.boxes, 'box', 'boxes')} in {counted(self.images, 'image')}"
        wrong = (
            f"; {counted(self.failures, 'image')} not usable (failures.csv); the first: {self.first}"
            if self.failures
            else ""
        )
        lines = wrapped(
            f"truth {self.truth}: {found}, {self.new} new; boxed: {shortened(self.classes)}{wrong}"
        )
        return "\n".join([*lines, *([f"next: {self.then}"] if self.then else [])])
