"""Two-dimensional drawings of the `measure` page: dots with crosses of intervals, and curves; inline SVG that
fits any screen width.

Conventions: as in figures: colours are CSS classes (``m0`` ... ``m9`` for models), text is escaped, and every
drawing has its numbers in a title. Horizontal positions are percentages of the width, vertical ones pixels;
curves are in an inner SVG that is stretched, with lines that keep their width.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup, escape

from faultscape.reporting.figures import Axis, axis

_LEFT, _WIDE = 11.0, 86.0  # per cent of the width
_TOP, _BOTTOM = 24, 40  # pixels above and below the frame
_LINE = 14  # pixels a label needs
_BASE, _DOT = 10, 11  # pixels that a name is drawn above its height, and that it keeps from a dot
_TICKS = 7  # most ticks on a logarithmic axis
_LETTER = 1.9  # width of a letter, in per cent of a phone's width
INKS = 10
UNIT = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))


@dataclass(frozen=True)
class Dot:
    """A point with its name, its horizontal and vertical intervals (low, high), and the index of its
    colour.
    """

    name: str
    x: float
    y: float
    across: tuple[float, float] | None
    up: tuple[float, float] | None
    ink: int


@dataclass(frozen=True)
class Curve:
    """A line through points, its name, and the index of its colour; points with an unknown coordinate are
    skipped.
    """

    name: str
    x: Sequence[float | None]
    y: Sequence[float | None]
    ink: int


def ink(place: int) -> str:
    """Return the colour class of a model by its index; after ten, colours repeat, dashed.

    >>> ink(2), ink(12)
    ('m2', 'm2 again')
    """
    return f"m{place % INKS}" + (" again" if place >= INKS else "")


def scatter(
    dots: Sequence[Dot],
    across: str,
    up: str,
    *,
    height: int = 360,
    front: Collection[str] | None = None,
    logarithmic: bool = False,
) -> Markup:
    """Return dots with crosses of their intervals and their names next to them; ``across`` and ``up`` name
    the axes.

    With a ``front``, models do not have their own colours: those on the front are strong, and joined by
    steps. ``logarithmic`` is for the horizontal axis.
    """
    on_x, on_y = _axes(dots, logarithmic=logarithmic)
    shown = [_placed(d, on_x) for d in dots]
    parts = [_frame(on_x, on_y, across, up, height)]
    if front is not None:
        parts.append(_steps([d for d in shown if d.name in front], on_x, on_y, height))
    for d in shown:
        x = _x(on_x, d.x)
        y = _y(on_y, d.y, height)
        kind = f"cross {_ink_of(d, front)}"
        if d.across:
            parts.append(_line(kind, _x(on_x, d.across[0]), y, _x(on_x, d.across[1]), y))
        if d.up:
            parts.append(_line(kind, x, _y(on_y, d.up[0], height), x, _y(on_y, d.up[1], height)))
    for d, given in zip(shown, dots, strict=True):
        says = f"{d.name}: {across} {given.x:.3f}, {up} {d.y:.3f}"
        place = f'cx="{_x(on_x, d.x):.2f}%" cy="{_y(on_y, d.y, height):.1f}"'
        parts.append(
            _fixed(f'<circle class="dot {_ink_of(d, front)}" {place} r="5.5"><title>')
            + escape(says)
            + Markup("</title></circle>")
        )
    parts += _names(shown, on_x, on_y, height)
    words = "; ".join(f"{d.name} {d.x:.3f}, {d.y:.3f}" for d in dots)
    return _svg(parts, f"{up} against {across}: {words}", height)


def _ink_of(dot: Dot, front: Collection[str] | None) -> str:
    """Return the class of a dot's colour: its model's, or whether it is on the front."""
    return ink(dot.ink) if front is None else "strong" if dot.name in front else "plain"


def _placed(dot: Dot, on_x: Axis) -> Dot:
    """Return a dot with its position on a logarithmic axis; unchanged on a linear one."""
    if not isinstance(on_x, LogAxis):
        return dot
    ends = None if dot.across is None else (math.log10(dot.across[0]), math.log10(dot.across[1]))
    return replace(dot, x=math.log10(dot.x), across=ends)


def _steps(front: Sequence[Dot], on_x: Axis, on_y: Axis, height: int) -> Markup:
    """Return the steps of a front, from left to right and never down."""
    parts = []
    rows = sorted(front, key=lambda d: d.x)
    for one, other in itertools.pairwise(rows):
        x1 = _x(on_x, one.x)
        y1 = _y(on_y, one.y, height)
        x2 = _x(on_x, other.x)
        y2 = _y(on_y, other.y, height)
        parts += [_line("front", x1, y1, x2, y1), _line("front", x2, y1, x2, y2)]
    return Markup("").join(parts)


def _names(dots: Sequence[Dot], on_x: Axis, on_y: Axis, height: int) -> list[Markup]:
    """Return the names next to the dots, moved apart if they would overlap."""
    names = [d.name if len(d.name) <= 22 else d.name[:21] + "…" for d in dots]
    places = [(_x(on_x, d.x), _y(on_y, d.y, height)) for d in dots]
    lates = [x > _LEFT + 0.6 * _WIDE for x, _ in places]  # names on the right are to the left of their dots
    spans = [_span(x, name, late) for (x, _), name, late in zip(places, names, lates, strict=True)]
    heights = _apart(spans, [y for _, y in places], places)
    parts = []
    for name, (x, _), late, y in zip(names, places, lates, heights, strict=True):
        anchor = 'text-anchor="end" dx="-10"' if late else 'dx="10"'
        parts.append(
            _fixed(f'<text class="name" x="{x:.2f}%" y="{y + 4 - 9:.1f}" {anchor}>')
            + escape(name)
            + Markup("</text>")
        )
    return parts


def curves(
    lines: Sequence[Curve],
    across: str,
    up: str,
    *,
    on_x: Axis | None = None,
    on_y: Axis | None = None,
    diagonal: bool = False,
    steps: bool = False,
    shares: Sequence[float] = (),
    height: int = 260,
) -> Markup:
    """Return overlaid curves, with axes from 0 to 1 unless given, and the diagonal on request.

    With ``steps`` a point's height holds from the previous point (for the first, from the left edge), like
    precision between two recalls: equal scores have none in between. ``shares`` are bars behind the first
    curve's points; 1 is a quarter of the height.
    """
    on_x = on_x or UNIT
    on_y = on_y or UNIT
    parts = [_frame(on_x, on_y, across, up, height)]
    inner = height - _TOP - _BOTTOM
    parts.append(
        _fixed(
            f'<svg x="{_LEFT}%" y="{_TOP}" width="{_WIDE}%" height="{inner}" viewBox="0 0 1000 1000"'
            ' preserveAspectRatio="none">'
        )
    )
    if diagonal:
        parts.append(Markup('<path class="even" d="M0 1000L1000 0"/>'))
    for share, x in zip(shares, lines[0].x if lines else (), strict=False):
        if x is not None:
            box = (
                f'x="{1000 * _part(on_x, x) - 15:.1f}" y="{1000 - 250 * share:.1f}" width="30"'
                f' height="{250 * share:.1f}"'
            )
            parts.append(_fixed(f'<rect class="count {ink(lines[0].ink)}" {box}/>'))
    for line in lines:
        points = [(x, y) for x, y in zip(line.x, line.y, strict=True) if x is not None and y is not None]
        if steps:
            before = [on_x.low, *(x for x, _ in points)]
            points = [
                corner
                for start, (x, y) in zip(before, points, strict=False)
                for corner in ((start, y), (x, y))
            ]
        path = "L".join(f"{1000 * _part(on_x, x):.1f} {1000 - 1000 * _part(on_y, y):.1f}" for x, y in points)
        if path:
            parts.append(
                _fixed(f'<path class="curve {ink(line.ink)}" d="M{path}"><title>')
                + escape(line.name)
                + Markup("</title></path>")
            )
    parts.append(Markup("</svg>"))
    return _svg(parts, f"{up} against {across} of {', '.join(line.name for line in lines)}", height)


def grouped(values: Sequence[float | None], names: Sequence[str], on: Axis, *, title: str = "") -> Markup:
    """Return one thin bar per model, stacked vertically, from 0."""
    thick = 9 if len(values) < 6 else 6
    parts = [
        _fixed(f'<line class="grid" x1="{on.at(t)}" x2="{on.at(t)}" y1="0" y2="100%"/>') for t in on.ticks
    ]
    for k, (value, name) in enumerate(zip(values, names, strict=True)):
        if value is None:
            continue
        start = 2.0
        end = 2 + 96 * _part(on, value)
        says = f"{title}, {name}: {value:.3f}"
        box = f'x="{start}%" width="{max(end - start, 0.3):.2f}%" y="{2 + k * (thick + 1)}" height="{thick}"'
        parts.append(
            _fixed(f'<rect class="fill {ink(k)}" {box}><title>') + escape(says) + Markup("</title></rect>")
        )
    words = ", ".join(
        f"{n} {'unknown' if v is None else format(v, '.3f')}" for v, n in zip(values, names, strict=True)
    )
    return _svg(parts, f"{title}: {words}", 4 + len(values) * (thick + 1))


def _fixed(text: str) -> Markup:
    """Return numbers and constant text, which need no escaping, as markup."""
    return Markup(text)  # noqa: S704


@dataclass(frozen=True)
class LogAxis(Axis):
    """A logarithmic scale: low, high and ticks are the logarithms of the values."""

    def text(self, tick: float) -> str:
        """The label of a tick."""
        return f"{10**tick:.6g}"


def log_axis(values: Sequence[float]) -> LogAxis:
    """Return a logarithmic axis that covers all values, which are above 0, with ticks at 1, 2 and 5 times
    powers of ten.

    >>> [log_axis([3.0, 70.0]).text(t) for t in log_axis([3.0, 70.0]).ticks]
    ['2', '5', '10', '20', '50', '100']
    """
    low = min(values)
    high = max(values)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    round_ones = [m * 10.0**k for k in powers for m in (1, 2, 5)]
    first = max(v for v in round_ones if v <= low * 1.0001)
    last = min(v for v in round_ones if v >= high * 0.9999)
    inside = [v for v in round_ones if first <= v <= last]
    ticks = tuple(math.log10(v) for v in inside)
    if len(ticks) > _TICKS:  # powers of ten and the ends are enough
        ticks = tuple(t for t in ticks if t in (ticks[0], ticks[-1]) or abs(t - round(t)) < 1e-9)
    return LogAxis(math.log10(first), math.log10(last), ticks)


def _axes(dots: Sequence[Dot], *, logarithmic: bool = False) -> tuple[Axis, Axis]:
    across = [v for d in dots for v in (d.x, *(d.across or ()))]
    up = [v for d in dots for v in (d.y, *(d.up or ()))]
    return log_axis(across) if logarithmic else from_zero(across), from_zero(up)


def from_zero(values: Sequence[float], *, at_most: int = 5) -> Axis:
    """Return an axis that starts at 0 unless that would leave most of it empty, or values are below 0.

    >>> from_zero([0.2, 0.9]).low, from_zero([0.91, 0.99]).low, from_zero([-1.5, 2.0]).low
    (0.0, 0.9, -2.0)
    """
    low = min(values, default=0.0)
    high = max(values, default=1.0)
    if low >= 0 and high < 1e-9:
        return axis([0.0, 1.0], at_most=at_most)
    if low < 0:
        return axis([low, high], at_most=at_most)
    return axis([0.0, high] if low < 0.6 * high else [low, high], at_most=at_most)


def _span(x: float, name: str, late: bool) -> tuple[float, float]:
    """Return the horizontal extent of a name, in per cent of a phone's width."""
    wide = _LETTER * (len(name) + 2)
    return (x - wide, x) if late else (x, x + wide)


