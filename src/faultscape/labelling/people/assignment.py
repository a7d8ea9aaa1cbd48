"""Who is asked what next in a campaign: a rule that follows from the plan and from what was handed out, so that every machine, and every reload of a page, gives the same item.

Conventions: items are places 0..I-1. The first ``training`` of them everybody is asked first, in that order; they count towards no overlap and are never repeated. The others are handed out by how few have
them, then by priority where there is one, then in an order by the seed (``item_order``): no item gets an answer more before all have as many, so that a campaign that ends early
has covered everything evenly. ``handed`` (I,) is how many people have each item, answered or not, repeats left out; what is given back is taken out of it. A person's own items are in the order in which they were
handed out, repeats included. Repeats, in the other order of sides, come at moments that hang on the seed and the person, about ``repeat`` of a person's new items, and with ``distance`` other
items or more in between. A session ends after ``session`` items.
Source: S0 4.1.4 (training, sessions of 20 images); repeats, sides and overlap are ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from faultscape.errors import LabellingError, OptionError
from faultscape.labelling.people.vote_columns import vote_column
from faultscape.ties import tie_ranks

SESSION, REPEAT, DISTANCE = 20, 0.1, 5

Kind = Literal["training", "new", "repeat"]


@dataclass(frozen=True)
class Plan:
    """How many items there are, how many people are to answer each, and how they are handed out; OptionError for numbers that fit no campaign."""

    items: int
    overlap: int = 1
    training: int = 0
    session: int = SESSION
    repeat: float = REPEAT
    distance: int = DISTANCE
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 <= self.training <= self.items:
            raise OptionError(f"expected training items among the {self.items} items there are; got {self.training}")
        if self.overlap < 1 or self.session < 1 or self.distance < 0:
            raise OptionError(
                f"expected an overlap and a session of 1 or more and a distance of 0 or more; got {self.overlap}, {self.session} and {self.distance}"
            )
        if not 0 <= self.repeat <= 1:
            raise OptionError(f"the share of repeated items must lie between 0 and 1; got {self.repeat}")


@dataclass(frozen=True)
class Turn:
    """The item to show, why, and whether the first model is to be shown on the left."""

    item: int
    kind: Kind
    first_left: bool


@dataclass(frozen=True)
class Pause:
    """A session is over after so many items; more are there."""

    items: int


def item_order(keys: Sequence[str], seed: int = 0) -> np.ndarray:
    """Return (I,) the rank of each item in the order in which items are handed out, by BLAKE2b of the seed and the item's key (see ``ties``): prepared once a campaign.

    >>> item_order(["x", "y", "z"])
    array([0, 2, 1])
    """
    return tie_ranks(keys, seed)


def first_left(seed: int, item: int, annotator: str, *, again: bool = False) -> bool:
    """Return whether the first model is shown on the left, by BLAKE2b of seed, item and annotator: half of the time, and the other way when the item is repeated.

    >>> first_left(0, 3, "anna"), first_left(0, 3, "anna", again=True)
    (True, False)
    """
    return bool(_hash(seed, "side", annotator, item) & 1) ^ again


def next_turn(
    plan: Plan,
    order: np.ndarray,
    handed: np.ndarray,
    own: ArrayLike,
    annotator: str,
    *,
    pending: bool = False,
    rested: int = 0,
    priority: np.ndarray | None = None,
) -> Turn | Pause | None:
    """Return what the annotator is asked next, a pause at the end of a session, or None where nothing is left for this person.

    ``order`` (I,) is of ``item_order``, ``own`` (N,) this person's items so far; with ``pending`` the last of them is not answered yet, and is shown again as it was. ``rested`` is how many items the
    person had when the session began. ``priority`` (I,), large first, decides among items that as few people have. Nothing is remembered: the same history gives the same item. LabellingError for
    columns that do not fit the plan.

    >>> plan = Plan(items=3, overlap=2, repeat=0)
    >>> next_turn(plan, item_order(["x", "y", "z"]), np.array([1, 0, 0]), [], "anna")
    Turn(item=2, kind='new', first_left=True)
    """
    order, handed, own = np.asarray(order), np.asarray(handed), vote_column(own, f"items of {annotator}", plan.items)
    for name, column in (("order", order), ("handed", handed), ("priority", priority)):
        if column is not None and np.shape(column) != (plan.items,):
            raise LabellingError(f"{name}: expected a number for each of {plan.items} items; got shape {np.shape(column)}")
    if pending and len(own):
        return _shown(plan, own, annotator)
    turn = _training(plan, own, annotator) or _repeat(plan, own, annotator) or _new(plan, order, handed, own, annotator, priority)
    if turn and len(own) - rested >= plan.session:
        return Pause(len(own) - rested)
    return turn


def people_with(plan: Plan, items_of: Sequence[ArrayLike]) -> np.ndarray:
    """Return (I,) how many people have each item, from the items of each person: what ``next_turn`` takes as ``handed``, where no counts are kept.

    >>> people_with(Plan(items=3), [[0, 1, 0], [1]]).tolist()
    [1, 2, 0]
    """
    out = np.zeros(plan.items, np.int64)
    for own in items_of:
        out[np.unique(vote_column(own, "items of a person", plan.items))] += 1
    return out


def _shown(plan: Plan, own: np.ndarray, annotator: str) -> Turn:
    item = int(own[-1])
    again = bool((own[:-1] == item).any())
    kind: Kind = "training" if item < plan.training else "repeat" if again else "new"
    return Turn(item, kind, first_left(plan.seed, item, annotator, again=again))


def _training(plan: Plan, own: np.ndarray, annotator: str) -> Turn | None:
    left = np.ones(plan.training, bool)
    left[own[own < plan.training]] = False
    if not left.any():
        return None
    item = int(left.argmax())
    return Turn(item, "training", first_left(plan.seed, item, annotator))


def _repeat(plan: Plan, own: np.ndarray, annotator: str) -> Turn | None:
    """The k-th repeat is due once the person has (k + a fraction by hash) / repeat new items: one in each such stretch, at no place that could be foreseen."""
    if not plan.repeat:
        return None
    asked = own[own >= plan.training]
    items, first, times = np.unique(asked, return_index=True, return_counts=True)
    repeats = len(asked) - len(items)
    drawn = _hash(plan.seed, "repeat", annotator, repeats)
    if len(items) * plan.repeat <= repeats + drawn / 2**64:
        return None
    # an item handed out at place p has len - p - 1 others after it
    ready = np.sort(first[(times == 1) & (len(asked) - first - 1 >= plan.distance)])
    if not len(ready):
        return None
    item = int(asked[ready[_hash(plan.seed, "which", annotator, repeats) % len(ready)]])
    return Turn(item, "repeat", first_left(plan.seed, item, annotator, again=True))


def _new(
    plan: Plan, order: np.ndarray, handed: np.ndarray, own: np.ndarray, annotator: str, priority: np.ndarray | None
) -> Turn | None:
    open_ = handed < plan.overlap
    open_[: plan.training] = False
    open_[own] = False
    places = np.flatnonzero(open_)
    if not len(places):
        return None
    places = places[handed[places] == handed[places].min()]
    if priority is not None:
        places = places[priority[places] == priority[places].max()]
    item = int(places[order[places].argmin()])
    return Turn(item, "new", first_left(plan.seed, item, annotator))


def _hash(seed: int, what: str, annotator: str, number: int) -> int:
    word = f"{seed} {what} {number} {annotator}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "big")
