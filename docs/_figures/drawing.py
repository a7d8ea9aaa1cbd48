"""Figures as inline SVG that follows the page: its colours in light and dark, its font, its width.

Conventions: a figure is one or more panels, small matplotlib figures that stand side by side where there is
room and one below the other on a phone. Colours are drawn from ``SERIES``; on the page each becomes a CSS
variable with a value for light and one for dark pages, so that one figure serves both.
Source: colours after Okabe and Ito 2008, darker on white and lighter on black.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, MUTED, LINE = "#1c1f23", "#5b6069", "#d9dbdf"
SERIES = {  # on light pages: on dark ones
    "#0067a3": "#5db8ef",
    "#c24e00": "#ff9a4d",
    "#007a58": "#3fcf9f",
    "#9c4589": "#e9a3d3",
    "#7d6000": "#e8bb2e",
    "#3d3fae": "#a9abff",
    "#5f6670": "#a9b0ba",
}
BLUE, ORANGE, GREEN, PURPLE, GOLD, VIOLET, GREY = SERIES
DARK = {INK: "#e8eaed", MUTED: "#a4abb5", LINE: "#41464e", **SERIES}
MARKERS = "osD^vPX"
STYLE = {
    "svg.fonttype": "none",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "lines.linewidth": 1.8,
    "lines.markersize": 4.5,
}
mpl.rcParams.update(STYLE)


@dataclass(frozen=True)
class Drawing:
    """A finished figure; a notebook shows its HTML."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


def make_panel(width: float = 3.6, height: float = 2.9) -> tuple[Figure, Axes]:
    """Return an empty panel, in inches of 96 pixels."""
    return plt.subplots(figsize=(width, height), layout="constrained")


def finish_figure(panels: Sequence[Figure], says: str) -> Drawing:
    """Return panels as one figure; ``says`` is read out where the figure cannot be seen."""
    body = "".join(f'<div class="fs-panel">{panel_svg(panel)}</div>' for panel in panels)
    return Drawing(f'<div class="fs-figure" role="img" aria-label="{escape(says)}">{style()}{body}</div>')


def style() -> str:
    """Return the style sheet of a figure: one variable a colour, and panels in as many columns as fit."""
    names = {colour: f"--fs{colour.replace('#', '-')}" for colour in DARK}
    light = "".join(f"{names[colour]}:{colour};" for colour in DARK)
    dark = "".join(f"{names[colour]}:{value};" for colour, value in DARK.items())
    return (
        f"<style>.fs-figure{{{light}display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;margin:1rem 0}}"
        f'html[data-theme="dark"] .fs-figure{{{dark}}}'
        'html[data-theme="dark"] .bd-content div.cell_output .text_html:has(.fs-figure)'
        "{background:none!important;color:inherit!important;padding:0!important}"
        ".fs-panel{max-width:100%;overflow-x:auto}.fs-panel svg{background:none;max-width:100%;height:auto}"
        ".fs-figure:has(.fs-panel+.fs-panel) .fs-panel{flex:1 1 19rem}</style>"
    )


def panel_svg(panel: Figure) -> str:
    """Return the SVG of a panel, with the page's font and colours by name."""
    with mpl.rc_context({"svg.hashsalt": panel.axes[0].get_title(loc="left") or "panel"}):
        written = io.StringIO()
        panel.savefig(written, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    plt.close(panel)
    svg = written.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    own = hashlib.sha256(svg.encode()).hexdigest()[:6]  # ids are of a page, panels of their own
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{own}-", svg)
    svg = re.sub(r"(font: [^']*?)'[^;\"]*", r"\1system-ui, sans-serif", svg)
    for colour in DARK:
        svg = svg.replace(colour, f"var(--fs{colour.replace('#', '-')})")
    return svg


def label_ends(axes: Axes, ends: Iterable[tuple[float, float, str, str]], gap: float = 0.07) -> None:
    """Write names beside the right ends of curves, moved apart where they would overlap; an end is (x, y,
    name, colour) in data coordinates.
    """
    low, high = axes.get_ylim()
    told = sorted(ends, key=lambda end: end[1])
    at = [(end[1] - low) / (high - low) for end in told]
    for _ in range(200):
        for k in range(1, len(at)):
            if (near := gap - (at[k] - at[k - 1])) > 1e-6:
                at[k - 1], at[k] = at[k - 1] - near / 2, at[k] + near / 2
        if at and at[-1] > 1:
            at[-1] = 1.0
    for place, (_, _, name, colour) in zip(at, told, strict=True):
        axes.annotate(
            name, (1.02, place), xycoords="axes fraction", color=colour, va="center", annotation_clip=False
        )


def draw_dots(
    axes: Axes, rows: Sequence[str], points: Iterable[tuple[str, float, float, str, str]], shift: float = 0.0
) -> None:
    """Draw one row a name, with dots (row, value, error or NaN, colour, marker) on it."""
    place = {name: len(rows) - 1 - k for k, name in enumerate(rows)}
    for row, value, error, colour, marker in points:
        spread = None if math.isnan(error) else error
        axes.errorbar(
            value, place[row] + shift, xerr=spread, color=colour, elinewidth=1.4, linestyle="", **look(marker)
        )
    axes.set_yticks(list(place.values()), list(place), color=INK)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.grid(axis="y", visible=False)


def look(marker: str) -> dict[str, object]:
    """Return how a marker is drawn; a tick is taller than a dot."""
    return {"marker": marker} | ({"markersize": 10, "markeredgewidth": 2} if marker == "|" else {})


def add_key(axes: Axes, entries: Iterable[tuple[str, str, str]], columns: int = 3) -> None:
    """Write a legend above the axes: (name, colour, marker)."""
    lines = [
        mpl.lines.Line2D([], [], color=colour, linestyle="", label=name, **look(marker))
        for name, colour, marker in entries
    ]
    axes.figure.legend(
        handles=lines,
        loc="outside upper left",
        ncols=columns,
        frameon=False,
        labelcolor=INK,
        handletextpad=0.2,
        columnspacing=1.0,
        borderpad=0.0,
    )