def _apart(
    spans: Sequence[tuple[float, float]], wanted: Sequence[float], dots: Sequence[tuple[float, float]]
) -> list[float]:
    """Return heights of labels that extend over ``spans``, moved down if they would overlap another label or
    another's dot (x, y).

    >>> _apart([(0, 40), (30, 70), (50, 90)], [10.0, 12.0, 11.0], [])
    [10.0, 25.0, 11.0]
    >>> _apart([(1, 40)], [15.0], [(20.0, 12.0)])
    [33.0]
    """
    out = [0.0] * len(wanted)
    written: list[int] = []
    for k in sorted(range(len(wanted)), key=lambda k: wanted[k]):
        low, high = spans[k]
        taken = [(out[o], _LINE) for o in written if low < spans[o][1] and spans[o][0] < high]
        taken += [
            (y + _BASE, _DOT) for x, y in dots if low < x - 1 and x + 1 < high
        ]  # a label's own dot is at the end of its span
        y = wanted[k]
        for height, room in sorted(taken):
            if abs(height - y) < room:
                y = height + room
        written.append(k)
        out[k] = y
    return out


def _frame(on_x: Axis, on_y: Axis, across: str, up: str, height: int) -> Markup:
    """Return the grid with its numbers and the names of both axes."""
    bottom = height - _BOTTOM
    parts = []
    for t in on_x.ticks:
        x = _x(on_x, t)
        parts.append(f'<line class="grid" x1="{x:.2f}%" x2="{x:.2f}%" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text x="{x:.2f}%" y="{bottom + 15}" text-anchor="middle">{on_x.text(t)}</text>')
    for t in on_y.ticks:
        y = _y(on_y, t, height)
        parts.append(f'<line class="grid" x1="{_LEFT}%" x2="{_LEFT + _WIDE}%" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 1:.2f}%" y="{y + 4:.1f}" text-anchor="end">{on_y.text(t)}</text>')
    middle = _LEFT + _WIDE / 2
    names = (
        _fixed(f'<text class="axis" x="{middle}%" y="{height - 5}" text-anchor="middle">')
        + escape(across)
        + Markup(" →</text>")
    )
    names += Markup('<text class="axis" x="0" y="12">') + escape(up) + Markup(" ↑</text>")
    return _fixed("".join(parts)) + names


def _part(on: Axis, value: float) -> float:
    return min(max((value - on.low) / (on.high - on.low), 0.0), 1.0)


def _x(on: Axis, value: float) -> float:
    return _LEFT + _WIDE * _part(on, value)


def _y(on: Axis, value: float, height: int) -> float:
    return height - _BOTTOM - (height - _TOP - _BOTTOM) * _part(on, value)


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:

    return _fixed(f'<line class="{kind}" x1="{x1:.2f}%" y1="{y1:.1f}" x2="{x2:.2f}%" y2="{y2:.1f}"/>')


def _svg(parts: Sequence[Markup], title: str, height: int) -> Markup:
    head = (
        _fixed(f'<svg class="plot" width="100%" height="{height}" role="img"><title>')
        + escape(title)
        + Markup("</title>")
    )
    return head + Markup("").join(parts) + Markup("</svg>")
