"""DRAWN_OBJECTS: objects drawn by code, for use without your own cut-outs.

Conventions: every variant of an object has its own colours, proportions and texture, drawn from the seed;
alpha is soft, so the border needs no smoothing. Twelve of the classes are FS Static's.

``name`` is one of ``DRAWN_OBJECTS``. ``variant`` is the number of the variant. ``variants`` is the number
drawn of each object.

Drawn animals, seen from the side.

Conventions: a function draws one animal on a sheet of ink; colours and proportions come from the stream.

Drawn things: furniture, vessels, boxes, aircraft and objects lost on the road.

Conventions: a function draws one thing on a sheet of ink; colours and proportions come from the stream.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from faultscape.errors import OptionError, closest
from faultscape.stressors.objects.cutout import Cutout
from faultscape.stressors.objects.ink import Colour, Ink, Point
from faultscape.stressors.streams import Stream

COATS: tuple[Colour, ...] = (
    (122, 74, 42),
    (66, 48, 38),
    (168, 122, 76),
    (196, 186, 172),
    (92, 86, 82),
    (150, 88, 48),
)
DARK: Colour = (34, 30, 28)
PAINTS: tuple[Colour, ...] = (
    (176, 44, 38),
    (44, 84, 150),
    (58, 118, 72),
    (206, 172, 62),
    (70, 70, 76),
    (214, 208, 198),
    (132, 66, 110),
)
WOODS: tuple[Colour, ...] = ((150, 104, 62), (98, 64, 40), (196, 158, 108))


def block(
    ink: Ink,
    front: tuple[float, float, float, float],
    depth: tuple[float, float],
    colour: Colour,
    *,
    rough: float = 0.1,
) -> None:
    """Draw a block: its front (x0, y0, x1, y1), and its top and side, which extend by ``depth`` to the right
    and up.
    """
    (x0, y0, x1, y1), (dx, dy) = front, depth
    ink.face(
        ((x0, y0), (x0 + dx, y0 - dy), (x1 + dx, y0 - dy), (x1, y0)),
        [value * 1.15 for value in colour],
        shade=(1, 1),
        rough=rough,
    )
    ink.face(
        ((x1, y0), (x1 + dx, y0 - dy), (x1 + dx, y1 - dy), (x1, y1)),
        [value * 0.6 for value in colour],
        rough=rough,
    )
    ink.face(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), colour, rough=rough)


def box(ink: Ink, stream: Stream) -> None:
    """Draw a cardboard box with tape."""
    colour: Colour = ((178, 136, 90), (160, 118, 76), (200, 190, 176))[stream.integer(3)]
    wide = stream.uniform(0.4, 0.55)
    tall = stream.uniform(0.35, 0.5)
    block(ink, (0.12, 0.88 - tall, 0.12 + wide, 0.88), (0.2, 0.14), colour)
    middle = 0.12 + wide / 2
    top = 0.88 - tall
    tape = [value * 1.25 for value in colour]
    ink.face(
        (
            (middle - 0.03, top),
            (middle + 0.17, top - 0.14),
            (middle + 0.23, top - 0.14),
            (middle + 0.03, top),
        ),
        tape,
        shade=(1, 1),
    )
    ink.face(
        (
            (middle - 0.03, top),
            (middle + 0.03, top),
            (middle + 0.03, top + 0.13),
            (middle - 0.03, top + 0.13),
        ),
        tape,
    )
    ink.face(((0.17, 0.74), (0.29, 0.74), (0.29, 0.82), (0.17, 0.82)), (226, 222, 212))


def chair(ink: Ink, stream: Stream) -> None:
    """Draw a wooden chair."""
    wood = WOODS[stream.integer(len(WOODS))]
    seat = PAINTS[stream.integer(len(PAINTS))] if stream.uniform() < 0.5 else wood
    for x, y in ((0.4, 0.84), (0.72, 0.82)):
        ink.limb(((x, 0.54), (x, y)), (0.018, 0.014), [value * 0.6 for value in wood])
    for x in (0.3, 0.66):
        ink.limb(((x, 0.12), (x, 0.56)), (0.02, 0.022), wood)
    for y in (0.17, 0.27, 0.37):
        ink.limb(((0.3, y), (0.66, y)), (0.024, 0.024), wood)
    ink.face(((0.28, 0.52), (0.68, 0.52), (0.76, 0.6), (0.2, 0.6)), seat, shade=(0.95, 1.1))
    ink.face(((0.2, 0.6), (0.76, 0.6), (0.76, 0.635), (0.2, 0.635)), [value * 0.7 for value in seat])
    for x in (0.23, 0.73):
        ink.limb(((x, 0.63), (x, 0.93)), (0.022, 0.016), wood)


def sofa(ink: Ink, stream: Stream) -> None:
    """Draw a sofa."""
    cloth = PAINTS[stream.integer(len(PAINTS))]
    for x in (0.13, 0.87):
        ink.limb(((x, 0.78), (x, 0.84)), (0.018, 0.014), WOODS[1])
    ink.face(
        ((0.12, 0.36), (0.88, 0.36), (0.9, 0.66), (0.1, 0.66)), [value * 0.8 for value in cloth], rough=0.12
    )
    for x in (0.15, 0.51):
        ink.face(
            ((x, 0.38), (x + 0.34, 0.38), (x + 0.34, 0.58), (x, 0.58)), cloth, shade=(1.1, 0.8), rough=0.12
        )
    for x in (0.15, 0.51):
        ink.face(
            ((x, 0.58), (x + 0.34, 0.58), (x + 0.35, 0.66), (x - 0.01, 0.66)),
            cloth,
            shade=(1.1, 1.2),
            rough=0.12,
        )
    ink.face(
        ((0.12, 0.66), (0.88, 0.66), (0.88, 0.79), (0.12, 0.79)),
        [value * 0.75 for value in cloth],
        rough=0.12,
    )
    for x in (0.06, 0.86):
        ink.limb(((x + 0.04, 0.54), (x + 0.04, 0.76)), (0.055, 0.055), cloth)


def tvmonitor(ink: Ink, stream: Stream) -> None:
    """Draw a monitor on its foot."""
    case: Colour = ((38, 38, 42), (190, 188, 182))[stream.integer(2)]
    screen: Colour = ((24, 28, 36), (64, 98, 140), (90, 120, 110))[stream.integer(3)]
    ink.body((0.5, 0.85), (0.2, 0.035), case)
    ink.limb(((0.5, 0.66), (0.5, 0.83)), (0.04, 0.05), case)
    ink.face(((0.1, 0.16), (0.9, 0.16), (0.9, 0.7), (0.1, 0.7)), case)
    ink.face(
        ((0.13, 0.19), (0.87, 0.19), (0.87, 0.65), (0.13, 0.65)),
        screen,
        shade=(1.3, 0.8),
        rough=0.15,
        grain=0.12,
    )
    ink.face(
        ((0.2, 0.19), (0.42, 0.19), (0.26, 0.65), (0.13, 0.65)),
        [value * 1.25 + 12 for value in screen],
        shade=(1.1, 0.9),
    )


def bottle(ink: Ink, stream: Stream) -> None:
    """Draw a bottle with a label."""
    glass: Colour = ((42, 92, 58), (110, 62, 34), (150, 176, 180), (60, 88, 128))[stream.integer(4)]
    ink.limb(((0.5, 0.42), (0.5, 0.84)), (0.13, 0.13), glass, rough=0.04)
    ink.limb(((0.5, 0.4), (0.5, 0.22)), (0.115, 0.045), glass, rough=0.04)
    ink.limb(((0.5, 0.24), (0.5, 0.1)), (0.045, 0.04), glass, rough=0.04)
    ink.limb(((0.5, 0.09), (0.5, 0.07)), (0.045, 0.045), PAINTS[stream.integer(len(PAINTS))])
    ink.face(((0.375, 0.52), (0.625, 0.52), (0.625, 0.74), (0.375, 0.74)), (222, 214, 196), shade=(1, 0.9))
    ink.limb(((0.425, 0.34), (0.42, 0.86)), (0.012, 0.012), [value * 0.5 + 120 for value in glass])


def boat(ink: Ink, stream: Stream) -> None:
    """Draw a small sailing boat."""
    hull = PAINTS[stream.integer(len(PAINTS))]
    stripe = PAINTS[stream.integer(len(PAINTS))]
    ink.limb(((0.47, 0.06), (0.47, 0.74)), (0.01, 0.014), WOODS[0])
    ink.face(((0.45, 0.1), (0.45, 0.66), (0.12, 0.66)), (222, 218, 206), shade=(1.1, 0.9))
    ink.face(((0.5, 0.14), (0.8, 0.66), (0.5, 0.66)), (206, 202, 192), shade=(1.1, 0.85))
    ink.face(((0.05, 0.72), (0.95, 0.7), (0.8, 0.9), (0.18, 0.9)), hull, shade=(1.1, 0.6))
    ink.face(((0.05, 0.72), (0.95, 0.7), (0.925, 0.735), (0.075, 0.755)), stripe)


def aeroplane(ink: Ink, stream: Stream) -> None:
    """Draw an airliner."""
    skin: Colour = ((222, 224, 226), (190, 198, 208), (206, 200, 190))[stream.integer(3)]
    stripe = PAINTS[stream.integer(len(PAINTS))]
    ink.face(((0.42, 0.48), (0.5, 0.48), (0.36, 0.3), (0.31, 0.3)), [value * 0.7 for value in skin])
    ink.face(((0.08, 0.3), (0.15, 0.3), (0.24, 0.47), (0.11, 0.49)), stripe)
    ink.limb(((0.14, 0.5), (0.8, 0.5)), (0.035, 0.062), skin, rough=0.03)
    ink.body((0.82, 0.505), (0.12, 0.058), skin, rough=0.03)
    ink.face(((0.09, 0.475), (0.2, 0.48), (0.1, 0.55), (0.05, 0.55)), [value * 0.8 for value in skin])
    ink.face(
        ((0.4, 0.53), (0.54, 0.53), (0.32, 0.74), (0.24, 0.74)),
        [value * 0.85 for value in skin],
        shade=(1.05, 0.75),
    )
    ink.limb(((0.4, 0.6), (0.48, 0.6)), (0.03, 0.03), (120, 124, 130))
    for place in range(13):
        x = 0.26 + 0.042 * place
        ink.body((x, 0.485), (0.009, 0.011), (52, 60, 72))
    ink.limb(((0.18, 0.52), (0.88, 0.525)), (0.008, 0.008), stripe)
    ink.face(((0.86, 0.468), (0.905, 0.48), (0.9, 0.497), (0.855, 0.495)), (46, 54, 66))


def balloon(ink: Ink, stream: Stream) -> None:
    """Draw a hot-air balloon."""
    first = PAINTS[stream.integer(len(PAINTS))]
    second = PAINTS[stream.integer(len(PAINTS))]
    ink.limb(((0.5, 0.36), (0.5, 0.62)), (0.33, 0.12), first, rough=0.04)
    for place in (-0.62, 0.0, 0.62):
        ink.body(
            (0.5 + 0.33 * place, 0.36),
            (0.07 * (1.2 - abs(place)), 0.31 - 0.08 * abs(place)),
            second,
            turn=-14 * place,
            rough=0.04,
        )
    for x in (0.45, 0.55):
        ink.limb(((x, 0.7), (x + (0.5 - x) * 0.3, 0.87)), (0.005, 0.005), (60, 54, 48))
    block(ink, (0.445, 0.86, 0.54, 0.95), (0.025, 0.015), WOODS[0], rough=0.3)


def suitcase(ink: Ink, stream: Stream) -> None:
    """Draw a suitcase with its handle."""
    colour = PAINTS[stream.integer(len(PAINTS))]
    for x in (0.38, 0.58):
        ink.limb(((x, 0.08), (x, 0.3)), (0.012, 0.012), (90, 92, 96))
    ink.limb(((0.38, 0.08), (0.58, 0.08)), (0.018, 0.018), (46, 46, 50))
    for x in (0.3, 0.66):
        ink.body((x, 0.92), (0.03, 0.03), (30, 30, 32))
    block(ink, (0.22, 0.3, 0.68, 0.91), (0.1, 0.06), colour)
    for y in (0.42, 0.54, 0.66, 0.78):
        ink.limb(((0.25, y), (0.65, y)), (0.012, 0.012), [value * 0.85 for value in colour])


def barrel(ink: Ink, stream: Stream) -> None:
    """Draw a standing oil drum."""
    colour = PAINTS[stream.integer(len(PAINTS))]
    for place in range(12):  # upright strips, lit as a cylinder is
        x = 0.24 + 0.52 * place / 12
        turn = (place + 0.5) / 6 - 1
        lit = 0.5 + 0.6 * max(0.0, -0.4 * turn + 0.75 * (1 - turn * turn))
        ink.face(
            ((x, 0.2), (x + 0.045, 0.2), (x + 0.045, 0.86), (x, 0.86)),
            [value * lit for value in colour],
            shade=(1, 0.92),
            rough=0.2,
        )
    ink.body((0.5, 0.86), (0.26, 0.06), [value * 0.7 for value in colour], rough=0.2)
    ink.body((0.5, 0.2), (0.26, 0.06), [value * 1.1 for value in colour], rough=0.2)
    rib: tuple[Point, Point] = ((0.25, 0.42), (0.75, 0.42))
    for down in (0.0, 0.24):
        ink.limb(
            ((rib[0][0], rib[0][1] + down), (rib[1][0], rib[1][1] + down)),
            (0.014, 0.014),
            [value * 0.9 for value in colour],
        )


def ball(ink: Ink, stream: Stream) -> None:
    """Draw a beach ball."""
    first = PAINTS[stream.integer(len(PAINTS))]
    second = PAINTS[stream.integer(len(PAINTS))]
    ink.body((0.5, 0.5), (0.4, 0.4), (226, 224, 218), rough=0.03)
    for turn, colour in ((20, first), (80, second), (140, first)):
        ink.body((0.5, 0.5), (0.4, 0.09), colour, turn=turn, rough=0.03)
    ink.body((0.5, 0.5), (0.05, 0.05), (236, 232, 224))


def legs(
    ink: Ink,
    at: tuple[float, ...],
    hip: float,
    ground: float,
    width: float,
    colour: Colour,
    foot: Colour = DARK,
) -> None:
    """Draw legs with feet at given places, the far ones first and darker."""
    for place, x in enumerate(at):
        shade = [value * (0.68 if place % 2 == 0 else 1.0) for value in colour]
        knee = (x + 0.008 * (1 if place < 2 else -1), (hip + ground) / 2)
        ink.limb(((x - 0.01, hip), knee), (width * 1.5, width * 0.9), shade)
        ink.limb((knee, (x, ground - 0.02)), (width * 0.9, width * 0.7), shade)
        ink.limb(((x, ground - 0.012), (x + 0.012, ground - 0.008)), (width * 0.85, width * 0.8), foot)


def horse(ink: Ink, stream: Stream) -> None:
    """Draw a horse."""
    coat = COATS[stream.integer(len(COATS))]
    mane: Colour = [value * 0.35 for value in coat]
    ink.limb(((0.165, 0.42), (0.12, 0.72)), (0.03, 0.022), mane, rough=0.4)
    legs(ink, (0.25, 0.21, 0.61, 0.66), 0.55, 0.93, 0.024, coat)
    ink.body((0.43, 0.48), (0.27, 0.13), coat)
    ink.body((0.25, 0.46), (0.12, 0.135), coat)
    ink.body((0.62, 0.46), (0.11, 0.13), coat)
    ink.limb(((0.66, 0.42), (0.78, 0.21)), (0.095, 0.055), coat)
    ink.limb(((0.64, 0.33), (0.765, 0.145)), (0.03, 0.025), mane, rough=0.4)
    ink.limb(((0.79, 0.2), (0.92, 0.31)), (0.056, 0.034), coat)
    ink.limb(((0.775, 0.15), (0.785, 0.1)), (0.018, 0.006), coat)
    ink.body((0.93, 0.32), (0.03, 0.026), [value * 0.6 for value in coat])
    ink.body((0.822, 0.195), (0.011, 0.011), DARK)


def cow(ink: Ink, stream: Stream) -> None:
    """Draw a cow with patches."""
    coat: Colour = ((214, 206, 196), (150, 96, 60), (188, 150, 110))[stream.integer(3)]
    ink.limb(((0.12, 0.36), (0.1, 0.66)), (0.014, 0.01), coat)
    ink.body((0.1, 0.68), (0.02, 0.035), DARK)
    legs(ink, (0.26, 0.2, 0.63, 0.69), 0.58, 0.9, 0.028, coat)
    ink.body((0.43, 0.46), (0.32, 0.165), coat)
    ink.body((0.24, 0.44), (0.13, 0.15), coat)
    ink.body((0.36, 0.6), (0.06, 0.05), (214, 160, 150))
    ink.limb(((0.7, 0.42), (0.8, 0.32)), (0.11, 0.075), coat)
    ink.limb(((0.82, 0.3), (0.9, 0.42)), (0.07, 0.045), coat)
    ink.patches(((40, 34, 32), (92, 54, 36), (70, 60, 56))[stream.integer(3)], 0.5, 0.16)
    ink.body((0.915, 0.44), (0.042, 0.035), (206, 164, 150))
    ink.limb(((0.78, 0.26), (0.72, 0.25)), (0.022, 0.012), coat)
    ink.limb(((0.82, 0.23), (0.84, 0.16)), (0.014, 0.006), (220, 210, 180))
    ink.body((0.855, 0.3), (0.011, 0.011), DARK)


def sheep(ink: Ink, stream: Stream) -> None:
    """Draw a sheep: many woolly balls."""
    wool: Colour = ((226, 218, 200), (196, 184, 164), (110, 100, 92))[stream.integer(3)]
    skin: Colour = ((52, 46, 44), (196, 176, 156))[stream.integer(2)]
    legs(ink, (0.31, 0.26, 0.58, 0.63), 0.62, 0.86, 0.02, skin)
    ink.body((0.45, 0.48), (0.27, 0.18), wool, rough=0.5, grain=0.03)
    for _ in range(34):
        x = stream.uniform(-1, 1)
        y = stream.uniform(-1, 1)
        if x * x + y * y < 1:
            ink.body((0.45 + 0.25 * x, 0.47 + 0.165 * y), (0.05, 0.045), wool, rough=0.4, grain=0.02)
    ink.limb(((0.7, 0.36), (0.81, 0.44)), (0.06, 0.042), skin)
    ink.limb(((0.69, 0.34), (0.63, 0.36)), (0.022, 0.014), skin)
    ink.body((0.7, 0.3), (0.055, 0.045), wool, rough=0.5, grain=0.02)
    ink.body((0.755, 0.37), (0.009, 0.009), (12, 12, 12))


def dog(ink: Ink, stream: Stream) -> None:
    """Draw a standing dog."""
    coat = COATS[stream.integer(len(COATS))]
    ink.limb(((0.2, 0.5), (0.09, 0.36)), (0.026, 0.014), coat, rough=0.3)
    legs(ink, (0.28, 0.23, 0.6, 0.65), 0.64, 0.9, 0.024, coat, coat)
    ink.body((0.42, 0.57), (0.24, 0.1), coat, rough=0.3)
    ink.body((0.61, 0.56), (0.1, 0.12), coat, rough=0.3)
    ink.limb(((0.65, 0.5), (0.73, 0.37)), (0.075, 0.06), coat, rough=0.3)
    ink.body((0.76, 0.33), (0.082, 0.074), coat)
    ink.limb(((0.8, 0.35), (0.9, 0.38)), (0.045, 0.03), coat)
    if stream.uniform() < 0.5:
        ink.patches((222, 212, 198), 0.4, 0.2)
    ink.body((0.925, 0.368), (0.02, 0.017), DARK)
    ink.limb(((0.71, 0.29), (0.675, 0.4)), (0.034, 0.026), [value * 0.6 for value in coat])
    ink.body((0.8, 0.31), (0.011, 0.012), (14, 12, 12))


def cat(ink: Ink, stream: Stream) -> None:
    """Draw a sitting cat."""
    coat: Colour = ((196, 128, 66), (86, 82, 80), (44, 40, 40), (206, 196, 184))[stream.integer(4)]
    ink.limb(((0.36, 0.86), (0.16, 0.8)), (0.035, 0.028), coat)
    ink.limb(((0.16, 0.8), (0.12, 0.62)), (0.028, 0.022), coat)
    ink.body((0.46, 0.68), (0.19, 0.23), coat, rough=0.25)
    ink.body((0.53, 0.5), (0.13, 0.17), coat, rough=0.25)
    for x in (0.52, 0.6):
        ink.limb(((x, 0.6), (x + 0.015, 0.88)), (0.05, 0.034), coat)
        ink.body((x + 0.028, 0.895), (0.045, 0.026), coat)
    ink.body((0.56, 0.31), (0.125, 0.108), coat)
    for x, lean in ((0.475, -0.02), (0.645, 0.02)):
        ink.face(((x - 0.045, 0.26), (x + lean, 0.14), (x + 0.045, 0.25)), coat)
    ink.patches([value * 0.5 for value in coat], 0.36, 0.06)
    for x in (0.52, 0.61):
        ink.body((x, 0.3), (0.02, 0.017), (176, 190, 84))
        ink.body((x, 0.3), (0.008, 0.016), (10, 10, 10))
    ink.body((0.57, 0.345), (0.014, 0.01), (196, 120, 112))


def elephant(ink: Ink, stream: Stream) -> None:
    """Draw an elephant."""
    skin: Colour = ((128, 122, 118), (150, 140, 130), (104, 100, 102))[stream.integer(3)]
    legs(ink, (0.27, 0.2, 0.56, 0.63), 0.6, 0.93, 0.052, skin, [value * 0.8 for value in skin])
    ink.limb(((0.12, 0.42), (0.09, 0.62)), (0.012, 0.008), skin)
    ink.body((0.4, 0.46), (0.3, 0.22), skin, rough=0.25, grain=0.05)
    ink.body((0.7, 0.36), (0.13, 0.14), skin, rough=0.25)
    ink.limb(((0.8, 0.4), (0.86, 0.62)), (0.06, 0.036), skin, rough=0.25)
    ink.limb(((0.86, 0.62), (0.84, 0.84)), (0.036, 0.024), skin, rough=0.25)
    ink.limb(((0.78, 0.48), (0.88, 0.56)), (0.016, 0.008), (226, 216, 196))
    ink.body((0.6, 0.37), (0.1, 0.15), [value * 0.85 for value in skin], turn=8, rough=0.25)
    ink.body((0.765, 0.33), (0.01, 0.01), DARK)


def bird(ink: Ink, stream: Stream) -> None:
    """Draw a bird in flight."""
    coat: Colour = ((74, 66, 60), (206, 206, 204), (60, 72, 96), (142, 104, 70))[stream.integer(4)]
    lift = stream.uniform(0.05, 0.16)
    wing: tuple[Point, ...] = (
        (0.5, 0.5),
        (0.3, 0.5 - lift - 0.12),
        (0.06, 0.5 - lift),
        (0.3, 0.52 - lift * 0.4),
        (0.44, 0.58),
    )
    other: tuple[Point, ...] = tuple((1.08 - x, y - 0.03) for x, y in wing)
    for side in (wing, other):
        for first, second, third in zip([side[0]] * 3, side[1:4], side[2:5], strict=True):
            corners = (first, second, third) if side is wing else (first, third, second)
            ink.face(_clockwise(corners), [value * 0.8 for value in coat], rough=0.4, grain=0.02)
        for x, y in (side[2], side[1]):
            ink.limb(((side[0][0], side[0][1]), (x, y)), (0.028, 0.01), coat, rough=0.4)
    ink.limb(((0.44, 0.6), (0.36, 0.68)), (0.03, 0.045), [value * 0.7 for value in coat], rough=0.4)
    ink.body((0.52, 0.54), (0.13, 0.062), coat, turn=-28, rough=0.3)
    ink.body((0.63, 0.47), (0.046, 0.042), coat)
    ink.limb(((0.66, 0.47), (0.71, 0.485)), (0.014, 0.004), (214, 158, 52))
    ink.body((0.645, 0.46), (0.008, 0.008), (10, 10, 10))


def duck(ink: Ink, stream: Stream) -> None:
    """Draw a standing bird."""
    coat: Colour = ((168, 150, 122), (224, 222, 214), (96, 84, 74))[stream.integer(3)]
    head: Colour = ((34, 84, 60), (206, 200, 190), (70, 60, 54))[stream.integer(3)]
    for x in (0.42, 0.49):
        ink.limb(((x, 0.68), (x + 0.01, 0.85)), (0.014, 0.012), (212, 132, 44))
        ink.limb(((x + 0.01, 0.86), (x + 0.07, 0.87)), (0.014, 0.012), (212, 132, 44))
    ink.limb(((0.24, 0.53), (0.12, 0.45)), (0.07, 0.015), coat, rough=0.3)
    ink.body((0.42, 0.57), (0.25, 0.15), coat, rough=0.3)
    ink.body((0.37, 0.55), (0.18, 0.095), [value * 0.75 for value in coat], turn=-8, rough=0.5)
    ink.limb(((0.6, 0.5), (0.66, 0.28)), (0.075, 0.05), head)
    ink.body((0.68, 0.25), (0.075, 0.066), head)
    ink.limb(((0.74, 0.26), (0.84, 0.285)), (0.026, 0.016), (222, 166, 54))
    ink.body((0.705, 0.23), (0.011, 0.011), (8, 8, 8))


def _clockwise(corners: tuple[Point, Point, Point]) -> tuple[Point, Point, Point]:
    """Return a triangle's corners in clockwise order, with y down."""
    (x0, y0), (x1, y1), (x2, y2) = corners
    return (
        corners if (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0) > 0 else (corners[0], corners[2], corners[1])
    )


