"""Small charts as inline SVG: a curve over whole numbers, a cloud of points, and several curves over names.

Conventions: as figures: widths in per cent, heights in pixels, colours as CSS classes, and a title with the
numbers on each mark. Axis labels are inside the drawing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from faultscape.reporting.figures import Axis, axis

_TOP, _BOTTOM, _FOOT = 8, 188, 214  # pixels: heights of the largest and smallest value, and the total height
_LEFT, _WIDE = 9, 88  # per cent
_APART = 11  # pixels between the marks at the ends of curves


def curve(
    values: Sequence[float | None],
    *,
    title: str,
    line: float | None = None,
    low: float = 0.0,
    places: Sequence[int] | None = None,
) -> Markup:
    """Return values at k = 1, 2, ..., or at ``places``; unknown values are skipped, known neighbours joined.
    A dashed line marks ``line``.
    """
    values = [None if value is None or math.isnan(value) else value for value in values]
    places = places or range(1, len(values) + 1)
    most = places[-1] if places else 0
    up = axis([*values, 1.0, low])
    across = Axis(1, max(most, 2), tuple(float(k) for k in _few(most)))
    parts = [_frame(across, up)]
    if line is not None:
        y = _y(up, line)
        parts.append(f'<line class="limit" x1="{_LEFT}%" x2="{_LEFT + _WIDE}%" y1="{y}" y2="{y}"/>')
    at = [None if v is None else (_x(across, k), _y(up, v)) for k, v in zip(places, values, strict=True)]
    for one, other in itertools.pairwise(at):
        if one and other:
            parts.append(f'<line class="curve" x1="{one[0]}" y1="{one[1]}" x2="{other[0]}" y2="{other[1]}"/>')
    for k, place, value in zip(places, at, values, strict=True):
        if place:
            says = f"<title>k = {k}: {value:.3f}</title>".replace("-", "−")
            parts.append(
                f'<circle class="mark strong" cx="{place[0]}" cy="{place[1]}" r="3.5">{says}</circle>'
            )
    return _drawn("".join(parts), title)


def cloud(points: Sequence[tuple[float, float, str]], *, title: str) -> Markup:
    """Return points (x, y, name) on axes from 0 to 1, with a dashed diagonal."""
    across = up = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
    dots = (
        f'<circle class="dot" cx="{_x(across, x)}" cy="{_y(up, y)}"'
        f' r="5"><title>{escape(says)}</title></circle>'
        for x, y, says in points
    )
    ends = f'x1="{_x(across, 0)}" y1="{_y(up, 0)}" x2="{_x(across, 1)}" y2="{_y(up, 1)}"'
    return _drawn(f'{_frame(across, up)}<line class="limit" {ends}/>{"".join(dots)}', title)


@dataclass(frozen=True)
class Line:
    """One of several curves: its name, its values (None if unknown), the class of its colour, and the mark at
    its end.
    """

    name: str
    values: tuple[float | None, ...]
    ink: str
    dashed: bool = False
    mark: str = ""


def curves(lines: Sequence[Line], names: Sequence[str], *, title: str) -> Markup:
    """Return one line per curve over names, joined between known neighbours, on an axis that begins at 0."""
    across = Axis(0.0, max(len(names) - 1, 1), ())
    up = axis([0.0, *(v for line in lines for v in line.values)], at_most=6)
    parts = [_frame(across, up)]
    for k, name in enumerate(names):
        anchor = "start" if k == 0 else "end" if k == len(names) - 1 else "middle"
        parts.append(
            f'<text x="{_x(across, k)}" y="{_BOTTOM + 18}" text-anchor="{anchor}">{escape(name)}</text>'
        )
    ends: list[tuple[float, str, str]] = []
    for line in lines:
        at = [None if v is None else (_x(across, k), _y(up, v)) for k, v in enumerate(line.values)]
        kind = f"line {line.ink}{' dashed' if line.dashed else ''}"
        for one, other in itertools.pairwise(at):
            if one and other:
                parts.append(
                    f'<line class="{kind}" x1="{one[0]}" y1="{one[1]}" x2="{other[0]}" y2="{other[1]}"/>'
                )
        for name, place, value in zip(names, at, line.values, strict=True):
            if place:
                says = f"<title>{escape(line.name)}, {escape(name)}: {value:.3f}</title>"
                parts.append(
                    f'<circle class="point {line.ink}" cx="{place[0]}" cy="{place[1]}"'
                    f' r="3.5">{says}</circle>'
                )
        if line.mark and (known := [place for place in at if place]):
            ends.append((float(known[-1][1]), known[-1][0], line.mark))
    lowest = float("-inf")
    for y, x, mark in sorted(ends):
        lowest = max(y, lowest + _APART)
        parts.append(f'<text x="{x}" dx="8" y="{lowest + 4:.1f}">{escape(mark)}</text>')
    return _drawn("".join(parts), title)


def _few(most: int) -> list[int]:
    """Return about six whole numbers from 1 to ``most``."""
    step = next(m for m in (1, 2, 5, 10, 20, 50, 100, 1000, 10000, 100000) if most / m <= 7)
    return [k for k in range(1, most + 1) if k == 1 or k % step == 0]


def _x(on: Axis, value: float) -> str:
    return f"{_LEFT + _WIDE * (value - on.low) / (on.high - on.low):.2f}%"


def _y(on: Axis, value: float) -> str:
    return f"{_BOTTOM - (_BOTTOM - _TOP) * (value - on.low) / (on.high - on.low):.1f}"


def _frame(across: Axis, up: Axis) -> str:
    rows = [
        f'<line class="grid" x1="{_LEFT}%" x2="{_LEFT + _WIDE}%" y1="{_y(up, t)}" y2="{_y(up, t)}"/>'
        f'<text x="{_LEFT - 1.5}%" y="{float(_y(up, t)) + 4:.1f}" text-anchor="end">{up.text(t)}</text>'
        for t in up.ticks
    ]
    under = [
        f'<text x="{_x(across, t)}" y="{_BOTTOM + 18}" text-anchor="middle">{across.text(t)}</text>'
        for t in across.ticks
    ]
    return "".join([*rows, *under])


def _drawn(inside: str, title: str) -> Markup:
    start = Markup('<svg class="plot" width="100%" height="{}" role="img" aria-label="{}">').format(
        _FOOT, title
    )
    return start + Markup(inside) + Markup("</svg>")  # noqa: S704 - numbers and escaped words
