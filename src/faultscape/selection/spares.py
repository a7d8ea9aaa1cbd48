"""A selection as it counts now: discarded images leave every cell that held them, and the next spare moves up.

Conventions: nothing is written back; the rows of selection.csv stay as they were drawn.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from faultscape.nouns import Slot, Slots


def effective(slots: Slots, discarded: Collection[str] = ()) -> Slots:
    """Return the selection without the discarded images, places counted anew in each cell.

    A cell whose spares are used up has fewer chosen places than ``per_class``.
    """
    gone = frozenset(discarded)
    placed: dict[tuple[str, str, str], int] = {}
    rows: list[Slot] = []
    for row in sorted(slots.rows, key=_order(slots)):
        if row.image in gone:
            continue
        cell = (row.defender, row.attacker, row.class_)
        placed[cell] = placed.get(cell, 0) + 1
        rows.append(replace(row, place=placed[cell]))
    return Slots(slots.models, slots.definition, tuple(rows))


def extended(old: Slots, new: Slots) -> tuple[Slot, ...]:
    """Return the rows of ``new`` that ``old`` lacks: deeper places and new cells, as the next round."""
    held = {(row.defender, row.attacker, row.class_, row.place) for row in old.rows}
    fresh = [row for row in new.rows if (row.defender, row.attacker, row.class_, row.place) not in held]
    round_ = max((row.round for row in old.rows), default=0) + 1
    return tuple(replace(row, round=round_, step=step) for step, row in enumerate(fresh, 1))


def _order(slots: Slots):  # noqa: ANN202
    models = {name: place for place, name in enumerate(slots.models)}
    classes = {name: place for place, name in enumerate(dict.fromkeys(row.class_ for row in slots.rows))}
    return lambda row: (models[row.defender], models[row.attacker], classes[row.class_], row.place)
