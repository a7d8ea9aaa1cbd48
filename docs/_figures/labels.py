"""How many labels a ranking needs: curves of the correlation with the ranking by all labels, by data set."""

from __future__ import annotations

import csv
from pathlib import Path

from _figures.drawing import (
    BLUE,
    GOLD,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    Drawing,
    finish_figure,
    label_ends,
    make_panel,
)

DATA = Path(__file__).parents[1] / "benchmarks" / "data" / "label_curves.csv"
TITLES = {
    "emotion": "emotion, 8 classifiers",
    "cue-conflict": "cue-conflict, 16 classifiers",
    "16class-22nets": "16class-22nets, 22 classifiers",
    "frames": "CamVid frames, 10 networks",
    "crops": "CamVid crops, 10 networks",
}
COLOURS = {
    "random": GREY,
    "disputed": GREEN,
    "expected-loss": PURPLE,
    "vma": GOLD,
    "mad, temperature 1": BLUE,
    "entropy, top": ORANGE,
}
NAMES = {"mad, temperature 1": "mad", "entropy, top": "entropy"}
TICKS = (25, 50, 100, 200, 400)


def read_curves() -> dict[str, dict[str, list[dict[str, float]]]]:
    """Return {set: {selector: rows by the number of labels}}."""
    out: dict[str, dict[str, list[dict[str, float]]]] = {}
    with DATA.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            point = {key: float(row[key]) for key in list(row)[3:]}
            out.setdefault(row["set"], {}).setdefault(row["selector"], []).append(point)
    return {
        name: {s: sorted(curve, key=lambda point: point["labels"]) for s, curve in out[name].items()}
        for name in TITLES
        if name in out
    }


def draw_curves() -> Drawing:
    """Return a panel a data set: the mean of each selector, a band between the quartiles of repeats."""
    panels = []
    for name, curves in read_curves().items():
        figure, axes = make_panel(3.9, 3.0)
        ends = []
        for selector, colour in COLOURS.items():
            points = curves[selector]
            labels, rho = [p["labels"] for p in points], [p["rho"] for p in points]
            if selector != "entropy, top":  # its images are the same in every repeat
                low, high = [p["low"] for p in points], [p["high"] for p in points]
                axes.fill_between(labels, low, high, color=colour, alpha=0.1, linewidth=0)
            axes.plot(labels, rho, color=colour, linestyle="--" if selector == "entropy, top" else "-")
            ends.append((labels[-1], rho[-1], NAMES.get(selector, selector), colour))
        axes.set_xscale("log")
        axes.set_xticks([t for t in TICKS if t <= labels[-1]], [str(t) for t in TICKS if t <= labels[-1]])
        axes.minorticks_off()
        axes.set_ylim(top=1)
        axes.set_title(TITLES[name])
        axes.set_xlabel("labels")
        axes.set_ylabel("rank correlation")
        label_ends(axes, ends)
        panels.append(figure)
    return finish_figure(
        panels,
        "Rank correlation with the ranking by all labels against the number of labels, one panel a data set,"
        " one curve a selector; the table below has those at 100 labels.",
    )
