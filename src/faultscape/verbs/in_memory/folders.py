"""A truth and maps that were given to `measure` as arrays, tensors or PIL images.

Conventions: they wait in folders, under the ids of their images or, where nothing has ids, under their
places, and are measured as folders are. What was measured does not name these folders.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faultscape.arguments import Source
from faultscape.errors import CorpusError, FaultscapeError, ModelError, counted
from faultscape.formats import from_memory

_CALLED = "memory://"  # instead of the folder, in messages and in log.jsonl
_PREFIX = "faultscape-measured-"
_WITHOUT_IDS = "{}: maps without ids do not show which file of {} each belongs to; give {{id: map}}"


def without_folder(place: str | None) -> str | None:
    """Return a place as log.jsonl names it: without the temporary folder of what was in memory.

    >>> without_folder("/tmp/faultscape-measured-1/truth"), without_folder("masks/")
    ('memory://truth', 'masks/')
    """
    _, prefix, inside = (place or "").rpartition(_PREFIX)
    return f"{_CALLED}{inside.partition(os.sep)[2]}" if prefix else place


def last_two(place: str) -> str:
    """Return the last two parts of a place, by which a page is called.

    >>> last_two("/tmp/faultscape-measured-1/truth"), last_two("/data/val/masks")
    ('memory://truth', 'val/masks')
    """
    return "/".join(Path(place).parts[-2:]) if _PREFIX not in place else str(without_folder(place))


@contextmanager
def as_folders(source: Any, models: Sequence[Source]) -> Iterator[tuple[str | None, tuple[Source, ...]]]:
    """Yield a truth and models as folders; CorpusError or ModelError for maps that do not belong to the same
    images.
    """
    given = [value for one in models if isinstance(one, Mapping) for value in one.values()]
    if source is None or all(map(from_memory.is_place, [source, *given])):
        yield None if source is None else os.fspath(source), tuple(models)
        return
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        writer = _Writer(Path(folder))
        try:
            truth = writer.folder("truth", source, CorpusError)
            named = [
                {str(name): writer.folder(str(name), value, ModelError) for name, value in one.items()}
                if isinstance(one, Mapping)
                else one
                for one in models
            ]
            yield truth, tuple(named)
        except FaultscapeError as error:
            error.args = tuple(str(text).replace(f"{folder}/", _CALLED) for text in error.args)
            raise


class _Writer:
    """Writes maps into folders below one, all with ids or all with places."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._first = ""  # what was given first, the truth if it is in memory
        self._ids: tuple[str, ...] | None = None
        self._number = 0
        self._places = list[str]()

    def folder(self, name: str, value: Any, error: type[FaultscapeError]) -> str:
        """Return the folder of some maps, which is what was given if that is one."""
        if from_memory.is_place(value):
            self._places.append(name)
            if self._first and self._ids is None:
                raise error(_WITHOUT_IDS.format(self._first, name))
            return os.fspath(value)
        if from_memory.is_function(value):
            raise error(f"{name}: measure takes maps; ask a function or module with `fs.predict`, in a study")
        waiting = self._root / "waiting"
        waiting.mkdir(exist_ok=True)
        made = from_memory.write_maps(value, waiting, name, error)
        self._check(name, made, error)
        place = self._root / (name if not (self._root / name).exists() else f"model-{name}")  # called truth
        for number, file in enumerate(made.files):
            target = place / f"{number:06}.png" if made.ids is None else place / f"{made.ids[number]}.png"
            if not target.resolve().is_relative_to(place.resolve()):
                raise error(f"{name}: the id {made.ids[number]!r} leads out of its folder")  # type: ignore[index]
            target.parent.mkdir(parents=True, exist_ok=True)
            file.rename(target)
        return str(place)

    def _check(self, name: str, made: from_memory.MapFiles, error: type[FaultscapeError]) -> None:
        """Raise an error for maps that do not belong to the images of those before them."""
        if not made.files:
            raise error(f"{name}: has no map")
        if made.ids is None and self._places:
            raise error(_WITHOUT_IDS.format(name, self._places[0]))
        if self._first and (made.ids is None) != (self._ids is None):
            one, other = (name, self._first) if made.ids is None else (self._first, name)
            raise error(f"{one} has no ids, and {other} has; give all as {{id: map}}, or none")
        if self._first and made.ids is None and len(made.files) != self._number:
            raise error(
                f"{name}: has {counted(len(made.files), 'map')}, and {self._first} {self._number}; give one"
                " for each image"
            )
        if not self._first:
            self._first = name
            self._ids = made.ids
            self._number = len(made.files)
