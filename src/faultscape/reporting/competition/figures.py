"""The numbers behind the drawings of a report, read off what its page shows.

Conventions: numbers are over the labelled chosen images unless a figure says otherwise, as `outcomes` counts
them. What a page does not have (no labels, no ranks, another kind of selection) has no rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from faultscape.ranking.classifiers import either_right
from faultscape.reporting.competition import outcomes
from faultscape.reporting.competition.figure_data import FIGURES, FigureData, Plain
from faultscape.reporting.competition.page import Facts, PairFacts
from faultscape.reporting.view import Box
from faultscape.results.table import Cell, Row, Rows


def figure_data(facts: Facts, better: float) -> tuple[FigureData, ...]:
    """Return the figures that a page has, in the order of the page."""
    found = {kind.name: _ROWS[kind.name](facts, better) for kind in FIGURES}
    return tuple(
        FigureData(name, facts.selection, tuple(map(_known, rows))) for name, rows in found.items() if rows
    )


def _known(row: Row) -> tuple[Plain, ...]:
    """Return a row with None for NaN."""
    return tuple(None if isinstance(cell, float) and math.isnan(cell) else _plain(cell) for cell in row)


def _plain(cell: Cell) -> Plain:
    assert cell is None or isinstance(cell, str | int | float)
    return cell


def _standings(facts: Facts, _: float) -> Rows:
    if facts.standings is None:
        return []
    return [tuple(row.values()) for row in facts.standings.to_arrow().to_pylist()]


def _matrices(facts: Facts, _: float) -> Rows:
    standings = facts.standings
    return [
        (name, row, column, value)
        for name, matrix in (standings.matrices.items() if standings else ())
        for row, values in zip(standings.models if standings else (), matrix, strict=True)
        for column, value in zip(standings.models if standings else (), values, strict=True)
        if row != column
    ]


def _shares(facts: Facts, _: float) -> Rows:
    if not facts.bands or not facts.labelled:
        return []
    counts = outcomes.band_counts(facts.values, facts.bands)
    edges = [*itertools.pairwise([None, *facts.bands, None])]
    named = [*zip(facts.slots.models, counts.tolist(), strict=True), (None, counts.sum(0).tolist())]
    return [
        (model, low, high, count, count / sum(mine) if sum(mine) else math.nan)
        for model, mine in named
        for (low, high), count in zip(edges, mine, strict=True)
    ]


def _quartiles(facts: Facts, _: float) -> Rows:
    if not facts.slots.duels or not facts.labelled:
        return []
    models = facts.slots.models
    boxes = outcomes.chosen_boxes(models, facts.slots.duels, facts.labelled, facts.values)
    return [
        (model, of, *_five(box))
        for model, both in zip(models, boxes, strict=True)
        for of, box in zip(("own duels", "others"), both, strict=True)
    ]


def _five(box: Box | None) -> Row:
    if box is None:
        return (0, *[None] * 5)
    return (box.n, box.low, box.first, box.median, box.third, box.high)


def _cases(facts: Facts, better: float) -> Rows:
    duels = facts.slots.duels
    if not duels or not facts.labelled or not facts.bands:
        return []
    values = outcomes.slot_values(facts.slots.models, duels, facts.labelled, facts.values)
    found = outcomes.cases(facts.slots.models, duels, values, facts.bands[0], better)
    return [(one.model, *one.counts, one.total) for one in found]


def _pairs(facts: Facts, _: float) -> Rows:
    if not facts.slots.pairs or not facts.labelled:
        return []
    found = outcomes.pair_cases(facts.slots.models, facts.slots.pairs, facts.labelled, facts.values)
    return [(one.model_a, one.model_b, *one.counts, one.total, one.better, one.gap) for one in found]


def _oracle(facts: Facts, _: float) -> Rows:
    if not facts.slots.pairs or not facts.labelled:
        return []
    groups = facts.groups if isinstance(facts, PairFacts) else {}
    found = either_right(facts.slots.models, facts.slots.pairs, facts.values, facts.labelled, groups)
    return [
        (one.model_a or None, one.model_b or None, *row)
        for one in found
        for row in zip(one.labels, one.share, one.low, one.high, strict=True)
    ]


def _transfer(facts: Facts, _: float) -> Rows:
    models = facts.slots.models
    if not facts.slots.duels or not facts.labelled or not facts.bands or len(models) < 3:
        return []
    found = outcomes.transfer(models, facts.slots.duels, facts.labelled, facts.values, facts.bands[0])
    duels = sum(found.others)
    return [(k, n, n / duels if duels else math.nan) for k, n in enumerate(found.others)]


def _growth(facts: Facts, _: float) -> Rows:
    stability = facts.standings.stability if facts.standings else None
    if stability is None:
        return []
    places = stability.top_k_places or range(1, len(stability.top_k) + 1)
    return [*zip(places, stability.top_k, strict=True)]


def _without(facts: Facts, _: float) -> Rows:
    stability = facts.standings.stability if facts.standings else None
    left = stability.leave_one_out if stability else {}
    return [
        (model, one.slots, one.spearman, one.largest_change, one.moved or None) for model, one in left.items()
    ]


def _agreement(facts: Facts, _: float) -> Rows:
    return facts.agreement.pairs() if facts.agreement else []


def _speed(facts: Facts, _: float) -> Rows:
    return [(t.name, t.device, t.frames, t.batch, *t.model, *t.whole) for t in facts.times]


def _tags(facts: Facts, _: float) -> Rows:
    differences = facts.kinds.differences if facts.kinds else ()
    return [
        (one.tag, one.model, one.images, one.value, one.low, one.high, one.p_value) for one in differences
    ]


_ROWS: dict[str, Callable[[Facts, float], Rows]] = {
    "standings": _standings,
    "matrices": _matrices,
    "shares": _shares,
    "quartiles": _quartiles,
    "cases": _cases,
    "pairs": _pairs,
    "oracle": _oracle,
    "transfer": _transfer,
    "growth": _growth,
    "without": _without,
    "tags": _tags,
    "agreement": _agreement,
    "speed": _speed,
}
