"""Show the effect of a selection's constraints: classes and sizes among the images that each constraint would
choose.

Conventions: every constraint uses the same counts, metric, number per class, near-duplicates and discards as
the selection itself. The *class* of a slot is the one it was chosen for; without a constraint there is none,
so it is the largest class in the defender's map (except background). Its *size* is that class's share of the
defender's pixels. An image counts once for each defender and class it was chosen with.
Source: Yan et al. 2021, section 3.1.2, Fig. 3.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultscape.comparison.concordance import shares
from faultscape.errors import SelectionError
from faultscape.nouns import Classes, Definition, Pairs, Scale, Slot, Slots
from faultscape.selection import duel
from faultscape.selection.spares import effective

SIZES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # edges of the histogram of sizes
Blocks = Callable[[], Iterable[tuple[Pairs, np.ndarray]]]


@dataclass(frozen=True)
class Drawn:
    """One constraint: its name, whether it is the selection's own, the numbers of slots and distinct images,
    counts by class and by size, and the slots.
    """

    constraints: str
    own: bool
    slots: int
    images: int
    by_class: tuple[int, ...]
    by_size: tuple[int, ...]
    chosen: tuple[Slot, ...] = ()


def compare(
    own: Slots,
    classes: Classes,
    images: Sequence[str],
    ranks: np.ndarray,
    families: np.ndarray,
    blocks: Blocks,
    scale: Scale | None,
    discarded: Collection[str] = (),
) -> list[Drawn]:
    """Return what none, class and (with a scale) class+scale choose; ``ranks`` (I,) break ties, and each call
    of ``blocks`` yields counts with their indices in ``images``.
    """
    kept = {}
    for constraints in duel.CONSTRAINTS:
        if constraints != own.definition["constraints"] and (
            constraints != "class+scale" or scale is not None
        ):
            define: Definition = {
                **own.definition,
                "constraints": constraints,
                "groups": _groups(classes, constraints),
            }
            kept[constraints] = (define, duel.empty(own.models, define))
    for pairs, at in blocks():
        for define, best in kept.values():
            duel.take(best, pairs, define, scale, at, ranks[at], families[at])
    drawn: dict[str, Slots] = {str(own.definition["constraints"]): own}
    for constraints, (define, best) in kept.items():
        try:
            drawn[constraints] = effective(duel.slots(best, own.models, define, images), discarded)
        except SelectionError:  # no image satisfies it; the histogram stays empty
            drawn[constraints] = Slots(own.models, define, ())
    wanted = {image for slots in drawn.values() for image in slots.images}
    share: dict[str, np.ndarray] = {}
    for pairs, at in blocks():
        part = None
        for k, place in enumerate(map(int, at)):
            if images[place] in wanted:
                part = shares(pairs) if part is None else part
                share[images[place]] = part[:, k].copy()
    return [
        _histogram(name, drawn[name], name == own.definition["constraints"], classes, share)
        for name in duel.CONSTRAINTS
        if name in drawn
    ]


def size_labels() -> list[str]:
    r"""Return the names of the size bins.

    >>> size_labels()[0], size_labels()[-1]
    ('< 1\xa0%', '≥ 50\xa0%')
    """
    edges = [f"{100 * edge:g}" for edge in SIZES]
    middle = [f"{a}\u2060–\u2060{b}\xa0%" for a, b in itertools.pairwise(edges)]
    return [f"< {edges[0]}\xa0%", *middle, f"≥ {edges[-1]}\xa0%"]


def _groups(classes: Classes, constraints: str) -> list[str]:
    return [""] if constraints == "none" else [classes.names[g] for g in classes.groups]


def _histogram(name: str, slots: Slots, own: bool, classes: Classes, share: dict[str, Any]) -> Drawn:
    place = {c: k for k, c in enumerate(classes.names)}
    model = {m: j for j, m in enumerate(slots.models)}
    groups = list(classes.groups)
    by_class = np.zeros(len(classes), int)
    by_size = np.zeros(len(SIZES) + 1, int)
    seen = set()
    for row in slots.duels:
        if row.image not in share:
            continue
        of = share[row.image][model[row.defender]]
        at = place[row.class_] if row.class_ in place else groups[int(np.argmax(of[groups]))]
        if (row.defender, row.image, at) not in seen:
            seen.add((row.defender, row.image, at))
            by_class[at] += 1
            by_size[int(np.digitize(of[at], SIZES))] += 1
    return Drawn(
        name,
        own,
        len(slots.chosen),
        len(slots.images),
        tuple(by_class.tolist()),
        tuple(by_size.tolist()),
        slots.duels,
    )
