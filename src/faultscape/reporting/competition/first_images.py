"""The three images at the top of a report: where the leader fails, the image that speaks most for it, and
the largest disagreement; each leads to its image in the gallery's viewer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from faultscape.nouns import Slot, Slots
from faultscape.reporting.competition.gallery import Card
from faultscape.reporting.verdict import Verdict


class First(NamedTuple):
    """One of them: its ``target`` in the gallery, its address as data, and what it shows."""

    target: str
    source: str
    title: str
    says: str
    width: int
    height: int


def first_images(
    cards: Sequence[Card], place: Mapping[str, int], slots: Slots, verdict: Verdict, order: Sequence[str]
) -> list[First]:
    """Return up to three different images that the gallery holds; ``place`` {image: its number
    there}, ``order`` the models, best first.
    """
    found = [_worst(cards, slots, verdict), _speaks_most(cards, slots, order), _differ_most(cards, slots)]
    out: list[First] = []
    seen: set[str] = set()
    for one in found:
        if one is None:
            continue
        card, model, title, says = one
        source = card.maps.get(model, "") or card.photo
        if not source or card.image in seen:
            continue
        seen.add(card.image)
        part = f"m{slots.models.index(model)}" if card.maps.get(model) else "p"
        target = f"i{place[card.image]}{part}"
        out.append(First(target, source, title, f"{says}, {card.image}", card.width, card.height))
    return out


_Found = tuple[Card, str, str, str]


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
    return card, failing.model, f"Where {failing.model} fails", says


def _speaks_most(cards: Sequence[Card], slots: Slots, order: Sequence[str]) -> _Found | None:
    """Return the image on which the leader is furthest ahead of the next model."""
    ranked = [model for model in order if model in slots.models][:2]
    if len(ranked) < 2:
        return None
    leader, other = ranked
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
    return card, other, f"{leader} is furthest ahead of {other}", says


def _differ_most(cards: Sequence[Card], slots: Slots) -> _Found | None:
    """Return the image on which two models differ most: by the duels, else by their values."""
    by_image = {card.image: card for card in cards}
    duels = [row for row in slots.chosen if isinstance(row, Slot) and row.image in by_image]
    if duels:
        row = min(duels, key=lambda row: row.concordance)
        says = f"{row.defender} and {row.attacker} agree by {row.concordance:.2f}"
        return by_image[row.image], row.attacker, "Largest disagreement", says
    spread = {}
    for k, card in enumerate(cards):
        known = {model: value for model, value in card.values.items() if value is not None}
        if len(known) > 1:
            spread[k] = (max(known, key=lambda m: known[m]), min(known, key=lambda m: known[m]))
    if not spread:
        return None

    def apart(k: int) -> float:
        best, worst = spread[k]
        return (cards[k].values[best] or 0.0) - (cards[k].values[worst] or 0.0)

    k = max(spread, key=apart)
    best, worst = spread[k]
    says = f"{best} {cards[k].values[best]:.2f}, {worst} {cards[k].values[worst]:.2f}"
    return cards[k], worst, "Largest disagreement", says
