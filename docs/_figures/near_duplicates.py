"""How often intervals hold the margins by first images if duels chose which near-duplicate is labelled: a row a
way to group images, a dot a number of labels.
"""

from __future__ import annotations

from _figures.drawing import (
    BLUE,
    GREEN,
    MUTED,
    ORANGE,
    Drawing,
    add_key,
    draw_dots,
    finish_figure,
    make_panel,
)
from _figures.tables import numbers, read_rows

LABELS = {"20": (ORANGE, "o"), "50": (GREEN, "s"), "100": (BLUE, "D")}


def draw_held() -> Drawing:
    """Return one panel."""
    table = read_rows("near_duplicates")
    named = [(f"{row['groups'].partition(',')[0]}; {row['duels']}", row) for row in table]
    rows = list(dict.fromkeys(name for name, _ in named))
    figure, axes = make_panel(5.6, 1.5 + 0.26 * len(rows))
    axes.axvspan(92, 98, color=MUTED, alpha=0.12, linewidth=0)
    axes.axvline(95, color=MUTED, linewidth=1, linestyle="--")
    points = [
        (name, numbers(row["held with, %"])[0], float("nan"), *LABELS[row["labels"]]) for name, row in named
    ]
    draw_dots(axes, rows, points)
    axes.set_xlim(75, 100)
    axes.set_xlabel("intervals that hold, %")
    add_key(axes, [(f"{labels} labels", *style) for labels, style in LABELS.items()])
    return finish_figure(
        [figure],
        "Share of 95 % intervals that hold margins by first images, one row a way to group images, one dot"
        " for 20, 50 and 100 labels. All groups that collect finds lie near 95 %; runs of frames lie below.",
    )
