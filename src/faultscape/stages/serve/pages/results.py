"""Results as answers arrive: rankings with intervals, how far people agree, and how many more answers would
settle an order.

Conventions: only organisers see results, because knowing who leads would bias answers. Results are cached for
ten seconds.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from faultscape.stages.serve.campaign import Campaign
from faultscape.stages.serve.gate import Gate
from faultscape.stages.serve.result_facts import ResultFacts, StandingsNow, results
from faultscape.web.app import page

_SECONDS = 10.0


def router(campaign: Campaign, gate: Gate, links: Any, standings: StandingsNow) -> APIRouter:
    """Return the routes of results."""
    routes, kept = APIRouter(), _Kept(campaign, standings)

    @routes.get("/results", response_class=HTMLResponse)
    def show(request: Request) -> Response:
        who = gate.organiser(request)
        return page(
            request,
            "results.html.jinja",
            200,
            None,
            title=campaign.title,
            links=links(who),
            user_name=who.name or who.pseudonym,
            facts=kept.now(),
            task=campaign.task,
            part=False,
        )

    @routes.get("/results/part", response_class=HTMLResponse)
    def part(request: Request) -> Response:
        gate.organiser(request)
        return page(request, "results_part.html.jinja", 200, None, facts=kept.now(), task=campaign.task)

    return routes


class _Kept:
    """The last results, recomputed when they are older than a few seconds."""

    def __init__(self, campaign: Campaign, standings: StandingsNow) -> None:
        self._campaign, self._standings, self._lock = campaign, standings, threading.Lock()
        self._made, self._facts = float("-inf"), None

    def now(self) -> ResultFacts:
        with self._lock:
            if self._facts is None or time.monotonic() - self._made > _SECONDS:
                self._facts = results(self._campaign, self._standings)
                self._made = time.monotonic()
            return self._facts
