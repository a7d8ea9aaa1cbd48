"""What scores of doubt and heads find: average precision over seeds, and differences to a plain head."""

from __future__ import annotations

from _figures.drawing import (
    BLUE,
    GREY,
    MUTED,
    ORANGE,
    Drawing,
    add_key,
    draw_dots,
    finish_figure,
    label_ends,
    make_panel,
)
from _figures.tables import numbers, read_rows, value_and_error

SETS = {"blended v2": "Blended objects", "held out": "Classes withheld from training"}
TAUGHT = ("residual", "outlier", "uno")  # scores that unknown objects taught
HEADS = {"corrupted mIoU": "mIoU on corrupted images", "ECE": "ECE", "held out AP": "AP of withheld classes"}
BACKBONES = {"segmenter-T/16": (ORANGE, "s", 0.14), "segformer-b0": (BLUE, "o", -0.14)}


def draw_precisions() -> Drawing:
    """Return a panel a kind of unknown object: AP of every score with its standard deviation over seeds."""
    panels = []
    rows = read_rows("doubt_taught")
    best: dict[str, str] = {}
    for name, title in SETS.items():
        mine = [row for row in rows if row["set"] == name]
        mine.sort(key=lambda row: -float(row["average_precision"]))
        chance = next(float(row["average_precision"]) for row in mine if row["score"] == "random")
        figure, axes = make_panel(5.4, 4.2)
        axes.axvline(chance, color=MUTED, linewidth=1, linestyle="--")
        points = []
        for row in mine:
            called = row["score"] if row["network"] == "linear" else f"{row['score']} ({row['network']})"
            taught = row["score"].startswith(TAUGHT)
            colour, marker = (ORANGE, "s") if taught else (BLUE, "o")
            points.append(
                (called, float(row["average_precision"]), float(row["deviation"] or 0), colour, marker)
            )
        best[name] = f"{points[0][0]} with {points[0][1]:.2f}, where chance is {chance:.2f}"
        draw_dots(axes, [point[0] for point in points], points)
        axes.set_xlim(left=0)
        axes.set_title(title)
        axes.set_xlabel("average precision (dashed: chance)")
        kinds = [("no unknown objects seen", BLUE, "o"), ("taught by unknown objects", ORANGE, "s")]
        add_key(axes, kinds, columns=2)
        panels.append(figure)
    return finish_figure(
        panels,
        "Average precision of every score, with its standard deviation over seeds. On blended objects the"
        f" best is {best['blended v2']}; on withheld classes {best['held out']}.",
    )


def draw_editions() -> Drawing:
    """Return one panel: AP of each network's best score on two editions of a blended set."""
    rows = read_rows("doubt_editions")
    figure, axes = make_panel(5.6, 3.6)
    ends = []
    for row in rows:
        values = [numbers(row[edition])[0] for edition in ("2026-10", "2026-11")]
        colour = GREY if row["model"] == "chance" else ORANGE if "ood" in row["trained"] else BLUE
        axes.plot(
            [0, 1], values, color=colour, marker="o", linestyle="--" if "ood" in row["trained"] else "-"
        )
        ends.append((1, values[1], row["best variant"] or "chance", colour))
    axes.set_xticks([0, 1], ["2026-10", "2026-11"])
    axes.set_ylim(bottom=0)
    axes.set_xlim(-0.05, 1.03)
    axes.set_ylabel("average precision")
    axes.set_title("Two editions, 40 frames each")
    label_ends(axes, ends)
    return finish_figure(
        [figure],
        "Average precision of each network's best score on two editions of a blended set:"
        " mahalanobis is first on both; the others lie close together and change places.",
    )


def draw_heads() -> Drawing:
    """Return a panel a number: what each head changes against the linear network of its own seed."""
    rows = read_rows("head_differences")
    heads = list(dict.fromkeys(row["head"] for row in rows))
    panels = []
    for column, title in HEADS.items():
        figure, axes = make_panel(3.7, 2.6)
        axes.axvline(0, color=MUTED, linewidth=1)
        for backbone, (colour, marker, shift) in BACKBONES.items():
            own = [
                (row["head"], *value_and_error(row[column]), colour, marker)
                for row in rows
                if row["backbone"] == backbone
            ]
            draw_dots(axes, heads, own, shift)
        axes.set_title(title)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel("difference to the linear head")
        add_key(axes, [(name, colour, marker) for name, (colour, marker, _) in BACKBONES.items()])
        panels.append(figure)
    return finish_figure(
        panels,
        "What each head changes against the linear network of its own seed, with the standard"
        " deviation over three seeds: mIoU on corrupted images, ECE, and AP of withheld classes.",
    )
