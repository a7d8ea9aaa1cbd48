"""How far each selector lies behind the best of every data set: a row a selector, a dot a set."""

from __future__ import annotations

from _figures.drawing import (
    BLUE,
    GREEN,
    GREY,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    VIOLET,
    Drawing,
    add_key,
    draw_dots,
    finish_figure,
    make_panel,
)
from _figures.tables import Row, numbers, read_rows, read_table

SETS = ("emotion", "cue-conflict", "16class-22nets", "camvid-zoo", "16class-confidence")
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, VIOLET)
MARKERS = "osD^v"
NEVER = (
    "entropy, top",
    "mad, top of each pair",
    "information, top",
    "model-picker",
)  # of unknown probabilities
GOALS = {
    "order": ("The order of all", "rank correlation lost against the best of the set"),
    "best": ("Which is best", "points lost over labels 1 to 100"),
}


def best_rows(goal: str) -> list[Row]:
    """Return the row of the ranking with which each selector has the smallest largest regret, best first."""
    out: dict[str, Row] = {}
    for row in read_rows("choice"):
        if row["goal"] == goal:
            out.setdefault(row["selector"], row)  # rows are sorted
    return list(out.values())


def draw_regrets() -> Drawing:
    """Return a panel a goal: how far each selector lies behind the best of each set."""
    panels = []
    for goal, (title, xlabel) in GOALS.items():
        rows = best_rows(goal)
        figure, axes = make_panel(5.4, 4.4)
        names = [row["selector"] for row in rows]
        points = [
            (row["selector"], numbers(row[name])[0], float("nan"), colour, marker)
            for row in rows
            for name, colour, marker in zip(SETS, COLOURS, MARKERS, strict=True)
            if row[name]
        ]
        for row in rows:
            seen = [numbers(row[name])[0] for name in SETS if row[name]]
            place = len(rows) - 1 - names.index(row["selector"])
            axes.plot([min(seen), max(seen)], [place, place], color=GREY, linewidth=0.8, zorder=1)
        draw_dots(axes, names, points)
        for label in axes.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() == chosen(goal) else "normal")
            label.set_color(MUTED if label.get_text() in NEVER else INK)
        axes.set_title(title, color=INK)
        axes.set_xlabel(xlabel)
        axes.set_xlim(left=0 if goal == "best" else -0.01)
        add_key(axes, zip(SETS, COLOURS, MARKERS, strict=True))
        panels.append(figure)
    return finish_figure(
        panels,
        "For each selector with its best ranking, how far it lies behind the best of each data"
        " set: for the order of all models, and for which is best."
        " The recommended selectors have the smallest largest loss.",
    )


def chosen(goal: str) -> str:
    """Return the selector that the page recommends for a goal."""
    (row,) = [row for row in read_table("choice", "goal", "selector", "ranking") if row["goal"] == goal]
    return row["selector"]
