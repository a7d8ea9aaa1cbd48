"""The chosen images of a selection: where each is, for how many duels it was chosen, and why.

Conventions: the selection as it counts now, without discarded images and with their spares.
"""

from __future__ import annotations

from faultscape.errors import counted
from faultscape.nouns import Draw, PairSlot, Point, Row, Slots
from faultscape.reading.study import Study
from faultscape.verbs.select.chosen_result import ChosenImage, ChosenImages

_SAID = 3  # number of reasons to name


def chosen_images(study: Study, name: str) -> ChosenImages:
    """Return the images of a selection that should be labelled, or in which its points lie; SelectionError if
    there is none of this name.
    """
    slots = study.selection(name).now
    places = study.corpus.by_id({row.image for row in slots.chosen})
    held: dict[str, list[Row]] = {}
    for row in slots.chosen:
        held.setdefault(row.image, []).append(row)
    return ChosenImages(
        study.called,
        name,
        tuple(
            ChosenImage(
                image,
                places[image].source if image in places else "",
                0 if slots.for_all else len(rows),
                why_chosen(slots, rows),
            )
            for image, rows in held.items()
        ),
    )


def why_chosen(slots: Slots, rows: list[Row]) -> str:
    """Return why an image was chosen, from its rows in the selection.

    >>> why_chosen(Slots(("a", "b"), {"selector": "vma"}, ()), [Draw("vma", 1, 1, "p", 0.5, 0.1, 9)])
    'drawn by vma'
    """
    if isinstance(rows[0], Draw):
        return f"drawn by {slots.definition['selector']}"
    if isinstance(rows[0], Point):
        return counted(len(rows), "point")
    reasons = list(dict.fromkeys(_reason(row) for row in rows))
    more = len(reasons) - _SAID
    return "; ".join(reasons[:_SAID]) + (f"; and {counted(more, 'other')}" if more > 0 else "")


def _reason(row: Row) -> str:
    if isinstance(row, PairSlot):
        return f"{row.model_a} says {row.label_a}, {row.model_b} says {row.label_b}"
    if isinstance(row, Draw | Point):
        return f"drawn by {row.selector}"
    of = f" on {row.class_}" if row.class_ else ""
    return f"{row.defender} and {row.attacker} differ{of}"
