"""Compare methods across the editions of a blended set (Blum et al. 2021, Fig. 4): the average precision of
the best variant of each; methods trained or tuned with unknown objects are dashed.

Conventions: editions are in the order of the card, in which they were made. A variant is a scorer of a model;
the best has the highest mean AP over all editions on which the model was measured, and is used everywhere. It
is chosen by the numbers that are shown. Models that lack an edition come last. A gap in a line is an edition
without a number.
Source: Blum et al. 2021, Fig. 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from faultscape.reporting.charts import plane
from faultscape.reporting.reliability.document import (
    RANDOM,
    TRAINED_WITH_OOD,
    Card,
    CardCondition,
    flags_of_score,
)
from faultscape.reporting.template import template
from faultscape.reporting.view import Axis, ChartPoint, Line, axis, ink
from faultscape.uncertainty.methods.catalogue import TUNED

_SAW = {"trained": TRAINED_WITH_OOD, "tuned": TUNED}


@dataclass(frozen=True)
class Standing:
    """A model on the editions of a set: its best variant, that variant's AP on each edition (None if missing)
    and their mean, its flags, and its position on the card; ``saw`` says whether it was trained or tuned with
    unknown objects, '' for neither.
    """

    model: str
    variant: str
    values: tuple[float | None, ...]
    mean: float
    saw: str
    flags: tuple[str, ...]
    place: int

    @property
    def ink(self) -> str:
        """The CSS class of its colour, as on the card."""
        return ink(self.place)


@dataclass(frozen=True)
class Board:
    """The editions of one base set, their names, and the models on them, the best first, those that lack an
    edition last.
    """

    of: str
    editions: tuple[str, ...]
    chance: tuple[float | None, ...]
    standings: tuple[Standing, ...]


def boards_of(card: Card) -> list[Board]:
    """Return one board for each base set with at least two editions on which some model was measured."""
    of_bases: dict[str, list[CardCondition]] = {}
    for condition in card["conditions"]:
        if condition.get("edition"):
            of_bases.setdefault(condition.get("of", ""), []).append(condition)
    boards = [_board(card, of, conditions) for of, conditions in of_bases.items() if len(conditions) > 1]
    return [board for board in boards if board.standings]


def leaderboard_page(card: Card) -> str:
    """Return the HTML of all boards; '' without any."""
    boards = boards_of(card)
    if not boards:
        return ""
    page = template("reliability/leaderboard.html.jinja")
    return page.render(study=card["study"], boards=boards, figure=_figure)


def _board(card: Card, of: str, conditions: Sequence[CardCondition]) -> Board:
    names = [condition["name"] for condition in conditions]
    known: dict[tuple[str, str], dict[str, float]] = {}
    for cell in card["cells"]:
        value = cell.get("value")
        if cell["metric"] == "average_precision" and cell["condition"] in names and value is not None:
            known.setdefault((cell["model"], cell.get("scorer", "")), {})[cell["condition"]] = value
    chance = known.get((RANDOM, RANDOM), {})
    found = (_best(one["name"], known, names, card, k) for k, one in enumerate(card["models"]))
    standings = sorted(
        (one for one in found if one is not None), key=lambda one: (one.values.count(None), -one.mean)
    )
    return Board(of, tuple(_called(conditions)), tuple(chance.get(name) for name in names), tuple(standings))


def _best(
    model: str,
    known: Mapping[tuple[str, str], Mapping[str, float]],
    names: Sequence[str],
    card: Card,
    place: int,
) -> Standing | None:
    """Return a model with its best variant, among those with numbers on the most editions; None if it has
    none.
    """
    mine = {scorer: values for (name, scorer), values in known.items() if name == model}
    if not mine:
        return None
    most = max(map(len, mine.values()))
    means = {scorer: sum(values.values()) / most for scorer, values in mine.items() if len(values) == most}
    variant = max(means, key=lambda scorer: means[scorer])
    flags = flags_of_score(card, model, variant)
    saw = next((word for word, flag in _SAW.items() if any(one.startswith(flag) for one in flags)), "")
    return Standing(
        model,
        variant,
        tuple(mine[variant].get(name) for name in names),
        means[variant],
        saw,
        tuple(flags),
        place,
    )


def _called(conditions: Sequence[CardCondition]) -> list[str]:
    """Return the names of editions: their own if these differ, else those of their sets."""
    names = [condition.get("edition", "") for condition in conditions]
    return names if len(set(names)) == len(names) else [condition["name"] for condition in conditions]


def _figure(board: Board) -> Markup:
    places = tuple(map(float, range(len(board.editions))))
    lines = []
    for k, one in enumerate(board.standings):
        name = f"{one.model} ({one.variant})"
        kind = "dashed" if one.saw else ""
        lines.append(Line(name, _points(name, one.values, board), one.place, kind, label=str(k + 1)))
    lines.append(Line("chance", _points("chance", board.chance, board), kind="chance"))
    up = axis([0.0, *(point.y for line in lines for point in line.known)], at_most=6)
    title = f"AP of the best variant of each model on {len(places)} editions"
    return plane(lines, Axis(0.0, places[-1], places, board.editions), up, title=title, height=214)


def _points(name: str, values: Sequence[float | None], board: Board) -> tuple[ChartPoint | None, ...]:
    return tuple(
        None if value is None else ChartPoint(k, value, says=f"{name}, {edition}: {value:.3f}")
        for k, (value, edition) in enumerate(zip(values, board.editions, strict=True))
    )
