"""Drawings as inline SVG: marks in the rows of tables, and planes of lines and points.

Conventions: widths in per cent and heights in pixels, so that a drawing fits any screen; colours are CSS
classes (report.css has them for light and dark), text is escaped, and every drawing has a title with its
numbers. Lines of a plane are in an inner SVG that is stretched, with strokes that keep their width.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from faultscape.reporting.view import UNIT, Axis, Box, ChartPoint, HeatCell, Line, Mark, axes_of, ink

_ROW = 22  # pixels of a mark in a table
_SLIM = 14  # pixels of one below its number
_LABEL = 14  # pixels that the name of a dot needs
_BASE, _DOT = 10, 11  # pixels that a name is drawn above its height, and that it keeps from a dot
_APART = 11  # pixels between the labels at the ends of lines
_LETTER = 1.9  # width of a letter, in per cent of a phone's width
_WITH_NAMES = 11.0, 86.0, 24, 40  # of a plane: per cent left and wide, pixels above and below
_PLAIN = 13.0, 83.0, 8, 22
_STRETCHED = 'viewBox="0 0 1000 1000" preserveAspectRatio="none"'


def scale(on: Axis, *, slim: bool = False) -> Markup:
    """Return the tick labels under a column of marks: of a slim one both ends; else every other one has the
    class ``more``, which narrow pages hide to avoid overlaps.
    """
    ticks = (on.low, on.high) if slim else on.ticks
    last = len(ticks) - 1
    texts = []
    for k, tick in enumerate(ticks):
        anchor = "start" if k == 0 else "end" if k == last else "middle"
        kind = "always" if slim or (last - k) % 2 == 0 else "more"
        texts.append(
            f'<text x="{_at(on, tick)}" y="12" text-anchor="{anchor}" class="{kind}">{on.text(tick)}'
        )
    return _row("</text>".join([*texts, ""]), "", height=16, kind=" slim" if slim else "")


def interval(
    on: Axis,
    mark: Mark,
    *,
    place: int | None = None,
    strong: bool = False,
    slim: bool = False,
    at: float | None = None,
    at_kind: str = "chance",
    title: str = "",
) -> Markup:
    """Return a dot with its interval, and a vertical line ``at`` chance or zero; an empty row if the value is
    unknown. A ``slim`` one lies on a thin rail below its number.
    """
    height = _SLIM if slim else _ROW
    if slim and mark.value is None:
        return Markup("")
    y = height // 2
    parts = [f'<line class="rail" x1="2%" x2="98%" y1="{y}" y2="{y}"/>' if slim else _grid(on)]
    if at is not None:
        parts.append(f'<line class="{at_kind}" x1="{_at(on, at)}" x2="{_at(on, at)}" y1="0" y2="{height}"/>')
    if mark.ends:
        low, high = (_at(on, end) for end in mark.ends)
        parts.append(f'<line class="mark" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>')
    if mark.value is not None:
        parts.append(f'<circle class="mark" cx="{_at(on, mark.value)}" cy="{y}" r="{4 if slim else 4.5}"/>')
    kind = (" slim" if slim else "") + (" strong" if strong else "")
    kind += "" if place is None else f" {ink(place)}"
    if slim and not title:
        title = f"{mark.value:.3f}" + (", {:.3f} to {:.3f}".format(*mark.ends) if mark.ends else "")
    return _row("".join(parts), title, height=height, kind=kind)


def box_plot(on: Axis, what: Box | None, *, ink: str, title: str = "") -> Markup:
    """Return a box from first to third quartile with its median, and a dashed line from minimum to
    maximum.
    """
    if what is None:
        return _row(_grid(on), title)
    width = f"{96 * (on.part(what.third) - on.part(what.first)):.2f}%"
    low, first, middle, high = (_at(on, x) for x in (what.low, what.first, what.median, what.high))
    return _row(
        f'{_grid(on)}<line class="whisker {ink}" x1="{low}" x2="{high}" y1="11" y2="11"/>'
        f'<rect class="box {ink}" x="{first}" width="{width}" y="4" height="14" rx="2"/>'
        f'<line class="median" x1="{middle}" x2="{middle}" y1="3" y2="19"/>',
        title,
    )


def stacked(counts: Sequence[int], inks: Sequence[str], *, title: str = "") -> Markup:
    """Return one bar divided in proportion to the counts."""
    total = sum(counts)
    start = 0
    parts = []
    for count, kind in zip(counts, inks, strict=True):
        if count:
            x = 100 * start / total
            width = 100 * count / total
            parts.append(f'<rect class="{kind}" x="{x:.2f}%" width="{width:.2f}%" y="3" height="16"/>')
        start += count
    return _row("".join(parts), title)


def bar(share: float, *, ink: str = "one", title: str = "") -> Markup:
    """Return one bar from the left, over ``share`` of the width."""
    width = 100 * min(max(share, 0), 1)
    return _row(f'<rect class="{ink}" x="0" width="{width:.2f}%" y="4" height="14" rx="2"/>', title)


def grouped(values: Sequence[float | None], names: Sequence[str], on: Axis, *, title: str = "") -> Markup:
    """Return one thin bar per model, stacked vertically, from 0."""
    thick = 9 if len(values) < 6 else 6
    parts = [_grid(on, "100%")]
    told = []
    for k, (value, name) in enumerate(zip(values, names, strict=True)):
        told.append(f"{name} {'unknown' if value is None else format(value, '.3f')}")
        if value is not None:
            box = f'x="2.0%" width="{max(96 * on.part(value), 0.3):.2f}%" y="{2 + k * (thick + 1)}"'
            says = _title(f"{title}, {name}: {value:.3f}")
            parts.append(f'<rect class="fill {ink(k)}" {box} height="{thick}">{says}</rect>')
    return _row("".join(parts), f"{title}: {', '.join(told)}", height=4 + len(values) * (thick + 1))


def heat(ratio: float | None, most: float) -> HeatCell:
    """Return the cell of a ratio, whose colour is the stronger the further it is from 1; ``most`` is the
    largest |log| of the matrix.

    >>> heat(2.0, math.log(2))
    HeatCell(value=2.0, kind='up', style='--t:1.00')
    >>> heat(0.5, math.log(4)).style, heat(1.0, 0.0).kind
    ('--t:0.50', 'even')
    """
    if ratio is None or ratio <= 0 or ratio == 1 or most <= 0:
        return HeatCell(ratio, "even", "--t:0.00")
    strength = min(abs(math.log(ratio)) / most, 1)
    return HeatCell(ratio, "up" if ratio > 1 else "down", f"--t:{strength:.2f}")


@dataclass(frozen=True)
class _Frame:
    """Where a plane lies in its drawing: per cent of the width, pixels of the height."""

    on_x: Axis
    on_y: Axis
    height: int
    left: float
    wide: float
    top: int
    foot: int

    @property
    def deep(self) -> int:
        return self.height - self.top - self.foot

    def x(self, value: float) -> float:
        return self.left + self.wide * self.on_x.part(value)

    def y(self, value: float) -> float:
        return self.top + self.deep * (1 - self.on_y.part(value))

    def inside(self, x: float, y: float, apart: str = " ") -> str:
        """A place in the inner drawing, which is stretched."""
        return f"{1000 * self.on_x.part(x):.1f}{apart}{1000 - 1000 * self.on_y.part(y):.1f}"


def plane(
    lines: Sequence[Line],
    on_x: Axis = UNIT,
    on_y: Axis = UNIT,
    *,
    title: str = "",
    axes: tuple[str, str] | None = None,
    height: int = 260,
    diagonal: bool = False,
    limit: float | None = None,
    shares: Sequence[tuple[float, float]] = (),
) -> Markup:
    """Return lines and points on a plane; ``axes`` are the names of its axes, across and up.

    A line of several points has a band of their intervals, a single point a cross. ``limit`` is a dashed
    height; ``shares`` are bars (x, share) in the first line's colour, where 1 is a quarter of the height.
    """
    frame = _Frame(on_x, on_y, height, *(_WITH_NAMES if axes else _PLAIN))
    parts = [_axes(frame, *(axes or ("", "")))]
    behind = '<path class="even" d="M0 1000L1000 0"/>' if diagonal else ""
    for x, share in shares:
        tall = 250 * share
        box = f'x="{1000 * on_x.part(x) - 15:.1f}" y="{1000 - tall:.1f}" width="30" height="{tall:.1f}"'
        behind += f'<rect class="count {lines[0].ink}" {box}/>'
    if behind:
        parts.append(_stretched(frame, behind))
    if limit is not None:
        y = f"{frame.y(limit):.1f}"
        ends = f'x1="{frame.left}%" x2="{frame.left + frame.wide}%"'
        parts.append(f'<line class="limit" {ends} y1="{y}" y2="{y}"/>')
    parts += [_drawn(frame, line) for line in lines]
    parts += _labels(frame, [line for line in lines if line.label and line.known])
    if not title and axes:
        title = f"{axes[1]} against {axes[0]} of {', '.join(line.name for line in lines)}"
    head = _fixed(f'<svg class="plot" width="100%" height="{height}" role="img" aria-label="')
    return head + escape(title) + _fixed(f'">{"".join(parts)}</svg>')


def scatter(
    dots: Sequence[Line], across: str, up: str, *, on_x: Axis | None = None, height: int = 360
) -> Markup:
    """Return single points with crosses of their intervals and their names beside them."""
    fitting, on_y = axes_of(dots)
    on_x = on_x or fitting
    points = [(dot.name, dot.known[0]) for dot in dots if dot.dots]
    words = "; ".join(f"{name} {point.x:.3f}, {point.y:.3f}" for name, point in points)
    title = f"{up} against {across}: {words}"
    whole = plane(dots, on_x, on_y, axes=(across, up), height=height, title=title)
    frame = _Frame(on_x, on_y, height, *_WITH_NAMES)
    return whole.removesuffix("</svg>") + _fixed("".join(_names(frame, points))) + Markup("</svg>")


def _drawn(frame: _Frame, line: Line) -> str:
    known = line.known
    runs = [list(run) for real, run in itertools.groupby(line.points, lambda p: p is not None) if real]
    paths = ["L".join(frame.inside(p.x, p.y) for p in run) for run in runs if len(run) > 1]  # type: ignore[union-attr]
    inner = f'<path class="curve" d="M{"M".join(paths)}"/>' if paths else ""
    marks = ""
    banded = [(p.x, *p.up) for p in known if p.up]
    if len(known) == 1:
        marks = _cross(frame, known[0])
    elif len(banded) > 1:
        there = [frame.inside(x, high, ",") for x, _, high in banded]
        back = [frame.inside(x, low, ",") for x, low, _ in reversed(banded)]
        inner = f'<polygon class="band" points="{" ".join([*there, *back])}"/>{inner}'
    for p in known if line.dots else ():
        says = _title(p.says) if p.says else ""
        place = f'cx="{frame.x(p.x):.2f}%" cy="{frame.y(p.y):.1f}"'
        marks += f'<circle class="dot" {place} r="{5.5 if len(known) == 1 else 3}">{says}</circle>'
    of = "" if line.place is None else f' data-model="{line.place}"'
    inner = _stretched(frame, inner) if inner else ""
    return f'<g class="line {line.ink}"{of}>{_title(line.says or line.name)}{inner}{marks}</g>'


def _cross(frame: _Frame, p: ChartPoint) -> str:
    x = f"{frame.x(p.x):.2f}%"
    y = f"{frame.y(p.y):.1f}"
    out = ""
    if p.across:
        low, high = (f"{frame.x(end):.2f}%" for end in p.across)
        out += f'<line class="cross" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
    if p.up:
        low, high = (f"{frame.y(end):.1f}" for end in p.up)
        out += f'<line class="cross" x1="{x}" x2="{x}" y1="{low}" y2="{high}"/>'
    return out


def _axes(frame: _Frame, across: str, up: str) -> str:
    """Return the grid with its numbers and the names of both axes."""
    bottom = frame.height - frame.foot
    right = frame.left + frame.wide
    parts = []
    for k, t in enumerate(frame.on_x.ticks):
        x = f"{frame.x(t):.2f}%"
        last = k == len(frame.on_x.ticks) - 1
        anchor = ("start" if k == 0 else "end" if last else "middle") if frame.on_x.names else "middle"
        if across:
            parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{frame.top}" y2="{bottom}"/>')
        text = escape(frame.on_x.text(t))
        parts.append(f'<text x="{x}" y="{bottom + 16}" text-anchor="{anchor}">{text}</text>')
    for t in frame.on_y.ticks:
        y = frame.y(t)
        parts.append(f'<line class="grid" x1="{frame.left}%" x2="{right}%" y1="{y:.1f}" y2="{y:.1f}"/>')
        place = f'x="{frame.left - 1:.2f}%" y="{y + 4:.1f}"'
        parts.append(f'<text {place} text-anchor="end">{frame.on_y.text(t)}</text>')
    if across:
        middle = f'x="{frame.left + frame.wide / 2}%" y="{frame.height - 5}" text-anchor="middle"'
        parts.append(f'<text class="axis" {middle}>{escape(across)} →</text>')
    if up:
        parts.append(f'<text class="axis" x="0" y="12">{escape(up)} ↑</text>')
    return "".join(parts)


def _labels(frame: _Frame, lines: Sequence[Line]) -> list[str]:
    """Return the labels at the ends of lines, moved apart."""
    parts = []
    lowest = -math.inf
    for y, x, label in sorted(
        (frame.y(one.known[-1].y), frame.x(one.known[-1].x), one.label) for one in lines
    ):
        lowest = max(y, lowest + _APART)
        parts.append(f'<text x="{x:.2f}%" dx="8" y="{lowest + 4:.1f}">{escape(label)}</text>')
    return parts


def _names(frame: _Frame, dots: Sequence[tuple[str, ChartPoint]]) -> list[str]:
    """Return the names next to the dots, moved apart if they would overlap."""
    names = [name if len(name) <= 22 else name[:21] + "…" for name, _ in dots]
    places = [(frame.x(p.x), frame.y(p.y)) for _, p in dots]
    lates = [
        x > frame.left + 0.6 * frame.wide for x, _ in places
    ]  # names on the right are left of their dots
    spans = [_span(x, name, late) for (x, _), name, late in zip(places, names, lates, strict=True)]
    heights = _apart(spans, [y for _, y in places], places)
    parts = []
    for name, (x, _), late, y in zip(names, places, lates, heights, strict=True):
        anchor = 'text-anchor="end" dx="-10"' if late else 'dx="10"'
        parts.append(f'<text class="name" x="{x:.2f}%" y="{y - 5:.1f}" {anchor}>{escape(name)}</text>')
    return parts


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
        taken = [(out[o], _LABEL) for o in written if low < spans[o][1] and spans[o][0] < high]
        # a label's own dot is at the end of its span
        taken += [(y + _BASE, _DOT) for x, y in dots if low < x - 1 and x + 1 < high]
        y = wanted[k]
        for height, room in sorted(taken):
            if abs(height - y) < room:
                y = height + room
        written.append(k)
        out[k] = y
    return out


def _at(on: Axis, value: float) -> str:
    """Return the position of a value in a row, as a percentage of the width."""
    return f"{2 + 96 * on.part(value):.2f}%"


def _grid(on: Axis, height: int | str = _ROW) -> str:
    return "".join(
        f'<line class="grid" x1="{_at(on, t)}" x2="{_at(on, t)}" y1="0" y2="{height}"/>' for t in on.ticks
    )


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _stretched(frame: _Frame, inside: str) -> str:
    place = f'x="{frame.left}%" y="{frame.top}" width="{frame.wide}%" height="{frame.deep}"'
    return f"<svg {place} {_STRETCHED}>{inside}</svg>"


def _row(inside: str, title: str, *, height: int = _ROW, kind: str = "") -> Markup:
    says = 'role="img"' if title else 'aria-hidden="true"'
    head = f'<svg class="plot{kind}" width="100%" height="{height}" {says}>'
    return _fixed(f"{head}{_title(title) if title else ''}{inside}</svg>")


def _fixed(text: str) -> Markup:
    """Return a drawing, whose words are escaped where they are written, as markup."""
    return Markup(text)  # noqa: S704
