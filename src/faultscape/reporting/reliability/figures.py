"""Small charts of the card: lines with bands against severity, one chart per corruption.

Conventions: as in figures: colours are CSS classes, text is escaped, and a drawing has its numbers in a
title. Horizontal positions are percentages, vertical ones pixels; bands and lines are in an inner SVG that is
stretched. Severity 0 is clean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from faultscape.reporting.figures import Axis
from faultscape.reporting.measure.figures import ink

_LEFT, _WIDE = 13.0, 83.0  # per cent of the width
_TOP, _FOOT = 8, 22  # pixels above and below the frame
MOST = 5  # the highest severity


@dataclass(frozen=True)
class Point:
    """A number at a severity, with its interval, if any."""

    severity: int
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """A model's numbers by ascending severity, and the index of its colour."""

    model: str
    points: tuple[Point, ...]
    place: int


def severity_chart(lines: Sequence[Line], on: Axis, title: str, *, height: int = 170) -> Markup:
    """Return lines with bands from clean to the highest severity; the interval of a single point is a
    vertical line.

    >>> "<polygon" in severity_chart(
    ...     [Line("a", (Point(0, 0.5, 0.4, 0.6), Point(3, 0.3, 0.2, 0.4)), 0)],
    ...     Axis(0.0, 1.0, (0.0, 1.0)),
    ...     "fog",
    ... )
    True
    """
    bottom = height - _FOOT
    inner = (
        f'<svg x="{_LEFT}%" y="{_TOP}" width="{_WIDE}%" height="{bottom - _TOP}" viewBox="0 0 1000 1000"'
        ' preserveAspectRatio="none">'
    )
    parts = [_fixed(_frame(on, bottom))]
    for line in lines:
        head = _fixed(f'<g class="line {ink(line.place)}" data-model="{line.place}"><title>')
        says = escape(f"{line.model}: {', '.join(_says(point) for point in line.points)}")
        parts += [
            head,
            says,
            _fixed(f"</title>{inner}{_band(line, on)}{_path(line, on)}</svg>{_marks(line, on, bottom)}</g>"),
        ]
    words = f"{title}, by severity: {'; '.join(line.model for line in lines)}"
    start = _fixed(
        f'<svg class="plot severity" width="100%" height="{height}" role="img" aria-label="'
    ) + escape(words)
    return start + Markup('">') + Markup("").join(parts) + Markup("</svg>")


def _says(point: Point) -> str:
    where = "clean" if not point.severity else f"severity {point.severity}"
    if point.low is None or point.high is None:
        return f"{where} {point.value:.3f}"
    return f"{where} {point.value:.3f} ({point.low:.3f} to {point.high:.3f})"


def _frame(on: Axis, bottom: int) -> str:
    rows = []
    for tick in on.ticks:
        y = f"{_down(on, tick, bottom):.1f}"
        rows.append(f'<line class="grid" x1="{_LEFT}%" x2="{_LEFT + _WIDE}%" y1="{y}" y2="{y}"/>')
        rows.append(
            f'<text x="{_LEFT - 1.5}%" y="{float(y) + 4:.1f}" text-anchor="end">{on.text(tick)}</text>'
        )
    names = ["clean", *map(str, range(1, MOST + 1))]
    rows += [
        f'<text x="{_across(k):.2f}%" y="{bottom + 16}" text-anchor="middle">{name}</text>'
        for k, name in enumerate(names)
    ]
    return "".join(rows)


def _band(line: Line, on: Axis) -> str:
    held = [(p.severity, p.low, p.high) for p in line.points if p.low is not None and p.high is not None]
    if len(held) < 2:
        return ""
    there = [f"{200 * s:.0f},{_part(on, high):.1f}" for s, _, high in held]
    back = [f"{200 * s:.0f},{_part(on, low):.1f}" for s, low, _ in reversed(held)]
    return f'<polygon class="band" points="{" ".join([*there, *back])}"/>'


def _path(line: Line, on: Axis) -> str:
    path = "L".join(f"{200 * p.severity:.0f} {_part(on, p.value):.1f}" for p in line.points)
    return f'<path class="curve" d="M{path}"/>' if len(line.points) > 1 else ""


def _marks(line: Line, on: Axis, bottom: int) -> str:
    out = []
    for p in line.points:
        x = f"{_across(p.severity):.2f}%"
        if len(line.points) == 1 and p.low is not None and p.high is not None:
            ends = f'y1="{_down(on, p.low, bottom):.1f}" y2="{_down(on, p.high, bottom):.1f}"'
            out.append(f'<line class="cross" x1="{x}" x2="{x}" {ends}/>')
        out.append(f'<circle class="dot" cx="{x}" cy="{_down(on, p.value, bottom):.1f}" r="2.8"/>')
    return "".join(out)


def _part(on: Axis, value: float) -> float:
    """Return the vertical position of a value in the inner drawing, 0..1000 from the top."""
    return 1000 - 1000 * min(max((value - on.low) / (on.high - on.low), 0.0), 1.0)


def _down(on: Axis, value: float, bottom: int) -> float:
    return _TOP + (bottom - _TOP) * _part(on, value) / 1000


def _across(severity: int) -> float:
    return _LEFT + _WIDE * severity / MOST


def _fixed(text: str) -> Markup:
    """Return numbers and constant text, which need no escaping, as markup."""
    return Markup(text)  # noqa: S704


def span(
    on: Axis,
    value: float | None,
    low: float | None,
    high: float | None,
    *,
    place: int | None = None,
    at: float | None = None,
    at_kind: str = "chance",
    title: str = "",
) -> Markup:
    """Return a dot with its interval on a thin rail, in a model's colour, with a vertical line ``at`` chance
    or zero; '' without a value.

    >>> str(span(Axis(0.0, 1.0, (0.0, 1.0)), None, None, None))
    ''
    """
    if value is None:
        return Markup("")
    parts = ['<line class="rail" x1="2%" x2="98%" y1="7" y2="7"/>']
    if at is not None:
        parts.append(f'<line class="{at_kind}" x1="{on.at(at)}" x2="{on.at(at)}" y1="0" y2="14"/>')
    if low is not None and high is not None:
        parts.append(f'<line class="range" x1="{on.at(low)}" x2="{on.at(high)}" y1="7" y2="7"/>')
    parts.append(f'<circle cx="{on.at(value)}" cy="7" r="4"/>')
    colour = f" {ink(place)}" if place is not None else ""
    says = escape(
        title or f"{value:.3f}" + ("" if low is None or high is None else f", {low:.3f} to {high:.3f}")
    )
    head = (
        _fixed(f'<svg class="span{colour}" width="100%" height="14" role="img"><title>')
        + says
        + Markup("</title>")
    )
    return head + _fixed("".join(parts)) + Markup("</svg>")


def ticks(on: Axis) -> Markup:
    """Return the numbers at both ends of an axis of spans."""
    ends = (("2%", "start", on.low), ("98%", "end", on.high))
    texts = "".join(
        f'<text x="{x}" y="11" text-anchor="{anchor}">{on.text(value)}</text>' for x, anchor, value in ends
    )
    return _fixed(f'<svg class="ticks" width="100%" height="14" aria-hidden="true">{texts}</svg>')
