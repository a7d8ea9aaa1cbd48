"""What `reliability` returns: the card of a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faultscape.reporting.reliability.document import Card


@dataclass(frozen=True, eq=False)
class Reliability:
    """The card of a study: its folder, and the document of reliability.json."""

    path: str  # the folder with reliability.json, report.html and the tables
    document: Card  # the content of reliability.json

    @property
    def file(self) -> str:
        """The path of reliability.json."""
        return f"{self.path}/reliability.json"

    def __repr__(self) -> str:
        from faultscape.reporting.reliability.words import card_text

        return card_text(self.path, self.document)
