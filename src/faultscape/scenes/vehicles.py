"""The vehicles of a drawn street: cars, buses, lorries and trailers.

Conventions: as in ``scene_canvas``; each function draws one vehicle standing on the ground at (x, z), turned
by ``heading``, as a separate instance. Sides are drawn as boxes' sides, their details as panels in (u, v),
(0, 0) bottom left and (1, 1) top right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from faultscape.scenes.canvas import CAR, ROUND, TRUCK, Canvas, Colour

PAINTS = (
    (176, 28, 32),
    (28, 62, 128),
    (206, 208, 210),
    (232, 232, 228),
    (36, 38, 42),
    (112, 116, 122),
    (196, 160, 60),
    (60, 104, 70),
    (116, 60, 48),
    (90, 140, 176),
    (222, 120, 40),
    (150, 150, 132),
    (70, 46, 92),
)


def on(quad: np.ndarray, u: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Return pixels at (u, v) of a drawn side, (0, 0) bottom left, (1, 1) top right."""
    right = np.asarray(u)[:, None]
    up = np.asarray(v)[:, None]
    return (
        quad[0]
        + right * (quad[1] - quad[0])
        + up * (quad[3] - quad[0])
        + right * up * (quad[0] - quad[1] + quad[2] - quad[3])
    )


def panel(
    canvas: Canvas,
    quad: np.ndarray,
    area: tuple[float, float, float, float],
    colour: Colour,
    *,
    light: bool = False,
) -> None:
    """Paint a rectangle (u0, v0, u1, v1) on a side."""
    u0, v0, u1, v1 = area
    if canvas.bare:
        return
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = quad.tolist()
    if abs(x1 - x0) < 4:
        return  # too far away to be visible
    right = x1 - x0, y1 - y0
    up = x3 - x0, y3 - y0
    both = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
    corners = [  # as `on` computes them, for which arrays take longer
        (x0 + u * right[0] + v * up[0] + u * v * both[0], y0 + u * right[1] + v * up[1] + u * v * both[1])
        for u, v in ((u0, v0), (u1, v0), (u1, v1), (u0, v1))
    ]
    canvas.fill(np.array(corners), colour, light=light)


def wheels(
    canvas: Canvas,
    number: int,
    sides: dict[str, np.ndarray],
    length: float,
    height: float,
    radius: float,
    at: tuple[float, ...],
) -> None:
    """Draw wheels on the visible long sides of a vehicle."""
    for name in ("left", "right"):
        for place in at if name in sides else ():
            spot = place if name == "right" else 1 - place
            for part, colour in ((1.0, (24, 24, 26)), (0.5, (120, 122, 126))):
                canvas.fill(
                    on(
                        sides[name],
                        spot + ROUND[:, 0] * radius * part / length,
                        ROUND[:, 1] * radius * part / height,
                    ),
                    colour,
                    number,
                )


def lamps(canvas: Canvas, sides: dict[str, np.ndarray], height: tuple[float, float]) -> None:
    """Draw head and tail lamps and a number plate."""
    for name, colour in (("rear", (214, 30, 26)), ("front", (255, 246, 214))):
        if name in sides:
            for left in (0.04, 0.78):
                panel(canvas, sides[name], (left, height[0], left + 0.18, height[1]), colour, light=True)
            panel(
                canvas,
                sides[name],
                (0.36, 0.16, 0.64, 0.36),
                (226, 226, 214) if name == "rear" else (40, 40, 44),
            )


