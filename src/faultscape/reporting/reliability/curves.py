"""Training curves: one line per model, against steps.

Conventions: as in figures: colours are CSS classes, text is escaped, and a drawing has its numbers in a
title. Lines are in an inner SVG that is stretched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from faultscape.reporting import figures
from faultscape.reporting.figures import Axis
from faultscape.reporting.measure.figures import from_zero, ink
from faultscape.reporting.reliability.document import Card

_LEFT, _WIDE = 13.0, 83.0  # per cent of the width
_TOP, _FOOT = 8, 22  # pixels above and below the frame


@dataclass(frozen=True)
class Curve:
    """A model's numbers by ascending step, and the index of its colour."""

    model: str
    points: tuple[tuple[float, float], ...]
    place: int


def training(card: Card) -> dict[str, Any] | None:
    """Return the models that were trained here, with their loss and validation curves; None without any."""
    rows = [
        (place, model["name"], model["training"])
        for place, model in enumerate(card["models"])
        if "training" in model
    ]
    if not rows:
        return None
    charts = []
    for title, better, points in (
        ("Training loss", "low", [about["losses"] for _, _, about in rows]),
        (
            "Validation mIoU",
            "high",
            [[[step, miou] for step, miou, _ in about["watched"]] for _, _, about in rows],
        ),
        (
            "Validation NLL",
            "low",
            [[[step, nll] for step, _, nll in about["watched"]] for _, _, about in rows],
        ),
    ):
        curves = [
            Curve(name, tuple((step, value) for step, value in held if math.isfinite(value)), place)
            for (place, name, _), held in zip(rows, points, strict=True)
        ]
        if curves := [curve for curve in curves if curve.points]:
            values = [value for curve in curves for _, value in curve.points]
            charts.append(
                {"title": title, "better": better, "curves": curves, "axis": from_zero(values, at_most=4)}
            )
    return {
        "rows": [{"place": place, "name": name, **about} for place, name, about in rows],
        "charts": charts,
    }


def curve_chart(curves: Sequence[Curve], on: Axis, title: str, *, height: int = 190) -> Markup:
    """Return lines against steps, from 0 to the last; a line of one point is a dot.

    >>> "<path" in curve_chart([Curve("a", ((1, 0.9), (8, 0.4)), 0)], Axis(0.0, 1.0, (0.0, 1.0)), "loss")
    True
    """
    bottom = height - _FOOT
    last = max(step for curve in curves for step, _ in curve.points)
    across = figures.axis([0.0, last], at_most=4)
    ticks = [tick for tick in across.ticks if 0 <= tick <= last]
    inner = (
        f'<svg x="{_LEFT}%" y="{_TOP}" width="{_WIDE}%" height="{bottom - _TOP}" viewBox="0 0 1000 1000"'
        ' preserveAspectRatio="none">'
    )
    parts = [_fixed(_frame(on, ticks, last, bottom))]
    for curve in curves:
        says = escape(
            f"{curve.model}: {curve.points[0][1]:.3f} at step {curve.points[0][0]:g},"
            f" {curve.points[-1][1]:.3f} at step {curve.points[-1][0]:g}"
        )
        head = _fixed(f'<g class="line {ink(curve.place)}" data-model="{curve.place}"><title>')
        path = "L".join(f"{1000 * step / last:.1f} {_part(on, value):.1f}" for step, value in curve.points)
        drawn = f'{inner}<path class="curve" d="M{path}"/></svg>' if len(curve.points) > 1 else ""
        step, value = max(curve.points)  # the last
        dot = (
            f'<circle class="dot" cx="{_LEFT + _WIDE * step / last:.2f}%"'
            f' cy="{_TOP + (bottom - _TOP) * _part(on, value) / 1000:.1f}" r="2.8"/>'
        )
        parts += [head, says, _fixed(f"</title>{drawn}{dot}</g>")]
    words = f"{title}, by step: {'; '.join(curve.model for curve in curves)}"
    start = _fixed(
        f'<svg class="plot severity" width="100%" height="{height}" role="img" aria-label="'
    ) + escape(words)
    return start + Markup('">') + Markup("").join(parts) + Markup("</svg>")


def _frame(on: Axis, ticks: Sequence[float], last: float, bottom: int) -> str:
    rows = []
    for tick in on.ticks:
        y = f"{_TOP + (bottom - _TOP) * _part(on, tick) / 1000:.1f}"
        rows.append(f'<line class="grid" x1="{_LEFT}%" x2="{_LEFT + _WIDE}%" y1="{y}" y2="{y}"/>')
        rows.append(
            f'<text x="{_LEFT - 1.5}%" y="{float(y) + 4:.1f}" text-anchor="end">{on.text(tick)}</text>'
        )
    rows += [
        f'<text x="{_LEFT + _WIDE * tick / last:.2f}%" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        for tick in ticks
    ]
    return "".join(rows)


def _part(on: Axis, value: float) -> float:
    """Return the vertical position of a value in the inner drawing, 0..1000 from the top."""
    return 1000 - 1000 * min(max((value - on.low) / (on.high - on.low), 0.0), 1.0)


def _fixed(text: str) -> Markup:
    """Return numbers and constant text, which need no escaping, as markup."""
    return Markup(text)  # noqa: S704
