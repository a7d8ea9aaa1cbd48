"""Array jobs: which shards of a study one of several equal jobs does.

Conventions: ``PART/PARTS``, PART from 1: the shards whose number modulo PARTS is PART - 1, so that jobs need
not know about each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from faultscape.errors import OptionError


@dataclass(frozen=True)
class Share:
    """The share of one job of an array; of the only job, if there is no array."""

    part: int = 1
    parts: int = 1

    def has(self, number: int) -> bool:
        return number % self.parts == self.part - 1


def share(text: str | None) -> Share:
    """Return the share that ``--shard`` names, or all for None; OptionError for an invalid share.

    >>> [share("2/3").has(number) for number in range(6)]
    [False, True, False, False, True, False]
    """
    if text is None:
        return Share()
    match = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text.strip())
    if not match or int(match[1]) > int(match[2]):
        raise OptionError(
            f"--shard {text!r} is not a share; expected PART/PARTS with PART from 1 to PARTS, for example 2/3"
        )
    return Share(int(match[1]), int(match[2]))
