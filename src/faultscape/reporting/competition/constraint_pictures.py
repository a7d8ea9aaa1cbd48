"""One pair of models under each constraint: the image that the constraint allows on which they disagree most.

Conventions: the pair is the first two models of the headline's ranking, or, without standings, of the
selection. For each constraint, the image is from the least concordant duel of the two, in either order, on an
image that no earlier constraint shows; ties follow the images' tie-breaking ranks.
Source: Yan et al. 2021, Fig. 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultscape.errors import counted
from faultscape.nouns import Scale, Slot
from faultscape.reporting.competition import standing_tables
from faultscape.reporting.competition.constraints import Drawn
from faultscape.standings import Standings


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
