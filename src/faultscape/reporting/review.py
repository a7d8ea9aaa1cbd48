"""The review pages: images from the web to accept or reject, one HTML file for every 500.

Conventions: a page is in STUDY/web next to the folders of thumbnails and images and links to them relatively;
it contains its style and script, and loads nothing else. The browser holds decisions until a button saves
accept.csv. No clock: the same images give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import markupsafe

from faultscape.reporting.template import template

PER_PAGE = 500


@dataclass(frozen=True)
class ReviewCard:
    """One image on a review page; ``file`` and ``thumbnail`` are relative to the page, ``decision`` is
    accept, reject or '', ``clear`` says that it has transparent parts.
    """

    id: str
    file: str
    thumbnail: str
    width: int
    height: int
    query: str
    title: str
    licence: str
    creator: str
    source: str
    date: str
    page: str
    decision: str = ""
    clear: bool = False


def page_name(number: int) -> str:
    """Return the file name of a page, counted from 0.

    >>> page_name(0), page_name(1)
    ('review.html', 'review-2.html')
    """
    return "review.html" if number == 0 else f"review-{number + 1}.html"


def review_pages(study: str, cards: Sequence[ReviewCard], per_page: int = PER_PAGE) -> dict[str, str]:
    """Return {file name: HTML} of the pages; if there is nothing to review, one page that says so."""
    parts = [cards[start : start + per_page] for start in range(0, len(cards), per_page)] or [cards]
    decided = {card.id: card.decision for card in cards if card.decision}
    names = [page_name(k) for k in range(len(parts))]
    return {
        name: (
            template("review/review.html.jinja").render(
                address=web_address,
                path=quote,
                study=study,
                cards=part,
                total=len(cards),
                names=names,
                number=k,
                known=_script_json(_of(part, decided)),
            )
        )
        for k, (name, part) in enumerate(zip(names, parts, strict=True))
    }


def _of(cards: Sequence[ReviewCard], decided: Mapping[str, str]) -> dict[str, str]:
    return {card.id: decided[card.id] for card in cards if card.id in decided}


def _script_json(value: Any) -> Any:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(value, sort_keys=True)
    return markupsafe.Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def web_address(text: str) -> str:
    """Return an address that a page may link to; '' for anything other than http or https.

    >>> web_address("https://example.org/a"), web_address("javascript:alert(1)")
    ('https://example.org/a', '')
    """
    return text if text.lower().startswith(("https://", "http://")) else ""
