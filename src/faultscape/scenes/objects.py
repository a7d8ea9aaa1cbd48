"""People and things in a drawn street: pedestrians, cyclists, animals, signs and objects lying on
the road.

Conventions: as in ``scene_canvas``; each function draws one thing standing on the ground at (x, z) as a
separate instance. Randomness comes from ``rng``.
"""

from __future__ import annotations

import numpy as np

from faultscape.scenes.canvas import ANIMAL, CYCLIST, OBSTACLE, PERSON, SIGN, Canvas
from faultscape.scenes.vehicles import PAINTS, panel

CLOTHES = (
    *PAINTS,
    (224, 200, 180),
    (48, 66, 52),
    (180, 70, 110),
    (92, 84, 76),
    (40, 90, 140),
    (226, 210, 70),
)
SKINS = ((238, 204, 178), (214, 168, 134), (168, 118, 84), (110, 74, 52), (82, 54, 40))


def figure(
    canvas: Canvas,
    rng: np.random.Generator,
    number: int,
    spot: tuple[float, float, float],
    tall: float,
    *,
    riding: bool = False,
) -> None:
    """Draw a person facing any way whose feet are at (x, y, z)."""
    x, y, z = spot
    shirt, trousers = (CLOTHES[k] for k in rng.integers(len(CLOTHES), size=2))
    skin = SKINS[rng.integers(len(SKINS))]
    hair = ((40, 30, 26), (96, 66, 40), (190, 160, 100), (120, 118, 116))[rng.integers(4)]
    stride = (0.16 if riding else rng.uniform(0.02, 0.26)) * tall
    wide = rng.uniform(0.9, 1.15) * tall
    pixel = canvas.camera.focal / z

    def at(right: float, up: float) -> np.ndarray:
        return np.array(canvas.camera.spot(x + right, y + up * tall, z))

    side = 1 if rng.random() < 0.5 else -1
    hip = at(-0.12 * side if riding else 0, 0.5)
    neck = at(0.05 * side if riding else 0, 0.82)
    for k in (-1, 1):
        canvas.limb((hip, at(k * stride, 0.03)), 0.085 * wide * pixel, 0.85 * np.asarray(trousers), number)
        canvas.limb(
            (at(k * stride, 0.02), at(k * stride + 0.06 * side, 0.015)),
            0.06 * wide * pixel,
            (30, 28, 28),
            number,
        )
    for k in (-1, 1):
        hand = at(0.34 * side, 0.56) if riding else at(k * (0.13 + 0.4 * stride), 0.46)
        canvas.limb((neck, hand), 0.06 * wide * pixel, 0.8 * np.asarray(shirt), number)
        canvas.limb((hand, hand), 0.06 * wide * pixel, skin, number)
    canvas.limb(
        (at(0, 0.54) if not riding else hip, neck - (0, 0.03 * pixel)), 0.17 * wide * pixel, shirt, number
    )
    head = at(0.08 * side if riding else 0.01 * side, 0.925)
    canvas.disc(head, (0.052 * tall * pixel + 0.4, 0.07 * tall * pixel + 0.4), skin, number)
    canvas.disc(
        head - (0.01 * side * pixel, 0.035 * tall * pixel),
        (0.056 * tall * pixel + 0.3, 0.042 * tall * pixel + 0.3),
        hair,
        number,
    )
    if not riding and rng.random() < 0.25:  # a bag
        canvas.limb(
            (at(0.16, 0.38), at(0.16, 0.46)), 0.16 * pixel, CLOTHES[rng.integers(len(CLOTHES))], number
        )


def person(canvas: Canvas, rng: np.random.Generator, x: float, z: float) -> None:
    """Draw an adult or a child."""
    figure(
        canvas,
        rng,
        canvas.thing(PERSON, z),
        (x, 0.0, z),
        rng.uniform(1.1, 1.4) if rng.random() < 0.15 else rng.uniform(1.58, 1.92),
    )


