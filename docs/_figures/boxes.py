"""What boxes leave open: the values of IoU that fit them, a bar a class, and the one that masks give."""

from __future__ import annotations

from _figures.drawing import BLUE, GREY, Drawing, finish_figure, make_panel
from _figures.tables import read_rows


def draw_bounds() -> Drawing:
    """Return one panel: a bar a class from the lowest to the highest IoU, a dot at that of masks."""
    rows = [row for row in read_rows("boxes") if row["metric"] == "iou" and row["fill"] == "none"]
    names = [row["class"] for row in rows][::-1]
    figure, axes = make_panel(4.6, 1.0 + 0.26 * len(rows))
    for place, row in enumerate(reversed(rows)):
        axes.plot([float(row["low"]), float(row["high"])], [place, place], color=GREY, linewidth=5, alpha=0.6)
        axes.plot(float(row["value"]), place, "o", color=BLUE, markersize=6)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(0, 1.02)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("IoU, mean over ten networks")
    return finish_figure(
        [figure], "Values of IoU that fit boxes, from nearly 0 up to a bound, and those of masks, by class."
    )
