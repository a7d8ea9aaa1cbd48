"""What a plot of a card shows: one of its metrics, for every model and scorer under each condition; how mIoU
falls with the severity of corruptions, what thresholds of doubt find, and who finds failures first.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from faultscape.errors import counted
from faultscape.reporting.reliability.document import CORRUPTED, RANDOM, TITLES, Card, CardCell
from faultscape.results import plots

if TYPE_CHECKING:
    from faultscape.results.plots import Axes

FIRST = ("average_precision", "miou")  # drawn if nothing is named
SEVERITY, THRESHOLDS, FINDERS = "severity", "thresholds", "finders"


def draw(ax: Axes | None, card: Card, what: str) -> Axes:
    """Draw a metric of the card; ResultError if it has no number of it."""
    cells = [cell for cell in card["cells"] if cell.get("value") is not None and not cell.get("holdout")]
    metrics = tuple(dict.fromkeys(cell["metric"] for cell in cells))
    first = next((name for name in FIRST if name in metrics), metrics[0] if metrics else "")
    curves = {
        SEVERITY: partial(_draw_severity, ax, card, cells),
        THRESHOLDS: partial(_draw_thresholds, ax, card),
        FINDERS: partial(_draw_finders, ax, card),
    }
    has = {
        SEVERITY: bool(_by_severity(card)),
        THRESHOLDS: card.get("thresholds"),
        FINDERS: card.get("finders"),
    }
    what = plots.chosen(what, (*metrics, *(name for name in curves if has[name])), first)
    if what in curves:
        return curves[what]()
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


def _by_severity(card: Card) -> dict[int, list[str]]:
    """Return {severity: the conditions of all corruptions that come in every severity}; 0 is clean."""
    made = [one for one in card["conditions"] if one.get("corruption") and one.get("severity")]
    severities = sorted({one["severity"] for one in made})
    held = dict[str, dict[int, str]]()
    for one in made:
        held.setdefault(one["corruption"], {})[one["severity"]] = one["name"]
    whole = [of for of in held.values() if [*sorted(of)] == severities]
    clean = [one["name"] for one in card["conditions"] if one.get("kind") == "clean"][:1]
    found = {0: clean} if clean else {}
    return found | {severity: [of[severity] for of in whole] for severity in severities} if whole else {}


def _draw_severity(ax: Axes | None, card: Card, cells: list[CardCell]) -> Axes:
    """Draw each model's mIoU by severity, the mean over corruptions, without intervals: the card has none."""
    by_severity = _by_severity(card)
    of = {(cell["model"], cell["condition"]): cell for cell in cells if cell["metric"] == "miou"}
    lines = dict[str, list[tuple[float, plots.Mark]]]()
    for one in card["models"]:
        model = one["name"]
        points = list[tuple[float, plots.Mark]]()
        for severity, conditions in by_severity.items():
            values = [of[model, name].get("value") for name in conditions if (model, name) in of]
            known = [value for value in values if value is not None]
            mean = sum(known) / len(known) if len(known) == len(conditions) else None
            points.append((severity, plots.Mark(model, model, mean)))
        lines[model] = points
    number = len(next(iter(by_severity[severity] for severity in by_severity if severity), ()))
    title = f"mIoU by severity, mean over {counted(number, 'corruption')}"
    labels = ("severity; 0 is without corruption", "mIoU (higher is better)")
    return plots.series(ax, lines, labels=labels, title=title, models=[*lines])


def _draw_thresholds(ax: Axes | None, card: Card) -> Axes:
    """Draw what thresholds chosen on validation images find elsewhere, and at what false alarms."""
    lines = dict[str, list[tuple[float, plots.Mark]]]()
    for one in card.get("thresholds", []):
        for on in one["on"]:
            if on["false_alarms"] is not None and on["pixels"] is not None:
                scorer = "" if one["scorer"] == one["model"] else f", {one['scorer']}"
                name = f"{one['model']}{scorer}: {on['condition']}"
                mark = plots.Mark(name, one["model"], on["pixels"])
                lines.setdefault(name, []).append((on["false_alarms"], mark))
    ordered = {name: sorted(held, key=lambda point: point[0]) for name, held in lines.items()}
    labels = ("false alarms: share of known pixels that are flagged", "share of anomalous pixels that are")
    title = "What thresholds of doubt find"
    return plots.series(ax, ordered, labels=labels, title=title, models=[of["name"] for of in card["models"]])


def _draw_finders(ax: Axes | None, card: Card) -> Axes:
    """Draw which share of a model's failures each way to order images has found by then."""
    lines = dict[str, list[tuple[float, plots.Mark]]]()
    for one in card.get("finders", []):
        name = f"{one['model']}, by {one['finder']}"
        shares = ((0.0, 0.0), (0.1, one.get("found_tenth")), (0.2, one.get("found_fifth")))
        lines[name] = [(labels, plots.Mark(name, one["model"], found)) for labels, found in shares]
    labels = ("share of the images that are labelled", "share of the failures found")
    title = "How soon the worst tenth of the images is found"
    return plots.series(ax, lines, labels=labels, title=title, models=[of["name"] for of in card["models"]])


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