def cyclist(canvas: Canvas, rng: np.random.Generator, x: float, z: float, heading: float) -> None:
    """Draw a bicycle and its rider."""
    number = canvas.thing(CYCLIST, z)
    paint = PAINTS[rng.integers(len(PAINTS))]
    pixel = canvas.camera.focal / z
    along = np.sin(heading)
    away = np.cos(heading)
    turn = np.linspace(0, 2 * np.pi, 15)

    def at(forward: float, up: float) -> np.ndarray:
        return np.array(canvas.camera.spot(x + forward * along + 0.04 * up, up, z + forward * away * 0.2))

    for centre in (-0.52, 0.52):
        canvas.limb(
            [at(centre + np.cos(a) * 0.34, 0.34 + np.sin(a) * 0.34) for a in turn],
            0.055 * pixel,
            (28, 28, 30),
            number,
        )
    frame = (
        (-0.52, 0.34, 0.0, 0.3),
        (0.0, 0.3, 0.4, 0.8),
        (-0.2, 0.8, 0.4, 0.8),
        (0.0, 0.3, -0.2, 0.85),
        (-0.52, 0.34, -0.2, 0.8),
        (0.4, 0.98, 0.52, 0.34),
    )
    for f0, y0, f1, y1 in frame:
        canvas.limb((at(f0, y0), at(f1, y1)), 0.06 * pixel, paint, number)
    figure(canvas, rng, number, (x - 0.1 * along, 0.25, z), rng.uniform(1.5, 1.7), riding=True)


BEASTS = (  # length, height at the back, thickness of the body, legs, neck, coats
    (0.75, 0.55, 0.22, 0.30, 0.15, ((150, 110, 70), (60, 48, 40), (214, 200, 176), (34, 32, 32))),  # dog
    (1.2, 0.95, 0.60, 0.42, 0.10, ((232, 226, 212), (214, 206, 190))),  # sheep
    (1.5, 1.15, 0.42, 0.66, 0.55, ((150, 104, 66), (128, 92, 64))),  # deer
    (2.2, 1.45, 0.75, 0.68, 0.22, ((122, 74, 48), (230, 226, 220), (52, 44, 42))),  # cow
    (2.2, 1.65, 0.64, 0.95, 0.75, ((110, 70, 44), (70, 48, 36), (196, 180, 160))),  # horse
)


def animal(canvas: Canvas, rng: np.random.Generator, x: float, z: float, *, wild: bool) -> None:
    """Draw a dog, or, if ``wild``, any of five animals."""
    length, back, thick, legs, neck, coats = BEASTS[rng.integers(1, 5) if wild and rng.random() < 0.85 else 0]
    number = canvas.thing(ANIMAL, z)
    side = rng.choice((-1.0, 1.0))
    pixel = canvas.camera.focal / z
    coat = np.asarray(coats[rng.integers(len(coats))]) * rng.uniform(0.85, 1.1)

    def at(right: float, up: float) -> np.ndarray:
        return np.array(canvas.camera.spot(x + side * right, up, z))

    middle = back - thick / 2
    half = length / 2
    for k, shade in ((-0.86, 0.7), (0.82, 0.7), (-0.7, 0.85), (0.66, 0.85)):
        canvas.limb(
            (at(k * half, middle), at(k * half + rng.uniform(-0.1, 0.1) * length, 0.03)),
            0.16 * min(legs, 0.6) * pixel,
            coat * shade,
            number,
        )
    canvas.limb(
        (at(-half + thick / 2, middle), at(half - thick / 2, middle + 0.02)), thick * pixel, coat, number
    )
    canvas.limb((at(-half, back - 0.1), at(-half - 0.1, middle - 0.1)), 0.07 * pixel, coat * 0.8, number)
    head = (half + 0.25 * neck + 0.1, back + neck)
    canvas.limb((at(half - 0.12, back - 0.2 * thick), at(*head)), 0.42 * thick * pixel, coat, number)
    canvas.limb(
        (at(*head), at(head[0] + 0.14 * length, head[1] - 0.06 * length)),
        0.36 * thick * pixel,
        coat * 0.85,
        number,
    )
    canvas.limb(
        (at(head[0] - 0.03, head[1]), at(head[0] - 0.06, head[1] + 0.16 * back)),
        0.07 * pixel,
        coat * 0.7,
        number,
    )
    if thick > 0.7:  # a cow's patches
        for _ in range(4):
            canvas.disc(
                at(rng.uniform(-0.7, 0.7) * half, middle + rng.uniform(-0.15, 0.15)),
                (0.2 * pixel, 0.15 * pixel),
                (246, 242, 236),
                None,
            )


