"""Draw columns of numbers with matplotlib: intervals, tables of who beats whom, points in two dimensions, and
curves.

Conventions: a drawing goes to the Axes that is given, or to a new one, which is returned; nothing is shown or
saved. Nothing sets a background, and text and lines have the colours of matplotlib's style in use: a drawing
is legible in light and dark. A model's colour follows from its name, so that it is the same in all drawings
of the same models. Names are shown as they are, never as formulas. matplotlib is imported when something is
drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

from faultscape.errors import ResultError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# each has a contrast of at least 3 with white and with #1e1e1e
PALETTE = (
    "#3a86c8",
    "#d9730d",
    "#2f9e44",
    "#e0484d",
    "#9a67d6",
    "#a8744f",
    "#d65db1",
    "#7f8a93",
    "#8f8a1f",
    "#1f9aa0",
)
_GREY = "#888888"  # of what is no model
_LONGEST = 30  # characters of a name
_WIDEST = 46  # characters of a line of text below or above a drawing
_LEGEND = 6  # lines whose names have room inside a drawing
_FEW = 12  # rows and columns of a matrix whose cells have room for a number


@dataclass(frozen=True)
class Mark:
    """A number to draw on a line of its own: below which heading, the name beside it, which model's colour it
    has, and its interval, None where it is not known.
    """

    name: str
    model: str
    value: float | None
    low: float | None = None
    high: float | None = None
    heading: str = ""  # '' for none
    filled: bool = True  # whether the dot is filled


def colours(models: Sequence[str]) -> dict[str, str]:
    """Return {model: its colour}, by name, grey for '': models that want the same take the next that is free.

    >>> colours(["unet", "fcn"]) == colours(["fcn", "unet"])
    True
    """
    taken = set[int]()
    found = dict[str, str]()
    for model in sorted({*models} - {""}):
        wanted = int.from_bytes(blake2b(model.encode(), digest_size=4).digest()) % len(PALETTE)
        places = [(wanted + k) % len(PALETTE) for k in range(len(PALETTE))]
        place = next((place for place in places if place not in taken), wanted)
        taken.add(place)
        found[model] = PALETTE[place]
    return found | {"": _GREY}


def intervals(
    ax: Axes | None,
    marks: Sequence[Mark],
    *,
    label: str,
    title: str,
    note: str = "",
    models: Sequence[str] = (),
    log: bool = False,
) -> Axes:
    """Draw a line for each mark, the first at the top: a dot at its value and a bar over its interval.

    ``note`` says what the bars are; ``models`` are all that the result knows, of which some may have no mark.
    """
    lines = _below_headings(marks)
    on = _axes(ax, height=1.3 + 0.3 * max(len(lines), 2))
    colour = colours([*models, *(mark.model for mark in marks)])
    for place, mark in enumerate(lines):
        if isinstance(mark, str):
            beside: dict[str, Any] = {"transform": on.get_yaxis_transform(), "va": "center", "clip_on": False}
            on.text(0.005, place, _named(mark, 90), fontweight="bold", fontsize=9, **beside)
            continue
        if _is_known(mark.low) and _is_known(mark.high):
            ends = [mark.low, mark.high]
            on.plot(ends, [place, place], color=colour[mark.model], linewidth=2.5, solid_capstyle="butt")
        if _is_known(mark.value):
            inside = {} if mark.filled else {"markerfacecolor": on.get_facecolor(), "markeredgewidth": 2}
            on.plot([mark.value], [place], "o", color=colour[mark.model], markersize=7, **inside)
    places = [place for place, line in enumerate(lines) if isinstance(line, Mark)]
    on.set_yticks(places, [_named(line.name) for line in lines if isinstance(line, Mark)])
    on.set_ylim(max(len(lines), 2) - 0.5, -0.5)
    on.tick_params(axis="y", length=0)
    if log:
        on.set_xscale("log")
        on.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        on.xaxis.set_minor_formatter(lambda value, _: f"{value:,.0f}" if _is_leading(value) else "")
    _finish(on, f"{label}\n{fill(note, _WIDEST)}".strip(), "", title, grid="x")
    return on


def _below_headings(marks: Sequence[Mark]) -> list[Mark | str]:
    """Return marks in the order of their headings, each heading before its marks."""
    lines = list[Mark | str]()
    for heading in dict.fromkeys(mark.heading for mark in marks):
        lines += [heading] if heading else []
        lines += [mark for mark in marks if mark.heading == heading]
    return lines


def matrix(
    ax: Axes | None,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    label: str,
    title: str,
) -> Axes:
    """Draw a matrix as coloured cells, with numbers where there is room; unknown cells stay empty."""
    high, wide = (min(0.55 * max(len(names), 2), 8.0) for names in (rows, columns))
    beside, below = (0.075 * min(max(map(len, names), default=0), _LONGEST) for names in (rows, columns))
    on = _axes(ax, height=max(1.0 + high + below, 3.0), width=max(2.2 + wide + beside, 5.0))
    known = [value for row in values for value in row if _is_known(value)]
    most = max(known, default=1.0)
    least = min(known, default=0.0)
    drawn = [[most if value == math.inf else value for value in row] for row in values]
    image = on.imshow(drawn, cmap="viridis", vmin=least, vmax=most if most > least else least + 1)
    if max(len(rows), len(columns)) <= _FEW:
        for i, row in enumerate(values):
            for k, value in enumerate(row):
                if not math.isnan(value):
                    text = (
                        "∞" if value == math.inf else f"{value:.2g}" if abs(value) < 99.5 else f"{value:.0f}"
                    )
                    on.text(k, i, text, ha="center", va="center", color=_on(image, drawn[i][k]), fontsize=9)
    on.set_xticks(range(len(columns)), [_named(name) for name in columns], rotation=90)
    on.set_yticks(range(len(rows)), [_named(name) for name in rows])
    on.tick_params(length=0)
    on.figure.colorbar(image, ax=on, label=label, shrink=0.8)
    _finish(on, "", "", title, grid="", widest=34)
    for side in on.spines.values():
        side.set_visible(False)
    return on


def bars(
    ax: Axes | None,
    rows: Sequence[tuple[str, Sequence[float]]],
    parts: Sequence[str],
    *,
    label: str,
    title: str,
) -> Axes:
    """Draw a bar for each row (its name; the lengths of its parts), the first at the top."""
    on = _axes(ax, height=1.8 + 0.3 * max(len(rows), 2))
    places = range(len(rows))
    for k, part in enumerate(parts):
        starts = [sum(lengths[:k]) for _, lengths in rows]
        lengths = [lengths[k] for _, lengths in rows]
        on.barh(places, lengths, left=starts, color=PALETTE[k % len(PALETTE)], label=part)
    on.set_yticks(places, [_named(name) for name, _ in rows])
    on.set_ylim(max(len(rows), 2) - 0.5, -0.5)
    if len(parts) > 1:
        on.legend(frameon=False, fontsize=9, ncols=2, loc="upper left", bbox_to_anchor=(0, -0.18))
    _finish(on, label, "", title, grid="x")
    return on


def boxes(ax: Axes | None, rows: Sequence[tuple[str, Sequence[float]]], *, label: str, title: str) -> Axes:
    """Draw a box for each row (its name; minimum, quartiles, maximum), the first at the top."""
    on = _axes(ax, height=1.3 + 0.3 * max(len(rows), 2))
    keys = ("whislo", "q1", "med", "q3", "whishi")
    held = [{**dict(zip(keys, five, strict=True)), "label": _named(name)} for name, five in rows]
    line = {"color": _GREY}
    middle = {"color": PALETTE[0], "linewidth": 2.5}
    on.bxp(
        held,
        positions=range(len(rows)),
        orientation="horizontal",
        showfliers=False,
        boxprops=line,
        whiskerprops={**line, "linestyle": "--"},
        capprops=line,
        medianprops=middle,
    )
    on.set_ylim(max(len(rows), 2) - 0.5, -0.5)
    _finish(on, label, "", title, grid="x")
    return on


def points(
    ax: Axes | None, across: Sequence[Mark], up: Sequence[Mark], *, labels: tuple[str, str], title: str
) -> Axes:
    """Draw a point for each model, with its intervals in both directions, and its name beside it."""
    on = _axes(ax, height=4.8)
    colour = colours([mark.model for mark in across])
    for x, y in zip(across, up, strict=True):
        if not (_is_known(x.value) and _is_known(y.value)):
            continue
        if _is_known(x.low) and _is_known(x.high):
            on.plot([x.low, x.high], [y.value, y.value], color=colour[x.model], linewidth=1.5)
        if _is_known(y.low) and _is_known(y.high):
            on.plot([x.value, x.value], [y.low, y.high], color=colour[x.model], linewidth=1.5)
        on.plot([x.value], [y.value], "o", color=colour[x.model], markersize=8)
    on.set_xlim(left=min(0, on.get_xlim()[0]))
    on.set_ylim(bottom=min(0, on.get_ylim()[0]))
    for x, y in zip(across, up, strict=True):
        if _is_known(x.value) and _is_known(y.value):
            is_right = float(x.value or 0) > sum(on.get_xlim()) / 2
            beside = {"xytext": (-7 if is_right else 7, 6), "textcoords": "offset points", "fontsize": 9}
            on.annotate(_named(x.name), (x.value, y.value), ha="right" if is_right else "left", **beside)
    _finish(on, *labels, title, grid="both")
    return on


def curves(
    ax: Axes | None,
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    labels: tuple[str, str],
    title: str,
    diagonal: str = "",
    levels: Mapping[str, float] | None = None,
    dots: bool = False,
    steps: bool = False,
    models: Sequence[str] = (),
) -> Axes:
    """Draw a curve for each model, from 0 to 1 in both directions.

    ``diagonal`` says what a curve on it means, ``levels`` are heights to compare with, {what they are:
    height}. In ``steps``, a height holds from the point before it.
    """
    on = _axes(ax, height=4.8)
    colour = colours([*models, *lines])
    held = []
    for name, (x, y) in lines.items():
        style = "steps-pre" if steps else "default"
        look: dict[str, Any] = {"color": colour[name], "linewidth": 2, "markersize": 4, "drawstyle": style}
        (line,) = on.plot(x, y, "o-" if dots else "-", **look)
        held.append((line, f" {_named(name)}"))  # a label that begins with _ would be left out
    plain: dict[str, Any] = {"linewidth": 1, "color": _GREY}
    if diagonal:
        (line,) = on.plot([0, 1], [0, 1], "--", **plain)
        held.append((line, f" {diagonal}"))
    for said, height in (levels or {}).items():
        held.append((on.axhline(height, linestyle=":", **plain), f" {_named(said)}"))
    on.set_xlim(-0.02, 1.02)
    on.set_ylim(-0.02, 1.02)
    if held:
        on.legend([line for line, _ in held], [said for _, said in held], frameon=False, fontsize=9)
    _finish(on, *labels, title, grid="both")
    return on


def series(
    ax: Axes | None,
    lines: Mapping[str, Sequence[tuple[float, Mark]]],
    *,
    labels: tuple[str, str],
    title: str,
    models: Sequence[str] = (),
    log: bool = False,
) -> Axes:
    """Draw a line for each name through its points, (x, the mark at that x), with a bar over the
    interval of each; unknown values interrupt it. ``log`` is of the height.
    """
    on = _axes(ax, height=4.8)
    colour = colours([*models, *(mark.model for held in lines.values() for _, mark in held)])
    styles = ("-", "--", ":", "-.")
    seen = list[str]()
    for name, held in lines.items():
        model = held[0][1].model if held else ""
        look: dict[str, Any] = {"color": colour[model], "linestyle": styles[seen.count(model) % len(styles)]}
        seen.append(model)
        values = [math.nan if mark.value is None else mark.value for _, mark in held]
        on.plot([x for x, _ in held], values, marker="o", markersize=4, label=f" {_named(name)}", **look)
        for x, mark in held:
            if _is_known(mark.low) and _is_known(mark.high):
                on.plot([x, x], [mark.low, mark.high], color=colour[model], linewidth=1.5)
    if log:
        on.set_yscale("log")
        on.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        on.yaxis.set_minor_formatter(lambda value, _: f"{value:,.0f}" if _is_leading(value) else "")
    outside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)} if len(lines) > _LEGEND else {}
    on.legend(frameon=False, fontsize=9, **outside)
    _finish(on, *labels, title, grid="both")
    return on


def chosen(what: str, known: Sequence[str], default: str) -> str:
    """Return what to draw: ``what``, or the default where it is ''; ResultError if it is not known.

    >>> chosen("", ("mean", "perron"), "mean")
    'mean'
    """
    if what and what not in known:
        raise ResultError(f"plot has no {what!r} here; what can be drawn: {', '.join(known) or 'nothing'}")
    if not (found := what or default):
        raise ResultError("there is nothing to plot: no number is known")
    return found


def _axes(ax: Axes | None, *, height: float, width: float = 6.4) -> Any:
    """Return the Axes to draw on: a new one, as large as its content needs, if none is given."""
    if ax is not None:
        if not hasattr(ax, "set_xlabel"):
            what = f"; what is drawn goes to what={ax!r}" if isinstance(ax, str) else ""
            raise ResultError(f"plot: ax must be Axes of matplotlib; got {ax!r:.60}{what}")
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ResultError(
            "plot needs matplotlib, which is not installed: pip install 'faultscape[plot]'"
        ) from None
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _finish(
    ax: Axes, across: str, up: str, title: str, *, grid: Literal["x", "both", ""], widest: int = _WIDEST
) -> None:
    ax.set_xlabel(across)
    ax.set_ylabel(up)
    ax.set_title(fill(title.replace("$", r"\$"), widest), loc="left", fontsize=11)
    if grid:
        ax.grid(axis=grid, color=_GREY, alpha=0.25, linewidth=0.8)
        ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _named(name: str, longest: int = _LONGEST) -> str:
    """Return a name as matplotlib shows it: short, and not as a formula."""
    half = longest // 2
    short = name if len(name) <= longest else f"{name[: half - 1]}…{name[-half:]}"
    return short.replace("$", r"\$")


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _is_leading(value: float) -> bool:
    """Whether a number begins with 2 or 5, which a logarithmic axis names besides powers of ten."""
    return round(value / 10 ** math.floor(math.log10(value))) in (2, 5)


def _on(image: Any, value: float) -> str:
    """Return black or white, whichever is legible on the colour of a cell."""
    red, green, blue, _ = image.cmap(image.norm(value))
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.4 else "white"
