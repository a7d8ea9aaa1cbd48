"""Synthetic street scenes, drawn by code: image, truth, instances and depth, so that Faultscape can be tried
without camera images.

Conventions: a scene depends only on its arguments. The truth has a class for every pixel (no void); instances
number the things (cars, people, signs, ...) from 1 and are 0 elsewhere; depth is in metres along the optical
axis, 1000 for the sky. ``training_scene`` draws daylight; ``corpus_scene`` draws harder light and rarer
things, which challenge models trained in daylight.

``index`` is the number of the scene, from 0; each number gives one scene.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from faultscape.errors import OptionError, closest
from faultscape.scenes import objects as things
from faultscape.scenes import places, vehicles
from faultscape.scenes.canvas import PAVEMENT, VEGETATION, Camera, Canvas
from faultscape.scenes.light import layers, lit, truth_of

CLASSES: tuple[tuple[int, str, tuple[int, int, int]], ...] = (
    (0, "sky", (112, 172, 226)),
    (1, "building", (112, 104, 120)),
    (2, "road", (128, 72, 136)),
    (3, "pavement", (236, 130, 206)),
    (4, "vegetation", (96, 146, 52)),
    (5, "car", (32, 60, 190)),
    (6, "truck", (28, 148, 168)),
    (7, "person", (224, 44, 66)),
    (8, "cyclist", (128, 24, 48)),
    (9, "sign", (246, 206, 44)),
    (10, "animal", (252, 136, 44)),
    (11, "obstacle", (84, 222, 176)),
)
LIGHTS = ("day", "dusk", "night", "fog", "rain", "low sun")
SIZE = (256, 160)
_TRAINING_SEED = 1
_CORPUS_SEED = 2
_MIX = (0.32, 0.16, 0.12, 0.14, 0.14, 0.12)  # how often "mixed" light is each of LIGHTS


@dataclass(frozen=True, eq=False)
class Scene:
    """A drawn street: image (H, W, 3) uint8 RGB, truth (H, W) uint8, instances (H, W) uint16, depth (H, W)
    float32 metres, and its light.
    """

    image: np.ndarray  # (H, W, 3) uint8 RGB
    truth: np.ndarray  # (H, W) uint8: the ids of `CLASSES`, never void
    instances: np.ndarray  # (H, W) uint16: things numbered from 1, 0 elsewhere
    depth: np.ndarray  # (H, W) float32: metres along the optical axis, 1000 for the sky
    light: str  # one of LIGHTS, never mixed


def training_scene(index: int) -> Scene:
    """Return a scene of the training set: daylight, with mostly everyday things.

    >>> training_scene(0).light
    'day'
    """
    return scene(index, seed=_TRAINING_SEED, light="day", rare=False)


def training_truth(index: int) -> np.ndarray:
    """Return the truth of `training_scene`, for which no image is drawn.

    >>> bool((training_truth(3) == training_scene(3).truth).all())
    True
    """
    rng = np.random.default_rng([_TRAINING_SEED, index])
    return truth_of(_drawn(rng, "day", SIZE, rare=False, bare=True))


def corpus_scene(index: int) -> Scene:
    """Return a scene of the demo's corpus: day, dusk, night, fog, rain or a low sun, with animals and things
    fallen on the road.

    >>> [corpus_scene(index).light for index in range(4)]
    ['day', 'low sun', 'rain', 'dusk']
    """
    return scene(index, seed=_CORPUS_SEED, light="mixed", rare=True)


def scene(
    index: int, *, seed: int = 0, light: str = "day", rare: bool = False, size: tuple[int, int] = SIZE
) -> Scene:
    """Draw scene number ``index``.

    Parameters
    ----------
    index
        The scene's number; every number gives another street.
    seed
        Another seed gives another world.
    light
        One of LIGHTS, or "mixed".
    rare
        Whether beasts, fallen boxes, tyres and lone trailers often stand in the way.
    size
        (width, height) in pixels.

    >>> street = scene(7, light="dusk", size=(128, 80))
    >>> street.image.shape, street.truth.shape, street.light
    ((80, 128, 3), (80, 128), 'dusk')
    >>> [CLASSES[k][1] for k in np.unique(street.truth)][:5]
    ['sky', 'building', 'road', 'pavement', 'vegetation']
    """
    if light not in (*LIGHTS, "mixed"):
        raise OptionError(
            f"light {light!r} is not known; use mixed or one of {', '.join(LIGHTS)}.{closest(light, LIGHTS)}"
        )
    rng = np.random.default_rng([seed, index])
    if light == "mixed":
        light = str(rng.choice(LIGHTS, p=_MIX))
    canvas = _drawn(rng, light, size, rare=rare)
    truth, instances, depth = layers(canvas)
    return Scene(lit(canvas, rng, light, truth, depth), truth, instances, depth, light)


def _drawn(
    rng: np.random.Generator, light: str, size: tuple[int, int], *, rare: bool, bare: bool = False
) -> Canvas:
    """Return a street in plain daylight."""
    canvas = Canvas(_camera(rng, size), _sun(rng, light), dark=light in ("dusk", "night"), bare=bare)
    town = rng.choice(("city", "suburb", "park"), p=(0.5, 0.32, 0.18))
    street = _street(rng, town)
    items = (
        _buildings(canvas, rng, street, town)
        + _trees(canvas, rng, street, town)
        + _traffic(canvas, rng, street, rare=rare)
    )
    items += _walkers(canvas, rng, street) + _surprises(canvas, rng, street, rare=rare)
    places.sky(canvas, rng, light)
    places.skyline(canvas, rng)
    places.ground(canvas, rng, street)
    places.shadows(canvas, [spot for _, _, spots in items for spot in spots], _SHADOWS[light])
    for _, draw, _ in sorted(items, key=lambda item: -item[0]):
        draw()
    return canvas


_SHADOWS = {"day": 0.45, "dusk": 0.25, "night": 0.3, "fog": 0.15, "rain": 0.2, "low sun": 0.55}
# distance, drawing function, shadows
_Item = tuple[float, Callable[[], None], list[tuple[float, float, float, float]]]


def _camera(rng: np.random.Generator, size: tuple[int, int]) -> Camera:
    width = 2 * size[0]
    height = 2 * size[1]
    return Camera(
        width,
        height,
        focal=width * rng.uniform(0.62, 0.9),
        u0=width * rng.uniform(0.4, 0.6),
        horizon=height * rng.uniform(0.38, 0.52),
        height=rng.uniform(2.0, 2.8) if rng.random() < 0.2 else rng.uniform(1.25, 1.9),
        bend=rng.normal(0, 0.0012),
        roll=rng.normal(0, 0.014),
    )


def _sun(rng: np.random.Generator, light: str) -> tuple[float, float, float]:
    """Return the direction to the sun; a low sun is straight ahead."""
    azimuth = rng.uniform(-0.7, 0.7) if light == "low sun" else rng.uniform(-np.pi, np.pi)
    high = rng.uniform(0.12, 0.25) if light in ("low sun", "dusk") else rng.uniform(0.5, 0.95)
    flat = np.sqrt(1 - high**2)
    return float(np.sin(azimuth) * flat), float(high), float(np.cos(azimuth) * flat)


def _street(rng: np.random.Generator, town: str) -> places.Street:
    half = rng.uniform(3.3, 7.0)
    walk = rng.uniform(1.6, 4.2)
    sides = []
    for side in (-1, 1):
        if rng.random() < 0.5:
            start = rng.uniform(9, 40)
            sides.append((side, start, start + rng.uniform(6, 9)))
    crossing = rng.uniform(5, 35) if rng.random() < 0.45 else 900.0
    beyond = PAVEMENT if town == "city" and rng.random() < 0.7 else VEGETATION
    return places.Street(
        -rng.uniform(-0.4, 0.55) * half,
        half,
        walk,
        tuple(sides),
        crossing,
        beyond,
        bool(half > 4.5 and rng.random() < 0.3),
    )


def _spaced(rng: np.random.Generator, first: float, last: float, gap: tuple[float, float]) -> list[float]:
    """Return positions from first to last with random gaps."""
    found = []
    at = first + rng.uniform(0, gap[0])
    while at < last:
        found.append(float(at))
        at += rng.uniform(*gap)
    return found


def _buildings(canvas: Canvas, rng: np.random.Generator, street: places.Street, town: str) -> list[_Item]:
    items: list[_Item] = []
    setback, last = {
        "city": (rng.uniform(0, 1.5), 130.0),
        "suburb": (rng.uniform(3, 8), 100.0),
        "park": (rng.uniform(10, 22), 70.0),
    }[town]
    for side in (-1, 1):
        wall = street.centre + side * (street.edge + setback)
        at = rng.uniform(-6, 2)
        openings = [(near, far) for which, near, far in street.sides if which == side]
        while at < last:
            long = rng.uniform(7, 15) * (0.8 if town == "suburb" else 1.1)
            end = at + long
            for near, far in openings:
                if at < far + street.walk and end > near - street.walk:
                    end, long = (near - street.walk, 0.0) if near - street.walk - at > 4 else (at, -1.0)
                    if long < 0:
                        at = far + street.walk
            if long < 0:
                continue
            floors = int(rng.integers(1, 4)) if town != "city" else int(rng.integers(3, 10))
            if end > 2.5 and rng.random() > {"city": 0.08, "suburb": 0.2, "park": 0.5}[town]:
                house = town != "city" or rng.random() < 0.2
                items.append(
                    (end, partial(places.building, canvas, rng, wall, (at, end), floors, house=house), [])
                )
            at = end + (
                rng.uniform(2, 7)
                if town != "city"
                else rng.uniform(0, 0.3)
                if rng.random() < 0.8
                else rng.uniform(2, 5)
            )
    return items


def _trees(canvas: Canvas, rng: np.random.Generator, street: places.Street, town: str) -> list[_Item]:
    items: list[_Item] = []
    for side in (-1, 1):
        if town == "city" and rng.random() < 0.5:
            continue
        for z in _spaced(rng, 5, 95, {"city": (9, 18), "suburb": (4, 12), "park": (3, 8)}[town]):
            x = street.centre + side * (
                street.half + (0.7 if town == "city" else street.walk + rng.uniform(0.6, 5))
            )
            if any(which == side and near - 1.5 < z < far + 1.5 for which, near, far in street.sides):
                continue
            tall = rng.uniform(0.8, 1.6) if town != "city" and rng.random() < 0.35 else rng.uniform(4, 8.5)
            items.append(
                (z, partial(places.greenery, canvas, rng, x, z, tall), [(x, z, 0.2 * tall, 0.8 * tall)])
            )
    return items


def _traffic(canvas: Canvas, rng: np.random.Generator, street: places.Street, *, rare: bool) -> list[_Item]:
    items: list[_Item] = []

    def vehicle(x: float, z: float, heading: float) -> None:
        large = rng.random() < 0.2
        if large:
            draw = partial(
                vehicles.truck, canvas, rng, x, z + 4, heading, trailer=bool(rare and rng.random() < 0.3)
            )
        else:
            draw = partial(vehicles.car, canvas, rng, x, z, heading)
        across = abs(np.sin(heading)) > 0.7
        deep = (1.2 if across else 5.0 if large else 2.2) + (4 if large else 0)
        half = (5.0 if large else 2.1) if across else 1.15
        items.append(
            (z + deep * 0.5, draw, [(x, z + k, half, 1.5) for k in ((0.0,) if across else (-1.4, 0.0, 1.4))])
        )

    for side in (-1, 1):
        lanes = [0.5] if street.half < 5 else [0.28, 0.68]
        heading = 0.0 if side > 0 else np.pi
        for lane in lanes:
            for z in _spaced(rng, 8 if side < 0 else 10, 100, (9, 55)):
                vehicle(
                    street.centre + side * street.half * lane + rng.normal(0, 0.15),
                    z,
                    heading + rng.normal(0, 0.04),
                )
        if rng.random() < 0.45 and street.half > 4.2 and not (street.cycle_lane and side > 0):
            for z in _spaced(rng, 6, 70, (5.6, 14)):
                vehicle(street.centre + side * (street.half - 0.95), z, heading + rng.normal(0, 0.03))
    for side, near, far in street.sides:
        if rng.random() < 0.6:
            vehicle(
                street.centre + side * rng.uniform(0.2, street.edge + 4),
                (near + far) / 2 + rng.uniform(-1, 1),
                side * np.pi / 2,
            )
    return items


def _walkers(canvas: Canvas, rng: np.random.Generator, street: places.Street) -> list[_Item]:
    items: list[_Item] = []
    for side in (-1, 1):
        for z in _spaced(rng, 5, 60, (3, rng.uniform(8, 40))):
            x = street.centre + side * (street.half + rng.uniform(0.4, max(street.walk - 0.3, 0.6)))
            items.append((z, partial(things.person, canvas, rng, x, z), [(x, z, 0.3, 1.7)]))
        for z in _spaced(rng, 7, 75, (8, 26)):
            x = street.centre + side * (street.half + 0.35)
            items.append((z, partial(things.sign, canvas, rng, x, z), [(x, z, 0.08, 2.5)]))
    for z in [street.crossing + 1.5] * int(rng.integers(0, 4)) + _spaced(rng, 6, 60, (15, 120)):
        if z < 60:
            x = street.centre + rng.uniform(-0.9, 0.9) * street.half
            items.append((z, partial(things.person, canvas, rng, x, z), [(x, z, 0.3, 1.7)]))
    for z in _spaced(rng, 6, 50, (10, 60)):
        x = street.centre + (street.half - 0.9) * rng.choice((-1.0, 1.0, 1.0))
        heading = rng.choice((0.25, np.pi / 2, -np.pi / 2)) + rng.normal(0, 0.2)
        items.append((z, partial(things.cyclist, canvas, rng, x, z, heading), [(x, z, 0.6, 1.5)]))
    return items


def _surprises(canvas: Canvas, rng: np.random.Generator, street: places.Street, *, rare: bool) -> list[_Item]:
    items: list[_Item] = []
    for _ in range(rng.integers(0, 3) if rng.random() < (0.75 if rare else 0.6) else 0):
        z = rng.uniform(5, 25)
        x = street.centre + rng.uniform(-1, 1) * (street.half * 0.9 if rare else street.edge)
        items.append(
            (
                z,
                partial(things.animal, canvas, rng, x, z, wild=bool(rare or rng.random() < 0.3)),
                [(x, z, 0.7, 0.9)],
            )
        )
    for _ in range(rng.integers(1, 5) if rng.random() < (0.65 if rare else 0.5) else 0):
        z = rng.uniform(5, 28)
        x = street.centre + rng.uniform(-1, 1) * street.half
        items.append(
            (
                z,
                partial(things.obstacle, canvas, rng, x, z, odd=bool(rare or rng.random() < 0.3)),
                [(x, z, 0.5, 0.6)],
            )
        )
    return items
