"""Drawn things: furniture, vessels, boxes, aircraft and objects lost on the road.

Conventions: a function draws one thing on a sheet of ink; colours and proportions come from the stream.
"""

from __future__ import annotations

from faultscape.stressors.objects.ink import Colour, Ink, Point
from faultscape.stressors.streams import Stream

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
