"""How often intervals of `measure` hold the value of all images: a row a metric, a dot a number of images."""

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

SIZES = {"10": (ORANGE, "o"), "30": (GREEN, "s"), "100": (BLUE, "D")}
PANELS = {"maps": "Label maps", "scores": "Scores per pixel", "anomaly": "Unknown objects"}


def read_shares(population: str) -> dict[str, dict[str, float]]:
    """Return {metric: {images: share of intervals that hold}}."""
    return {
        row["metric"]: {size: numbers(row[size])[0] for size in SIZES}
        for row in read_rows("intervals")
        if row["population"] == population
    }


def draw_shares() -> Drawing:
    """Return a panel a kind of metric."""
    panels = []
    for population, title in PANELS.items():
        shares = read_shares(population)
        figure, axes = make_panel(4.2, 1.5 + 0.26 * len(shares))
        axes.axvspan(0.92, 0.98, color=MUTED, alpha=0.12, linewidth=0)
        axes.axvline(0.95, color=MUTED, linewidth=1, linestyle="--")
        points = [
            (metric, max(by[size], 0.84), float("nan"), *SIZES[size])
            for metric, by in shares.items()
            for size in SIZES
        ]
        draw_dots(axes, list(shares), points)
        for metric, by in shares.items():
            if min(by.values()) < 0.84:
                place = len(shares) - 1 - list(shares).index(metric)
                axes.annotate(
                    "below .84", (0.845, place), xytext=(6, 0), textcoords="offset points", va="center"
                )
        axes.set_xlim(0.835, 1)
        axes.set_xticks([0.85, 0.9, 0.95, 1], [".85", ".90", ".95", "1"])
        axes.set_title(title)
        axes.set_xlabel("share of intervals that hold")
        add_key(axes, [(f"{size} images", *style) for size, style in SIZES.items()])
        panels.append(figure)
    return finish_figure(
        panels,
        "Share of 95 % intervals that hold the value of all images, one row a metric, one dot for"
        " 10, 30 and 100 images. Most lie between .92 and .98; SQ and FPR95 hold less often.",
    )
