"""The place of a drawn street: sky, ground, buildings, greenery and the shadows on the ground.

Conventions: as in ``scene_canvas``. ``Street`` says where the road is; the ground's class and colour are
computed for every pixel from its position in the world, so that bends, side streets and markings need no
polygons.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from faultscape.scenes.canvas import BUILDING, FARTHEST, PAVEMENT, ROAD, ROUND, SKY, VEGETATION, Canvas, rgb

# on the ground only: cycle lane and markings, which are road, and the kerb, which is pavement
_RED = 12
_WHITE = 13
_KERB = 14
SKIES = {  # colours at the top and at the horizon, cover of clouds, colour of clouds
    "day": ((70, 128, 204), (192, 214, 234), 0.5, (246, 248, 250)),
    "dusk": ((54, 58, 108), (244, 158, 100), 0.5, (176, 104, 116)),
    "night": ((9, 13, 32), (40, 44, 70), 0.3, (30, 32, 50)),
    "fog": ((186, 191, 196), (206, 209, 211), 0.2, (214, 216, 218)),
    "rain": ((136, 143, 152), (188, 192, 196), 0.75, (112, 119, 128)),
    "low sun": ((104, 150, 206), (255, 224, 166), 0.35, (255, 214, 170)),
}


@dataclass(frozen=True)
class Street:
    """The geometry of the road: its middle and half width, the pavement's width, side streets as (side, from,
    to), a crossing, and what is beyond.
    """

    centre: float
    half: float
    walk: float
    sides: tuple[tuple[int, float, float], ...]
    crossing: float
    beyond: int
    cycle_lane: bool

    @property
    def edge(self) -> float:
        """Distance from the middle of the road to the far side of the pavement."""
        return self.half + self.walk


def clouded(
    rng: np.random.Generator, height: int, width: int, cells: tuple[int, int], octaves: int = 3
) -> np.ndarray:
    """Return smooth noise (height, width) about 0.5."""
    total = np.zeros((height, width), np.float32)
    for k in range(octaves):
        coarse = rng.random((cells[0] << k, cells[1] << k), np.float32) - np.float32(0.5)
        total += cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC) * np.float32(0.6**k)
    return total * np.float32(0.7) + np.float32(0.5)


def sky(canvas: Canvas, rng: np.random.Generator, light: str) -> None:
    """Draw the sky over the whole image."""
    number = canvas.surface(SKY, (0.0, 0.0, 1.0 / FARTHEST))
    canvas.owner[:] = number
    h = canvas.owner.shape[0] // 2
    w = canvas.owner.shape[1] // 2
    top, low, cover, cloud = (np.asarray(v, np.float32) for v in SKIES[light])
    if light == "day" and rng.random() < 0.3:  # overcast
        top = rgb(150, 158, 168)
        low = rgb(208, 211, 214)
        cover = np.float32(0.9)
    rows = int(min(h, canvas.camera.horizon / 2 + 15))
    part = np.clip(np.arange(rows, dtype=np.float32) / rows, 0, 1)[:, None, None] ** np.float32(1.3)
    veil = np.clip(
        (clouded(rng, rows, w, (5, 4)) - 1 + cover * np.float32(rng.uniform(0.8, 1.2))) * 3, 0, 0.85
    )[..., None]
    if canvas.bare:
        return
    colours = (top * (1 - part) + low * part) * (1 - veil) + cloud * veil
    if light == "night":
        stars = rng.integers(0, (rows, w), size=(40, 2))
        colours[stars[:, 0], stars[:, 1]] += rng.uniform(20, 120, (40, 1))
    canvas.image[: 2 * rows] = cv2.resize(
        np.clip(colours, 0, 255).astype(np.uint8), (2 * w, 2 * rows), interpolation=cv2.INTER_LINEAR
    )
    canvas.image[2 * rows :] = low


def skyline(canvas: Canvas, rng: np.random.Generator) -> None:
    """Draw the end of the street far away: hills with woods, or roofs."""
    camera = canvas.camera
    woods = rng.random() < 0.55
    number = canvas.surface(VEGETATION if woods else BUILDING, (0.0, 0.0, 1 / 260.0))
    us = np.linspace(-10, camera.width + 10, 40 if woods else 24)
    if woods:
        tops = np.interp(us, np.linspace(0, camera.width, 9), rng.uniform(3, 26, 9)) + rng.uniform(
            0, 4, len(us)
        )
        colour = np.array([70, 100, 72]) + rng.integers(0, 40, 3)
    else:
        us, tops = np.repeat(us, 2)[1:-1], np.repeat(rng.uniform(4, 44, len(us) - 1), 2)
        colour = np.array([126, 128, 138]) + rng.integers(-24, 24)
    lean = np.tan(camera.roll) * (us - camera.u0)
    outline = np.stack([us, camera.horizon + lean - tops], axis=1)
    foot = np.array([[camera.width + 10, camera.horizon + 40], [-10, camera.horizon + 40]])
    canvas.fill(np.concatenate([outline, foot]), colour, number)


def ground(canvas: Canvas, rng: np.random.Generator, street: Street) -> None:
    """Draw road, pavement and what is beyond, with markings, tiles, stains and worn patches."""
    camera = canvas.camera
    first = max(0, int(camera.horizon - abs(np.sin(camera.roll)) * camera.width)) // 2 * 2
    x, z = camera.ground(first)
    seen = ((z > 0) & (z < 400)).view(np.uint8)
    z = np.clip(z, 0.5, 400, out=z)
    x = np.clip(x, -400, 400, out=x)
    t = x - np.float32(street.centre)
    away = np.abs(t)
    kind = np.where(away < street.edge, np.uint8(PAVEMENT), np.uint8(street.beyond))
    kind[away < street.half] = ROAD
    for side, near, far in street.sides:
        inside = (t * side > street.half - 0.1) & (z > near - street.walk) & (z < far + street.walk)
        kind[inside] = PAVEMENT
        kind[inside & (z > near) & (z < far)] = ROAD

    dashed = _fraction(z * np.float32(1 / 6) + np.float32(rng.random()))
    middle = away < 0.08
    lane = np.abs(away - street.half / 2) < 0.07
    rim = np.abs(away - street.half + 0.35) < 0.06
    white = middle & (dashed < 0.53)
    if rng.random() < 0.6:
        white |= rim
    if street.half > 5.5:
        white |= lane & (dashed < 0.33)
    if street.crossing < 100:
        white |= (
            (z > street.crossing)
            & (z < street.crossing + 3.2)
            & (_fraction(t * np.float32(1 / 1.1)) < 0.5)
            & (away < street.half - 0.3)
        )
    if street.cycle_lane:
        kind[(t > street.half - 1.7) & (t < street.half - 0.2) & (kind == ROAD)] = _RED
    kind[white & (kind == ROAD)] = _WHITE
    kind[(np.abs(away - street.half) < 0.14) & (kind == PAVEMENT)] = _KERB

    stone = rng.uniform(104, 186) * np.array([1.0, rng.uniform(0.93, 1.0), rng.uniform(0.82, 1.0)])
    colours = np.zeros((256, 3), np.float32)
    colours[ROAD] = rng.uniform(66, 128) * rng.uniform(0.96, 1.04, 3)
    colours[PAVEMENT], colours[_KERB] = stone, stone + 34
    colours[VEGETATION] = np.array([92, 128, 58]) * rng.uniform(0.8, 1.25, 3)
    colours[_RED] = np.array([150, 78, 66]) * rng.uniform(0.85, 1.1)
    colours[_WHITE] = np.array([232, 230, 222]) * rng.uniform(0.8, 1.0)
    grain, stains = _wear(rng)
    cos = np.cos(camera.roll)
    sin = np.sin(camera.roll)
    scale = camera.focal * camera.height
    level = (-sin / scale, cos / scale, (-camera.horizon * cos + camera.u0 * sin) / scale)
    numbers = np.zeros(256, np.uint16)
    for name, also in ((ROAD, (_RED, _WHITE)), (PAVEMENT, (_KERB,)), (VEGETATION, ())):
        numbers[[name, *also]] = canvas.surface(name, level)
    cv2.copyTo(cv2.LUT(kind, numbers[None]), seen, canvas.owner[first:])
    if canvas.bare:
        return
    picture = cv2.LUT(cv2.merge([kind] * 3), colours[None])
    half_x, half_z = x[::2, ::2], z[::2, ::2]  # wear is drawn at half size: it is soft
    tone = (
        grain[_cell(half_z * 11), _cell(half_x * 11)] * np.clip(14 / half_z, 0.15, 1)
        + stains[_cell(half_z * 7 + half_x * 4), _cell(half_x * 13 - half_z * 3)]
    )
    paving = (kind[::2, ::2] == PAVEMENT) & (
        (_fraction(half_x * np.float32(1.1)) < 0.07) | (_fraction(half_z * np.float32(1.1)) < 0.09)
    )
    tone -= paving * np.clip(380 / half_z, 4, 26)
    picture += cv2.resize(tone, x.shape[::-1], interpolation=cv2.INTER_LINEAR)[..., None]
    cv2.copyTo(np.clip(picture, 0, 255, out=picture).astype(np.uint8), seen, canvas.image[first:])


def _fraction(values: np.ndarray) -> np.ndarray:
    return values - np.floor(values)


def _cell(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int32) & 255


def _wear(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return grain and stains of the ground, (256, 256) each."""
    grain = (rng.random((256, 256), np.float32) - np.float32(0.5)) * 26
    stains = clouded(rng, 128, 128, (6, 6)) - np.float32(0.5)
    # mirrored twice, so that it joins without a seam
    return grain, np.vstack(
        [np.hstack([stains, stains[:, ::-1]]), np.hstack([stains[::-1], stains[::-1, ::-1]])]
    ) * 56


