"""Which kinds of failure people can give as tags, and the key for each.

Conventions: a study's own list (``tags`` in study.toml, name = key) replaces the whole default list. A key is
one printable character other than a space; upper and lower case are two keys.
Source: Yan et al. 2021, section 4.2 and Fig. 11 (novel appearance, viewpoint, scale, parts); Wang et al.
2020, section 3.2 and Figs. 6 to 9 (background, relations between objects, low-level features, rare
instances); light, blur and borders are what can be measured besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faultscape.errors import LabellingError

MOST = 200  # maximum number of kinds in one study


@dataclass(frozen=True)
class Kind:
    """One kind of failure: its name, which is the tag, its key, and a sentence that explains it."""

    name: str
    key: str
    says: str = ""


KINDS = (
    Kind(
        "novel appearance",
        "n",
        "An object looks unlike those of its class in the training data: another design, material, colour"
        " or state.",
    ),
    Kind("untypical viewpoint", "v", "An object is seen from an angle from which it is rarely photographed."),
    Kind(
        "extreme scale", "s", "An object takes far more or far less of the image than its class usually does."
    ),
    Kind("part only", "p", "Only a part of an object is visible; the rest is out of view or covered."),
    Kind("cut by the border", "c", "The border of the image runs through an object."),
    Kind("background bias", "b", "A model relies on the surroundings instead of the object."),
    Kind("foreground bias", "f", "A model relies on one object in front and ignores the rest of the image."),
    Kind(
        "relation inference",
        "r",
        "A model predicts something that usually occurs with the visible objects but is not there.",
    ),
    Kind(
        "low-level bias",
        "l",
        "A model relies on colour, shape or texture alone, against other evidence in the image.",
    ),
    Kind("rare instance", "i", "An object of a kind that is rare within its class."),
    Kind("dark", "d", "There is little light."),
    Kind("bright", "h", "There is too much light, or glare."),
    Kind("blurred", "u", "Motion or focus has blurred the image."),
)


def kinds_of(own: Mapping[str, str], place: str = "study.toml") -> tuple[Kind, ...]:
    """Return the kinds of a study: its ``own`` {name: key}, or the default ones if it has none;
    LabellingError, which names the ``place``, for a name or key that cannot be used, or is used twice.

    >>> kinds_of({"dark": "d", "glare": "g"})[1].key, len(kinds_of({})) == len(KINDS)
    ('g', True)
    """
    if not own:
        return KINDS
    if len(own) > MOST:
        raise LabellingError(f"{place}: tags: {len(own)} kinds of failure; at most {MOST} are allowed")
    says = {kind.name: kind.says for kind in KINDS}
    taken = dict[str, str]()
    for name, key in own.items():
        if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > 100:
            raise LabellingError(
                f"{place}: tags: {name[:100]!r} is not a valid name; expected up to 100 printable"
                " characters, without surrounding spaces"
            )
        if len(key) != 1 or not key.isprintable() or key.isspace():
            raise LabellingError(
                f"{place}: tags: the key of {name!r} is {key[:20]!r}; expected one character, such as"
                f" {_free(own)!r}"
            )
        if key in taken:
            raise LabellingError(
                f"{place}: tags: {taken[key]!r} and {name!r} have the same key {key!r}; give each its own,"
                f" such as {_free(own)!r}"
            )
        taken[key] = name
    return tuple(Kind(name, key, says.get(name, "")) for name, key in own.items())


def _free(own: Mapping[str, str]) -> str:
    """Return a key that is not in use.

    >>> _free({"dark": "a"})
    'b'
    """
    taken = set(own.values())
    return next(
        key
        for key in map(chr, range(ord("a"), 0x10FFFF))
        if key not in taken and key.isprintable() and not key.isspace()
    )
