"""How often 95 % intervals of a ranking hold the score by all labels: curves with bands, a panel a goal."""

from __future__ import annotations

from _figures.drawing import (
    BLUE,
    GOLD,
    GREEN,
    GREY,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    VIOLET,
    Drawing,
    finish_figure,
    label_ends,
    make_panel,
)
from _figures.tables import numbers, read_rows, value_and_error

COLOURS = dict(
    zip(
        ("emotion", "cue-conflict", "16class-22nets", "frames", "crops", "colour", "noise"),
        (BLUE, ORANGE, GREEN, PURPLE, GOLD, VIOLET, GREY),
        strict=True,
    )
)
PANELS = (  # the goal, the ranking, its title
    ("order", "`prediction_powered`", "The order of all: prediction_powered"),
    ("best", "`reuse_margins`", "Which is best: reuse_margins"),
)
Curve = list[tuple[float, float, float]]


def read_held(goal: str, ranking: str) -> dict[str, Curve]:
    """Return {set: (labels, share held in %, standard error) in their order} of one ranking of one goal."""
    out: dict[str, Curve] = {}
    for row in read_rows("coverage"):
        if (row["goal"], row["ranking"]) == (goal, ranking) and row["held, %"] != "-":
            held, error = value_and_error(row["held, %"])
            out.setdefault(row["set"].partition(" (")[0], []).append((*numbers(row["labels"]), held, error))
    return out


def draw_held() -> Drawing:
    """Return a panel a goal: the share of intervals that hold, with bands of two standard errors."""
    panels = []
    for goal, ranking, title in PANELS:
        figure, axes = make_panel(5.0, 3.6)
        axes.axhspan(92, 98, color=MUTED, alpha=0.1, linewidth=0)
        axes.axhline(95, color=MUTED, linewidth=1, linestyle="--")
        ends = []
        for name, curve in read_held(goal, ranking).items():
            labels, held, error = zip(*curve, strict=True)
            low, high = ([h + sign * 2 * e for h, e in zip(held, error, strict=True)] for sign in (-1, 1))
            axes.fill_between(labels, low, high, color=COLOURS[name], alpha=0.15, linewidth=0)
            axes.plot(labels, held, color=COLOURS[name], marker="o")
            ends.append((labels[-1], held[-1], name, COLOURS[name]))
        axes.set_xscale("log")
        axes.set_xticks([25, 50, 100, 200, 400], ["25", "50", "100", "200", "400"])
        axes.minorticks_off()
        axes.set_ylim(84, 100.5)
        axes.set_title(title, color=INK)
        axes.set_xlabel("labels")
        axes.set_ylabel("intervals that hold, %")
        label_ends(axes, ends)
        panels.append(figure)
    return finish_figure(
        panels,
        "Share of 95 % intervals that hold the score by all labels, against the number of labels,"
        " one curve a data set. For the order of all models they"
        " hold 93 to 98 %; for which is best they hold less often on some sets.",
    )
