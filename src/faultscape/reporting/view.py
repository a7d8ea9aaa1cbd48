"""What every page is made of: marks (a number with its interval), axes, lines of points, and numbers as text.

Conventions: unknown is None, and shown as a dash. A model's colour is its ``place``, its index among the
models of the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

Ends = tuple[float, float]
INKS = 10
_SLACK = 1e-15  # what rounding may add to a number of steps
_TICKS = 7  # most ticks on a logarithmic axis


@dataclass(frozen=True)
class Mark:
    """A number to draw: its value and the ends of its interval; its ``standing`` among the others (best, tie,
    unbeaten or ''), how many parts of it are ``undefined``, and for a mean over fewer sets than others have
    its ``share`` (sets, of).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    standing: str = ""
    undefined: int = 0
    share: tuple[int, int] | None = None

    @property
    def ends(self) -> Ends | None:
        """The interval, if both ends are known."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def sure(self) -> bool:
        """Whether its interval, of a difference, excludes 0."""
        return self.ends is not None and (self.ends[0] > 0 or self.ends[1] < 0)

    @property
    def turned(self) -> Mark:
        """A difference seen from the other side.

        >>> Mark(0.2, 0.1, 0.4).turned
        Mark(value=-0.2, low=-0.4, high=-0.1, standing='', undefined=0, share=None)
        """
        value, low, high = (None if x is None else -x for x in (self.value, self.high, self.low))
        return Mark(value, low, high)


@dataclass(frozen=True)
class Column:
    """A column of marks: how they are written and, where they are drawn, their axis, and where on it chance
    or zero is (``at``). ``better`` is high, low or '' for neither. ``metric`` is what they measure, ``group``
    the metrics of its kind, or the condition it is measured under, and ``holdout`` that of a number in
    distribution.
    """

    title: str
    axis: Axis | None = None
    better: str = ""
    says: str = ""
    at: float | None = None
    digits: int = 3
    signed: bool = False
    metric: str = ""
    group: str = ""
    holdout: str = ""


@dataclass(frozen=True)
class TableRow:
    """A model's marks, one a column, behind some ``words``; ``note`` is next to its name, and ``kind`` are
    CSS classes: main, first, sure, chance.
    """

    model: str
    marks: tuple[Mark, ...]
    place: int | None = None
    note: str = ""
    kind: str = ""
    words: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Table:
    """Rows of marks below their columns; ``heads`` are those of the model and of the words. A table that
    stands alone has a ``name``, a title, and says what it shows.
    """

    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    heads: tuple[str, ...] = ("model",)
    name: str = ""
    title: str = ""
    says: str = ""

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The groups of its columns, with the number of those that stand side by side."""
        return [(name, len(list(of))) for name, of in groupby(column.group for column in self.columns)]

    def only(self, kind: str) -> Table:
        """The table of the rows of a kind, with the axes of all."""
        return replace(self, rows=tuple(row for row in self.rows if kind in row.kind.split()))


@dataclass(frozen=True)
class HeatCell:
    """A number of a matrix, the CSS class of its colour, and how strong or which that is, as CSS."""

    value: float | None
    kind: str = ""
    style: str = ""


@dataclass(frozen=True)
class Box:
    """A box plot: number of values, minimum, first quartile, median, third quartile, maximum."""

    n: int
    low: float
    first: float
    median: float
    third: float
    high: float


@dataclass(frozen=True)
class ChartPoint:
    """A point with its intervals, and what it says when pointed at."""

    x: float
    y: float
    across: Ends | None = None
    up: Ends | None = None
    says: str = ""


@dataclass(frozen=True)
class Line:
    """Points that are joined, except where one is None; its colour is that of the model at ``place``, or the
    CSS class ``kind``. ``label`` stands at its end.
    """

    name: str
    points: tuple[ChartPoint | None, ...]
    place: int | None = None
    kind: str = ""
    says: str = ""
    dots: bool = True
    label: str = ""

    @property
    def known(self) -> list[ChartPoint]:
        """The points without gaps."""
        return [point for point in self.points if point is not None]

    @property
    def ink(self) -> str:
        """The CSS classes of its colour."""
        return f"{'' if self.place is None else ink(self.place)} {self.kind}".strip()


@dataclass(frozen=True)
class Axis:
    """A scale from ``low`` to ``high`` with round ticks, which may have ``names``."""

    low: float
    high: float
    ticks: tuple[float, ...]
    names: tuple[str, ...] = ()
    logarithmic: bool = False

    def part(self, value: float) -> float:
        """The position of a value, from 0 at the low end to 1 at the high one."""
        low, value, high = (
            map(math.log10, (self.low, max(value, self.low), self.high))
            if self.logarithmic
            else (self.low, value, self.high)
        )
        return min(max((value - low) / (high - low), 0.0), 1.0)

    def text(self, tick: float) -> str:
        """The label of a tick, without unnecessary digits."""
        if self.names:
            return self.names[self.ticks.index(tick)]
        return f"{tick:.6g}".replace("-", "−")


