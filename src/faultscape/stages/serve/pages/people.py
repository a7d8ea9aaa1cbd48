"""Sign-in, and who takes part: invitations, each person's progress, and removal.

Conventions: an invite link is shown once, to the organiser who created it. Its page does not redirect
automatically: a cookie set on the way from another site is not sent with the next request, but one set by a
page of ours is.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from faultscape.errors import LabellingError, OptionError
from faultscape.stages.serve.campaign import Campaign
from faultscape.stages.serve.gate import Gate, NoEntryError
from faultscape.stages.serve.people_facts import people_rows
from faultscape.study.answers.annotators import ANNOTATOR, ORGANISER, Annotator
from faultscape.study.answers.instructions import LONGEST
from faultscape.web.app import page
from faultscape.web.bodies import MOST_TEXT, form_body
from faultscape.web.words import plain_text


def router(campaign: Campaign, gate: Gate, links: Any) -> APIRouter:
    """Return the routes of sign-in and people."""
    routes = APIRouter()

    @routes.get("/", response_class=HTMLResponse)
    def home(request: Request) -> Response:
        try:
            who = gate.annotator(request)
        except NoEntryError:
            return page(
                request,
                "enter.html.jinja",
                200,
                None,
                title=campaign.title,
                open=gate.open_,
                links=(),
                user_name="",
            )
        return RedirectResponse(_first_page(who), 303)

    @routes.post("/enter", response_class=HTMLResponse)
    async def enter(request: Request) -> Response:
        gate.refuse_elsewhere(request)
        name = (await form_body(request)).get("name", "")
        to = "/welcome" if await run_in_threadpool(lambda: campaign.instructions) else "/work"
        response = RedirectResponse(to, 303)
        await run_in_threadpool(gate.enter_by_name, request, response, name)
        return response

    @routes.get("/join/{token}", response_class=HTMLResponse)
    def join(request: Request, token: str) -> Response:
        response = HTMLResponse()
        shown = _welcome(request, gate.enter(request, response, token))
        shown.headers["set-cookie"] = response.headers["set-cookie"]
        return shown

    @routes.get("/welcome", response_class=HTMLResponse)
    def welcome(request: Request) -> Response:
        return _welcome(request, gate.annotator(request))

    def _welcome(request: Request, who: Annotator) -> Response:
        return page(
            request,
            "welcome.html.jinja",
            200,
            None,
            title=campaign.title,
            name=who.name,
            start=_first_page(who),
            instructions=campaign.instructions,
            links=(),
            user_name="",
        )

    def _first_page(who: Annotator) -> str:
        """Return where a person begins: organisers who invited others answer only if they choose to, because
        opening the page takes items; who is alone at this machine came to answer, and results would bias
        them.
        """
        return "/results" if who.role == ORGANISER and not gate.open_ else "/work"

    @routes.post("/leave")
    async def leave(request: Request) -> Response:
        given = await form_body(request)
        await run_in_threadpool(gate.writer, request, token=given.get("token", ""))
        response = RedirectResponse("/", 303)
        response.delete_cookie("faultscape", path="/")
        return response

    @routes.get("/people", response_class=HTMLResponse)
    def people(request: Request) -> Response:
        return _people(request, gate.organiser(request))

    @routes.post("/people", response_class=HTMLResponse)
    async def change(request: Request) -> Response:
        given = await form_body(request, MOST_TEXT)
        me = await run_in_threadpool(gate.writer, request, organiser=True, token=given.get("token", ""))
        return await run_in_threadpool(_change, request, me, given)

    def _change(request: Request, me: Annotator, given: dict[str, str]) -> Response:
        act, pseudonym = given.get("act", ""), given.get("pseudonym", "")
        if act == "invite":
            name = plain_text(given.get("name", ""))
            if not 0 < len(name) <= 80:
                raise LabellingError("a name must have 1 to 80 characters")
            made, token = gate.people.invite(name, ORGANISER if given.get("organiser") else ANNOTATOR)
            return _people(request, me, made.name, token)
        if act == "instruct":
            campaign.instruct(given.get("instructions", ""))
            saved = "Saved." if campaign.instructions else "Saved: there are no instructions now."
            return _people(request, me, instructed=saved)
        if act == "link":
            token = gate.people.new_token(pseudonym)
            gate.forget()
            found = gate.people.find(pseudonym)
            shown = _people(request, me, found.name or pseudonym, token)
            if found.pseudonym == me.pseudonym:
                gate.admit(request, shown, found)  # otherwise the organiser who asked would be signed out
            return shown
        if act in ("remove", "remove with answers"):
            if pseudonym == me.pseudonym:
                raise OptionError(
                    "you cannot remove yourself; ask another organiser, or use `faultscape label forget`"
                )
            gate.people.delete(pseudonym)
            if act == "remove with answers":
                campaign.take_back_all(pseudonym)
            gate.forget()
            return RedirectResponse("/people", 303)
        raise OptionError(f"unknown action: {act[:40]!r}")

    def _people(
        request: Request, who: Annotator, invited: str = "", token: str = "", instructed: str = ""
    ) -> Response:
        address = f"{gate.here(request)}/join/{token}" if token else ""
        return page(
            request,
            "people.html.jinja",
            200,
            None,
            title=campaign.title,
            rows=people_rows(campaign, gate.people.everybody()),
            token=gate.token(who),
            links=links(who),
            user_name=who.name or who.pseudonym,
            invited=invited,
            address=address,
            me=who.pseudonym,
            options=campaign.options.campaign,
            instructions=campaign.instructions,
            instructed=instructed,
            longest=LONGEST,
        )

    return routes
