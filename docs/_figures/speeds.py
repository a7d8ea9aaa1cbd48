"""Measured speeds: how many times less time than a named peer, and milliseconds beside the peers'."""

from __future__ import annotations

import math
import re
import textwrap

from _figures.drawing import (
    BLUE,
    GREEN,
    GREY,
    MUTED,
    ORANGE,
    PURPLE,
    Drawing,
    add_key,
    draw_dots,
    finish_figure,
    make_panel,
)
from _figures.tables import Row, numbers, read_rows, read_table, value_and_error

NAN = float("nan")


def read_ratios(page: str) -> list[tuple[str, float, float]]:
    """Return (what, times less than the peer, target or NaN) of the rows that are ratios above 1."""
    out = []
    for row in read_rows(page):
        if (told := re.match(r"([\d.]+)x", row["measured"])) and (times := float(told[1])) > 1:
            wanted = re.match(r">= ([\d.]+)x", row["target"])
            out.append((row["what"].replace("`", ""), times, float(wanted[1]) if wanted else NAN))
    return out


def draw_ratios(page: str) -> Drawing:
    """Return one panel: a row a measurement, a dot for what was measured and a tick for the target."""
    rows = sorted(read_ratios(page), key=lambda row: -row[1])
    figure, axes = make_panel(5.8, 1.2 + 0.46 * len(rows))
    names = [shorten(what) for what, _, _ in rows]
    draw_dots(axes, names, [(n, times, NAN, BLUE, "o") for n, (_, times, _) in zip(names, rows, strict=True)])
    targets = [
        (n, wanted, NAN, ORANGE, "|")
        for n, (_, _, wanted) in zip(names, rows, strict=True)
        if not math.isnan(wanted)
    ]
    draw_dots(axes, names, targets)
    axes.set_xscale("log")
    axes.axvline(1, color=MUTED, linewidth=1)
    ticks = [1, 10, 100, 1000]
    axes.set_xticks(ticks, [f"{tick:,}x" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("times less time than the peer")
    add_key(axes, [("measured", BLUE, "o"), ("target", ORANGE, "|")])
    return finish_figure(
        [figure], "How many times less time each measured step takes than its peer, with the targets."
    )


def shorten(what: str) -> str:
    """Return what was measured in some sixty letters, on two lines."""
    plain = re.sub(r"\s*\((?!one pair)[^()]*\)|, against scikit-learn.*|^region metrics, ", "", what)
    short = plain if len(plain) <= 66 else plain[:64].rsplit(" ", 1)[0] + " …"
    return textwrap.fill(short, 36)


def draw_corruptions() -> Drawing:
    """Return one panel: milliseconds of each corruption, ours and two peers'."""
    rows = [row for row in read_rows("corruption_speed") if row["size"] == "1024 x 2048"]
    rows = [row for row in rows if row["corruption"] != "sum"]
    peers = {"ours": (BLUE, "o"), "imagecorruptions": (ORANGE, "s"), "corrupt_tta": (GREY, "^")}
    figure, axes = make_panel(6.6, 4.6)
    names = [row["corruption"].replace("_", " ") for row in rows]
    for peer, (colour, marker) in peers.items():
        values = [numbers(row[f"{peer}, ms"])[0] for row in rows]
        draw_dots(axes, names, [(n, v, NAN, colour, marker) for n, v in zip(names, values, strict=True)])
    axes.set_xscale("log")
    axes.set_xticks([1, 10, 100, 1000, 10000], ["1", "10", "100", "1,000", "10,000"])
    axes.minorticks_off()
    axes.set_xlabel("milliseconds an image of 1024 x 2048, one thread")
    add_key(axes, [(peer, *look) for peer, look in peers.items()])
    return finish_figure(
        [figure],
        "Milliseconds of every corruption at severity 3:"
        " Faultscape's beside imagecorruptions and corrupt_tta.",
    )


def draw_throughput() -> Drawing:
    """Return one panel: the share of a network's bare speed that `predict` keeps."""
    rows = read_table("inference", "network", "share")
    figure, axes = make_panel(6.0, 2.6)
    names = [f"{short_network(row)}, {row['bare, frames a second']} images/s" for row in rows]
    axes.barh(names[::-1], [numbers(row["share"])[0] for row in rows][::-1], color=BLUE, height=0.6)
    axes.set_xlim(0, 104)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("speed of the bare network that predict keeps, %")
    return finish_figure(
        [figure],
        "Share of a network's bare speed that predict keeps: 99 % of SegFormer-b0, less of tiny networks.",
    )


def short_network(row: Row) -> str:
    return row["network"].partition(",")[0].partition(" size")[0].replace("demo: ", "")


def draw_waits() -> Drawing:
    """Return one panel: how long a cycle of five requests takes, by how many take less."""
    rows = read_table("people", "answers in", "cycle, p50 / p95 / p99 ms")
    figure, axes = make_panel(6.0, 2.2)
    names = [f"{row['answers in']} ({row['cycles a second']}/s)" for row in rows]
    shown = (("half take less", BLUE, "o"), ("19 of 20", GREEN, "s"), ("99 of 100", PURPLE, "D"))
    for place, (_, colour, marker) in enumerate(shown):
        values = [numbers(row["cycle, p50 / p95 / p99 ms"])[place] for row in rows]
        draw_dots(axes, names, [(n, v, NAN, colour, marker) for n, v in zip(names, values, strict=True)])
    axes.axvline(100, color=ORANGE, linewidth=1, linestyle="--")
    axes.set_xlim(0, 105)
    axes.set_xlabel("milliseconds a cycle (dashed: target for 19 of 20)")
    add_key(axes, shown)
    return finish_figure(
        [figure], "Milliseconds from one item to the next with fifty people who answer at once."
    )


def draw_costs() -> Drawing:
    """Return one panel: what each scorer adds to the forward passes that it needs, in percent."""
    rows = read_table("reliability", "scorer", "share of the forward passes")
    figure, axes = make_panel(6.0, 3.2)
    names = [row["scorer"] for row in rows]
    kinds = {"share of the forward passes": (BLUE, "o"), "share": (GREY, "s")}
    for column, (colour, marker) in kinds.items():
        points = [(row["scorer"], value_and_error(row[column])[0], NAN, colour, marker) for row in rows]
        draw_dots(axes, names, points)
    axes.axvline(10, color=ORANGE, linewidth=1, linestyle="--")
    axes.set_xlim(0, 10.5)
    axes.set_xlabel("% of the forward passes (dashed: target)")
    add_key(axes, [("images with unknown objects", BLUE, "o"), ("corrupted images", GREY, "s")], columns=2)
    return finish_figure(
        [figure], "What each scorer adds to the forward passes: 2 to 5.3 %, below the target of 10 %."
    )