@dataclass(frozen=True)
class DrawnObject:
    """One object that can be drawn: its name, its class and the function that draws it on a sheet of ink."""

    name: str
    class_: str
    draw: Callable[[Ink, Stream], None]


DRAWN_OBJECTS: tuple[DrawnObject, ...] = (
    DrawnObject("horse", "horse", horse),
    DrawnObject("cow", "cow", cow),
    DrawnObject("sheep", "sheep", sheep),
    DrawnObject("dog", "dog", dog),
    DrawnObject("cat", "cat", cat),
    DrawnObject("elephant", "elephant", elephant),
    DrawnObject("bird", "bird", bird),
    DrawnObject("duck", "bird", duck),
    DrawnObject("aeroplane", "aeroplane", aeroplane),
    DrawnObject("balloon", "balloon", balloon),
    DrawnObject("boat", "boat", boat),
    DrawnObject("bottle", "bottle", bottle),
    DrawnObject("chair", "chair", chair),
    DrawnObject("sofa", "sofa", sofa),
    DrawnObject("tvmonitor", "tvmonitor", tvmonitor),
    DrawnObject("box", "box", box),
    DrawnObject("suitcase", "suitcase", suitcase),
    DrawnObject("barrel", "barrel", barrel),
    DrawnObject("ball", "ball", ball),
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
