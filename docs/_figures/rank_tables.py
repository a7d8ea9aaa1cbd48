"""How often something false is claimed about a table of scores: a row a number of cases, a dot a method, on the
table on which it is wrong most often.
"""

from __future__ import annotations

from _figures.drawing import (
    BLUE,
    GOLD,
    GREEN,
    MUTED,
    ORANGE,
    PURPLE,
    Drawing,
    add_key,
    draw_dots,
    finish_figure,
    make_panel,
)
from _figures.tables import read_rows

METHODS = {
    "ours": (BLUE, "D"),
    "bootstrap maximum": (GREEN, "s"),
    "Holm, Student's t": (ORANGE, "o"),
    "sign-flip maximum": (PURPLE, "^"),
    "multivariate t": (GOLD, "v"),
}
COUNTED = ("as it is", "recentred", "exchanged")


def worst_shares() -> dict[tuple[str, str], float]:
    """Return {(cases, method): the largest share of false claims over all tables}, in per cent."""
    found: dict[tuple[str, str], float] = {}
    for row in read_rows("rank_tables"):
        key = (row["cases"], row["method"])
        found[key] = max(found.get(key, 0.0), *(float(row[name]) for name in COUNTED))
    return found


def draw_false_claims() -> Drawing:
    """Return one panel."""
    worst = worst_shares()
    cases = sorted({of for of, _ in worst}, key=int)
    rows = [f"{of} cases" for of in cases]
    figure, axes = make_panel(5.6, 1.6 + 0.4 * len(rows))
    axes.axvline(5, color=MUTED, linewidth=1, linestyle="--")
    points = [(f"{of} cases", share, float("nan"), *METHODS[method]) for (of, method), share in worst.items()]
    draw_dots(axes, rows, points)
    axes.set_xlim(0, 100)
    axes.set_xlabel("draws with a false claim on the worst table, %")
    add_key(axes, [(method, *style) for method, style in METHODS.items()])
    return finish_figure(
        [figure],
        "Share of draws with a false claim, on the table where each method is wrong most often. Ours stays near"
        " or below 5 % at all numbers of cases; Student's t, sign flips and the multivariate t are wrong in up"
        " to all draws of few cases.",
    )
