"""The gallery: each chosen image with its truth and every model's prediction; and the images at the top of a
report: where the leader fails, the image that speaks most for it, and the largest disagreement.

Conventions: a map is embedded once in the gallery, however many duels chose its image. At the top, each image
is beside its truth, the leader's map and those of the models that it is about; each leads to its own in the
gallery.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from faultscape.nouns import Slot, Slots
from faultscape.reporting.verdict import Verdict


@dataclass(frozen=True)
class Duel:
    """One slot of an image with its outcome: values of defender and attacker (None without a label) and the
    case.
    """

    slot: Slot
    defender: float | None = None
    attacker: float | None = None
    case: str = ""


@dataclass
class Card:
    """One chosen image: duels (the lowest concordance first), maps by model, values by model (None =
    unknown).
    """

    image: str
    width: int
    height: int
    duels: list[Duel]
    values: dict[str, float | None]
    labelled: bool
    photo: str = ""
    truth: str = ""
    maps: dict[str, str] = field(default_factory=dict)
    left_out: int = 0


def cards(
    chosen: tuple[Slot, ...],
    values: np.ndarray,
    which: list[str],
    by_model: dict[str, dict[str, float | None]],
    sizes: Any,
) -> list[Card]:
    """Return the cards without thumbnails, the image with most duels first; ``values`` (S, 2) and ``which``
    case belong to the slots.

    ``by_model`` is {image: {model: value}} of the labelled images, ``sizes`` {image: (width, height)}.
    """
    duels: dict[str, list[Duel]] = {}
    for row, pair, case in zip(chosen, values.tolist(), which, strict=True):
        known = [None if np.isnan(v) else v for v in pair]
        duels.setdefault(row.image, []).append(Duel(row, known[0], known[1], case))
    made = []
    for image, of in duels.items():
        of.sort(key=lambda duel: (duel.slot.concordance, duel.slot.step))
        width, height = sizes.get(image, (4, 3))
        made.append(Card(image, width, height, of, by_model.get(image, {}), image in by_model))
    return sorted(made, key=lambda card: -len(card.duels))


class Shown(NamedTuple):
    """The image itself or a map of it: its name, its address as data, and its ``target`` in the gallery."""

    name: str
    source: str
    target: str


class First(NamedTuple):
    """An image of the first screen: what it shows, and itself and its maps."""

    image: str
    title: str
    says: str
    pictures: tuple[Shown, ...]
    width: int
    height: int


class _Found(NamedTuple):
    card: Card
    models: tuple[str, ...]  # whose maps it is about
    title: str
    says: str


def first_images(
    cards: Sequence[Card], place: Mapping[str, int], slots: Slots, verdict: Verdict, order: Sequence[str]
) -> list[First]:
    """Return up to three different images that the gallery holds; ``place`` {image: its number
    there}, ``order`` the models, best first.
    """
    ranked = [model for model in order if model in slots.models]
    found = [_worst(cards, slots, verdict), _speaks_most(cards, ranked[:2]), _differ_most(cards, slots)]
    out: list[First] = []
    seen: set[str] = set()
    for one in found:
        if one is None or one.card.image in seen:
            continue
        target = f"i{place[one.card.image]}"
        models = dict.fromkeys((*ranked[:1], *one.models))
        known = [
            Shown("image", one.card.photo, f"{target}p"),
            Shown("truth", one.card.truth, f"{target}t"),
            *(Shown(m, one.card.maps.get(m, ""), f"{target}m{slots.models.index(m)}") for m in models),
        ]
        if pictures := tuple(shown for shown in known if shown.source):
            seen.add(one.card.image)
            says = f"{one.says}, {one.card.image}"
            out.append(First(one.card.image, one.title, says, pictures, one.card.width, one.card.height))
    return out


def _worst(cards: Sequence[Card], slots: Slots, verdict: Verdict) -> _Found | None:
    """Return the image of the leader's most frequent mistake in its worst class."""
    failing = verdict.failing
    if failing is None or failing.model not in slots.models:
        return None
    card = next((card for card in cards if card.image == failing.image), None)
    if card is None:
        return None
    says = (
        f"{failing.worst} taken for {failing.taken_for}" if failing.taken_for else f"{failing.worst} missed"
    )
    return _Found(card, (failing.model,), f"Where {failing.model} fails", says)


def _speaks_most(cards: Sequence[Card], first_two: Sequence[str]) -> _Found | None:
    """Return the image on which the leader is furthest ahead of the next model."""
    if len(first_two) < 2:
        return None
    leader, other = first_two
    ahead = {}
    for k, card in enumerate(cards):
        mine = card.values.get(leader)
        theirs = card.values.get(other)
        if mine is not None and theirs is not None:
            ahead[k] = mine - theirs
    if not ahead or max(ahead.values()) <= 0:
        return None
    card = cards[max(ahead, key=lambda k: ahead[k])]
    says = f"{card.values[leader]:.2f} against {card.values[other]:.2f}"
    return _Found(card, (leader, other), f"{leader} is furthest ahead of {other}", says)


def _differ_most(cards: Sequence[Card], slots: Slots) -> _Found | None:
    """Return the image on which two models differ most: by the duels, else by their values."""
    title = "Largest disagreement"
    by_image = {card.image: card for card in cards}
    duels = [row for row in slots.chosen if isinstance(row, Slot) and row.image in by_image]
    if duels:
        row = min(duels, key=lambda row: row.concordance)
        two = f"{row.defender} and {row.attacker} agree"
        says = (  # a mean of ranks is a share of the pool
            f"{two} less on {100 * row.concordance:.1f} % of the images"
            if "combined" in slots.definition
            else f"{two} by {row.concordance:.2f}"
        )
        return _Found(by_image[row.image], (row.defender, row.attacker), title, says)
    widest: tuple[float, _Found] | None = None
    for card in cards:
        known = {model: value for model, value in card.values.items() if value is not None}
        if len(known) < 2:
            continue
        best = max(known, key=lambda model: known[model])
        worst = min(known, key=lambda model: known[model])
        apart = known[best] - known[worst]
        if widest is None or apart > widest[0]:
            says = f"{best} {known[best]:.2f}, {worst} {known[worst]:.2f}"
            widest = apart, _Found(card, (best, worst), title, says)
    return widest[1] if widest else None
