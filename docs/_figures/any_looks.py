"""How often campaigns with equally good models claim something false at any look: a row a set, a dot a way of
looking, on the draws and models of which it is wrong most often.
"""

from __future__ import annotations

from _figures.drawing import BLUE, MUTED, ORANGE, Drawing, add_key, draw_dots, finish_figure, make_panel
from _figures.tables import read_rows

WAYS = {"false of all": ("rank --anytime", BLUE, "D"), "peeks": ("rank, looked at often", ORANGE, "o")}


def worst_shares() -> dict[tuple[str, str], float]:
    """Return {(set, way of looking): the largest share of campaigns with a false claim}, in per cent."""
    found: dict[tuple[str, str], float] = {}
    for row in read_rows("anytime"):
        for way in WAYS:
            if row[way]:
                key = (row["set"], way)
                found[key] = max(found.get(key, 0.0), float(row[way]))
    return found


def draw_false_claims() -> Drawing:
    """Return one panel."""
    worst = worst_shares()
    sets = list(dict.fromkeys(name for name, _ in worst))
    figure, axes = make_panel(5.6, 1.6 + 0.3 * len(sets))
    axes.axvline(5, color=MUTED, linewidth=1, linestyle="--")
    points = [(name, share, float("nan"), *WAYS[way][1:]) for (name, way), share in worst.items()]
    draw_dots(axes, sets, points)
    axes.set_xlim(0, 40)
    axes.set_xlabel("campaigns with a false claim at any look, %")
    add_key(axes, list(WAYS.values()))
    return finish_figure(
        [figure],
        "Share of campaigns with a false claim at any look, on the draws and models where each way is wrong"
        " most often. With rank --anytime it stays below 5 % on every set; looks of a fixed number exceed that.",
    )
