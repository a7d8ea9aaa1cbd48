"""What images teach that were chosen in five ways: mIoU, and its difference to uniform choice, by their number."""

from __future__ import annotations

from _figures.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    Drawing,
    finish_figure,
    label_ends,
    make_panel,
)
from _figures.tables import read_rows

COLOURS = {"uniform": GREY, "draws": BLUE, "duels": ORANGE, "entropy": PURPLE, "core-set": GREEN}


def draw_curves() -> Drawing:
    """Return two panels: mean mIoU of each way, and its difference to ``uniform`` with intervals."""
    rows = read_rows("loop")
    images = [int(row["images"]) for row in rows if row["way"] == "uniform"]
    panels = []
    for place, (column, title) in enumerate((("miou", "mIoU, %"), ("difference", "Points from uniform"))):
        figure, axes = make_panel(4.2, 3.2)
        ends = []
        for k, (way, colour) in enumerate(COLOURS.items()):
            mine = [row for row in rows if row["way"] == way]
            value = [100 * float(row[column]) for row in mine]
            axes.plot(images, value, color=colour, marker="o")
            if place and way != "uniform":
                shifted = [number + 0.7 * (k - 2.5) for number in images]
                low, high = ([100 * float(row[end]) for row in mine] for end in ("low", "high"))
                axes.vlines(shifted, low, high, color=colour, linewidth=1.2, alpha=0.6)
            ends.append((images[-1], value[-1], way, colour))
        axes.set_xticks(images)
        axes.set_title(title)
        axes.set_xlabel("images labelled beside the first 24")
        label_ends(axes, ends)
        panels.append(figure)
    return finish_figure(
        panels,
        "mIoU on test frames by the number of labelled images, for five ways of choosing them, and the"
        " differences to uniform choice with 95 % intervals.",
    )
