"""Sign-in, and who takes part: invitations, each person's progress, and removal.

Conventions: an invite link is shown once, to the organiser who created it. Its page does not redirect
automatically: a cookie set on the way from another site is not sent with the next request, but one set by a
page of ours is.
"""

from __future__ import annotations

from ipaddress import ip_address

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from faultscape.errors import LabellingError, OptionError
from faultscape.labelling.people.careless import FASTEST
from faultscape.study.answers.annotators import ANNOTATOR, ORGANISER, Annotator
from faultscape.study.answers.instructions import LONGEST
from faultscape.verbs.serve.asked_items import CHOICES
from faultscape.verbs.serve.gate import NoEntryError
from faultscape.verbs.serve.pages.results import address as results_address
from faultscape.verbs.serve.pages.site import Site
from faultscape.verbs.serve.people_facts import people_rows
from faultscape.web.app import NotFoundError
from faultscape.web.bodies import MOST_TEXT, form_body
from faultscape.web.headers import host_name
from faultscape.web.words import plain_text

_NOT_YOURSELF = "you cannot remove yourself; ask another organiser, or use `faultscape label forget`"


def router(site: Site) -> APIRouter:
    """Return the routes of sign-in and people."""
    routes = APIRouter()
    campaign = site.campaign
    gate = site.gate

    @routes.get("/", response_class=HTMLResponse)
    def home(request: Request) -> Response:
        try:
            who = gate.annotator(request)
        except NoEntryError:
            return site.page(request, "enter.html.jinja", None, open=gate.open_)
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
        start = _first_page(who)
        told = campaign.instructions
        return site.page(request, "welcome.html.jinja", None, name=who.name, start=start, instructions=told)

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

    @routes.get("/people/remove/{pseudonym}", response_class=HTMLResponse)
    def ask(request: Request, pseudonym: str) -> Response:
        """Ask before a person is removed, where the page People cannot open a dialog."""
        me = gate.organiser(request)
        rows = people_rows(campaign, gate.people.everybody())
        row = next((one for one in rows if one.pseudonym == pseudonym and one.name), None)
        if row is None:
            raise NotFoundError("there is no such person")
        if pseudonym == me.pseudonym:
            raise OptionError(_NOT_YOURSELF)
        return site.page(request, "remove.html.jinja", me, row=row)

    @routes.post("/people", response_class=HTMLResponse)
    async def change(request: Request) -> Response:
        given = await form_body(request, MOST_TEXT)
        me = await run_in_threadpool(gate.writer, request, organiser=True, token=given.get("token", ""))
        return await run_in_threadpool(_change, request, me, given)

    def _change(request: Request, me: Annotator, given: dict[str, str]) -> Response:
        act = given.get("act", "")
        pseudonym = given.get("pseudonym", "")
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
                raise OptionError(_NOT_YOURSELF)
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
        rows = people_rows(campaign, gate.people.everybody())
        marked = [row for row in rows if row.marks]
        return site.page(
            request,
            "people.html.jinja",
            who,
            rows=rows,
            marked=[row.name or row.pseudonym for row in marked],
            without_marked=results_address([row.pseudonym for row in marked]),
            without={row.pseudonym: results_address([row.pseudonym]) for row in rows},
            weighted=results_address(weighted=True),
            task=campaign.task,
            sided=campaign.task == CHOICES,
            fastest=f"{FASTEST:g}",
            invited=invited,
            address=address,
            only_here=_only_here(request) if token else "",
            me=who.pseudonym,
            rules=campaign.rules,
            instructions=campaign.instructions,
            instructed=instructed,
            longest=LONGEST,
        )

    def _only_here(request: Request) -> str:
        """Return what to do about a link that works on this computer only; '' for any other link."""
        if not is_local(host_name(request.headers.get("host", ""))) or gate.here(request) == gate.address:
            return ""
        options = campaign.options
        if options.address is None and is_local(options.host):
            return (
                "Only this computer can reach the server. To invite people on others, stop it, start it again"
                " with `--host 0.0.0.0` (for your network) or, behind a proxy, with `--address"
                " https://NAME`, and make a new link."
            )
        where = options.address or "the address that `label serve` printed"
        return f"You opened this page by a local address. Open it at {where}, and make a new link there."

    return routes


def is_local(name: str) -> bool:
    """Whether a host name means the computer itself.

    >>> is_local("localhost"), is_local("127.0.0.1"), is_local("::1"), is_local("10.0.0.7"), is_local("lab")
    (True, True, True, False, False)
    """
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
