"""Points, single pixels of images, as files of questions ask about them and as files of answers hold them.

Conventions: rows and columns are those of a pixel of the image, from 0 at its top left; sizes are (width,
height). An answer is a class, `void`, `cannot tell`, or two classes joined by ``|`` on a border between them,
in the words of the file: whether they mean anything is for its reader to say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import NamedTuple

from faultscape.nouns import CANNOT_TELL, VOID

NEITHER = (VOID, CANNOT_TELL)  # answers that name no class
Unusable = tuple[int, str, str]  # the number of a line, its image, and what is wrong with it


@dataclass(frozen=True)
class AskedPoint:
    """A point to ask about: its image, row and column, the files of a cut around it and of the whole image in
    the folder ('' for none), the size of the image, and the classes to offer ``first``.
    """

    image: str
    row: int
    column: int
    crop: str = ""
    photo: str = ""
    size: tuple[int, int] = (0, 0)
    first: tuple[str, ...] = ()


class SaidPoint(NamedTuple):
    """An answer: its image, row and column (not whole where a tool keeps places), who answered, and what."""

    image: str
    row: float
    column: float
    annotator: str
    answer: str


@dataclass(frozen=True)
class PointLines:
    """The content of a file: (number, answer) of what is filled in, and what cannot be read. Each number is
    that of a ``unit`` of the file. Places may be ``off`` by this many pixels. Where the tool names the images
    by files, ``sizes`` are the sizes that it states.
    """

    answers: list[tuple[int, SaidPoint]] = field(default_factory=list)
    wrong: list[Unusable] = field(default_factory=list)
    unit: str = "line"
    off: float = 0.0
    sizes: Mapping[str, tuple[int, int]] | None = None


def letters_of(names: Sequence[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return {class: the key that answers it, or ''}: a letter of its name that is not ``taken`` and that no
    class before it has.

    >>> letters_of(["road", "rider", "car", "void"], "v")
    {'road': 'r', 'rider': 'i', 'car': 'c', 'void': 'o'}
    """
    out: dict[str, str] = {}
    for name in names:
        free = (a for a in name.lower() if a in ascii_lowercase and a not in taken and a not in out.values())
        out[name] = next(free, "")
    return out
