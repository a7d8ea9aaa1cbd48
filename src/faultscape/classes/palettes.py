"""Maps with a palette: whether a value means the class of that id, or the class of the colour that the
palette gives it.

Conventions: values are ids, as in most data sets, unless the palette contradicts them: colours decide where
every used colour is that of a class or of void, and one of them belongs to another class than its value.
Colours count only if the class list has its own; those of `class_lists.palette` were given by us. A palette
that is PASCAL VOC's shows any data set's ids, so it contradicts nothing as long as all values are ids.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from PIL import Image

from faultscape.classes.class_lists import palette, table
from faultscape.errors import FaultscapeError, LabelMapError
from faultscape.formats.label_maps import VOID_COLOURS, Colour, Palette, colour_table, read_map
from faultscape.formats.packed.places import opened_at
from faultscape.nouns import UNKNOWN, Classes

_VOC = ((0, 0, 0), *palette(255))


def has_own_colours(classes: Classes) -> bool:
    """Return whether a class list gives colours itself, rather than taking those of `class_lists.palette`.

    >>> from faultscape.classes.class_lists import resolve
    >>> has_own_colours(resolve("camvid")), has_own_colours(resolve(3))
    (True, False)
    """
    given_by_us = iter(palette(len(classes) + len(classes.void)))  # void entries of a file take colours too
    return not all(colour in given_by_us for colour in classes.colours)


class Palettes:
    """Reads the maps of one kind of files that have a palette; ``labels`` maps their values to class names,
    if these are not the class list's ids.
    """

    def __init__(self, classes: Classes, labels: Mapping[str, str] | None = None) -> None:
        self._names = (*classes.names, "void")
        self._places = table(classes, labels)
        n = len(classes)
        self._place_of: dict[Colour, int] = (
            dict.fromkeys(VOID_COLOURS, n) if (self._places == n).any() else {}
        )
        self._place_of |= {colour: place for place, colour in enumerate(classes.colours)}
        self._value_of = {
            int(self._places[v]): v for v in np.flatnonzero(self._places != UNKNOWN)[::-1].tolist()
        }
        self._value_of |= {place: id_ for place, id_ in enumerate(classes.ids) if self._places[id_] == place}
        if classes.void and self._places[classes.void[0]] == n:
            self._value_of[n] = classes.void[0]
        self.by_colour: set[str] = set()  # files whose colours are the classes
        self.by_value: set[str] = set()  # files whose values are, which another reading would change

    def __call__(self, values: np.ndarray, colours: Sequence[Colour], path: str) -> np.ndarray:
        """Return the values of a map, or the values of the classes whose ``colours`` its palette gives them;
        LabelMapError if some colours are those of classes of other values, and some of no class.
        """
        used = np.flatnonzero(np.bincount(values.ravel(), minlength=256)).tolist()
        elsewhere = [v for v in used if self._is_elsewhere(v, colours)]
        if not elsewhere or self._is_voc(used, colours):
            if any(self._place_of.get(_at(colours, v)) != self._places[v] for v in used):
                self.by_value.add(path)
            return values
        strange = [v for v in used if _at(colours, v) not in self._place_of]
        if strange:
            raise LabelMapError(
                f"{path}: its palette gives the value {elsewhere[0]} the colour of"
                f" {self._name(colours, elsewhere[0])!r}, but the value {strange[0]} the colour"
                f" {_at(colours, strange[0])} of no class; save it as plain ids (grey), or in the class"
                " colours"
            )
        self.by_colour.add(path)
        own = np.zeros(256, np.uint16)
        own[used] = [self._value_of[self._place_of[_at(colours, v)]] for v in used]
        return (own.astype(np.uint8) if own.max() < 256 else own)[values]

    def may_contradict(self, path: str) -> bool:
        """Whether the palette of a file has a class's colour at a value that means another class; True where
        only decoding tells.
        """
        try:
            with Image.open(opened_at(path, LabelMapError)) as picture:
                if picture.mode != "P":
                    return False
                if picture.format != "PNG" or picture.palette is None:
                    return True
                flat = bytes(picture.palette.palette)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, LabelMapError):
            return False
        colours = list(zip(flat[::3], flat[1::3], flat[2::3], strict=False))
        return any(self._is_elsewhere(value, colours) for value in range(len(colours)))

    def _is_elsewhere(self, value: int, colours: Sequence[Colour]) -> bool:
        """Whether a value is shown in the colour of a class that it does not mean; black and cream also stand
        for other things than void.
        """
        place = self._place_of.get(_at(colours, value))
        return place is not None and place < len(self._names) - 1 and place != self._places[value]

    def _is_voc(self, used: Sequence[int], colours: Sequence[Colour]) -> bool:
        known = all(self._places[v] != UNKNOWN for v in used)
        return known and all(_at(colours, v) == _VOC[v] for v in range(max(used) + 1))

    def _name(self, colours: Sequence[Colour], value: int) -> str:
        return self._names[self._place_of[_at(colours, value)]]


def _at(colours: Sequence[Colour], value: int) -> Colour:
    """Return the colour of a value; black beyond the end of the palette, as viewers show it."""
    return colours[value] if value < len(colours) else (0, 0, 0)


def palettes_of(classes: Classes, labels: Mapping[str, str] | None = None) -> Palettes | None:
    """Return the reader of maps with a palette; None if values are ids whatever the palette shows, because
    the class list has no colours of its own.
    """
    return Palettes(classes, labels) if has_own_colours(classes) else None


def only_colours(classes: Classes) -> Palette:
    """Return the reader of maps that are known to be coded by colour; it raises LabelMapError for a colour of
    no class.
    """
    known = colour_table(classes)

    def read(values: np.ndarray, colours: Sequence[Colour], path: str) -> np.ndarray:
        ids = known[[red << 16 | green << 8 | blue for red, green, blue in colours]]
        for value in np.flatnonzero(np.bincount(values.ravel(), minlength=len(ids))).tolist():
            if ids[value] == UNKNOWN:
                raise LabelMapError(f"{path}: the colour {colours[value]} is not a class's colour")
        return ids[values]

    return read


def coded_by_palette(files: Iterable[str], classes: Classes, labels: Mapping[str, str] | None = None) -> bool:
    """Return whether maps of one folder are coded by the colours of their palettes; LabelMapError if others
    are coded by their values. Only palettes that may contradict the values are decoded.
    """
    palettes = palettes_of(classes, labels)
    if palettes is None:
        return False
    rest = []
    for path in files:
        if palettes.may_contradict(path):
            _try(path, palettes)
        else:
            rest.append(path)
    if palettes.by_colour:
        for path in rest:
            _try(path, palettes)
    if palettes.by_colour and palettes.by_value:
        one = min(palettes.by_colour)
        other = min(palettes.by_value)
        raise LabelMapError(
            f"{one}: its palette shows that its colours are the classes, but in {other} the values are;"
            " maps of one folder must be coded alike: save all as plain ids (grey), or in the class colours"
        )
    return bool(palettes.by_colour)


def _try(path: str, palettes: Palettes) -> None:
    with contextlib.suppress(FaultscapeError):  # reported by the code that reads it in full
        read_map(path, palette=palettes)
