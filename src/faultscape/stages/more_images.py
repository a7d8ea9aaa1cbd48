"""Notes for studies with fewer chosen or labelled images than a ranking needs, and the command that adds
some.

Conventions: a ranking needs `FEW` labelled images (faultscape.standings); nothing is suggested for a pool
that holds fewer.
"""

from __future__ import annotations

from pathlib import Path

from faultscape.errors import counted
from faultscape.nouns import KEPT_OUT, Slots
from faultscape.stages.artefacts import selection
from faultscape.stages.snapshot import Snapshot
from faultscape.standings import ENOUGH, FEW
from faultscape.study.tables import selections
from faultscape.study.tables.pool import read_pool
from faultscape.terminal_lines import option_words


def few_note(slots: Slots, root: Path) -> str:
    """Return a note on duels that chose fewer images than a ranking needs, although the pool has enough, and
    how to get more; '' if they chose enough.
    """
    images = len(slots.images)
    if images >= FEW or slots.draws or not slots.rows or (pool := pool_size(root)) < FEW:
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


def pool_size(root: Path) -> int:
    """Return how many images of a study can be drawn, near-duplicates counted once."""
    return len(set(read_pool(root).families.tolist()))


def line_for_more(snapshot: Snapshot) -> tuple[str, str]:
    """Return the command that adds images, and why, for a study whose rankings all rest on too few; ('', '')
    if one rests on enough, nothing is ranked, or the pool has no more.
    """
    used = {
        name: number
        for name in selection.in_order(snapshot)
        if (number := _used(snapshot, name)) is not None and not selection.is_replaced(snapshot, name)
    }
    if not used or max(used.values()) >= FEW or (pool := pool_size(snapshot.root)) < FEW:
        return "", ""
    drawn = next((name for name in used if snapshot.selections[name][0].draws), "")
    have = len(snapshot.selections[drawn][0].rows) if drawn else 0
    if have >= pool or (drawn and selection.is_stale(snapshot, drawn)):
        return "", ""
    options = (
        {"as": drawn, "more": min(ENOUGH, pool) - have if have < FEW else min(FEW, pool - have)}
        if drawn
        else {"goal": "order", "budget": min(ENOUGH, pool)}
    )
    labelled = counted(max(used.values()), "labelled image")
    return (
        " ".join([f"faultscape select {snapshot.place}", *option_words(options)]),
        f"{labelled} cannot rank the models, at least {FEW} can; this draws more",
    )


def _used(snapshot: Snapshot, name: str) -> int | None:
    """Return how many labelled images the standings of a selection rest on, or None if there are none."""
    held = snapshot.document(selections.path(snapshot.root, name, "json", stem="standings"))
    labels = held.get("labels") if held is not None else None
    used = labels.get("used") if isinstance(labels, dict) else None
    return used if isinstance(used, int) else None
