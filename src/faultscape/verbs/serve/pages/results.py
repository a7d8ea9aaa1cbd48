"""Results as answers arrive: the verdict, rankings with intervals, how far people agree, and how many more
answers would settle an order.

Conventions: only organisers see results, because knowing who leads would bias answers. A query can leave
people out (``without``, once per pseudonym) or weight them by estimated accuracy (``weighted=1``); that
changes what the page computes, and nothing that is stored. Results are computed once for each state of the
answers, with the options of the last `rank`, so that their ranks are those that `rank` would write; the state
is checked every ten seconds. A page that cannot wait for them says so.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from faultscape.errors import FaultscapeError, OptionError, closest
from faultscape.reading.choices import Voices
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import Annotator
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.serve.campaign import Campaign
from faultscape.verbs.serve.pages.site import Site
from faultscape.verbs.serve.people_facts import who_answered
from faultscape.verbs.serve.result_facts import ResultFacts, results
from faultscape.web.app import page

_SECONDS = 10.0
_PATIENCE = 2.0  # seconds that a page waits for new results before it shows the last ones
_KEPT = 8  # views: with and without some people
_View = tuple[Voices, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class _Held:
    """Results, what they were made from, and when that was last checked."""

    checked: float
    state: object
    facts: ResultFacts


def router(site: Site) -> APIRouter:
    """Return the routes of results."""
    routes = APIRouter()
    campaign = site.campaign
    gate = site.gate
    kept = _Kept(campaign)

    @routes.get("/results", response_class=HTMLResponse)
    def show(request: Request) -> Response:
        who = gate.organiser(request)
        return site.page(request, "results.html.jinja", who, **_facts(request))

    @routes.get("/results/part", response_class=HTMLResponse)
    def part(request: Request) -> Response:
        gate.organiser(request)
        return page(request, "results_part.html.jinja", 200, None, **_facts(request))

    def _facts(request: Request) -> dict[str, Any]:
        study = campaign.study()
        people = gate.people.everybody()
        voices = _voices(study, campaign, people, request.query_params)
        names = {one.pseudonym: one.name for one in people if one.name}
        left_out = sorted(voices.without)
        return {
            "facts": kept.now(study, voices, names),
            "task": campaign.task,
            "weighted": voices.weighted,
            "left_out": [names.get(one) or one for one in left_out],
            "of_everyone": address(weighted=voices.weighted),
            "of_other_weights": address(left_out, weighted=not voices.weighted),
        }

    return routes


def address(without: Sequence[str] = (), *, weighted: bool = False) -> str:
    """Return the address of the results without some people, or with people weighted by estimated accuracy.

    >>> address(), address(["person-1a", "person-2b"], weighted=True)
    ('/results', '/results?without=person-1a&without=person-2b&weighted=1')
    """
    query = [("without", one) for one in without] + ([("weighted", "1")] if weighted else [])
    return f"/results?{urlencode(query)}" if query else "/results"


def _voices(study: Study, campaign: Campaign, people: Sequence[Annotator], query: Any) -> Voices:
    """Return whose answers a query counts; OptionError for an unknown person."""
    without = query.getlist("without")
    known = {one.pseudonym for one in people} if without else set[str]()
    if not set(without) <= known:
        known |= who_answered(study, campaign.options.truth)  # removed people too
    if unknown := next((one for one in without if one not in known), None):
        raise OptionError(f"there is no person {unknown[:40]!r}.{closest(unknown, sorted(known))}")
    return Voices(frozenset(without), query.get("weighted", "") == "1")


class _Kept:
    """The last results of each view: computed again when the answers changed, which is checked when they are
    older than a few seconds. Results that take longer are computed in the background, one view at a time:
    meanwhile the last ones are shown, and say that answers came since.
    """

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._lock = threading.Lock()
        self._work = ThreadPoolExecutor(1, "results")
        self._held = OrderedDict[_View, _Held]()
        self._running = dict[_View, Future[ResultFacts]]()

    def now(self, study: Study, voices: Voices, names: dict[str, str]) -> ResultFacts:
        view = (voices, tuple(sorted(names.items())))
        with self._lock:
            held = self._held.get(view)
            if held is not None:
                self._held.move_to_end(view)
                if time.monotonic() - held.checked <= _SECONDS:
                    return held.facts
            running = self._running.get(view)
            if running is None:
                running = self._running[view] = self._work.submit(self._renew, study, view, held)
        try:
            return running.result(None if held is None else _PATIENCE)
        except TimeoutError:
            assert held is not None  # else there was no limit
            return replace(held.facts, behind=True)

    def _renew(self, study: Study, view: _View, held: _Held | None) -> ResultFacts:
        """Return the results of a view now, and keep them."""
        try:
            voices, names = view
            state = self._state(study)
            same = held is not None and state is not None and state == held.state
            facts = held.facts if held and same else results(study, self._campaign, voices, dict(names))
            with self._lock:
                self._held[view] = _Held(time.monotonic(), state, facts)
                while len(self._held) > _KEPT:
                    self._held.popitem(last=False)
            return facts
        finally:
            with self._lock:
                del self._running[view]

    def _state(self, study: Study) -> object:
        """Return what results are made from; None if that cannot be said, so that they are computed again."""
        options = self._campaign.options
        try:
            of_all = {"truth": options.truth, "arguments": {"all_labels": True}}
            made = STANDINGS.inputs(study, options.selection, of_all)
            return made, STANDINGS.options(study, options.selection)
        except (FaultscapeError, KeyError):
            return None
