"""Which files of tests are a share of all: CI runs a share of the slow ones, another with each commit."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def files_of(share: str, files: Iterable[Path]) -> set[Path]:
    """The files of a share such as "2/3"; they are dealt in their order, so that those that take longest,
    which come first, are spread over all shares.
    """
    place, number = map(int, share.split("/"))
    if not 1 <= place <= number:
        raise ValueError(f"FAULTSCAPE_SHARE={share}: is no share; the first of three is 1/3")
    return set(list(dict.fromkeys(files))[place - 1 :: number])