def shadows(canvas: Canvas, spots: list[tuple[float, float, float, float]], depth: float) -> None:
    """Darken the ground in the shadow of things (x, z, half width, height), with soft edges."""
    if canvas.bare:
        return
    h, w = canvas.owner.shape
    mask = np.zeros((h // 2, w // 2), np.uint8)
    reach = 1 / max(canvas.sun[1], 0.12)
    for x, z, half, height in spots:
        if z > 45:
            continue  # too flat to be visible
        long = min(height * reach, 9.0) * 0.6
        ring = np.stack(
            [ROUND[:, 0] * half * 1.08 + x, np.zeros(len(ROUND)), ROUND[:, 1] * max(half, 0.35) + z], axis=1
        )
        spread = np.concatenate([ring, ring - (canvas.sun[0] * long, 0, canvas.sun[2] * long)])
        spread[:, 2] = np.maximum(spread[:, 2], 1.2)
        hull = cv2.convexHull((canvas.camera.project(spread) * 8).round().astype(np.int32))
        cv2.fillPoly(mask, [hull], 255, shift=4)
    first = max(0, int(canvas.camera.horizon) // 2 - 10)
    soft = cv2.GaussianBlur(mask[first:], (0, 0), 1.6)
    soft = cv2.resize(
        255 - cv2.convertScaleAbs(soft, alpha=depth), (w, h - 2 * first), interpolation=cv2.INTER_LINEAR
    )
    below = canvas.image[2 * first :]
    cv2.multiply(below, cv2.merge([soft, soft, soft]), dst=below, scale=1 / 255)


def facade(
    rng: np.random.Generator, bays: int, floors: int, lit_part: float
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a wall with windows and the light that shines from them, if any does; each (floors * 16, bays *
    14, 3).
    """
    style = rng.choice(4, p=(0.32, 0.33, 0.15, 0.2))
    wall = np.array(((168, 92, 70), (222, 206, 176), (176, 178, 178), (126, 140, 152))[style]) * rng.uniform(
        0.72, 1.15
    ) + rng.integers(-26, 26, 3)
    cell = np.empty((16, 14, 3), np.float32)
    cell[:] = wall
    if style == 0:
        cell[::2] *= 0.9
        cell[:, ::4] *= 0.95
    inset = (
        (1, 1, 15, 13) if style == 3 else ((3, 3, 13, 11), (4, 2, 12, 12), (3, 4, 14, 10))[rng.integers(3)]
    )
    y0, x0, y1, x1 = inset
    cell[y0 - 1 : y1 + 1, x0 - 1 : x1 + 1] = np.clip(wall * rng.choice((0.6, 1.35)), 0, 255)
    window = np.zeros((16, 14), bool)
    window[y0:y1, x0:x1] = True
    cell[window] = 0
    if style != 3:
        window[:, 7] &= rng.random() < 0.4
        cell[y0:y1, 7] = np.where(window[y0:y1, 7, None], 0, wall * 0.8)
    picture = cv2.repeat(np.clip(cell, 0, 255).astype(np.uint8), floors, bays)
    windows = cv2.repeat(window.view(np.uint8), floors, bays)
    blend = rng.random((floors, bays, 1), np.float32)
    glass = rgb(52, 62, 74) * (1 - blend) + rgb(150, 176, 198) * blend * np.float32(rng.uniform(0.5, 1.1))
    shine = (rng.random((floors, bays)) < lit_part).astype(np.uint8)
    if rng.random() < 0.45:  # a shop
        panes = np.arange(bays * 14) % 28 > 3
        picture[-16:] = np.clip(wall * 0.8, 0, 255)
        picture[-15:-11] = rng.integers(30, 220, 3)
        windows[-16:] = False
        windows[-11:-1] = panes
        shine[-1] = lit_part > 0
    else:
        picture[-12:, 3:11] = np.clip(wall * 0.45, 0, 255)
        windows[-12:, 3:11] = False
    if rng.random() < 0.16 and floors > 3 and bays > 3:  # a mural: leaves, sky or paint without a window
        a = rng.integers(0, bays - 3) * 14
        b = rng.integers(1, floors - 2) * 16
        base = np.array(((84, 124, 66), (120, 170, 220), (200, 60, 60), (210, 190, 90))[rng.integers(4)])
        picture[b : b + 40, a : a + 38] = np.clip(
            base * (0.6 + 0.7 * clouded(rng, 40, 38, (6, 6))[..., None]), 0, 255
        )
        windows[b : b + 40, a : a + 38] = False
    size = (bays * 14, floors * 16)
    cv2.copyTo(cv2.resize(glass.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST), windows, picture)
    if not lit_part:
        return picture, None
    lit = np.zeros_like(picture)
    shining = cv2.resize(shine, size, interpolation=cv2.INTER_NEAREST) * windows
    lit[shining > 0] = np.array([255, 206, 128]) * rng.uniform(0.7, 1.0)
    return picture, lit


def building(
    canvas: Canvas,
    rng: np.random.Generator,
    wall: float,
    span: tuple[float, float],
    floors: int,
    *,
    house: bool,
) -> None:
    """Draw a house or block with its street side at x = wall from span[0] to span[1]."""
    near = max(span[0], 1.4)
    far = span[1]
    side = float(np.sign(wall))
    height = floors * 3.1
    outer = wall + side * rng.uniform(8, 14)
    bays = max(1, round((far - near) / 2.6))
    picture, lit = facade(rng, bays, floors, 0.34 if canvas.dark else 0.0)
    shade = [0.74 + 0.34 * max(0.0, -side * canvas.sun[0]), 0.72 + 0.34 * max(0.0, -canvas.sun[2])]

    def wall_quad(x0: float, z0: float, x1: float, z1: float, low: float, high: float) -> np.ndarray:
        return np.array([[x0, low, z0], [x1, low, z1], [x1, high, z1], [x0, high, z0]])

    faces = [
        (
            wall_quad(wall, far, wall, near, 0, height)
            if side > 0
            else wall_quad(wall, near, wall, far, 0, height)
        )
    ]
    if span[0] > 2:
        left, right = sorted((wall, outer))
        faces.append(wall_quad(left, near, right, near, 0, height))
    for quad, tone in zip(faces, shade, strict=False):
        number = canvas.surface(BUILDING, canvas.plane(quad))
        canvas.texture(cv2.convertScaleAbs(picture, alpha=tone), quad, number, lit)
    if house:
        middle = (wall + outer) / 2
        ridge = height + rng.uniform(1.6, 3.0)
        tiles = np.array(((150, 72, 54), (92, 84, 84), (122, 92, 70))[rng.integers(3)]) * rng.uniform(
            0.8, 1.15
        )
        number = canvas.surface(BUILDING, (0.0, 0.0, 1 / (near + 1)))
        if span[0] > 2:
            gable = np.array([[wall, height, near], [outer, height, near], [middle, ridge, near]])
            canvas.fill(canvas.camera.project(gable), picture[4, 0] * shade[1], number)
        slope = np.array(
            [
                [wall - side * 0.3, height - 0.1, near],
                [wall - side * 0.3, height - 0.1, far],
                [middle, ridge, far],
                [middle, ridge, near],
            ]
        )
        canvas.fill(canvas.camera.project(slope), tiles * (shade[0] + 0.1), number)


def greenery(canvas: Canvas, rng: np.random.Generator, x: float, z: float, tall: float) -> None:
    """Draw a tree, or a bush if it is less than 2 m tall."""
    camera = canvas.camera
    pixel = canvas.camera.focal / z
    number = canvas.surface(VEGETATION, (0.0, 0.0, 1 / z))
    foot = np.array(camera.spot(x, 0.0, z))
    top = np.array(camera.spot(x, tall, z))
    leaf = np.array(
        ((78, 116, 52), (98, 132, 60), (60, 96, 58), (168, 120, 46), (150, 86, 44))[
            rng.choice(5, p=(0.34, 0.26, 0.2, 0.12, 0.08))
        ]
    )
    bush = tall < 2
    if not bush:
        canvas.limb((foot, foot * 0.35 + top * 0.65), 0.05 * tall * pixel, (88, 68, 52), number)
    wide, high = (0.75, 0.5) if bush else (rng.uniform(0.22, 0.36), rng.uniform(0.26, 0.36))
    middle = foot * 0.5 + top * 0.5 if bush else foot * 0.32 + top * 0.68
    many = 22 if z < 22 else 14 if z < 45 else 8
    turns = rng.uniform(0, 2 * np.pi, many)
    reach = np.sqrt(rng.random(many))
    centres = (
        middle
        + np.stack([np.cos(turns) * wide, np.sin(turns) * high], axis=1)
        * (reach * tall * pixel * 0.8)[:, None]
    )
    radii = np.maximum(2, rng.uniform(0.09, 0.17, many) * tall * pixel * (1.3 if bush else 1))
    tints = rng.uniform(-0.1, 0.1, many).tolist()
    u0, v0 = middle.tolist()
    down = high * tall * pixel + 1
    across = wide * tall * pixel + 1
    red, green, blue = map(float, leaf)
    for (u, v), radius, tint in sorted(
        zip(centres.tolist(), radii.tolist(), tints, strict=True), key=lambda c: -c[0][1]
    ):
        spot = (int(u), int(v))
        cv2.circle(canvas.owner, spot, int(radius), number, -1)
        if canvas.bare:
            continue
        lift = 0.86 + tint - 0.34 * (v - v0) / down + 0.16 * (u - u0) * canvas.sun[0] / across
        paint = min(255.0, lift * red), min(255.0, lift * green), min(255.0, lift * blue)
        cv2.circle(canvas.image, spot, int(radius), paint, -1)
