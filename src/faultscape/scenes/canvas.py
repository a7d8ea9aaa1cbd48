"""The canvas of a drawn street: a camera, and an image that remembers which surface covers each pixel.

Conventions: world in metres, X right, Y up, Z away from the camera; the street runs along Z and bends by X +
bend * Z**2. Pixels (u, v) from the top left, at twice the size of the finished image. Each surface has a
class, an instance (0: none) and a plane ``1/Z = a u + b v + c``, so that class, instance and depth are
computed once at the end. A heading of 0 looks away from the camera.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import ArrayLike

SKY, BUILDING, ROAD, PAVEMENT, VEGETATION, CAR, TRUCK, PERSON, CYCLIST, SIGN, ANIMAL, OBSTACLE = range(12)
Colour = Sequence[float] | np.ndarray
FARTHEST = 1000.0  # metres; the sky's depth
_SUBPIXEL = 4  # bits
_FEW = 8  # points


def rgb(red: float, green: float, blue: float) -> np.ndarray:
    """Return a colour as an array."""
    return np.array((red, green, blue), np.float32)


@dataclass(frozen=True)
class Camera:
    """A pinhole camera above the road; all lengths in pixels except height (metres) and bend (1/metres)."""

    width: int
    height_px: int
    focal: float
    u0: float
    horizon: float
    height: float
    bend: float
    roll: float

    @cached_property
    def turn(self) -> tuple[float, float]:
        """Cosine and sine of the roll."""
        return math.cos(self.roll), math.sin(self.roll)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return (n, 2) pixels of (n, 3) world points."""
        cos, sin = self.turn
        if len(points) <= _FEW:  # for which arrays take longer
            seen = []
            for x, y, far in np.asarray(points, np.float64).tolist():
                z = max(far, 0.4)
                across = self.focal * (x / z + self.bend * z)
                down = self.focal * (self.height - y) / z
                seen.append((across * cos - down * sin + self.u0, across * sin + down * cos + self.horizon))
            return np.array(seen)
        x, y, z = np.asarray(points, np.float64).T
        z = np.maximum(z, 0.4)
        across = self.focal * (x / z + self.bend * z)
        down = self.focal * (self.height - y) / z
        seen = np.empty((len(z), 2))
        seen[:, 0] = across * cos - down * sin + self.u0
        seen[:, 1] = across * sin + down * cos + self.horizon
        return seen

    def spot(self, x: float, y: float, z: float) -> tuple[float, float]:
        """Return the pixel of one world point."""
        z = max(z, 0.4)
        u = self.focal * (x / z + self.bend * z)
        v = self.focal * (self.height - y) / z
        cos, sin = self.turn
        return self.u0 + u * cos - v * sin, self.horizon + u * sin + v * cos

    def ground(self, first: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (X - bend, Z) of the ground at each pixel of the rows from ``first``; Z is negative above
        the horizon.
        """
        du = np.arange(self.width, dtype=np.float32)[None] - np.float32(self.u0)
        dv = np.arange(first, self.height_px, dtype=np.float32)[:, None] - np.float32(self.horizon)
        cos = np.float32(math.cos(self.roll))
        sin = np.float32(math.sin(self.roll))
        y = dv * cos - du * sin
        y[np.abs(y) < 1e-3] = 1e-3
        z = np.float32(self.focal * self.height) / y
        return ((du * cos + dv * sin) * np.float32(1 / self.focal) - np.float32(self.bend) * z) * z, z


@dataclass(eq=False)
class Canvas:
    """An unfinished image: colours, the surface that covers each pixel, lights (``glow``) and shadows on
    the ground. A ``bare`` one knows the surfaces alone.
    """

    camera: Camera
    sun: tuple[float, float, float]
    dark: bool
    bare: bool = False
    things: int = 0
    surfaces: list[tuple[int, int, float, float, float]] = field(default_factory=list)
    lamps: list[tuple[float, float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = (self.camera.height_px, self.camera.width)
        self.image, self.owner = np.zeros((*shape, 3), np.uint8), np.zeros(shape, np.uint16)
        self.glow, self.glow_owner = np.zeros((*shape, 3), np.uint8), np.zeros(shape, np.uint16)

    def surface(self, kind: int, plane: tuple[float, float, float], *, instance: int = 0) -> int:
        """Return the number of a new surface."""
        self.surfaces.append((kind, instance, *plane))
        return len(self.surfaces) - 1

    def thing(self, kind: int, z: float) -> int:
        """Return the number of a new surface that is a separate instance, at one depth."""
        self.things += 1
        return self.surface(kind, (0.0, 0.0, 1.0 / z), instance=self.things)

    def plane(self, points: np.ndarray) -> tuple[float, float, float]:
        """Return the plane through the first three of world points."""
        seen = np.ones((3, 3))
        seen[:, :2] = self.camera.project(points[:3])
        a, b, c = np.linalg.solve(seen, 1.0 / np.maximum(points[:3, 2], 0.4))
        return float(a), float(b), float(c)

    def fill(
        self, points: np.ndarray, colour: Colour, number: int | None = None, *, light: bool = False
    ) -> None:
        """Fill a polygon of pixels; without a number, it keeps the surface below."""
        if self.bare and number is None:
            return
        corners = [np.rint(np.asarray(points) * (1 << _SUBPIXEL)).astype(np.int32)]
        if number is not None:
            cv2.fillPoly(self.owner, corners, number, shift=_SUBPIXEL)
        if self.bare:
            return
        paint = _paint(colour)
        cv2.fillPoly(self.image, corners, paint, shift=_SUBPIXEL)
        if light and self.dark:
            u, v = np.mean(points, axis=0)
            below = self.owner[
                min(max(round(v), 0), self.camera.height_px - 1), min(max(round(u), 0), self.camera.width - 1)
            ]
            cv2.fillPoly(self.glow, corners, paint, shift=_SUBPIXEL)
            cv2.fillPoly(self.glow_owner, corners, int(below), shift=_SUBPIXEL)

    def limb(self, points: ArrayLike, width: float, colour: Colour, number: int) -> None:
        """Draw a thick line with round ends through pixels."""
        line = [np.rint(np.array(points)).astype(np.int32)]
        thick = max(2, round(width))
        cv2.polylines(self.owner, line, False, number, thick)
        if not self.bare:
            cv2.polylines(self.image, line, False, _paint(colour), thick)

    def disc(
        self,
        centre: ArrayLike,
        radii: tuple[float, float],
        colour: Colour,
        number: int | None,
        *,
        light: bool = False,
    ) -> None:
        """Draw an ellipse."""
        self.fill(np.asarray(centre) + ROUND * radii, colour, number, light=light)

    def texture(
        self, picture: np.ndarray, quad: np.ndarray, number: int, lit: np.ndarray | None = None
    ) -> None:
        """Stretch an image over a world rectangle (bottom left, bottom right, top right, top left)."""
        target = self.camera.project(quad)
        us, vs = target.T.tolist()
        left, top = max(math.floor(min(us)), 0), max(math.floor(min(vs)), 0)
        right = min(math.ceil(max(us)) + 1, self.camera.width)
        bottom = min(math.ceil(max(vs)) + 1, self.camera.height_px)
        if right - left < 2 or bottom - top < 2:
            return
        outline = [np.rint(target * 16).astype(np.int32)]
        cv2.fillPoly(self.owner, outline, number, shift=4)
        if self.bare:
            return
        h, w = picture.shape[:2]
        inside = target - (left, top)
        matrix = cv2.getPerspectiveTransform(
            np.array([[0, h], [w, h], [w, 0], [0, 0]], np.float32), inside.astype(np.float32)
        )
        size = (right - left, bottom - top)
        mask = np.zeros(size[::-1], np.uint8)
        cv2.fillPoly(mask, [np.rint(inside * 16).astype(np.int32)], 1, shift=4)
        box = np.s_[top:bottom, left:right]
        warped = cv2.warpPerspective(
            picture, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        )
        cv2.copyTo(warped, mask, self.image[box])
        if lit is not None and self.dark:
            shining = cv2.warpPerspective(lit, matrix, size, flags=cv2.INTER_LINEAR)
            cv2.copyTo(shining, mask, self.glow[box])
            cv2.fillPoly(self.glow_owner, outline, number, shift=4)

    def solid(
        self,
        number: int,
        place: tuple[float, float, float],
        box: tuple[float, ...],
        colour: Colour,
        *,
        taper: float = 0.0,
    ) -> dict[str, np.ndarray]:
        """Draw a box (width, y0, y1, rear, front) that stands at (x, z, heading) and return its visible sides
        as pixels.

        ``taper`` narrows the upper end by that share, as for a car's cabin.
        """
        width, y0, y1, rear, front = box
        w = width / 2
        in_ = (front - rear) * taper / 2
        t = width / 2 * (1 - taper)
        x, z, heading = place
        cos = math.cos(heading)
        sin = math.sin(heading)
        low = [(-w, y0, rear), (w, y0, rear), (w, y0, front), (-w, y0, front)]
        top = [
            (-t, y1, rear + in_),
            (t, y1, rear + in_),
            (t, y1, front - in_ * 1.6),
            (-t, y1, front - in_ * 1.6),
        ]
        seen = [self.camera.spot(x + a * cos + b * sin, y, z - a * sin + b * cos) for a, y, b in low + top]
        plain = colour if isinstance(colour, np.ndarray) else [*map(float, colour)]
        sides = {}
        for name, (i, j, k, m), normal in _SIDES:
            u0, v0 = seen[i]
            u1, v1 = seen[j]
            u2, v2 = seen[k]
            if (u1 - u0) * (v2 - v1) < (v1 - v0) * (u2 - u1):  # counter-clockwise on the screen: towards us
                facing = (normal[0] * cos + normal[2] * sin, normal[1], -normal[0] * sin + normal[2] * cos)
                shade = 0.66 + 0.42 * max(0.0, sum(f * s for f, s in zip(facing, self.sun, strict=True)))
                sides[name] = quad = np.array((seen[i], seen[j], seen[k], seen[m]))
                shaded = plain * shade if isinstance(plain, np.ndarray) else [part * shade for part in plain]
                self.fill(quad, shaded, number)
        return sides


# a circle's corners
ROUND = np.stack([np.cos(np.arange(14) * np.pi / 7), np.sin(np.arange(14) * np.pi / 7)], axis=1)
_SIDES = (
    ("rear", (0, 1, 5, 4), (0, 0, -1)),
    ("right", (1, 2, 6, 5), (1, 0, 0)),
    ("front", (2, 3, 7, 6), (0, 0, 1)),
    ("left", (3, 0, 4, 7), (-1, 0, 0)),
    ("top", (4, 5, 6, 7), (0, 1, 0)),
)


def _paint(colour: Colour) -> tuple[int, int, int]:
    r, g, b = colour.tolist() if isinstance(colour, np.ndarray) else colour
    return (
        0 if r < 0 else 255 if r > 255 else int(r),
        0 if g < 0 else 255 if g > 255 else int(g),
        0 if b < 0 else 255 if b > 255 else int(b),
    )
