"""Small inline SVG marks for reports, with positions in per cent, so that they fit any screen width.

Conventions: colours are CSS classes (report.css defines them for light and dark), text is escaped, and every
drawing has a title with its numbers. An axis maps its range to 2..98 per cent of the width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from faultscape.reporting.competition.outcomes import Box

_ROW = 22  # pixels


@dataclass(frozen=True)
class Axis:
    """A linear scale with round ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, x: float) -> str:
        """The position of a value, as a percentage of the width."""
        return f"{2 + 96 * (x - self.low) / (self.high - self.low):.2f}%"

    def text(self, tick: float) -> str:
        """The label of a tick, without unnecessary digits."""
        return f"{tick:.6g}".replace("-", "−")


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
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    ticks = tuple(round(k * step, 12) for k in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def scale(on: Axis) -> Markup:
    """Return the tick labels under a column of marks; every other one has the class ``more``, which narrow
    pages hide to avoid overlaps.
    """
    last = len(on.ticks) - 1
    anchor = lambda k: "start" if k == 0 else "end" if k == last else "middle"  # noqa: E731
    texts = [
        _svg_text(on.at(t), on.text(t), anchor(k), "more" if (last - k) % 2 else "always")
        for k, t in enumerate(on.ticks)
    ]
    return _svg("".join(texts), "", height=16, hidden=True)


def interval(
    on: Axis,
    point: float | None,
    low: float | None,
    high: float | None,
    *,
    strong: bool = False,
    title: str = "",
) -> Markup:
    """Return a dot with its interval; an empty row if the point is unknown."""
    parts = [_grid(on)]
    ink = "mark strong" if strong else "mark"
    if low is not None and high is not None:
        parts.append(f'<line class="{ink}" x1="{on.at(low)}" x2="{on.at(high)}" y1="11" y2="11"/>')
    if point is not None:
        parts.append(f'<circle class="{ink}" cx="{on.at(point)}" cy="11" r="4.5"/>')
    return _svg("".join(parts), title)


def box_plot(on: Axis, what: Box | None, *, ink: str, title: str = "") -> Markup:
    """Return a box from first to third quartile with its median, and a dashed line from minimum to
    maximum.
    """
    if what is None:
        return _svg(_grid(on), title)
    width = f"{96 * (what.third - what.first) / (on.high - on.low):.2f}%"
    parts = [
        _grid(on),
        f'<line class="whisker {ink}" x1="{on.at(what.low)}" x2="{on.at(what.high)}" y1="11" y2="11"/>',
        f'<rect class="box {ink}" x="{on.at(what.first)}" width="{width}" y="4" height="14" rx="2"/>',
        f'<line class="median" x1="{on.at(what.median)}" x2="{on.at(what.median)}" y1="3" y2="19"/>',
    ]
    return _svg("".join(parts), title)


def stacked(counts: Sequence[int], inks: Sequence[str], *, title: str = "") -> Markup:
    """Return one bar divided in proportion to the counts."""
    total = sum(counts)
    start = 0
    parts = []
    for count, ink in zip(counts, inks, strict=True):
        if count:
            x = 100 * start / total
            width = 100 * count / total
            parts.append(f'<rect class="{ink}" x="{x:.2f}%" width="{width:.2f}%" y="3" height="16"/>')
        start += count
    return _svg("".join(parts), title)


def bar(share: float, *, ink: str = "one", title: str = "") -> Markup:
    """Return one bar from the left, over ``share`` of the width."""
    return _svg(
        f'<rect class="{ink}" x="0" width="{100 * min(max(share, 0), 1):.2f}%" y="4" height="14" rx="2"/>',
        title,
    )


def heat(ratio: float | None, most: float) -> tuple[str, str]:
    """Return the side (up, down or even) of a ratio and how strong its colour is (0..1); ``most`` is the
    largest |log| of the matrix.

    >>> heat(2.0, math.log(2)), heat(0.5, math.log(4)), heat(1.0, 0.0)
    (('up', '1.00'), ('down', '0.50'), ('even', '0.00'))
    """
    if ratio is None or ratio <= 0 or ratio == 1 or most <= 0:
        return "even", "0.00"
    return ("up" if ratio > 1 else "down"), f"{min(abs(math.log(ratio)) / most, 1):.2f}"


def _grid(on: Axis) -> str:
    return "".join(
        f'<line class="grid" x1="{on.at(t)}" x2="{on.at(t)}" y1="0" y2="{_ROW}"/>' for t in on.ticks
    )


def _svg_text(x: str, text: str, anchor: str, kind: str) -> str:
    return f'<text x="{x}" y="12" text-anchor="{anchor}" class="{kind}">{text}</text>'


def _svg(inside: str, title: str, *, height: int = _ROW, hidden: bool = False) -> Markup:
    says = Markup('aria-hidden="true"') if hidden or not title else Markup('role="img"')
    head = Markup("<title>") + escape(title) + Markup("</title>") if title else Markup("")
    start = Markup('<svg class="plot" width="100%" height="{}" {}>').format(height, says)
    return start + head + Markup(inside) + Markup("</svg>")  # noqa: S704 - numbers and escaped words