def sign(canvas: Canvas, rng: np.random.Generator, x: float, z: float) -> None:
    """Draw a traffic light, a road sign or a street lamp on its pole."""
    number = canvas.thing(SIGN, z)
    pixel = canvas.camera.focal / z
    inward = -np.sign(x)
    which = rng.choice(3, p=(0.3, 0.4, 0.3))
    grey = (96, 98, 100)

    def at(right: float, up: float) -> np.ndarray:
        return np.array(canvas.camera.spot(x + right, up, z))

    tall = (3.4, 2.5, 6.2)[which]
    canvas.limb((at(0, 0), at(0, tall)), 0.13 * pixel, grey, number)
    top = at(0, tall)
    unit = pixel
    if which == 0:
        canvas.limb((top, top + (0, 0.75 * unit)), 0.36 * unit, (34, 36, 36), number)
        on_light = rng.integers(3)
        for k, colour in enumerate(((240, 50, 40), (250, 190, 40), (60, 220, 120))):
            canvas.disc(
                top + (0, (0.08 + 0.3 * k) * unit),
                (0.12 * unit, 0.12 * unit),
                colour if k == on_light else (60, 50, 44),
                number,
                light=k == on_light,
            )
    elif which == 1:
        turn = np.linspace(0, 2 * np.pi, 4 if rng.random() < 0.35 else 16, endpoint=False) - np.pi / 2
        if rng.random() < 0.3:
            turn = np.array([0.25, 0.75, 1.25, 1.75]) * np.pi
        rim, face = (
            ((200, 30, 36), (240, 240, 236)),
            ((30, 80, 170), (36, 92, 190)),
            ((240, 240, 236), (230, 190, 40)),
        )[rng.integers(3)]
        plate = np.stack([np.cos(turn), np.sin(turn)], axis=1) * 0.42 * unit
        canvas.fill(top + plate, rim, number)
        canvas.fill(top + plate * 0.72, face, number)
        canvas.limb((top - (0.12 * unit, 0), top + (0.12 * unit, 0)), 0.08 * unit, (30, 30, 34), number)
    else:
        end = at(1.3 * inward, tall + 0.25)
        canvas.limb((top, end), 0.11 * unit, grey, number)
        canvas.disc(
            end,
            (0.34 * unit, 0.13 * unit),
            (255, 226, 170) if canvas.dark else (200, 200, 196),
            number,
            light=True,
        )
        canvas.lamps.append((x + 1.3 * inward, tall, z))


def obstacle(canvas: Canvas, rng: np.random.Generator, x: float, z: float, *, odd: bool) -> None:
    """Draw a cone or a barrier, or, if ``odd``, a fallen box, a tyre or a pallet."""
    number = canvas.thing(OBSTACLE, z)
    pixel = canvas.camera.focal / z
    foot = np.array(canvas.camera.spot(x, 0.0, z))
    which = rng.integers(2, 5) if odd and rng.random() < 0.8 else rng.integers(2)
    place = (x, z, rng.uniform(0, 6.28))
    if which == 0:
        for low, high, colour in (
            (0, 0.3, (236, 92, 28)),
            (0.3, 0.5, (244, 240, 236)),
            (0.5, 0.75, (236, 92, 28)),
        ):
            w0 = 0.24 * (1 - low) + 0.02
            w1 = 0.24 * (1 - high) + 0.02
            canvas.fill(
                foot + np.array([[-w0, -low], [w0, -low], [w1, -high], [-w1, -high]]) * pixel, colour, number
            )
    elif which == 1:
        body = canvas.solid(
            number, (x, z, rng.uniform(-0.3, 0.3)), (1.7, 0.45, 0.95, -0.05, 0.05), (238, 236, 230)
        )
        for quad in body.values():
            for k in range(0, 6, 2):
                panel(canvas, quad, (k / 6, 0, (k + 1) / 6, 1), (206, 40, 36))
        for k in (-0.6, 0.6):
            canvas.limb(
                (foot + (k * pixel, 0), foot + (k * pixel, -0.5 * pixel)), 0.08 * pixel, (70, 70, 72), number
            )
    elif which in (2, 3):
        for k in range(int(rng.integers(1, 4))):
            size = rng.uniform(0.5, 0.95)
            colour = np.array(((178, 134, 88), (164, 120, 78), (150, 150, 146))[rng.integers(3)])
            body = canvas.solid(
                number,
                (x + 0.6 * k - 0.5, z - 0.2 * k, place[2] + k),
                (size, 0.0, size * 0.8, -size / 2, size / 2),
                colour,
            )
            for quad in body.values():
                panel(canvas, quad, (0.42, 0, 0.58, 1), colour * 0.8)
    else:
        for k in range(int(rng.integers(1, 4))):
            centre = foot - (0, (0.16 + 0.2 * k) * pixel)
            canvas.disc(centre, (0.42 * pixel, 0.2 * pixel), (34, 34, 36), number)
            canvas.disc(centre - (0, 0.06 * pixel), (0.2 * pixel, 0.08 * pixel), (84, 84, 84), number)
