"""Show the effect of a selection's constraints: classes and sizes among the images that each constraint would
choose, and one pair of models under each: the image that the constraint allows on which they disagree most.

Conventions: every constraint uses the same counts, metric, number per class, near-duplicates and discards as
the selection itself. The *class* of a slot is the one it was chosen for; without a constraint there is none,
so it is the largest class in the defender's map (except background). Its *size* is that class's share of the
defender's pixels. An image counts once for each defender and class it was chosen with. The pair is the first
two models of the headline's ranking, or, without standings, of the selection. For each constraint, its image
is from the least concordant duel of the two, in either order, on an image that no earlier constraint shows;
ties follow the images' tie-breaking ranks.
Source: Yan et al. 2021, section 3.1.2, Fig. 3.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultscape.comparison.concordance import shares
from faultscape.errors import SelectionError, counted
from faultscape.nouns import Classes, Definition, Pairs, Scale, Slot, Slots
from faultscape.reporting.competition import standing_tables
from faultscape.selection import duel
from faultscape.selection.spares import effective
from faultscape.standings import Standings

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


@dataclass(frozen=True)
class Picked:
    """The image of one constraint: its ``slot`` (None if no image satisfies it), the class's share of the
    defender's map, the numbers of the pair's duels and distinct images, a sentence on what the constraint
    does (``says``), and images as data URIs.
    """

    constraints: str
    own: bool
    slot: Slot | None
    duels: int
    images: int
    says: str
    share: float = float("nan")
    photo: str = ""
    maps: tuple[str, str] = ("", "")
    width: int = 4
    height: int = 3


@dataclass(frozen=True)
class PairPictures:
    """The pair, why it was chosen, and an image for each constraint."""

    pair: tuple[str, str]
    why: str
    picked: tuple[Picked, ...]


def choose_pair(standings: Standings | None, models: Sequence[str]) -> tuple[tuple[str, str], str]:
    """Return the pair of models to show, and by which rule.

    >>> choose_pair(None, ["a", "b", "c"])
    (('a', 'b'), 'the first two models of the selection')
    """
    if standings is not None:
        for name, ranking in standing_tables.claiming(standings).items():
            order = [m for m in ranking.order if m in models]
            if len(order) > 1:
                title = standing_tables.words_of(name, standings.definitions)["title"]
                return (order[0], order[1]), f"the first two models of the ranking “{title}”"
    return (models[0], models[1]), "the first two models of the selection"


def pick(
    drawn: Sequence[Drawn], pair: tuple[str, str], ranks: Mapping[str, int], scale: Scale | None
) -> list[Picked]:
    """Return the image of each constraint; ``ranks`` break ties between images."""
    out: list[Picked] = []
    before: set[str] = set()
    for one in drawn:
        mine = [slot for slot in one.chosen if {slot.defender, slot.attacker} == set(pair)]
        new = [slot for slot in mine if slot.image not in before]
        slot = min(
            new or mine,
            key=lambda s: (round(s.concordance, 12), ranks.get(s.image, len(ranks)), s.step),
            default=None,
        )
        same = sum(s.image in before for s in mine)
        images = len({s.image for s in mine})
        says = _sentence(one.constraints, slot, len(mine), images, same, fresh=bool(new), scale=scale)
        out.append(Picked(one.constraints, one.own, slot, len(mine), images, says))
        before |= {slot.image} if slot else set()
    return out


def with_share(picked: Picked, defender_map: np.ndarray, place: int) -> Picked:
    """Return a pick with its class's share of the defender's pixels.

    >>> with_share(Picked("class", False, None, 1, 1, ""), np.array([[0, 1, 1, 2]]), 1).share
    0.5
    """
    return replace(picked, share=float((defender_map == place).mean()))


def _sentence(
    constraints: str,
    slot: Slot | None,
    duels: int,
    images: int,
    same: int,
    *,
    fresh: bool,
    scale: Scale | None,
) -> str:
    """Return a sentence on what a constraint does for the pair."""
    if slot is None:
        return "No image of these two models satisfies this constraint."
    if constraints == "none":
        return "The two models agree on this image less than on any other of the pool, whatever it shows."
    kept = f"{counted(duels, 'duel')} of the two models on {counted(images, 'image')}"
    again = f" {same} of them {'falls' if same == 1 else 'fall'} on an image shown before." if same else ""
    if not fresh:
        again = " All of them fall on an image shown before, as this one does."
    if constraints == "class":
        return (
            "For each class, the image on which the two agree least among those where the defender sees it:"
            f" {kept}.{again}"
            f" This one is for {slot.class_}."
        )
    bounds = _bounds(slot.class_, scale)
    return (
        f"The class must also have its usual size: {kept}.{again} This one is for {slot.class_}"
        f"{f', which usually covers {bounds} of an image that has it' if bounds else ''}."
    )


def _bounds(name: str, scale: Scale | None) -> str:
    """Return the usual sizes of a class as text; '' if unknown."""
    if scale is None or name not in scale.names:
        return ""
    k = scale.names.index(name)
    low = 100 * scale.t_min[k]
    high = 100 * scale.t_max[k]
    return f"{low:.2g} to {high:.2g} %" if np.isfinite(low) and np.isfinite(high) else ""
