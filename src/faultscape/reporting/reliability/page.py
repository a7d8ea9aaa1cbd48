"""The page of the card."""

from __future__ import annotations

from faultscape.reporting.reliability.document import Card


def card_page(card: Card) -> str:
    """Return the HTML of a card."""
    return f"<!doctype html><title>{card['study']}</title>"
