"""Arguments that the command line reads as words, and Python also takes as objects: what a type checker sees is what Python takes.

Conventions: light; each name is a word, or a list of words, while the program runs, since that is what the command line makes of it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias, overload

from faultscape.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from faultscape.nouns import Classes, Scale

    Place: TypeAlias = str | os.PathLike[str]
    ClassList: TypeAlias = Classes | Place | int  # a built-in name, a file, or a number of classes
    Source: TypeAlias = str | Mapping[str, Place]  # NAME=SOURCE, or {NAME: SOURCE}
    Sources: TypeAlias = str | Mapping[str, Place] | Sequence[Source]  # one or more of these
    Renames: TypeAlias = str | Mapping[str, str] | Sequence[str]  # OLD=NEW, {OLD: NEW}, or several words
    GroupRule: TypeAlias = Place | Mapping[str, str]  # a pattern, a file, or {image: group}
    ScaleFile: TypeAlias = Scale | Place
    Costs: TypeAlias = str | Mapping[str, float]  # mask=5400,choice=10, or {kind of work: seconds}
else:
    Place = ClassList = Source = GroupRule = ScaleFile = Costs = str
    Sources = Renames = list[str]


@overload
def place_text(place: None) -> None: ...
@overload
def place_text(place: Place) -> str: ...
def place_text(place: Place | None) -> str | None:
    """Return the name of a file or folder as text, whether it came as a word or as a path; None where there is none. OptionError for anything else.

    >>> from pathlib import Path
    >>> place_text("maps/unet"), place_text(Path("maps") / "unet"), place_text(None)
    ('maps/unet', 'maps/unet', None)
    """
    if place is None:
        return None
    if not isinstance(place, str | os.PathLike):
        raise OptionError(f"expected the name of a file or folder, text or a path; got {place!r}; a list is written *LIST")
    return os.fspath(place)
