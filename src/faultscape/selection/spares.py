"""A selection as it counts now: discarded images are removed from every cell, and the next spare moves up.

Conventions: nothing is written back; the rows of selection.csv stay as they were drawn. A discarded image
does not count in the cap of predictions per class (Wang et al. 2020): once the spares of a pair are used up,
an image that the cap kept out moves up if its two labels have room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from faultscape.nouns import KEPT_OUT, PairSlot, Row, Slots


def effective(slots: Slots, discarded: Collection[str] = ()) -> Slots:
    """Return the selection without the discarded images, places renumbered in each cell.

    A cell without spares left has fewer chosen places than the selection's depth. An image drawn for all
    models has no replacement.
    """
    gone = frozenset(discarded)
    cap = int(slots.definition.get("cap", 0))
    said: Counter[tuple[str, ...]] = Counter()
    placed: dict[tuple[str, ...], int] = {}
    rows: list[Row] = []
    for row in sorted(slots.rows, key=_order(slots)):
        if row.image in gone:
            continue
        if isinstance(row, PairSlot):
            labels = [("a", *row.cell, row.label_a), ("b", *row.cell, row.label_b)]
            if row.place > KEPT_OUT and any(said[label] >= cap for label in labels):
                continue
            said.update(labels)
        placed[row.cell] = place = placed.get(row.cell, 0) + 1
        rows.append(row if row.place == place else replace(row, place=place))
    return Slots(slots.models, slots.definition, tuple(rows))


def with_models_left(slots: Slots, known: Collection[str]) -> Slots:
    """Return a selection with those of its models that are ``known``, where it can do without the others: the
    probability of a draw does not depend on which models are ranked later (Farquhar et al. 2021), as long as
    two are left; a duel has no meaning without its models.
    """
    left = tuple(model for model in slots.models if model in known)
    return replace(slots, models=left) if slots.for_all and len(left) > 1 else slots


def extended(old: Slots, new: Slots) -> tuple[Row, ...]:
    """Return the rows of ``new`` that ``old`` lacks: deeper places and new cells, as the next round."""
    held = {(*row.cell, row.place) for row in old.rows}
    fresh = [row for row in new.rows if (*row.cell, row.place) not in held]
    round_ = max((row.round for row in old.rows), default=0) + 1
    return tuple(replace(row, round=round_, step=step) for step, row in enumerate(fresh, 1))


def _order(slots: Slots):  # noqa: ANN202
    """Return a key that sorts rows by cell and place: cells by their models in the selection's order, then by
    their class as first seen; draws as drawn.
    """
    first = {
        name: place
        for place, name in enumerate(
            dict.fromkeys([*slots.models, *(word for row in slots.rows for word in row.cell)])
        )
    }
    return lambda row: (*(first[word] for word in row.cell), row.place)
