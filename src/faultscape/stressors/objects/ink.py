"""Ink for drawn objects: round bodies, limbs and flat faces with light, texture and a soft border.

Conventions: a sheet is a unit square, x to the right and y down; later strokes cover earlier ones. Colours
are RGB grey levels. Arithmetic uses only operations that are exact everywhere (+, -, x, /, square root), and
rounded sines for angles, so that a drawing has the same bytes on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from faultscape.stressors.objects.cutout import Cutout, cutout_of_rgba
from faultscape.stressors.streams import Stream, words_at

Colour = Sequence[float]
Point = tuple[float, float]
_LIGHT = (-0.36, -0.6, 0.71)  # from the upper left, towards the eye


class Ink:
    """A transparent sheet of ``size`` x ``size`` pixels on which one object is drawn; ``stream`` draws its
    texture.
    """

    def __init__(self, stream: Stream, size: int = 320) -> None:
        self.size = size
        self._stream = stream
        self._colour, self._cover = np.zeros((size, size, 3)), np.zeros((size, size))
        at = (np.arange(size) + 0.5) / size
        self._x = at[None, :]
        self._y = at[:, None]

    def body(
        self,
        centre: Point,
        radii: Point,
        colour: Colour,
        *,
        turn: float = 0.0,
        rough: float = 0.12,
        grain: float = 0.03,
    ) -> None:
        """Draw an ellipsoid rotated by ``turn`` degrees; ``rough`` is the variation of its texture, ``grain``
        its scale.
        """
        rows, columns = self._window(centre, max(radii))
        cosine = round(math.cos(math.radians(turn)), 6)
        sine = round(math.sin(math.radians(turn)), 6)
        dx = self._x[:, columns] - centre[0]
        dy = self._y[rows] - centre[1]
        u = (dx * cosine + dy * sine) / radii[0]
        v = (dy * cosine - dx * sine) / radii[1]
        square = u * u + v * v
        cover = np.clip((1.0 - np.sqrt(square)) * min(radii) * self.size + 0.5, 0.0, 1.0)
        facing = np.sqrt(np.maximum(0.0, 1.0 - square))
        across = u * cosine - v * sine
        down = u * sine + v * cosine
        light = 0.5 + 0.6 * np.maximum(0.0, across * _LIGHT[0] + down * _LIGHT[1] + facing * _LIGHT[2])
        self._lay(rows, columns, cover, colour, light * self._texture(rows, columns, rough, grain))

    def limb(
        self, ends: tuple[Point, Point], widths: tuple[float, float], colour: Colour, *, rough: float = 0.08
    ) -> None:
        """Draw a rounded, tapered limb from one point to another; widths are radii."""
        (x0, y0), (x1, y1) = ends
        middle = ((x0 + x1) / 2, (y0 + y1) / 2)
        reach = (abs(x1 - x0) + abs(y1 - y0)) / 2 + max(widths)
        rows, columns = self._window(middle, reach)
        dx = x1 - x0
        dy = y1 - y0
        square = max((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0), 1e-12)
        px = self._x[:, columns] - x0
        py = self._y[rows] - y0
        along = np.clip((px * dx + py * dy) / square, 0.0, 1.0)
        ox = px - along * dx
        oy = py - along * dy
        radius = widths[0] + along * (widths[1] - widths[0])
        u = ox / radius
        v = oy / radius
        flat = u * u + v * v
        cover = np.clip((1.0 - np.sqrt(flat)) * radius * self.size + 0.5, 0.0, 1.0)
        facing = np.sqrt(np.maximum(0.0, 1.0 - flat))
        light = 0.5 + 0.6 * np.maximum(0.0, u * _LIGHT[0] + v * _LIGHT[1] + facing * _LIGHT[2])
        self._lay(rows, columns, cover, colour, light * self._texture(rows, columns, rough, 0.03))

    def face(
        self,
        corners: Sequence[Point],
        colour: Colour,
        *,
        shade: tuple[float, float] = (1.05, 0.85),
        rough: float = 0.05,
        grain: float = 0.05,
    ) -> None:
        """Draw a flat convex face, corners clockwise, with light that fades from its upper to its lower
        border.
        """
        xs = [x for x, _ in corners]
        ys = [y for _, y in corners]
        rows, columns = self._window(
            ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2), max(max(xs) - min(xs), max(ys) - min(ys)) / 2
        )
        inside = np.full((rows.stop - rows.start, columns.stop - columns.start), 1e9)
        for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True):
            length = math.sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0))
            inside = np.minimum(
                inside, ((x1 - x0) * (self._y[rows] - y0) - (y1 - y0) * (self._x[:, columns] - x0)) / length
            )
        cover = np.clip(inside * self.size + 0.5, 0.0, 1.0)
        part = (self._y[rows] - min(ys)) / max(max(ys) - min(ys), 1e-9)
        light = (shade[0] + part * (shade[1] - shade[0])) * self._texture(rows, columns, rough, grain)
        self._lay(rows, columns, cover, colour, light)

    def patches(self, colour: Colour, share: float, grain: float) -> None:
        """Colour patches that cover a share of the drawing so far, keeping its light."""
        noise = self._noise(slice(0, self.size), slice(0, self.size), grain)
        part = np.clip((noise - (1.0 - share)) * 24.0, 0.0, 1.0)[..., None]
        bright = self._colour.max(2, keepdims=True) / np.maximum(self._colour.max(), 1.0)
        self._colour = self._colour * (1.0 - part) + np.asarray(colour, float) * bright * part

    def cutout(self, name: str, class_: str) -> Cutout:
        """Return what is drawn as a cut-out."""
        pixels = np.rint(np.clip(self._colour, 0.0, 255.0)).astype(np.uint8)
        alpha = np.rint(self._cover * 255.0).astype(np.uint8)
        return replace(cutout_of_rgba(np.dstack([pixels, alpha]), name, class_), family="drawn")

    def _window(self, centre: Point, reach: float) -> tuple[slice, slice]:
        """Return the rows and columns that a stroke can touch."""
        spans = [
            (int((middle - reach) * self.size) - 2, int((middle + reach) * self.size) + 3)
            for middle in (centre[1], centre[0])
        ]
        rows, columns = (slice(max(0, first), min(self.size, last)) for first, last in spans)
        return rows, columns

    def _lay(self, rows: slice, columns: slice, cover: np.ndarray, colour: Colour, light: np.ndarray) -> None:
        paint = np.clip(np.asarray(colour, float) * light[..., None], 0.0, 255.0)
        under = self._cover[rows, columns] * (1.0 - cover)
        total = cover + under
        mixed = (paint * cover[..., None] + self._colour[rows, columns] * under[..., None]) / np.maximum(
            total, 1e-9
        )[..., None]
        self._colour[rows, columns] = np.where(total[..., None] > 0, mixed, 0.0)
        self._cover[rows, columns] = total

    def _texture(self, rows: slice, columns: slice, rough: float, grain: float) -> np.ndarray:
        """Return light that varies by ``rough`` around 1: coarse and fine noise."""
        coarse = self._noise(rows, columns, grain)
        fine = self._noise(rows, columns, grain / 4)
        return 1.0 + rough * ((coarse - 0.5) + (fine - 0.5))

    def _noise(self, rows: slice, columns: slice, grain: float) -> np.ndarray:
        """Return smooth noise in 0..1, drawn every ``grain`` and interpolated in between."""
        cells = int(1.0 / grain) + 2
        drawn = (words_at(self._stream.bits(), cells * cells) >> np.uint64(40)).reshape(
            cells, cells
        ) * 2.0**-24
        y = self._y[rows] / grain
        x = self._x[:, columns] / grain
        row = y.astype(np.int64)
        column = x.astype(np.int64)
        v = y - row
        u = x - column
        v = v * v * (3.0 - 2.0 * v)
        u = u * u * (3.0 - 2.0 * u)
        upper = drawn[row, column] * (1.0 - u) + drawn[row, column + 1] * u
        lower = drawn[row + 1, column] * (1.0 - u) + drawn[row + 1, column + 1] * u
        return upper * (1.0 - v) + lower * v