def table_of(
    rows: Sequence[TableRow],
    titles: Sequence[str],
    *,
    better: str = "",
    zero: bool = True,
    heads: Sequence[str] = ("model",),
) -> Table:
    """Return a table whose axes hold the marks of its rows, from 0 unless told otherwise."""
    columns = [
        Column(title, axis_of([row.marks[k] for row in rows], zero=zero), better)
        for k, title in enumerate(titles)
    ]
    return Table(tuple(columns), tuple(rows), tuple(heads))


UNIT = Axis(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))


def ink(place: int) -> str:
    """Return the colour class of a model; after ten, colours repeat, dashed.

    >>> ink(2), ink(12)
    ('m2', 'm2 again')
    """
    return f"m{place % INKS}" + (" again" if place >= INKS else "")


def axis(values: Sequence[float | None], *, at_most: int = 4) -> Axis:
    """Return an axis that covers all known values, with ticks at multiples of 1, 2 or 5.

    >>> axis([0.12, 0.48]).ticks
    (0.0, 0.2, 0.4, 0.6)
    """
    known = [v for v in values if v is not None and math.isfinite(v)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low < 1e-9:
        low = low - 0.5
        high = high + 0.5
    rough = (high - low) / max(at_most - 1, 1)
    power = 10 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first = math.floor(low / step + _SLACK * max(1.0, abs(low / step)))
    last = math.ceil(high / step - _SLACK * max(1.0, abs(high / step)))
    ticks = tuple(round(k * step, 12) for k in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


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


def log_axis(values: Sequence[float]) -> Axis:
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
    ticks = [v for v in round_ones if first <= v <= last]
    if len(ticks) > _TICKS:  # powers of ten and the ends are enough
        ticks = [t for t in ticks if t in (first, last) or abs(math.log10(t) - round(math.log10(t))) < 1e-9]
    return Axis(first, last, tuple(ticks), logarithmic=True)


def axis_of(marks: Sequence[Mark], *, at_most: int = 3, zero: bool = False) -> Axis:
    """Return the axis of some marks, from 0 on request."""
    values = [v for m in marks for v in (m.value, m.low, m.high) if v is not None]
    return from_zero(values, at_most=at_most) if zero else axis(values, at_most=at_most)


def axes_of(lines: Sequence[Line], *, at_most: int = 5) -> tuple[Axis, Axis]:
    """Return the axes of lines, across and up, with room for their intervals."""
    points = [point for line in lines for point in line.known]
    across = [v for p in points for v in (p.x, *(p.across or ()))]
    up = [v for p in points for v in (p.y, *(p.up or ()))]
    return from_zero(across, at_most=at_most), from_zero(up, at_most=at_most)


def dot(
    name: str, x: Mark, y: Mark, axes: tuple[str, str], place: int | None = None, kind: str = ""
) -> Line | None:
    """Return a model of a scatter plot, which says its numbers; None if one is unknown."""
    if x.value is None or y.value is None:
        return None
    says = f"{name}: {axes[0]} {x.value:.3f}, {axes[1]} {y.value:.3f}"
    return Line(name, (ChartPoint(x.value, y.value, x.ends, y.ends, says),), place, kind)


def number(value: Any, digits: int = 3) -> str:
    """Return a number for display; a dash if it is unknown.

    >>> number(-0.12345), number(None), number(float("nan"), 1), number(-0.001, 1)
    ('−0.123', '–', '–', '0.0')
    """
    if value is None or not math.isfinite(value):
        return "–"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # never a negative zero


def signed(value: float | None) -> str:
    """Return a difference with its sign.

    >>> signed(0.01234), signed(-0.5), signed(None)
    ('+0.012', '−0.500', '–')
    """
    return number(value) if value is None or value < 0 else f"+{value:.3f}"


def plain(value: Any) -> str:
    """Return a whole or half number without rounding.

    >>> plain(3.0), plain(2.5), plain(-1), plain(None)
    ('3', '2.5', '−1', '–')
    """
    return "–" if value is None or not math.isfinite(value) else f"{value:g}".replace("-", "−")


def percent(part: float, whole: float) -> str:
    """Return a share in per cent; a dash if the whole is 0.

    >>> percent(1, 3), percent(1, 0)
    ('33 %', '–')
    """
    return f"{100 * part / whole:.0f} %" if whole else "–"


def amount(share: float | None, digits: int = 0) -> str:
    """Return a share in per cent, with the given digits.

    >>> amount(0.25), amount(0.0221, 2), amount(None)
    ('25 %', '2.21 %', '–')
    """
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b"], "or")
    ('a', 'a, b and c', 'a or b')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
