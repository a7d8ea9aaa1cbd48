"""How tables name images: the column of names, and the image of a study that a name means.

Conventions: columns are found by name, ignoring case, in the order of the known names (`corpus.sources.HEADS`
for images). A name with and without a file ending means the same image; an exact match wins.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from faultscape.corpus.id_lists import without_ending


def called(known: Sequence[str], names: Sequence[str]) -> str:
    """Return the first column with a known name, ignoring case; '' if there is none.

    >>> called(("image", "id", "filename"), ("Label", "Filename"))
    'Filename'
    """
    return next((name for word in known for name in names if name.strip().lower() == word), "")


def ids_meant(names: Iterable[str], ids: Collection[str]) -> dict[str, str]:
    """Return {name: the id among ``ids`` that it means}, with or without an ending; the name itself if there
    is none.

    >>> ids_meant(["a.jpg", "b", "c.v1", "z"], ["a", "b.png", "c.v1"])
    {'a.jpg': 'a', 'b': 'b.png', 'c.v1': 'c.v1', 'z': 'z'}
    """
    wanted = set(ids)
    stems = {without_ending(id_): id_ for id_ in ids}
    return {name: _meant(name, wanted, stems) for name in names}


def _meant(name: str, ids: Collection[str], stems: Mapping[str, str]) -> str:
    plain = re.sub(r"\.\w{1,5}$", "", name)
    return name if name in ids else plain if plain in ids else stems.get(plain, stems.get(name, name))
