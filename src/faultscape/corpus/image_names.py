"""How tables name images: the column that does, and which image of a study a name means.

Conventions: columns are found by their names in small letters or not, the first of the known names first
(`corpus.sources.HEADS` for images). A name with and without the ending of a file is one image; an image that
is called so goes before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from faultscape.corpus.id_lists import without_ending


def called(known: Sequence[str], names: Sequence[str]) -> str:
    """Return the first column of a known name, in small letters or not; nothing where there is none.

    >>> called(("image", "id", "filename"), ("Label", "Filename"))
    'Filename'
    """
    return next((name for word in known for name in names if name.strip().lower() == word), "")


def ids_meant(names: Iterable[str], ids: Collection[str]) -> dict[str, str]:
    """Return {name: the id among ``ids`` that it means}, with or without an ending; the name itself where
    there is none.

    >>> ids_meant(["a.jpg", "b", "c.v1", "z"], ["a", "b.png", "c.v1"])
    {'a.jpg': 'a', 'b': 'b.png', 'c.v1': 'c.v1', 'z': 'z'}
    """
    wanted, stems = set(ids), {without_ending(id_): id_ for id_ in ids}
    return {name: _meant(name, wanted, stems) for name in names}


def _meant(name: str, ids: Collection[str], stems: Mapping[str, str]) -> str:
    plain = re.sub(r"\.\w{1,5}$", "", name)
    return name if name in ids else plain if plain in ids else stems.get(plain, stems.get(name, name))
