"""What a person may ask of `stress corrupt`, `stress blend`, `stress fog` and `stress holdout`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from faultscape.choices import Role
from faultscape.errors import OptionError
from faultscape.stages.given_options import refuse_empty

RUNNING = ("study", "write", "engine", "workers")  # options that change no image
_MOST = 5


@dataclass(frozen=True)
class CorruptOptions:
    """Which images to corrupt, how, and whether to write them too: see `stress corrupt`."""

    study: str
    set_: str | None = None
    preset: str | None = None
    corruption: tuple[str, ...] = ()
    severities: str | None = None
    seed: int = 0
    move_labels: bool = False
    truth: str | None = None
    frost_textures: str | None = None
    role: Role = "test"
    write: str | None = None
    engine: str = "processes"
    workers: int | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
        if self.seed < 0:
            raise OptionError(f"seed is a whole number, 0 or more; got {self.seed}")


def severities_of(text: str) -> tuple[int, ...]:
    """Return the severities that words such as ``1-5``, ``3`` or ``1,3,5`` name, in order; OptionError for others.

    >>> severities_of("1-3"), severities_of("5,1"), severities_of("4")
    ((1, 2, 3), (1, 5), (4,))
    """
    found: set[int] = set()
    for word in text.split(","):
        match = re.fullmatch(r"\s*(\d)(?:\s*-\s*(\d))?\s*", word)
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= low <= high <= _MOST:
            raise OptionError(f"--severities {text!r}: severities are 1 to 5; write 1-5, 3 or 1,3,5")
        found.update(range(low, high + 1))
    return tuple(sorted(found))


@dataclass(frozen=True)
class HoldoutOptions:
    """Which classes to hold out, under which name, and where to write truth without them: see `stress holdout`."""

    study: str
    classes: tuple[str, ...] = ()
    preset: str | None = None
    as_: str | None = None
    truth: str | None = None
    write: str | None = None

    def __post_init__(self) -> None:
        refuse_empty(self)
