"""DRAWN_OBJECTS: objects drawn by code, for use without your own cut-outs.

Conventions: every variant of an object has its own colours, proportions and texture, drawn from the seed;
alpha is soft, so the border needs no smoothing. Twelve of the classes are FS Static's.

``name`` is one of ``DRAWN_OBJECTS``. ``variant`` is the number of the variant. ``variants`` is the number
drawn of each object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from faultscape.errors import OptionError, closest
from faultscape.stressors.objects import animals, things
from faultscape.stressors.objects.cutout import Cutout
from faultscape.stressors.objects.ink import Ink
from faultscape.stressors.streams import Stream


@dataclass(frozen=True)
class DrawnObject:
    """One object that can be drawn: its name, its class and the function that draws it on a sheet of ink."""

    name: str
    class_: str
    draw: Callable[[Ink, Stream], None]


DRAWN_OBJECTS: tuple[DrawnObject, ...] = (
    DrawnObject("horse", "horse", animals.horse),
    DrawnObject("cow", "cow", animals.cow),
    DrawnObject("sheep", "sheep", animals.sheep),
    DrawnObject("dog", "dog", animals.dog),
    DrawnObject("cat", "cat", animals.cat),
    DrawnObject("elephant", "elephant", animals.elephant),
    DrawnObject("bird", "bird", animals.bird),
    DrawnObject("duck", "bird", animals.duck),
    DrawnObject("aeroplane", "aeroplane", things.aeroplane),
    DrawnObject("balloon", "balloon", things.balloon),
    DrawnObject("boat", "boat", things.boat),
    DrawnObject("bottle", "bottle", things.bottle),
    DrawnObject("chair", "chair", things.chair),
    DrawnObject("sofa", "sofa", things.sofa),
    DrawnObject("tvmonitor", "tvmonitor", things.tvmonitor),
    DrawnObject("box", "box", things.box),
    DrawnObject("suitcase", "suitcase", things.suitcase),
    DrawnObject("barrel", "barrel", things.barrel),
    DrawnObject("ball", "ball", things.ball),
)


def drawn_cutout(name: str, variant: int = 0, seed: int = 0) -> Cutout:
    """Return one drawn object; OptionError for a name that is not in DRAWN_OBJECTS.

    >>> drawn_cutout("horse", 1)
    Cutout('horse 1', horse, anomaly, 277 x 272)
    """
    for entry in DRAWN_OBJECTS:
        if entry.name == name:
            stream = Stream(seed, name, "drawn object", variant)
            ink = Ink(Stream(seed, name, "texture of a drawn object", variant))
            entry.draw(ink, stream)
            return ink.cutout(f"{name} {variant}", entry.class_)
    names = [entry.name for entry in DRAWN_OBJECTS]
    raise OptionError(
        f"drawn object {name!r} is not known; known are {', '.join(names)}.{closest(name, names)}"
    )


def drawn_cutouts(variants: int = 3, seed: int = 0) -> list[Cutout]:
    """Return every drawn object in some variants; the last variant of each, if there are several, is in the
    split "validation", the others in "test".

    Errors: OptionError for fewer than 1 variant.

    >>> len(drawn_cutouts(1)), drawn_cutouts(1)[0].split
    (19, 'test')
    """
    if variants < 1:
        raise OptionError(f"variants: expected 1 or more; got {variants}")
    return [*_drawn(variants, seed)]


@lru_cache(maxsize=4)
def _drawn(variants: int, seed: int) -> tuple[Cutout, ...]:
    return tuple(
        replace(
            drawn_cutout(entry.name, variant, seed),
            split="validation" if variant and variant == variants - 1 else "test",
        )
        for variant in range(variants)
        for entry in DRAWN_OBJECTS
    )
