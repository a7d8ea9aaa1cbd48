"""Results as answers arrive: the verdict, rankings with intervals, how far people agree, and how many more
answers would settle an order.

Conventions: only organisers see results, because knowing who leads would bias answers. A query can leave
people out (``without``, once per pseudonym) or weight them by estimated accuracy (``weighted=1``); that
changes what the page computes, and nothing that is stored. Results are computed once for each state of the
answers, with the options of the last `rank`, so that their ranks are those that `rank` would write; the state
is checked every ten seconds.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
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
_KEPT = 8  # views: with and without some people


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
    older than a few seconds.
    """

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._lock = threading.Lock()
        self._held = OrderedDict[tuple[object, ...], tuple[float, object, ResultFacts]]()

    def now(self, study: Study, voices: Voices, names: dict[str, str]) -> ResultFacts:
        view = (voices, tuple(sorted(names.items())))
        with self._lock:
            checked, state, facts = self._held.pop(view, (float("-inf"), None, None))
            if facts is None or time.monotonic() - checked > _SECONDS:
                before = state
                state = self._state(study)
                if facts is None or state is None or state != before:
                    facts = results(study, self._campaign, voices, names)
                checked = time.monotonic()
            self._held[view] = checked, state, facts
            while len(self._held) > _KEPT:
                self._held.popitem(last=False)
            return facts

    def _state(self, study: Study) -> object:
        """Return what results are made from; None if that cannot be said, so that they are computed again."""
        options = self._campaign.options
        try:
            of_all = {"truth": options.truth, "arguments": {"all_labels": True}}
            made = STANDINGS.inputs(study, options.selection, of_all)
            return made, STANDINGS.options(study, options.selection)
        except (FaultscapeError, KeyError):
            return None