def car(canvas: Canvas, rng: np.random.Generator, x: float, z: float, heading: float) -> None:
    """Draw a car in a random colour and one of three shapes."""
    paint = PAINTS[rng.integers(len(PAINTS))]
    number = canvas.thing(CAR, z)
    length, tall, width = ((4.3, 1.46, 1.78), (3.7, 1.5, 1.68), (4.6, 1.75, 1.88))[rng.integers(3)]
    belt = 0.6 * tall
    half = length / 2
    place = (x, z, heading)
    low = canvas.solid(number, place, (width * 0.9, 0.18, 0.34, -half * 0.96, half * 0.96), (26, 26, 28))
    low = canvas.solid(number, place, (width, 0.3, belt, -half, half), paint)
    wheels(canvas, number, low, length, belt - 0.3, 0.34, (0.18, 0.81))
    lamps(canvas, low, (0.5, 0.85))
    back = -half * (0.96 if tall > 1.48 else 0.78)
    cabin = canvas.solid(number, place, (width * 0.96, belt, tall, back, half * 0.52), paint, taper=0.2)
    glass = tuple(int(v) for v in np.array([46, 56, 66]) + rng.integers(0, 40))
    for name in cabin:
        if name in ("left", "right"):
            for area in ((0.1, 0.12, 0.5, 0.86), (0.54, 0.12, 0.9, 0.86)):
                panel(canvas, cabin[name], area, glass)
        elif name != "top":
            panel(canvas, cabin[name], (0.08, 0.1, 0.92, 0.88), glass)


def truck(
    canvas: Canvas, rng: np.random.Generator, x: float, z: float, heading: float, *, trailer: bool = False
) -> None:
    """Draw a bus, a lorry or (rare) a lone trailer."""
    number = canvas.thing(TRUCK, z)
    place = (x, z, heading)
    paint = PAINTS[rng.integers(len(PAINTS))]
    glass = (44, 52, 60)
    if trailer:
        cargo = canvas.solid(number, place, (2.1, 0.55, 2.3, -2.2, 2.2), PAINTS[rng.integers(len(PAINTS))])
        wheels(canvas, number, cargo, 4.4, 1.75, 0.36, (0.45,))
        canvas.limb(
            canvas.camera.project(
                np.array([[x, 0.5, z - 2.2 * np.cos(heading)], [x, 0.45, z - 3.4 * np.cos(heading)]])
            ),
            3,
            (60, 60, 62),
            number,
        )
        for quad in cargo.values():
            panel(canvas, quad, (0.1, 0.4, 0.9, 0.5), PAINTS[rng.integers(len(PAINTS))])
    elif rng.random() < 0.5:  # a bus
        body = canvas.solid(number, place, (2.45, 0.32, 3.0, -5.2, 5.2), paint)
        for name, quad in body.items():
            if name == "top":
                continue
            many = 8 if name in ("left", "right") else 1
            for k in range(many):
                panel(
                    canvas,
                    quad,
                    ((k + 0.12) / many, 0.48, (k + 0.88) / many, 0.84),
                    glass,
                    light=bool(canvas.dark and rng.random() < 0.2),
                )
            panel(canvas, quad, (0, 0.3, 1, 0.36), PAINTS[rng.integers(len(PAINTS))])
        wheels(canvas, number, body, 10.4, 2.68, 0.48, (0.2, 0.78))
        lamps(canvas, body, (0.08, 0.16))
    else:
        parts = [
            ("cargo", (2.4, 0.75, 3.3, -3.6, 1.7), (206, 204, 196) if rng.random() < 0.4 else paint),
            ("cab", (2.3, 0.4, 2.6, 1.8, 3.6), paint),
        ]
        for name, box, colour in parts if np.cos(heading) < 0 else parts[::-1]:
            body = canvas.solid(number, place, box, colour)
            wheels(
                canvas,
                number,
                body,
                box[4] - box[3],
                box[2] - box[1],
                0.5,
                (0.2, 0.4) if name == "cargo" else (0.5,),
            )
            for side, quad in body.items():
                if name == "cab" and side != "top":
                    panel(canvas, quad, (0.1, 0.52, 0.9, 0.9), glass)
                elif side in ("left", "right"):
                    panel(canvas, quad, (0.12, 0.5, 0.7, 0.7), PAINTS[rng.integers(len(PAINTS))])
            lamps(canvas, {k: q for k, q in body.items() if (k == "rear") == (name == "cargo")}, (0.02, 0.12))
