"""What the pages of one campaign share: who may enter, images that are kept, and the frame of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from faultscape.study.answers.annotators import ORGANISER, Annotator
from faultscape.verbs.serve.asked_items import CHOICES, POINTS
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.gate import Gate
from faultscape.web.app import page
from faultscape.web.photos import Pictures


@dataclass(frozen=True)
class Site:
    """A campaign behind its gate, and the images that were made for its pages."""

    campaign: Campaign
    gate: Gate
    pictures: Pictures

    def page(self, request: Request, name: str, who: Annotator | None, /, **facts: Any) -> HTMLResponse:
        """Return a page of a template for a person, or for a visitor who has not signed in."""
        about: dict[str, Any] = {"links": (), "user_name": ""}
        if who is not None:
            about = {
                "links": self._links(who),
                "user_name": who.name or who.pseudonym,
                "token": self.gate.token(who),
            }
        return page(request, name, 200, None, title=self.campaign.title, **about, **facts)

    def _links(self, who: Annotator) -> list[tuple[str, str]]:
        """Return (address, title) of the pages that a person may see; who clicks points draws no masks."""
        found = [("/work", "Answer")]
        if self.campaign.task != POINTS:
            found.append(("/checks", "Check masks"))
        if self.campaign.task == CHOICES:
            found.append(("/masks", "Send masks"))
        if who.role == ORGANISER:
            found += [("/tags", "Tag failures"), ("/results", "Results"), ("/people", "People")]
        return found
