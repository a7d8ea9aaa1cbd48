"""Notes for studies with fewer chosen or labelled images than a ranking needs, and the command that adds
some.

Conventions: a ranking needs `FEW` labelled images (faultscape.standings); nothing is suggested for a pool
that holds fewer.
"""

from __future__ import annotations

import numpy as np

from faultscape.errors import counted
from faultscape.nouns import KEPT_OUT, Slots
from faultscape.reading.study import Study
from faultscape.standings import ENOUGH, FEW
from faultscape.study.tables.pool import read_pool
from faultscape.terminal_lines import option_words
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.rank.open_selections import left, says_how_sure
from faultscape.verbs.select import artefact as selection


def few_note(slots: Slots, study: Study) -> str:
    """Return a note on duels that chose fewer images than a ranking needs, although the pool has enough, and
    how to get more; '' if they chose enough.
    """
    images = len(slots.images)
    if images >= FEW or slots.for_all or not slots.rows or (pool := pool_size(study)) < FEW:
        return ""
    option = "--top" if slots.pairs else "--per-class"
    deepest = max(row.place for row in slots.rows if row.place <= KEPT_OUT)
    given = {k: len({row.image for row in slots.rows if row.place <= k}) for k in range(1, deepest + 1)}
    deeper = next((k for k, number in given.items() if number >= FEW), 0)
    more = (
        f"{option} {deeper} gives about {given[deeper]}"
        if deeper
        else f"`select --goal order --budget {min(ENOUGH, pool)}` draws more"
    )
    are = "is" if images == 1 else "are"
    return f"note: {counted(images, 'image')} {are} fewer than the {FEW} that a ranking needs; {more}"


def pool_size(study: Study) -> int:
    """Return how many images of a study can be drawn, near-duplicates counted once."""
    families = read_pool(study.corpus).families
    return int((families == np.arange(len(families))).sum())  # each is named by its first image


def line_for_more(study: Study) -> tuple[str, str, int]:
    """Return the command that draws images for the order of models, why, and how many, for a study whose
    rankings describe only the images that they rest on; ('', '', 0) if one says more, nothing is ranked, the
    pool is too small, or all that can be drawn for the order is.
    """
    used = {
        name: number
        for name in selection.in_order(study)
        if (number := _used(study, name)) is not None and not selection.is_replaced(study, name)
    }
    if not used or any(_says_more(study, name) for name in used):
        return "", "", 0
    if (pool := pool_size(study)) < FEW or any(_took_all(study, name) for name in used):
        return "", "", 0
    number = min(ENOUGH, pool)
    options = {"goal": "order", "budget": number}
    line = " ".join([f"faultscape select {study.place}", *option_words(options)])
    most = max(used.values())
    labelled = counted(most, "labelled image")
    if most < FEW:
        return line, f"{labelled} cannot rank the models, at least {FEW} can; this draws more", number
    why = f"{labelled} chosen for what models predict do not say which is better; this draws some that do"
    return line, why, number


def _says_more(study: Study, name: str) -> bool:
    """Whether a selection was drawn for all models, and no ranking describes its images or points alone."""
    return study.selections[name].slots.for_all and says_how_sure(study, name)


def _took_all(study: Study, name: str) -> bool:
    """Whether a selection drew all images that can be drawn for the order of all models: models may differ
    on few.
    """
    drawn_for = study.selections[name].slots.definition.get("goal")
    return drawn_for == "order" and selection.SELECTION.is_done(study, name) and left(study, name) == 0


def _used(study: Study, name: str) -> int | None:
    """Return how many labelled images the standings of a selection rest on, or None if there are none."""
    held = STANDINGS.table(study, name)
    return None if held is None else held.labels.get("used")
