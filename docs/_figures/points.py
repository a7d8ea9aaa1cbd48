"""How few clicks: the error of differences against a person's minutes, for points and for whole masks."""

from __future__ import annotations

import csv
from pathlib import Path

from _figures.drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, Drawing, add_key, finish_figure, make_panel

DATA = Path(__file__).parents[1] / "benchmarks" / "data" / "points.csv"
SECONDS, MINUTES = 4, 25  # of a point; of a mask of a street with the eleven classes of CamVid
TITLES = {"ten": "CamVid, ten networks", "four": "the best four", "two": "the best two"}
CURVES = {
    "design": ("points", BLUE),
    "uniform+control": ("random points, control", GREEN),
    "uniform": ("random points", GREY),
    "masks": ("masks", ORANGE),
    "masks+control": ("masks, control", PURPLE),
}
TICKS = {10: "10 min", 60: "1 h", 600: "10 h"}


def read_curves() -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return {models: {method: (minutes, error in points) by budget}} of CamVid."""
    out: dict[str, dict[str, list[tuple[float, float]]]] = {}
    with DATA.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["set"] == "camvid" and row["method"] in CURVES:
                each = MINUTES if row["method"].startswith("masks") else SECONDS / 60
                curve = out.setdefault(row["models"], {}).setdefault(row["method"], [])
                curve.append((float(row["budget"]) * each, float(row["rmse"])))
    return {group: {method: sorted(curve) for method, curve in out[group].items()} for group in TITLES}


def draw_curves() -> Drawing:
    """Return a panel a group of models, a curve a way to label."""
    panels = []
    for group, curves in read_curves().items():
        figure, axes = make_panel(3.9, 3.4)
        key = []
        for method, (name, colour) in CURVES.items():
            if method in curves:
                minutes, error = zip(*curves[method], strict=True)
                axes.plot(minutes, error, color=colour, marker="o", markersize=3)
                key.append((name, colour, "o"))
        axes.set_xscale("log")
        axes.set_xticks(list(TICKS), list(TICKS.values()))
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_title(TITLES[group])
        axes.set_xlabel("a person's time")
        axes.set_ylabel("error of a difference, points")
        add_key(axes, key, columns=2)
        panels.append(figure)
    return finish_figure(
        panels,
        "Error of the differences of mIoU against the time a person needs, for points and for whole masks, one"
        " panel a group of models; the table below has the numbers.",
    )
