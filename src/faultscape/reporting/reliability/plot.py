"""What a plot of a card shows: one of its metrics, for every model and scorer under each condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultscape.reporting.reliability.document import CORRUPTED, RANDOM, TITLES, Card, CardCell
from faultscape.results import plots

if TYPE_CHECKING:
    from faultscape.results.plots import Axes

FIRST = ("average_precision", "miou")  # drawn if nothing is named


def draw(ax: Axes | None, card: Card, what: str) -> Axes:
    """Draw a metric of the card; ResultError if it has no number of it."""
    cells = [cell for cell in card["cells"] if cell.get("value") is not None and not cell.get("holdout")]
    metrics = tuple(dict.fromkeys(cell["metric"] for cell in cells))
    first = next((name for name in FIRST if name in metrics), metrics[0] if metrics else "")
    what = plots.chosen(what, metrics, first)
    held = [cell for cell in cells if cell["metric"] == what]
    conditions = _conditions(card, held)
    better = TITLES[what].better if what in TITLES else "high"
    held.sort(key=lambda cell: -(cell["value"] or 0) if better == "high" else cell["value"] or 0)
    marks = [
        plots.Mark(_name(cell), _of(cell), cell["value"], cell.get("low"), cell.get("high"), condition)
        for condition in conditions
        for cell in held
        if cell["condition"] == condition
    ]
    title = TITLES[what].title if what in TITLES else what
    known = any(mark.low is not None for mark in marks)
    bars = "bars: 95 % intervals of data to come" if known else "no intervals were computed"
    note = f"{'higher' if better == 'high' else 'lower'} is better; {bars}"
    models = [one["name"] for one in card["models"]]
    return plots.intervals(ax, marks, label=title, title=f"{title} by condition", note=note, models=models)


def _conditions(card: Card, held: list[CardCell]) -> list[str]:
    """Return the conditions to draw: all, but of corruptions only the mean if there is one."""
    named = list(dict.fromkeys(cell["condition"] for cell in held))
    if CORRUPTED not in named:
        return named
    kinds = {one["name"]: one.get("kind") for one in card["conditions"]}
    return [name for name in named if name == CORRUPTED or kinds.get(name, "corrupted") != "corrupted"]


def _of(cell: CardCell) -> str:
    """Return the model whose colour a number has; '' for chance."""
    return "" if cell["model"] == RANDOM else cell["model"]


def _name(cell: CardCell) -> str:
    scorer = cell.get("scorer", "")
    return cell["model"] if scorer in ("", cell["model"]) else f"{cell['model']}, {scorer}"
