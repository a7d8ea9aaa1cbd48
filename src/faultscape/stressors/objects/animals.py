"""Drawn animals, seen from the side.

Conventions: a function draws one animal on a sheet of ink; colours and proportions come from the stream.
"""

from __future__ import annotations

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
