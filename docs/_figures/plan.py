"""What `plan` predicts against what is needed: a dot a data set and selector, with its range."""

from __future__ import annotations

from _figures.drawing import (
    BLUE,
    GREEN,
    MUTED,
    ORANGE,
    PURPLE,
    VIOLET,
    Drawing,
    add_key,
    finish_figure,
    make_panel,
)
from _figures.tables import numbers, read_rows

COLOURS = {
    "emotion": BLUE,
    "cue-conflict": ORANGE,
    "16class-22nets": GREEN,
    "frames": PURPLE,
    "crops": VIOLET,
}
MARKERS = dict(zip(COLOURS, "osD^v", strict=True))
MOMENTS = {
    "named at the start (90 % of worlds)": "Before any label",
    "named half way": "From half of the labels needed",
}
Prediction = tuple[str, float, float, float, float]


def read_predictions(moment: str) -> list[Prediction]:
    """Return (set, needed, predicted, low, high) of the question which model is best."""
    return [
        (row["set"], numbers(row["really needed"])[0], *numbers(row[moment])[:3])
        for row in read_rows("plan")
        if row["question"] == "which is best"
    ]


def draw_predictions() -> Drawing:
    """Return a panel a moment: predicted against needed numbers of labels, both on logarithmic axes."""
    panels = []
    for moment, title in MOMENTS.items():
        figure, axes = make_panel(4.4, 4.2)
        axes.plot([5, 12000], [5, 12000], color=MUTED, linewidth=1, linestyle="--")
        for name, needed, named, low, high in read_predictions(moment):
            axes.plot([needed, needed], [low, high], color=COLOURS[name], alpha=0.35, linewidth=1.6)
            axes.plot(needed, named, color=COLOURS[name], marker=MARKERS[name], linestyle="")
        ticks = [10, 100, 1000, 10000]
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_visible(True)
        axes.set(xscale="log", yscale="log", xlim=(100, 12000), ylim=(5, 12000))
        axes.set_xticks(ticks[1:], [f"{tick:,}" for tick in ticks[1:]])
        axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.minorticks_off()
        axes.set_title(title)
        axes.set_xlabel("labels needed")
        axes.set_ylabel("labels predicted")
        add_key(axes, [(name, colour, MARKERS[name]) for name, colour in COLOURS.items()])
        panels.append(figure)
    return finish_figure(
        panels,
        "Labels that plan predicts against labels needed to find the best model, with the range"
        " that plan gives: before any label, and from half of the"
        " labels needed. On the dashed line both are equal.",
    )
